//! Taping for programs: primal values whose statements can be computed for many scenarios at once.

use crate::compound::InRegisters;
use crate::contract::{AtExternal, Comparison, Taped, Tree};
use crate::external::Mark;
use crate::identifier::{IndexType, LinearId, RecordingId};
use crate::policy::Strict;
use crate::recording;
use crate::storage::InMemory;
use crate::tape::{self, Layout, LayoutOf, Records, Values};
use crate::{Capacity, IndexManager, Linear, MemoryReport, Nary, Replay, Reverse, Statement, SweepError, Taping};
use core::marker::PhantomData;
use core::panic::Location;

/// Taping for [programs](crate::program): records of [`PrimalValue`](crate::PrimalValue), whose types of statements
/// are compiled for blocks of scenarios, too.
///
/// A statement takes as many bytes as under `PrimalValue`, and about four times as long to compile. `V` is `f64` or
/// `f32`, `M` the index management, which is [`Linear`] for programs.
#[derive(Clone, Copy, Debug)]
pub struct Instructions<V = f64, M = Linear>(PhantomData<(V, M)>);

// The names that macros for strategies expect.
type P = Strict;
type L = InMemory;

impl<V: InRegisters, M: IndexManager> Taping for Instructions<V, M> {
    tape::variables_by_manager!();

    tape::statements_by_layout!();

    tape::guards_by!(in_blocks);

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], constants: &[V], value: V) -> M::Id {
        if let Some(active) = const { R::REPLAYS }.then(|| all_active::<V, M>(arguments)).flatten() {
            let arguments: Vec<&[Self::Variable]> = active.iter().map(|piece| &piece[..]).collect();
            return tape::append_nary::<Self, R, V, M, L, _>(&arguments, constants, value);
        }
        tape::append_nary::<Self, R, V, M, L, _>(arguments, constants, value)
    }
}

type Pieces<V, M> = Vec<Vec<Taped<V, <M as IndexManager>::Id>>>;

/// Arguments of a function of slices with variables in place of the passive ones, so that its record says how to
/// compute it: to a program, a statement without arguments is a constant. `None` if all arguments are active, or none
/// belongs to a recording.
#[cold]
#[inline(never)]
#[track_caller]
fn all_active<V: InRegisters, M: IndexManager>(arguments: &[&[Taped<V, M::Id>]]) -> Option<Pieces<V, M>> {
    let is_active = |x: &Taped<V, M::Id>| M::raw(&x.id).is_active();
    let all = || arguments.iter().copied().flatten();
    if all().all(is_active) {
        return None;
    }
    let number = recording::common_number(all().map(|x| M::raw(&x.id)))?;
    Some(recording::with::<Instructions<V, M>, _>(number, |tape| {
        let mut variable = |x: &Taped<V, M::Id>| {
            if is_active(x) {
                return x.clone();
            }
            match tape.constant(x.value) {
                Ok(id) => Taped { value: x.value, id: M::adopt(id) },
                Err(refusal) => refusal.raise(),
            }
        };
        arguments.iter().map(|piece| piece.iter().map(&mut variable).collect()).collect()
    }))
}

impl<V: InRegisters, M: IndexManager, N: Statement<Self>> LayoutOf<N> for Instructions<V, M> {
    const LAYOUT: &'static Layout<V> = &Layout::in_blocks::<Self, N::Back, M::Index>();
}

impl<V: InRegisters, M: IndexManager> Reverse for Instructions<V, M> {
    tape::reverse_by_records!(Records<V, M, L, Values>);
}

impl<V: InRegisters, I: IndexType> Replay for Instructions<V, Linear<I>> {
    tape::replay_by_records!();
}
