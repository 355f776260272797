//! The inputs that variables depend on, as sets.

use std::rc::Rc;

/// A set of inputs, shared among variables that depend on the same ones.
#[derive(Clone, Debug, Default)]
pub(super) enum Domain {
    #[default]
    Empty,
    One(u32),
    /// Their numbers, ascending.
    Few(Rc<[u32]>),
    /// A bit for each input, where a list would take more memory.
    Many(Rc<[u64]>),
}

/// Makes unions of sets of so many inputs.
#[derive(Debug)]
pub(super) struct Unions {
    /// The most inputs of a list.
    most: usize,
    /// How many words have a bit for each input.
    words: usize,
    list: Vec<u32>,
}

const fn bit(k: u32) -> (usize, u64) {
    (k as usize / 64, 1 << (k % 64))
}

/// Sorts a list and leaves out what it has twice.
fn sort(list: &mut Vec<u32>) {
    if list.len() > 20 {
        list.sort_unstable();
    } else {
        for k in 1..list.len() {
            let (mut at, number) = (k, list[k]);
            while at > 0 && list[at - 1] > number {
                list[at] = list[at - 1];
                at -= 1;
            }
            list[at] = number;
        }
    }
    list.dedup();
}

impl Domain {
    /// The inputs, ascending.
    pub(super) fn for_each(&self, mut f: impl FnMut(u32)) {
        match self {
            Self::Empty => {}
            Self::One(number) => f(*number),
            Self::Few(numbers) => numbers.iter().copied().for_each(f),
            Self::Many(words) => {
                for (first, word) in (0..).step_by(64).zip(&**words) {
                    let mut left = *word;
                    while left != 0 {
                        f(first + left.trailing_zeros());
                        left &= left - 1;
                    }
                }
            }
        }
    }

    /// The number of inputs.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One(_) => 1,
            Self::Few(numbers) => numbers.len(),
            Self::Many(words) => words.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Whether these are the same set in memory.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Empty, Self::Empty) => true,
            (Self::One(a), Self::One(b)) => a == b,
            (Self::Few(a), Self::Few(b)) => Rc::ptr_eq(a, b),
            (Self::Many(a), Self::Many(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    fn contains_all(&self, other: &Self) -> bool {
        let contains = |k: &u32| match self {
            Self::Empty => false,
            Self::One(number) => number == k,
            Self::Few(numbers) => numbers.binary_search(k).is_ok(),
            Self::Many(words) => words[bit(*k).0] & bit(*k).1 != 0,
        };
        match (self, other) {
            (_, Self::Empty) => true,
            (_, Self::One(number)) => contains(number),
            (_, Self::Few(numbers)) => numbers.iter().all(contains),
            (Self::Many(a), Self::Many(b)) => a.iter().zip(&**b).all(|(a, b)| b & !a == 0),
            (_, Self::Many(_)) => false,
        }
    }
}

impl Unions {
    pub(super) fn of(inputs: usize) -> Self {
        let words = inputs.div_ceil(64);
        Self { most: words.max(8), words, list: Vec::new() }
    }

    /// Adds the inputs of another set. Bits that nobody shares are not copied.
    pub(super) fn add(&mut self, to: &mut Domain, other: &Domain) {
        if to.is(other) || to.contains_all(other) {
            return;
        }
        if let Domain::Many(bits) = to {
            let bits = Rc::make_mut(bits);
            if let Domain::Many(other) = other {
                bits.iter_mut().zip(&**other).for_each(|(a, b)| *a |= b);
            } else {
                other.for_each(|k| bits[bit(k).0] |= bit(k).1);
            }
        } else if let Domain::Many(_) = other {
            let few = core::mem::replace(to, other.clone());
            self.add(to, &few);
        } else {
            self.list.clear();
            to.for_each(|k| self.list.push(k));
            other.for_each(|k| self.list.push(k));
            *to = self.listed();
        }
    }

    /// The set of the numbers in the list.
    fn listed(&mut self) -> Domain {
        sort(&mut self.list);
        match &*self.list {
            [] => Domain::Empty,
            [number] => Domain::One(*number),
            numbers if numbers.len() <= self.most => Domain::Few(numbers.into()),
            numbers => {
                let mut bits: Rc<[u64]> = (0..self.words).map(|_| 0).collect();
                if let Some(bits) = Rc::get_mut(&mut bits) {
                    numbers.iter().for_each(|k| bits[bit(*k).0] |= bit(*k).1);
                }
                Domain::Many(bits)
            }
        }
    }

    /// The union of the sets in some slots, each of which is asked for once less often: nothing is left in slots that
    /// nobody asks again.
    pub(super) fn union(
        &mut self,
        domains: &mut [Domain],
        uses: &mut [u32],
        slots: impl Iterator<Item = usize> + Clone,
    ) -> Domain {
        let (mut bits, listed) = self.gather(domains, uses, slots.clone());
        for slot in slots.filter(|slot| uses[*slot] == 0) {
            domains[slot] = Domain::Empty;
        }
        if let Domain::Empty = bits {
            return listed;
        }
        self.add(&mut bits, &listed);
        bits
    }

    /// The union of the sets of bits in some slots, which are taken out of slots that nobody asks again, and the union
    /// of all other sets there.
    fn gather(
        &mut self,
        domains: &mut [Domain],
        uses: &mut [u32],
        slots: impl Iterator<Item = usize>,
    ) -> (Domain, Domain) {
        let (mut bits, mut largest) = (Domain::Empty, None::<usize>);
        let mut is_one = true;
        self.list.clear();
        for slot in slots {
            uses[slot] -= 1;
            if let Domain::Many(_) = &domains[slot] {
                let domain = if uses[slot] == 0 { core::mem::take(&mut domains[slot]) } else { domains[slot].clone() };
                let (mut to, other) = if let Domain::Empty = bits { (domain, bits) } else { (bits, domain) };
                self.add(&mut to, &other);
                bits = to;
            } else if let Some(found) = largest.map(|slot| &domains[slot]) {
                if !domains[slot].is(found) {
                    is_one = false;
                    domains[slot].for_each(|k| self.list.push(k));
                    if domains[slot].len() > found.len() {
                        largest = Some(slot);
                    }
                }
            } else if !matches!(domains[slot], Domain::Empty) {
                domains[slot].for_each(|k| self.list.push(k));
                largest = Some(slot);
            }
        }
        if !is_one {
            sort(&mut self.list);
        }
        let largest = largest.map_or(Domain::Empty, |slot| domains[slot].clone());
        let listed = if is_one || self.list.len() == largest.len() { largest } else { self.listed() };
        (bits, listed)
    }
}

#[cfg(test)]
mod tests {
    use super::{Domain, Unions};
    use std::collections::BTreeSet;

    /// Against sets of the standard library, through single numbers, lists and bits.
    #[test]
    fn unions_are_those_of_sets() {
        let mut unions = Unions::of(700);
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap_or(0) % below
        };
        let is = |set: &Domain, expected: &BTreeSet<u32>| {
            let mut found = Vec::new();
            set.for_each(|k| found.push(k));
            found.iter().eq(expected)
        };
        let mut sets = vec![(Domain::Empty, BTreeSet::new())];
        sets.extend((0..700).map(|input| (Domain::One(input), BTreeSet::from([input]))));
        for _ in 0..6000 {
            let chosen: Vec<usize> = (0..random(6)).map(|_| random(sets.len())).collect();
            let (mut domains, mut uses): (Vec<_>, Vec<_>) = chosen.iter().map(|k| (sets[*k].0.clone(), 1)).unzip();
            let union = unions.union(&mut domains, &mut uses, 0..chosen.len());
            let expected: BTreeSet<u32> = chosen.iter().flat_map(|k| sets[*k].1.clone()).collect();
            assert!(is(&union, &expected), "{union:?} {expected:?}");
            let mut sum = sets[random(sets.len())].clone();
            unions.add(&mut sum.0, &union);
            sum.1.extend(&expected);
            assert!(is(&sum.0, &sum.1), "{sum:?}");
            sets.extend([(union, expected), sum]);
        }
        assert!(sets.iter().any(|(set, _)| matches!(set, Domain::Few(_))));
        assert!(sets.iter().any(|(set, _)| matches!(set, Domain::Many(_))));
        assert!(sets.iter().all(|(set, expected)| is(set, expected)), "shared sets stay");
    }
}
