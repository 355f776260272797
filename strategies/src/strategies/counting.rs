//! Prediction of the memory of recordings.

use crate::contract::Taped;
use crate::identifier::{LinearId, RecordingId};
use crate::policy::{Policy, Strict};
use crate::tape::{self, Counters, StatementType};
use crate::{
    Capacity, IndexManager, Linear, MemoryReport, MemoryUsage, Nary, Number, Reverse, Statement, SweepError, Taping,
};
use core::marker::PhantomData;

/// Counts statements, arguments, partials and constants without recording them, and so predicts how many bytes each
/// taping strategy would take: [`Jacobian`](crate::Jacobian), [`PrimalValue`](crate::PrimalValue),
/// [`Hybrid`](crate::Hybrid) and [`Continuation`](crate::Continuation), on any layer.
///
/// The counts are in the tape: [`Counters::counts`]. With [`Linear`] indices they are the counts of tapes with linear
/// indices; with [`Reuse`](crate::Reuse), identifiers are reused as on tapes with this index management, and the counts
/// are those of such tapes. The tape takes some hundred bytes for each type of statement, whatever the number of
/// statements, and 4 bytes for each identifier that is reused.
///
/// The bytes are exact as long as a tape meets at most 208 types of statements; a statement of a further type may take
/// more or fewer bytes than counted. Where values are kept, a function of slices that is linear in its active arguments
/// and also has passive ones is a type for each number of active arguments up to 27, and one type for all larger
/// numbers.
///
/// Nothing can be swept: a sweep returns [`SweepError::Unsupported`].
///
/// ```
/// use tapewright_strategies::{Counting, Reverse, recording::{self, OwnedTape}, tape::Counted};
///
/// type S = Counting;
///
/// let mut tape = OwnedTape::<S>::new(Default::default());
/// tape.record(|number| recording::with::<S, _>(number, |tape| S::input(tape, 3.0)));
/// let counts = tape.tape().counts();
/// assert_eq!((counts.statements, counts.tape(Counted::Jacobian), counts.adjoints()), (0, 0, 16));
/// assert_eq!(counts.tape(Counted::PrimalValue), 16); // a value for each place in the adjoint vector
/// ```
///
/// `V` is the value type, `M` the index management, `P` the policy for derivatives at singular points.
#[derive(Clone, Copy, Debug)]
pub struct Counting<V = f64, M = Linear, P = Strict>(PhantomData<(V, M, P)>);

impl<V: Number, M: IndexManager, P: Policy> Taping for Counting<V, M, P> {
    tape::variables_by_manager!();

    #[inline]
    #[track_caller]
    fn record<N: Statement<Self>>(statement: &N) -> M::Id {
        tape::count::<Self, V, M, N>(const { &StatementType::of::<Self, N::Back, M>() }, statement)
    }

    #[inline]
    #[track_caller]
    fn assign<N: Statement<Self>>(variable: &mut Self::Variable, statement: &N) {
        tape::count_over::<Self, V, M, N>(const { &StatementType::of::<Self, N::Back, M>() }, variable, statement);
    }

    #[track_caller]
    fn record_nary<R: Nary<V>>(arguments: &[&[Self::Variable]], _: &[V], _: V) -> M::Id {
        tape::count_nary::<Self, R, V, M>(arguments)
    }
}

impl<V: Number, M: IndexManager, P: Policy> Reverse for Counting<V, M, P> {
    tape::inputs_by_manager!(Counters<V, M>);

    fn reverse(_: &Self::Tape, _: &mut [V]) -> Result<(), SweepError> {
        let what = String::from("`Counting` records nothing, so there is nothing to sweep");
        Err(SweepError::Unsupported { what })
    }

    fn reserve(_: &mut Self::Tape, _: Capacity) {}

    fn memory(tape: &Self::Tape) -> MemoryReport {
        let counts = tape.counts();
        MemoryReport::new(counts.statements, counts.active)
            .stream("tables", MemoryUsage::exact(size_of::<Self::Tape>()))
    }
}
