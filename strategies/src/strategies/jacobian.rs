//! Jacobian taping: partials are computed while recording.

use crate::contract::{AtExternal, SealedNests, Sink, Store, Taped};
use crate::error::StorageError;
use crate::external::Mark;
use crate::identifier::{LinearId, RecordingId};
use crate::policy::{Policy, Strict};
use crate::storage::{InMemory, LayerOf, SpillDefaults, SpillOptions, SpillUsage, Spilled};
use crate::tape::{self, Layout, LayoutOf, Partials, Records};
use crate::{
    Capacity, IndexManager, Linear, MemoryReport, Nary, Nests, Number, Reverse, Spills, Statement, SweepError, Taping,
    Whole,
};
use core::marker::PhantomData;

/// Jacobian taping: a record keeps the partials of its statement, which are computed when the statement is evaluated;
/// the sweep consists of multiply-adds only.
///
/// A statement with `a` arguments whose partials are `d` distinct values other than ±1 takes exactly **1 + 8d + 4a
/// bytes** (`f64` values, `u32` identifiers; d ≤ a follows from the operators, see [`Shape`](crate::shape::Shape)).
/// With passive arguments in it, a statement takes 1 + 12a for its `a` active ones, and 5 + 12a when a > 27; its
/// passive arguments take no bytes. A sum over a slice takes 5 + 4a for its active arguments, other functions of slices
/// as many bytes as a statement with passive arguments. If one tape meets more than 208 different shapes that are not
/// among the most frequent ones, statements of further shapes take 1 + 12a. With [`Reuse`](crate::Reuse) each statement
/// takes 4 bytes more. Inputs that are registered before the first statement take no bytes; with [`Linear`] indices
/// later ones take 1 byte each, several in one call 5.
///
/// `V` is the value type, `M` the index management ([`Linear`] or [`Reuse`](crate::Reuse)), `L` the layer that stores
/// records ([`InMemory`], [`Shared`](crate::Shared) or [`Spilled`]), `P` the policy for derivatives at singular points.
#[derive(Clone, Copy, Debug)]
pub struct Jacobian<V = f64, M = Linear, L = InMemory, P = Strict>(PhantomData<(V, M, L, P)>);

impl<V: Number, M: IndexManager, L: LayerOf<V>, P: Policy> Taping for Jacobian<V, M, L, P> {
    tape::variables_by_manager!();

    tape::statements_by_layout!();

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], value: V) -> M::Id {
        tape::append_nary::<Self, R, V, M, L, _>(arguments, constants, value)
    }
}

impl<V: Number, M: IndexManager, L: LayerOf<V>, P: Policy, N: Statement<Self>> LayoutOf<N> for Jacobian<V, M, L, P> {
    const LAYOUT: &'static Layout<V> = &Layout::scatter::<N::Shape, M::Index>();

    #[inline(always)]
    fn hold(statement: &N, sink: &mut (impl Sink<Self> + Store<Self>)) {
        statement.backward(V::ONE, sink);
    }
}

impl<V: Number, M: IndexManager, L: LayerOf<V>, P: Policy> Reverse for Jacobian<V, M, L, P> {
    tape::reverse_by_records!(Records<V, M, L, Partials>);
}

tape::spills_by_records!(Jacobian);

impl<V: Whole, const BUFFER: usize, const SLAB: usize> SealedNests
    for Jacobian<V, Linear, InMemory<BUFFER, SLAB>, Strict>
{
    fn forbid_replays(tape: &mut Self::Tape) {
        tape.forbid_replays();
    }
}
impl<V: Whole, const BUFFER: usize, const SLAB: usize> Nests for Jacobian<V, Linear, InMemory<BUFFER, SLAB>, Strict> {}
