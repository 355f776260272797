//! Sets of the inputs that variables depend on.

use std::rc::Rc;

/// Largest number of inputs that a set keeps inline.
const SMALL: usize = 5;

/// Mark of an unused element, greater than the index of any input.
const NO_INPUT: u32 = u32::MAX;

/// A set of few inputs: the number of them, and their indices, ascending, at the front of the array; further elements
/// are [`NO_INPUT`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Small(u8, [u32; SMALL]);

/// A set of inputs. Large sets are shared among variables that depend on the same inputs.
#[derive(Clone, Debug)]
pub(crate) enum Domain {
    /// A few inputs, laid out as in [`Small`], whose two fields take less memory directly in the variant.
    Small(u8, [u32; SMALL]),
    /// Indices of the inputs, ascending.
    List(Rc<[u32]>),
    /// A bit for each input, for sets of which a list would take more memory.
    Bits(Rc<[u64]>),
}

/// Memory of the size and alignment of a set.
pub(crate) type Room = [u64; 3];

/// Empties a list and reuses its memory for elements of the same size and alignment: the standard library collects in
/// place. Sets share memory within a thread, whereas the memory that a tape keeps may go to another thread.
pub(crate) fn emptied<T, U>(mut list: Vec<T>) -> Vec<U> {
    const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>(), "not the same memory") }
    list.clear();
    list.into_iter().map_while(|_| None).collect()
}

/// Computes unions of sets of inputs.
#[derive(Debug, Default)]
pub(crate) struct Unions {
    /// Largest number of inputs in a list.
    most: usize,
    /// Number of words that have a bit for each input.
    words: usize,
    list: Vec<u32>,
}

const fn bit(k: u32) -> (usize, u64) {
    (k as usize / 64, 1 << (k % 64))
}

/// Sorts a list and removes duplicates.
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

impl Default for Domain {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Small {
    pub(crate) const fn one(input: u32) -> Self {
        let mut inputs = [NO_INPUT; SMALL];
        inputs[0] = input;
        Self(1, inputs)
    }
}

impl Domain {
    pub(crate) const EMPTY: Self = Self::Small(0, [NO_INPUT; SMALL]);

    pub(crate) const fn one(input: u32) -> Self {
        let Small(count, inputs) = Small::one(input);
        Self::Small(count, inputs)
    }

    /// Replaces this set by a small one.
    #[inline(always)]
    pub(crate) fn set(&mut self, to: Small) {
        // Field by field: memory that has just been written in parts cannot be read as one word without a wait.
        let Small(number, numbers) = to;
        if let Self::Small(count, inputs) = self {
            (*count, *inputs) = (number, numbers);
        } else {
            *self = Self::Small(number, numbers);
        }
    }

    /// The indices of the inputs, or their bits.
    #[inline]
    fn parts(&self) -> (&[u32], &[u64]) {
        match self {
            Self::Small(count, inputs) => (&inputs[..usize::from(*count)], &[]),
            Self::List(inputs) => (inputs, &[]),
            Self::Bits(words) => (&[], words),
        }
    }

    /// Calls `f` with the inputs, ascending.
    pub(crate) fn for_each(&self, mut f: impl FnMut(u32)) {
        let (inputs, words) = self.parts();
        inputs.iter().copied().for_each(&mut f);
        for (first, word) in (0..).step_by(64).zip(words) {
            let mut left = *word;
            while left != 0 {
                f(first + left.trailing_zeros());
                left &= left - 1;
            }
        }
    }

    /// Appends the inputs, ascending.
    pub(crate) fn append_to(&self, list: &mut Vec<usize>) {
        let (inputs, words) = self.parts();
        list.extend(inputs.iter().map(|k| *k as usize));
        if !words.is_empty() {
            self.for_each(|k| list.push(k as usize));
        }
    }

    /// The number of inputs.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        let (inputs, words) = self.parts();
        inputs.len() + words.iter().map(|word| word.count_ones() as usize).sum::<usize>()
    }

    /// Returns true if both sets share memory, or are small and equal.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Small(_, a), Self::Small(_, b)) => a == b,
            (Self::List(a), Self::List(b)) => Rc::ptr_eq(a, b),
            (Self::Bits(a), Self::Bits(b)) => Rc::ptr_eq(a, b),
            _ => false,
        }
    }

    fn contains_all(&self, other: &Self) -> bool {
        let (inputs, words) = other.parts();
        match self {
            Self::Bits(all) if words.is_empty() => inputs.iter().all(|k| all[bit(*k).0] & bit(*k).1 != 0),
            Self::Bits(all) => all.iter().zip(words).all(|(a, b)| b & !a == 0),
            _ => words.is_empty() && inputs.iter().all(|k| self.parts().0.binary_search(k).is_ok()),
        }
    }
}

/// Extends the list up to the largest of these slots, with empty sets.
fn extend_to(domains: &mut Vec<Domain>, slots: impl Iterator<Item = usize>) {
    let behind = slots.max().map_or(0, |slot| slot + 1);
    if behind > domains.len() {
        domains.resize(behind, Domain::EMPTY);
    }
}

/// Counts a use of the set in a slot. Returns true if it was the last use.
fn used(uses: &mut [u32], slot: usize) -> bool {
    let Some(left) = uses.get_mut(slot) else { return false };
    *left -= 1;
    *left == 0
}

/// The union of the sets in some slots, if all of them and the union are small.
#[inline(always)]
pub(crate) fn small_union(domains: &[Domain], slots: impl Iterator<Item = usize>) -> Option<Small> {
    let (mut inputs, mut last) = ([NO_INPUT; SMALL], None);
    for slot in slots {
        // Powers read one variable several times.
        if last.replace(slot) == Some(slot) {
            continue;
        }
        let others = match domains.get(slot) {
            Some(Domain::Small(count, others)) => &others[..usize::from(*count)],
            Some(_) => return None,
            None => continue,
        };
        for k in others {
            // All greater inputs move back by one position, unless the input is there: no branch depends on that.
            let is_there = inputs.contains(k);
            let (new, mut before) = (if is_there { NO_INPUT } else { *k }, 0);
            for input in &mut inputs {
                let this = *input;
                (*input, before) = (this.min(new.max(before)), this);
            }
            if new.max(before) != NO_INPUT {
                return None;
            }
        }
    }
    let count = inputs.iter().map(|input| u8::from(*input != NO_INPUT)).sum();
    Some(Small(count, inputs))
}

impl Unions {
    /// Prepares unions of sets of up to this many inputs.
    pub(crate) fn begin(&mut self, inputs: usize) {
        self.words = inputs.div_ceil(64);
        self.most = self.words.max(8);
    }

    /// Bytes that the allocator gave.
    pub(crate) fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<u32>()
    }

    /// Adds the inputs of another set. Bits that are not shared are not copied.
    pub(crate) fn add(&mut self, to: &mut Domain, other: &Domain) {
        if to.is(other) || to.contains_all(other) {
            return;
        }
        if let Domain::Bits(bits) = to {
            let (bits, (inputs, words)) = (Rc::make_mut(bits), other.parts());
            bits.iter_mut().zip(words).for_each(|(a, b)| *a |= b);
            inputs.iter().for_each(|k| bits[bit(*k).0] |= bit(*k).1);
        } else if let Domain::Bits(_) = other {
            let smaller = core::mem::replace(to, other.clone());
            self.add(to, &smaller);
        } else {
            self.list.clear();
            self.list.extend_from_slice(to.parts().0);
            self.list.extend_from_slice(other.parts().0);
            sort(&mut self.list);
            *to = self.listed();
        }
    }

    /// The set of the inputs in the list, which ascend.
    fn listed(&self) -> Domain {
        let list = &*self.list;
        if let (true, Ok(count)) = (list.len() <= SMALL, u8::try_from(list.len())) {
            let mut inputs = [NO_INPUT; SMALL];
            inputs.iter_mut().zip(list).for_each(|(to, from)| *to = *from);
            Domain::Small(count, inputs)
        } else if list.len() <= self.most {
            Domain::List(list.into())
        } else {
            let mut bits: Rc<[u64]> = (0..self.words).map(|_| 0).collect();
            if let Some(bits) = Rc::get_mut(&mut bits) {
                list.iter().for_each(|k| bits[bit(*k).0] |= bit(*k).1);
            }
            Domain::Bits(bits)
        }
    }

    /// The union of the sets in some slots. Each use is counted down, and large sets whose last use this was are
    /// removed from their slots. If `uses` is empty, all sets stay.
    pub(crate) fn union(
        &mut self,
        domains: &mut Vec<Domain>,
        uses: &mut [u32],
        slots: impl Iterator<Item = usize> + Clone,
    ) -> Domain {
        let Some(small) = small_union(domains, slots.clone()) else { return self.large(domains, uses, slots) };
        if !uses.is_empty() {
            slots.for_each(|slot| _ = used(uses, slot));
        }
        let Small(count, inputs) = small;
        Domain::Small(count, inputs)
    }

    /// [`union`](Self::union) for the case that a set, or the union, is large.
    pub(crate) fn large(
        &mut self,
        domains: &mut Vec<Domain>,
        uses: &mut [u32],
        slots: impl Iterator<Item = usize> + Clone,
    ) -> Domain {
        extend_to(domains, slots.clone());
        let mut bits = None;
        // The largest list so far, if they are not all the same.
        let (mut largest, mut is_one) = (None::<usize>, true);
        self.list.clear();
        for slot in slots.clone() {
            let is_last = used(uses, slot);
            if let Domain::Bits(_) = &domains[slot] {
                self.add_bits(&mut bits, &mut domains[slot], is_last);
                continue;
            }
            let inputs = domains[slot].parts().0;
            if let Some(found) = largest {
                if domains[slot].is(&domains[found]) {
                    continue;
                }
                is_one = false;
            }
            // Inputs are few in most cases, so a call to copy them would cost more.
            inputs.iter().for_each(|k| self.list.push(*k));
            if largest.is_none_or(|found| inputs.len() > domains[found].parts().0.len()) {
                largest = Some(slot);
            }
        }
        let largest = largest.map_or(Domain::EMPTY, |slot| domains[slot].clone());
        let listed = if is_one { largest } else { self.sorted(largest) };
        for slot in slots.filter(|slot| uses.get(*slot) == Some(&0)) {
            domains[slot] = Domain::EMPTY;
        }
        let Some(mut bits) = bits else { return listed };
        self.add(&mut bits, &listed);
        bits
    }

    /// Adds bits, and takes them out of their slot if `is_last`.
    fn add_bits(&mut self, to: &mut Option<Domain>, from: &mut Domain, is_last: bool) {
        let domain = if is_last { core::mem::take(from) } else { from.clone() };
        match to {
            Some(to) => self.add(to, &domain),
            None => *to = Some(domain),
        }
    }

    /// The set of the inputs in the list, which contains the set `largest`: shared with it if there are no other
    /// inputs.
    fn sorted(&mut self, largest: Domain) -> Domain {
        sort(&mut self.list);
        if self.list.len() == largest.len() { largest } else { self.listed() }
    }
}

#[cfg(test)]
mod tests {
    use super::{Domain, Unions};
    use std::collections::BTreeSet;

    /// Compares unions with sets of the standard library, with single inputs, lists and bits.
    #[test]
    fn unions_are_those_of_sets() {
        let mut unions = Unions::default();
        unions.begin(700);
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
        let mut sets = vec![(Domain::EMPTY, BTreeSet::new())];
        sets.extend((0..700).map(|input| (Domain::one(input), BTreeSet::from([input]))));
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
        assert!(sets.iter().any(|(set, _)| matches!(set, Domain::List(_))));
        assert!(sets.iter().any(|(set, _)| matches!(set, Domain::Bits(_))));
        assert!(sets.iter().all(|(set, expected)| is(set, expected)), "shared sets stay");
    }
}
