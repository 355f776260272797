//! Hybrid taping: partials, or the means to recompute them, whichever is smaller.

use crate::contract::{AtExternal, SealedNests, Taped};
use crate::error::StorageError;
use crate::external::Mark;
use crate::identifier::{LinearId, RecordingId};
use crate::policy::{Policy, Strict};
use crate::storage::{InMemory, LayerOf, SpillDefaults, SpillOptions, SpillUsage, Spilled};
use crate::tape::{self, Layout, LayoutOf, Records, Values};
use crate::{
    Capacity, IndexManager, Linear, MemoryReport, Nary, Nests, Number, Reverse, Spills, Statement, SweepError, Taping,
    Whole,
};
use core::marker::PhantomData;

/// Hybrid taping: for each *type* of statement the smaller of two records, chosen by the compiler. One keeps the
/// partials, as [`Jacobian`](crate::Jacobian) does, the other the operands from which they are recomputed, as
/// [`PrimalValue`](crate::PrimalValue) does.
///
/// Any record may need any value, so the tape keeps the value of every variable. A statement with `a` active arguments,
/// `d` distinct partials and `c` `f64` operands takes exactly **9 + 4a + 8·min(d, c) bytes** (`f64` values, `u32`
/// identifiers), 8 of them for its value; where d = c, partials are kept, since they are faster to sweep. With `p`
/// passive arguments among `a` it takes 9 + 4a + 8d if d ≤ c and 9 + 4a + 8c + 8p if not, or 9 + 12(a − p) where that
/// is less. A statement therefore never takes more than under `PrimalValue`, and at most 8 bytes more than under
/// `Jacobian`. Functions of slices take the bytes that they take under `PrimalValue`. With [`Reuse`](crate::Reuse) each
/// statement takes 4 bytes more.
///
/// `V` is the value type, `M` the index management ([`Linear`] or [`Reuse`](crate::Reuse)), `L` the layer that stores
/// records ([`InMemory`], [`Shared`](crate::Shared) or [`Spilled`]), `P` the policy for derivatives at singular points.
#[derive(Clone, Copy, Debug)]
pub struct Hybrid<V = f64, M = Linear, L = InMemory, P = Strict>(PhantomData<(V, M, L, P)>);

impl<V: Number, M: IndexManager, L: LayerOf<V>, P: Policy> Taping for Hybrid<V, M, L, P> {
    tape::variables_by_manager!();

    tape::statements_by_layout!();

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], value: V) -> M::Id {
        tape::append_nary::<Self, R, V, M, L, _>(arguments, constants, value)
    }
}

impl<V: Number, M: IndexManager, L: LayerOf<V>, P: Policy, N: Statement<Self>> LayoutOf<N> for Hybrid<V, M, L, P> {
    const LAYOUT: &'static Layout<V> = &Layout::smaller::<Self, N::Back, M::Index>();
}

impl<V: Number, M: IndexManager, L: LayerOf<V>, P: Policy> Reverse for Hybrid<V, M, L, P> {
    tape::reverse_by_records!(Records<V, M, L, Values>);
}

tape::spills_by_records!(Hybrid);

impl<V: Whole, const BUFFER: usize, const SLAB: usize> SealedNests
    for Hybrid<V, Linear, InMemory<BUFFER, SLAB>, Strict>
{
    fn forbid_replays(tape: &mut Self::Tape) {
        tape.forbid_replays();
    }
}
impl<V: Whole, const BUFFER: usize, const SLAB: usize> Nests for Hybrid<V, Linear, InMemory<BUFFER, SLAB>, Strict> {}
