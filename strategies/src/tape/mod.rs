//! Tapes: records in one stream, how they are written, and the sweeps that read them.
//!
//! ```text
//! strategy::record ──▶ write ──▶ store ◀── read ◀── sweep ◀── recording::owned ◀── the engine's Tape
//!                        └──▶ format ◀──────┘         (count: bytes without a recording)
//! ```
//!
//! Rooms, each importing from those before it only: `format`, `store`, `read`, `write`, `sweep`, `count`. Read
//! `format::kind`, `write::fast` and `sweep::single` first: they are the path of one statement to its adjoint.
//!
//! # Encoding
//!
//! A recording numbers its variables 1, 2, 3, …; each variable has a *record*. With linear indices the number of a
//! record is the identifier of its variable, so that the left-hand side of a statement is implicit. Records are stored
//! one behind the other in segments, and are read from their end:
//!
//! | part | bytes |
//! |---|---|
//! | payload: the distinct partials, or the `f64` operands | 8 for each |
//! | identifiers of the arguments | 4 for each |
//! | how many there are, if the statement's type does not say it | 4 |
//! | what the statement overwrites, where identifiers are reused: the value, if values are kept, and the identifier |
//! 8, 4 |
//! | the code: what all of this is | 1 |
//!
//! External functions and launches of kernels are records, too: the index in the list of entries outside the tape, and
//! the number of variables that it makes, 4 bytes each, and the code. A sweep that reaches such a record calls back to
//! its caller.
//!
//! A code stands for a `Layout`: the length of the record, and the functions that read it, compiled for the type of
//! the statement. A tape has a table of codes, `format::code_table`; records of closures have the address of the layout
//! instead of a code. Inputs that come before all statements have no records; later inputs have a code.
//!
//! Records are written in place by `write::fast`, or by `write::emit`. `read::cursor` decodes them for all purposes
//! except the sweeps with one vector, `sweep::single`, and statements that `read::steps` has listed. The content of a
//! record and its derivative are a kind (`format::kind`), in safe code; the functions made from a kind,
//! `format::entry_points`, read the data of a record. These seven files have the unsafe code. The invariants that it
//! relies on:
//!
//! * A code describes the bytes that were written with it, and layouts never change.
//! * Every identifier in a record is below the identifier of its left-hand side: the writer checks this, whatever the
//!   caller passes. An adjoint vector as long as the recording is therefore long enough.

pub(crate) mod count;
pub(crate) mod format;
pub(crate) mod read;
pub(crate) mod store;
pub(crate) mod sweep;
pub(crate) mod write;

#[cfg(test)]
mod tests;

pub use count::counters::Counters;
pub(crate) use count::counters::{StatementType, count, count_nary, count_over};
pub use count::counts::{Counted, Counts};
pub(crate) use format::layout::{Layout, LayoutOf};
pub use store::recording::{Closures, Content, Partials, Records, Values};
pub(crate) use write::guard::guard;
pub(crate) use write::policy::{append, append_nary, append_over};
pub(crate) use write::slow::append_closure;

/// A recording of [`Continuation`](crate::Continuation).
pub type Continuations<V, M> = Records<V, M, crate::InMemory, Closures>;

/// Converts an identifier to an index. Identifiers index memory, so they fit.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "memory of that length exists")]
pub(crate) const fn usize_of(index: u64) -> usize {
    index as usize
}

/// Expands to the methods of [`Taping`](crate::Taping) that record statements, of a strategy whose records have
/// layouts.
macro_rules! statements_by_layout {
    () => {
        #[inline(always)]
        #[track_caller]
        fn record<N: Statement<Self>>(statement: &N) -> M::Id {
            tape::append::<Self, V, M, L, _, N>(statement)
        }

        #[inline(always)]
        #[track_caller]
        fn assign<N: Statement<Self>>(variable: &mut Self::Variable, statement: &N) {
            tape::append_over::<Self, V, M, L, _, N>(variable, statement);
        }
    };
}
pub(crate) use statements_by_layout;

/// Expands to the items of [`Taping`](crate::Taping) on guards of a strategy whose recordings can be replayed. The
/// constructor of [`Layout`] makes the layouts of the operands.
macro_rules! guards_by {
    ($layout:ident) => {
        const KEEPS_GUARDS: bool = !M::REUSES;

        #[track_caller]
        fn length_if_guarded(arrays: &[&crate::contract::Dependence<V>], inputs: &[(V, &M::Id)]) -> Option<usize> {
            recording::length_if_guarded::<Self>(recording::flow_of::<Self>(arrays, inputs))
        }

        #[inline(always)]
        #[track_caller]
        fn compare<A: Tree<Self>, B: Tree<Self>>(left: &A, right: &B, comparison: Comparison) {
            if !M::REUSES && recording::guards() {
                let layouts = const {
                    [
                        &Layout::$layout::<Self, A::Back, M::Index>() as &'static Layout<V>,
                        &Layout::$layout::<Self, B::Back, M::Index>(),
                    ]
                };
                tape::guard::<Self, V, M, L, _, A, B>(left, right, layouts, comparison, Location::caller());
            }
        }
    };
}
pub(crate) use guards_by;

/// Expands to the methods of [`Replay`](crate::Replay) of a strategy whose tape keeps values.
macro_rules! replay_by_records {
    () => {
        fn values(tape: &Self::Tape) -> &[V] {
            tape.all_values()
        }

        fn values_mut(tape: &mut Self::Tape) -> &mut [V] {
            tape.all_values_mut()
        }

        fn has_no_statement(tape: &Self::Tape, slot: usize) -> Result<bool, SweepError> {
            tape.has_no_statement(slot)
        }

        fn can_be_replayed(tape: &Self::Tape) -> Result<(), SweepError> {
            tape.can_be_replayed()
        }

        fn singular(tape: &Self::Tape) -> Result<Option<&'static str>, SweepError> {
            tape.singular()
        }

        fn replay_through(tape: &mut Self::Tape, guarded: bool, at: &mut AtExternal<'_, V>) -> Result<(), SweepError> {
            tape.replay_through(guarded, at)
        }
    };
}
pub(crate) use replay_by_records;

/// Expands to the methods of [`Reverse`](crate::Reverse) by which recordings make variables.
macro_rules! inputs_by_manager {
    ($tape:ty) => {
        type Tape = $tape;

        #[inline(always)]
        fn begin(tape: &mut Self::Tape, number: RecordingId) {
            tape.begin(number);
        }

        #[inline]
        #[track_caller]
        fn input(tape: &mut Self::Tape, value: V) -> M::Id {
            match tape.inputs(&[value]) {
                Ok(mut ids) => M::adopt_pinned(ids.next().expect("there is one")),
                Err(refusal) => refusal.raise(),
            }
        }

        #[inline]
        #[track_caller]
        fn inputs<T>(
            tape: &mut Self::Tape,
            values: &[V],
            variable: impl Fn(V, M::Id) -> T,
            variables: &mut Vec<T>,
        ) -> Option<usize> {
            let make = |(value, id): (&V, _)| variable(*value, M::adopt_pinned(id));
            match tape.inputs(values) {
                Ok(ids) => variables.extend(values.iter().zip(ids).map(make)),
                Err(refusal) => refusal.raise(),
            }
            Some(tape.len() - values.len())
        }

        #[inline(always)]
        fn locate(id: &M::Id) -> Option<(RecordingId, usize)> {
            let id = M::raw(id);
            id.is_active().then(|| (id.number(), crate::tape::usize_of(id.index())))
        }

        #[inline(always)]
        fn identifiers(tape: &Self::Tape) -> usize {
            tape.len()
        }

        #[track_caller]
        fn external(tape: &mut Self::Tape, external: u32, results: &[V], each: &mut dyn FnMut(M::Id)) {
            if let Err(refusal) = tape.external(external, results, |id| each(M::adopt(id))) {
                refusal.raise()
            }
        }
    };
}
pub(crate) use inputs_by_manager;

/// Expands to the methods of [`Reverse`](crate::Reverse) that strategies over [`Records`] share.
macro_rules! reverse_by_records {
    ($tape:ty) => {
        crate::tape::inputs_by_manager!($tape);

        const SPILLS: bool = <$tape>::SPILLS;

        fn array_file(tape: &Self::Tape) -> Option<&std::sync::Arc<crate::storage::ArrayFile>> {
            tape.array_file()
        }

        const MARKS: bool = true;

        fn reverse(tape: &Self::Tape, adjoints: &mut [V]) -> Result<(), SweepError> {
            tape.reverse(adjoints)
        }

        fn mark(tape: &Self::Tape) -> Mark {
            tape.mark()
        }

        fn reverse_through(
            tape: &Self::Tape,
            adjoints: &mut [V],
            ends: (Option<Mark>, Option<Mark>),
            at: &mut AtExternal<'_, V>,
        ) -> Result<(), SweepError> {
            tape.reverse_through(adjoints, ends, at)
        }

        fn reverse_lanes_through(
            tape: &Self::Tape,
            lanes: usize,
            adjoints: &mut [V],
            ends: (Option<Mark>, Option<Mark>),
            at: &mut AtExternal<'_, V>,
        ) -> Result<(), SweepError> {
            tape.reverse_lanes_through(lanes, adjoints, ends, at)
        }

        fn forward_through(
            tape: &Self::Tape,
            lanes: usize,
            tangents: &mut [V],
            at: &mut AtExternal<'_, V>,
        ) -> Result<(), SweepError> {
            tape.forward_through(lanes, tangents, at)
        }

        fn truncate(tape: &mut Self::Tape, mark: Mark) -> Result<(), SweepError> {
            tape.truncate(mark)
        }

        fn resume(tape: &mut Self::Tape, number: RecordingId) {
            tape.resume(number);
        }

        fn renew(tape: &Self::Tape, id: &M::Id) -> M::Id {
            M::adopt_pinned(tape.renew(M::raw(id)))
        }

        fn next_record(tape: &Self::Tape) -> usize {
            tape.next_record()
        }

        fn outline(
            tape: &Self::Tape,
            entries: &crate::outline::Entries<'_>,
        ) -> Result<Option<crate::outline::Outline>, SweepError> {
            tape.outline(entries)
        }

        fn records_behind(tape: &Self::Tape, slots: &mut dyn Iterator<Item = usize>) -> usize {
            tape.records_behind(slots)
        }

        fn reverse_outlined(
            tape: &Self::Tape,
            vectors: (usize, &mut [V]),
            seeds: (&crate::outline::Outline, &mut dyn Iterator<Item = usize>),
            at: &mut AtExternal<'_, V>,
        ) -> Result<crate::outline::Touched, SweepError> {
            tape.reverse_outlined(vectors, seeds, at)
        }

        fn reverse_rows(
            tape: &Self::Tape,
            adjoints: &mut [V],
            rows: crate::rows::RowSweep<'_, V>,
        ) -> Result<Option<usize>, SweepError> {
            tape.reverse_rows(adjoints, rows)
        }

        fn visit(
            tape: &Self::Tape,
            order: crate::contract::Order,
            each: &mut crate::contract::EachRecord<'_, V>,
        ) -> Result<(), SweepError> {
            tape.visit(order, each)
        }

        fn prepare(tape: &mut Self::Tape) -> usize {
            tape.prepare()
        }

        #[track_caller]
        fn reserve(tape: &mut Self::Tape, capacity: Capacity) {
            tape.reserve(capacity);
        }

        fn memory(tape: &Self::Tape) -> MemoryReport {
            tape.memory()
        }
    };
}
pub(crate) use reverse_by_records;

/// Implements [`Spills`](crate::Spills) for a strategy over [`Records`] on spilled storage.
macro_rules! spills_by_records {
    ($strategy:ident) => {
        impl<V: crate::Plain, M: IndexManager, D: SpillDefaults, P: Policy> Spills for $strategy<V, M, Spilled<D>, P> {
            fn spilled(options: SpillOptions) -> Result<Self::Tape, StorageError> {
                Records::spilled(options)
            }

            fn usage(tape: &Self::Tape) -> SpillUsage {
                tape.usage()
            }
        }
    };
}
pub(crate) use spills_by_records;

/// Expands to the methods of [`Taping`](crate::Taping) that define the variables of strategies over [`Records`].
macro_rules! variables_by_manager {
    () => {
        type Value = V;
        type Id = M::Id;
        type Raw = LinearId<M::Index>;
        type Variable = Taped<V, M::Id>;
        type Policy = P;

        #[inline(always)]
        fn passive() -> M::Id {
            M::passive()
        }

        #[inline(always)]
        fn raw(id: &M::Id) -> LinearId<M::Index> {
            M::raw(id)
        }

        fn note_branch(branch: &crate::contract::Branch<'_, V, LinearId<M::Index>>) {
            crate::recording::note_branch::<Self>(branch, LinearId::number);
        }

        #[track_caller]
        fn is_active(inputs: &[(V, &M::Id)]) -> bool {
            crate::recording::recording_of::<Self>(inputs.iter().map(|(_, id)| *id)).is_some()
        }

        #[track_caller]
        fn record_external(
            inputs: &[(V, &M::Id)],
            outputs: &[V],
            rule: Box<dyn crate::External<V>>,
            each: &mut dyn FnMut(V, M::Id),
        ) {
            match crate::recording::recording_of::<Self>(inputs.iter().map(|(_, id)| *id)) {
                Some(number) => crate::recording::record_external::<Self>(number, inputs, outputs, rule, each),
                None => outputs.iter().for_each(|value| each(*value, M::passive())),
            }
        }

        #[track_caller]
        fn are_active(pieces: &[&[Self::Variable]]) -> bool {
            crate::recording::are_active::<Self>(pieces)
        }

        #[track_caller]
        fn record_external_of(
            pieces: &[&[Self::Variable]],
            outputs: &[V],
            rule: Box<dyn crate::External<V>>,
            each: &mut dyn FnMut(V, M::Id),
        ) {
            crate::recording::record_external_of::<Self>(pieces, outputs, rule, each);
        }

        #[track_caller]
        fn flow(arrays: &[&crate::contract::Dependence<V>], inputs: &[(V, &M::Id)]) -> crate::contract::Flow {
            crate::recording::flow_of::<Self>(arrays, inputs)
        }

        fn innermost() -> crate::contract::Flow {
            crate::recording::innermost_flow::<Self>()
        }

        #[track_caller]
        fn with_arrays(number: crate::identifier::RecordingId, f: &mut dyn FnMut(&mut crate::external::Arrays<V>)) {
            crate::recording::with_arrays::<Self, _>(number, f);
        }

        #[inline(always)]
        #[track_caller]
        fn make_room(number: crate::identifier::RecordingId) {
            if <Self as crate::Reverse>::SPILLS {
                crate::recording::make_room::<Self>(number);
            }
        }

        #[track_caller]
        fn record_launch(
            number: crate::identifier::RecordingId,
            inputs: &[(V, &M::Id)],
            outputs: &[V],
            write: &mut dyn FnMut(&mut crate::kernel::launch::LaunchSlot<'_, V>),
            each: &mut dyn FnMut(V, M::Id),
        ) {
            crate::recording::record_launch::<Self>(number, inputs, outputs, write, each);
        }

        #[track_caller]
        fn keep<C: crate::external::TapeCache + Default + Clone>(
            arrays: &[&crate::contract::Dependence<V>],
            inputs: &[(V, &M::Id)],
        ) -> Option<C> {
            let crate::contract::Flow::Recorded(number) = crate::recording::flow_of::<Self>(arrays, inputs) else {
                return None;
            };
            Some(crate::recording::with_cache::<Self, C, _>(number, |cache| cache.clone()))
        }
    };
}
pub(crate) use variables_by_manager;
