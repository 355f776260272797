//! Comparisons that a replay must find as they were.

use super::layout::Layout;
use super::records::{Records, usize_of};
use crate::active;
use crate::{
    Comparison, Float, IndexManager, IndexType, Layer, LinearId, MemoryUsage, Reverse, Store, SweepError, TapeNumber,
    Taping, Tree,
};
use core::panic::Location;
use smallvec::SmallVec;

/// The guards of one recording, in the order of the comparisons.
pub(super) struct Guards<V: 'static, I> {
    pub(super) list: Vec<Guard<V>>,
    /// Values and identifiers of the leaves of all operands, one after the other; the identifier of a passive leaf is 0.
    values: Vec<V>,
    ids: Vec<I>,
    constants: Vec<V>,
}

/// One comparison.
pub(super) struct Guard<V: 'static> {
    /// The number of the first record behind it.
    pub(super) number: u64,
    comparison: Comparison,
    /// How it came out, as [`Comparison::outcome`] says.
    outcome: i8,
    location: &'static Location<'static>,
    /// What is compared, as statements, and where their leaves and constants begin.
    operands: [Operand<V>; 2],
}

struct Operand<V: 'static> {
    layout: &'static Layout<V>,
    leaves: usize,
    constants: usize,
}

impl<V, I> Guards<V, I> {
    pub(super) const fn new() -> Self {
        Self { list: Vec::new(), values: Vec::new(), ids: Vec::new(), constants: Vec::new() }
    }

    /// Forgets all guards but the first `kept`.
    pub(super) fn truncate(&mut self, kept: usize) {
        if let Some(Guard { operands: [Operand { leaves, constants, .. }, _], .. }) = self.list.get(kept) {
            self.values.truncate(*leaves);
            self.ids.truncate(*leaves);
            self.constants.truncate(*constants);
            self.list.truncate(kept);
        }
    }

    pub(super) fn memory(&self) -> MemoryUsage {
        let parts = [
            MemoryUsage::of_vec(&self.list),
            MemoryUsage::of_vec(&self.values),
            MemoryUsage::of_vec(&self.ids),
            MemoryUsage::of_vec(&self.constants),
        ];
        let total = |part: fn(&MemoryUsage) -> usize| parts.iter().map(part).sum();
        MemoryUsage { used: total(|part| part.used), reserved: total(|part| part.reserved) }
    }
}

/// Leaves and constants of one operand.
struct Ingredients<V, I: IndexType> {
    leaves: SmallVec<[(V, LinearId<I>); 8]>,
    constants: SmallVec<[V; 8]>,
}

impl<S: Taping<Raw = LinearId<I>>, I: IndexType> Store<S> for Ingredients<S::Value, I> {
    fn leaf(&mut self, value: S::Value, id: LinearId<I>) {
        self.leaves.push((value, id));
    }
    fn constant(&mut self, constant: S::Value) {
        self.constants.push(constant);
    }
}

/// Leaves a guard in each recording that keeps guards and has a variable in the comparison. Variables of other recordings are
/// constants to it.
///
/// # Panics
///
/// When a variable is of a recording that is not active on this thread.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn guard<S, V, M, L, A, B>(
    left: &A,
    right: &B,
    layouts: [&'static Layout<V>; 2],
    comparison: Comparison,
    location: &'static Location<'static>,
) where
    S: Reverse<Tape = Records<V, M, L, true>, Value = V, Raw = LinearId<M::Index>>,
    V: Float,
    M: IndexManager,
    L: Layer,
    A: Tree<S>,
    B: Tree<S>,
{
    let mut operands = [(); 2].map(|()| Ingredients { leaves: SmallVec::new(), constants: SmallVec::new() });
    left.store(&mut operands[0]);
    right.store(&mut operands[1]);
    let outcome = comparison.outcome(left.value(), right.value());
    let mut numbers: SmallVec<[TapeNumber; 2]> = SmallVec::new();
    let active = operands.iter().flat_map(|operand| &operand.leaves).map(|(_, id)| id.number());
    active.filter(|number| *number != TapeNumber::default()).for_each(|number| {
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    });
    for number in numbers {
        active::with_guarded::<S>(number, |tape| {
            let known = tape.next;
            let Guards { list, values, ids, constants } = &mut tape.guards;
            let mut layouts = layouts.into_iter();
            let operands = operands.each_ref().map(|operand| {
                let layout = layouts.next().expect("there are two");
                let described = Operand { layout, leaves: values.len(), constants: constants.len() };
                values.extend(operand.leaves.iter().map(|(value, _)| *value));
                let index = |id: LinearId<M::Index>| if id.within(number, known) { id.index() } else { 0 };
                ids.extend(operand.leaves.iter().map(|(_, id)| M::Index::narrow(index(*id))));
                constants.extend(&operand.constants);
                described
            });
            list.push(Guard { number: known, comparison, outcome, location, operands });
        });
    }
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// Fails unless a comparison comes out as it did, at these values of variables.
    pub(super) fn check_guard(&self, guard: &Guard<V>, values: &[V]) -> Result<(), SweepError> {
        let [left, right] = guard.operands.each_ref().map(|operand| {
            let Operand { layout, leaves, constants } = operand;
            let ids = self.guards.ids[*leaves..][..layout.arguments].iter().map(|id| usize_of(id.widen()));
            let kept = &self.guards.values[*leaves..][..layout.arguments];
            let arguments: SmallVec<[V; 16]> =
                ids.zip(kept).map(|(id, kept)| if id == 0 { *kept } else { values[id] }).collect();
            layout.value_at::<M::Index>(&self.guards.constants[*constants..][..layout.payload], &arguments)
        });
        if guard.comparison.outcome(left, right) == guard.outcome {
            return Ok(());
        }
        Err(SweepError::BranchChanged { file: guard.location.file().to_owned(), line: guard.location.line() })
    }
}
