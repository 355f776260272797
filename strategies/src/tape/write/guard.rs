//! Guards: comparisons that are recorded, and checked by replays.

use super::emit::Writer;
use super::slow::narrow;
use crate::contract::{Comparison, Store, Tree};
use crate::identifier::{LinearId, RecordingId};
use crate::storage::Layer;
use crate::tape::format::kind::misreported;
use crate::tape::format::layout::Layout;
use crate::tape::read::cursor::data_in;
use crate::tape::store::recording::Guard;
use crate::tape::store::recording::{Content, Records};
use crate::{IndexManager, Number, Reverse, SweepError, Taping, recording};
use core::panic::Location;
use smallvec::SmallVec;

/// Leaves and constants of one operand.
struct Ingredients<V, I: crate::identifier::IndexType> {
    leaves: SmallVec<[(V, LinearId<I>); 8]>,
    constants: SmallVec<[V; 8]>,
}

impl<S: Taping<Raw = LinearId<I>>, I: crate::identifier::IndexType> Store<S> for Ingredients<S::Value, I> {
    fn leaf(&mut self, value: S::Value, id: LinearId<I>) {
        self.leaves.push((value, id));
    }
    fn constant(&mut self, constant: S::Value) {
        self.constants.push(constant);
    }
}

/// Leaves a guard in each recording that keeps guards and has a variable in the comparison. Variables of other
/// recordings are constants in that guard.
///
/// # Panics
///
/// When a variable belongs to a recording that is not active on this thread, unless its value is read only, and when an
/// operand does not report as many items as its types give.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn guard<S, V, M, L, K, A, B>(
    left: &A,
    right: &B,
    layouts: [&'static Layout<V>; 2],
    comparison: Comparison,
    location: &'static Location<'static>,
) where
    S: Reverse<Tape = Records<V, M, L, K>, Value = V, Raw = LinearId<M::Index>>,
    V: Number,
    M: IndexManager,
    L: Layer,
    K: Content,
    A: Tree<S>,
    B: Tree<S>,
{
    let mut operands = [(); 2].map(|()| Ingredients { leaves: SmallVec::new(), constants: SmallVec::new() });
    left.store(&mut operands[0]);
    right.store(&mut operands[1]);
    for (operand, layout) in operands.iter().zip(layouts) {
        if (operand.leaves.len(), operand.constants.len()) != (layout.arguments, layout.payload) {
            misreported();
        }
    }
    let outcomes = comparison.outcomes(left.value(), right.value());
    let mut numbers: SmallVec<[RecordingId; 2]> = SmallVec::new();
    let active = operands.iter().flat_map(|operand| &operand.leaves).map(|(_, id)| id.number());
    active.filter(|number| *number != RecordingId::default()).for_each(|number| {
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    });
    // The value of a variable of an earlier recording is a constant.
    numbers.retain(|number| comparison != Comparison::Read || recording::keeps_guards(*number));
    for number in numbers {
        recording::with_guarded::<S>(number, |tape| {
            let known = tape.next;
            let [left, right] = &operands;
            let operands = [tape.write_operand(left, layouts[0], known), tape.write_operand(right, layouts[1], known)];
            tape.guards.list.push(Guard { number: known, comparison, outcomes: outcomes.clone(), location, operands });
        });
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Writes an operand of a comparison as the data of a record; variables of other recordings become constants.
    /// Returns the layout, and start and end of the data.
    fn write_operand(
        &mut self,
        Ingredients { leaves, constants }: &Ingredients<V, M::Index>,
        layout: &'static Layout<V>,
        known: u64,
    ) -> (&'static Layout<V>, usize, usize) {
        let is_known = |id: LinearId<M::Index>| id.within(self.number, known) && id.index() != 0;
        let passive = leaves.iter().rev().filter(|(_, id)| !is_known(*id));
        let start = self.guards.bytes.len();
        let end = start + layout.bytes + passive.clone().count() * size_of::<V>();
        let mut data = core::mem::take(&mut self.guards.bytes);
        data.resize(end, 0);
        let mut record = Writer::on(&mut data[start..]);
        passive.for_each(|(value, _)| record.put(*value));
        constants.iter().for_each(|constant| record.put(*constant));
        let index = |id: LinearId<M::Index>| if is_known(id) { id.index() } else { 0 };
        leaves.iter().for_each(|(_, id)| record.put(narrow::<M>(index(*id))));
        self.guards.bytes = data;
        (layout, start, end)
    }

    /// Fails unless a comparison comes out as recorded, at these values of variables, one for each identifier.
    pub(crate) fn check_guard(&self, guard: &Guard<V>, values: &[V]) -> Result<(), SweepError> {
        let [left, right] = guard.operands.map(|(layout, start, end)| {
            let data = data_in::<V, M::Index>(layout, &self.guards.bytes[start..end], layout.arguments, values.len());
            data.value(values).expect("what is compared can be computed")
        });
        if guard.comparison.outcomes(left, right) == guard.outcomes {
            return Ok(());
        }
        Err(SweepError::BranchChanged { file: guard.location.file().to_owned(), line: guard.location.line() })
    }
}
