//! Records of functions of slices.

use super::slow::{narrow, where_they_belong};
use crate::contract::{Given, Taped};
use crate::error::Refusal;
use crate::identifier::LinearId;
use crate::policy::Policy;
use crate::rules::Curvature;
use crate::scratch::{Scratch, with_row};
use crate::singular::{given, partials_of_slice};
use crate::storage::Layer;
use crate::tape::format::layout::Common;
use crate::tape::format::layout::Layout;
use crate::tape::store::recording::{Content, Records};
use crate::{IndexManager, Nary, Number, Reverse, recording};

/// The facts about a function of slices that its records depend on, so that one code writes them for all functions.
struct Rule<V: Number> {
    /// The layout of records from which the partials are recomputed, on tapes that have values.
    replayed: Option<&'static Layout<V>>,
    /// Value of [`Nary::REPLAYS`].
    replays: bool,
    /// Value of [`Nary::UNIT`].
    unit: bool,
    /// Value of [`Nary::CURVATURE`].
    curvature: Curvature,
    /// Value of [`Nary::GIVEN`], if partials are not looked at.
    given: Given,
    /// Writes the partials under the policy.
    partials: fn(&[V], &[V], &mut [V]),
}

impl<V: Number> Rule<V> {
    /// The rule of a function under a policy, for tapes with this content.
    const fn of<P: Policy, R: Nary<V>, M: IndexManager, K: Content>() -> Self {
        Self {
            replayed: if K::VALUES { Some(const { &Layout::nary::<P, R, M::Index>() }) } else { None },
            replays: R::REPLAYS,
            unit: R::UNIT,
            curvature: R::CURVATURE,
            given: given::<P, R, V>(),
            partials: |arguments, constants, partials| {
                partials_of_slice::<P, R, V>(arguments, constants, partials, &[]);
            },
        }
    }
}

/// The values of one slice of variables, and then of another one.
struct Swapped<'a, V, I> {
    next: &'a [Taped<V, I>],
    last: &'a [Taped<V, I>],
}

impl<V: Number, I> Iterator for Swapped<'_, V, I> {
    type Item = V;
    fn next(&mut self) -> Option<V> {
        if self.next.is_empty() {
            self.next = core::mem::take(&mut self.last);
        }
        let (first, rest) = self.next.split_first()?;
        self.next = rest;
        Some(first.value)
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.next.len() + self.last.len();
        (left, Some(left))
    }
    fn fold<B, F: FnMut(B, V) -> B>(self, start: B, mut f: F) -> B {
        let middle = self.next.iter().fold(start, |sum, variable| f(sum, variable.value));
        self.last.iter().fold(middle, |sum, variable| f(sum, variable.value))
    }
}

impl<V: Number, I> ExactSizeIterator for Swapped<'_, V, I> {}

/// Records a function of slices; returns passive if no argument is active.
///
/// # Panics
///
/// In the cases listed at [`Taping::record`](crate::Taping::record), and when there are not as many constants as `R`
/// requires.
#[track_caller]
pub(crate) fn append_nary<S, R, V, M, L, K>(arguments: &[&[Taped<V, M::Id>]], constants: &[V], value: V) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    R: Nary<V>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    let n: usize = arguments.iter().map(|piece| piece.len()).sum();
    assert!(
        Some(constants.len()) == R::CONSTANTS.checked_mul(n),
        "a function of slices with {} constants for each argument got {}",
        R::CONSTANTS,
        constants.len()
    );
    let rule = const { &Rule::of::<S::Policy, R, M, K>() };
    match Records::at_once::<S>(rule, arguments, constants, value) {
        Some(id) => M::adopt(id),
        None => append_slowly::<S, V, M, L, K>(rule, arguments, constants, value),
    }
}

/// Records a function of slices by its rule.
#[cold]
#[inline(never)]
#[track_caller]
fn append_slowly<S, V, M, L, K>(rule: &Rule<V>, arguments: &[&[Taped<V, M::Id>]], constants: &[V], value: V) -> M::Id
where
    S: Reverse<Tape = Records<V, M, L, K>>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
{
    recording::admit::<S>();
    let ids = Scratch::of(arguments.iter().copied().flatten().map(|x| M::raw(&x.id)));
    where_they_belong::<S, M>(ids.iter().copied(), |tape| tape.append_nary(rule, arguments, &ids, constants, value))
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Records a function of slices on the innermost tape, if all arguments are variables of its recording and no slow
    /// case applies.
    fn at_once<S: Reverse<Tape = Self>>(
        rule: &Rule<V>,
        arguments: &[&[Taped<V, M::Id>]],
        constants: &[V],
        value: V,
    ) -> Option<LinearId<M::Index>> {
        let constants_of_it = constants.iter().copied();
        if let Some(layout) = rule.replayed {
            let replays = rule.replays;
            return Self::append_slices_at_once::<S>(layout, constants_of_it, arguments, value, |tape| {
                if !replays {
                    tape.keeps_partials();
                }
            });
        }
        if rule.unit {
            let (layout, none) = (Common::<V, M::Index>::ONES, core::iter::empty());
            return Self::append_slices_at_once::<S>(layout, none, arguments, value, |_| {});
        }
        let n = arguments.iter().map(|piece| piece.len()).sum();
        let layout = Common::<V, M::Index>::partials(n);
        match (rule.given, arguments) {
            (Given::Constants, _) => {
                Self::append_slices_at_once::<S>(layout, constants_of_it, arguments, value, |_| {})
            }
            (Given::OtherHalf, [x, y]) if x.len() == y.len() => {
                let values = Swapped { next: y, last: x };
                Self::append_slices_at_once::<S>(layout, values, arguments, value, |_| {})
            }
            // The rule may be a user's, and is called once.
            _ if !Self::has_room_for_partials::<S>(layout, arguments) => None,
            _ => with_row(V::ZERO, 2 * n, |row| {
                let (partials, values) = row.split_at_mut(n);
                let found = arguments.iter().copied().flatten().map(|argument| argument.value);
                values.iter_mut().zip(found).for_each(|(to, from)| *to = from);
                (rule.partials)(values, constants, partials);
                Self::append_slices_at_once::<S>(layout, partials.iter().copied(), arguments, value, |_| {})
            }),
        }
    }

    /// Records a function of slices with at least one active argument.
    fn append_nary(
        &mut self,
        rule: &Rule<V>,
        arguments: &[&[Taped<V, M::Id>]],
        ids: &[LinearId<M::Index>],
        constants: &[V],
        value: V,
    ) -> Result<LinearId<M::Index>, Refusal> {
        let n = ids.len();
        let count = u32::try_from(n).expect("a statement has fewer than 2^32 arguments");
        if let Some(layout) = rule.replayed
            && ids.iter().all(|id| id.is_active())
            && let Some(layout) = self.coded(layout)
        {
            let bytes = size_of_val(constants) + n * size_of::<M::Index>() + size_of::<u32>();
            if !rule.replays {
                self.keeps_partials();
            }
            return self.push(layout, (value, None), bytes, |record| {
                constants.iter().for_each(|constant| record.put(*constant));
                ids.iter().for_each(|id| record.put(narrow::<M>(id.index())));
                record.put(count);
            });
        }
        if K::VALUES {
            self.keeps_partials();
        }
        if rule.unit {
            return self.push_sum(ids, value);
        }
        let mut scratch = Scratch::<V>::of(arguments.iter().copied().flatten().map(|x| x.value));
        scratch.resize(2 * n, V::ZERO);
        let (values, partials) = scratch.split_at_mut(n);
        (rule.partials)(values, constants, partials);
        // If the function is linear in its active arguments, a layout of its own says so, as long as there is a code
        // for that; the bytes are the same.
        let is_active = ids.iter().map(|id| id.is_active());
        let linear = if K::VALUES && rule.curvature.is_linear_in(is_active.clone(), n) {
            self.coded(Common::<V, M::Index>::linear_partials(is_active.filter(|is_active| *is_active).count()))
        } else {
            None
        };
        self.push_partials((ids, partials), linear, (value, None))
    }

    /// Returns the layout, if its records have a code on this tape.
    fn coded(&mut self, layout: &'static Layout<V>) -> Option<&'static Layout<V>> {
        self.codes.code(layout).map(|_| layout)
    }

    /// Records the sum of the active ones of these variables.
    fn push_sum(&mut self, ids: &[LinearId<M::Index>], value: V) -> Result<LinearId<M::Index>, Refusal> {
        let active = || ids.iter().filter(|id| id.is_active());
        let n = active().count();
        let count = u32::try_from(n).expect("a statement has fewer than 2^32 arguments");
        let bytes = n * size_of::<M::Index>() + size_of::<u32>();
        self.push(Common::<V, M::Index>::ONES, (value, None), bytes, |record| {
            active().for_each(|id| record.put(narrow::<M>(id.index())));
            record.put(count);
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identifier::RecordingId;
    use crate::policy::Strict;
    use crate::rules::Curvature;
    use crate::tape::format::code_table::Codes;
    use crate::tape::read::cursor::Cursor;
    use crate::tape::read::record::Record;
    use crate::tape::store::recording::Values;
    use crate::{InMemory, Linear};

    /// A linear function.
    struct Twice;
    impl Nary<f64> for Twice {
        const CURVATURE: Curvature = Curvature::LINEAR;
        fn value(x: &[f64], _: &[f64]) -> f64 {
            x.iter().map(|x| 2.0 * x).sum()
        }
        fn partials(_: &[f64], _: &[f64], partials: &mut [f64]) {
            partials.fill(2.0);
        }
    }

    /// Assigns all codes that are left to layouts with at least this many arguments, of which there are no records;
    /// returns the number of these codes.
    fn take_all(codes: &mut Codes<f64>, arguments: usize) -> usize {
        let like = |n: usize| Layout { arguments: arguments + n, ..Layout::linear::<u32>(n % 28) };
        let each = (0..).map(|n| codes.code(Box::leak(Box::new(like(n)))));
        each.take_while(Option::is_some).count()
    }

    /// Records `Twice` of 1 to 40 variables and of a passive one, each twice. Returns the number of assigned codes, the
    /// bytes of all records, and the number of records whose layout is linear. If `full`, all codes are assigned
    /// before.
    fn recorded(full: bool) -> (usize, usize, usize) {
        let mut tape = Records::<f64, Linear, InMemory, Values>::default();
        tape.begin(RecordingId::of(7));
        if full {
            assert_eq!(take_all(&mut tape.codes, 1000), 208);
        }
        let mut x = vec![Taped { value: 1.0, id: Linear::passive() }];
        x.extend(tape.inputs(&[1.0; 40]).expect("room").map(|id| Taped { value: 1.0, id: Linear::adopt(id) }));
        let rule = Rule::of::<Strict, Twice, Linear, Values>();
        for n in (1..=40).chain(1..=40) {
            let ids: Vec<_> = x[..=n].iter().map(|x| Linear::raw(&x.id)).collect();
            tape.append_nary(&rule, &[&x[..=n]], &ids, &[], 2.0).expect("room");
        }
        let (mut bytes, mut linear) = (0, 0);
        let each = |record: &Record<'_, f64, u32>, _| {
            bytes += record.bytes();
            linear += usize::from(record.layout.curvature == Curvature::LINEAR);
        };
        Cursor::new(&tape).down(1, each).expect("in memory");
        (208 - take_all(&mut tape.codes, 2000), bytes, linear)
    }

    /// There is one code for each number of arguments up to 27, and one for all larger numbers.
    #[test]
    fn linear_functions_of_slices_have_codes_while_there_are_some() {
        let bytes = 2 * ((1..=40).map(|n| 1 + 12 * n).sum::<usize>() + 4 * 13);
        assert_eq!(recorded(false), (28, bytes, 80));
        assert_eq!(recorded(true), (208, bytes, 0), "the same bytes, and nothing is known");
    }
}
