//! Primal-value taping: partials are recomputed in sweeps.

use crate::contract::{AtExternal, Comparison, SealedNests, Taped, Tree};
use crate::error::StorageError;
use crate::external::Mark;
use crate::identifier::{IndexType, LinearId, RecordingId};
use crate::policy::{Policy, Strict};
use crate::recording;
use crate::storage::{InMemory, LayerOf, SpillDefaults, SpillOptions, SpillUsage, Spilled};
use crate::tape::{self, Layout, LayoutOf, Records, Values};
use crate::{
    Capacity, IndexManager, Linear, MemoryReport, Nary, Nests, Number, Replay, Reverse, Spills, Statement, SweepError,
    Taping, Whole,
};
use core::marker::PhantomData;
use core::panic::Location;

/// Primal-value taping: the tape keeps the value of every variable once, and a record keeps the identifiers of the
/// variables and the `f64` operands that its statement used; the sweep rebuilds the statement and recomputes its
/// partials.
///
/// A statement with `a` arguments of which `p` are passive and `c` `f64` operands takes exactly **9 + 4a + 8c + 8p
/// bytes** (`f64` values, `u32` identifiers), 8 of them for its value, where passive arguments count in `a` too. A
/// function of slices takes 13 + 4a, plus 8a if it has constants; if some of its arguments are passive, 9 + 12a for its
/// `a` active ones, 13 + 12a when a > 27, and 13 + 4a if it is a sum. If one tape meets more than 208 different
/// statement types, statements of further types take 8 bytes more; a function of slices that is linear in its active
/// arguments and also has passive ones counts as a type for each `a` up to 27, and as one for all larger `a`. With
/// [`Reuse`](crate::Reuse) each statement takes 4 bytes more: its record keeps the earlier value of its identifier, and
/// the tape keeps values for the maximum number of variables that were alive at the same time, not for every variable.
///
/// `V` is the value type, `M` the index management ([`Linear`] or [`Reuse`](crate::Reuse)), `L` the layer that stores
/// records ([`InMemory`], [`Shared`](crate::Shared) or [`Spilled`]), `P` the policy for derivatives at singular points.
#[derive(Clone, Copy, Debug)]
pub struct PrimalValue<V = f64, M = Linear, L = InMemory, P = Strict>(PhantomData<(V, M, L, P)>);

impl<V: Number, M: IndexManager, L: LayerOf<V>, P: Policy> Taping for PrimalValue<V, M, L, P> {
    tape::variables_by_manager!();

    tape::statements_by_layout!();

    tape::guards_by!(replay);

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], value: V) -> M::Id {
        tape::append_nary::<Self, R, V, M, L, _>(arguments, constants, value)
    }
}

impl<V: Number, M: IndexManager, L: LayerOf<V>, P: Policy, N: Statement<Self>> LayoutOf<N> for PrimalValue<V, M, L, P> {
    const LAYOUT: &'static Layout<V> = &Layout::replay::<Self, N::Back, M::Index>();
}

impl<V: Number, M: IndexManager, L: LayerOf<V>, P: Policy> Reverse for PrimalValue<V, M, L, P> {
    tape::reverse_by_records!(Records<V, M, L, Values>);
}

impl<V: Number, I: IndexType, L: LayerOf<V>, P: Policy> Replay for PrimalValue<V, Linear<I>, L, P> {
    tape::replay_by_records!();
}

tape::spills_by_records!(PrimalValue);

impl<V: Whole, const BUFFER: usize, const SLAB: usize> SealedNests
    for PrimalValue<V, Linear, InMemory<BUFFER, SLAB>, Strict>
{
    fn forbid_replays(tape: &mut Self::Tape) {
        tape.forbid_replays();
    }
}
impl<V: Whole, const BUFFER: usize, const SLAB: usize> Nests
    for PrimalValue<V, Linear, InMemory<BUFFER, SLAB>, Strict>
{
}
