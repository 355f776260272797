//! Where records live: segments from bumpalo, and the encoding of records in them.
//!
//! # Encoding
//!
//! A recording numbers its variables 1, 2, 3, …; each has one *code byte*, and a statement also has *data*. Both lie in the
//! same segment: data grows upwards from its start, code bytes downwards from its end, so that one comparison finds
//! room for both and nothing is wasted on a fixed ratio. The left-hand side of a statement is implicit.
//!
//! The data of a typed record are its payload (Jacobian: the distinct partials; primal value: the `f64` operands),
//! then the identifiers of its arguments. What function reverses it and how long it is, its code byte says, through a
//! table of at most 208 entries that fills as statement types are met. Records therefore hold no pointers, except
//! those that find the table full.
//!
//! Records are written in [`append`](mod@append) and [`records`], and read in [`layout`], [`patterns`] and [`walk`]. The
//! files of this module and of `active` are those in which unsafe code is allowed. The invariants that they rely on:
//!
//! * A code byte describes the bytes that were written with it, and `Layout`s never change.
//! * Every identifier in a record is below the identifier of its left-hand side: [`append`](fn@append) checks it, whatever the
//!   caller passes. An adjoint vector as long as the recording is therefore long enough.

mod append;
mod block;
mod continuations;
mod forward;
mod guards;
mod lanes;
mod layers;
mod layout;
mod patterns;
mod places;
mod plans;
mod prefetch;
mod records;
mod replay;
mod report;
mod segment;
mod slab_stack;
mod spilled;
mod table;
mod upward;
mod walk;

pub(crate) use append::{append, append_nary};
pub(crate) use block::Block;
pub use continuations::Continuations;
pub(crate) use continuations::{append_closure, append_nary_closure, append_user_closure};
pub(crate) use guards::guard;
pub use layers::{InMemory, Layer, Shared};
pub(crate) use layout::Layout;
pub use records::Records;
pub(crate) use records::usize_of;
pub use slab_stack::{Iter, IterMut, SlabStack, Slabs, SlabsMut};
pub use spilled::{SpillDefaults, Spilled, SystemDefaults};

/// The methods of [`Reverse`](crate::Reverse) that strategies over tapes of this module share.
macro_rules! reverse_by_arena {
    ($tape:ty, $spills:expr) => {
        type Tape = $tape;

        #[inline(always)]
        fn begin(tape: &mut Self::Tape, number: TapeNumber) {
            tape.begin(number);
        }

        #[inline]
        #[track_caller]
        fn input(tape: &mut Self::Tape, value: V) -> M::Id {
            match tape.input(value) {
                Ok(id) => M::adopt_pinned(id),
                Err(refusal) => refusal.raise(),
            }
        }

        #[inline]
        #[track_caller]
        fn inputs(tape: &mut Self::Tape, values: &[V], mut each: impl FnMut(V, M::Id)) {
            if let Err(refusal) = tape.inputs(values, |value, id| each(value, M::adopt_pinned(id))) {
                refusal.raise();
            }
        }

        #[inline(always)]
        fn locate(id: &M::Id) -> Option<(TapeNumber, usize)> {
            let id = M::raw(id);
            id.is_active().then(|| (id.number(), arena::usize_of(id.index())))
        }

        #[inline(always)]
        fn identifiers(tape: &Self::Tape) -> usize {
            tape.len()
        }

        const SPILLS: bool = $spills;

        fn array_file(tape: &Self::Tape) -> Option<&std::sync::Arc<crate::ArrayFile>> {
            tape.array_file()
        }

        const MARKS: bool = true;

        fn reverse(tape: &Self::Tape, adjoints: &mut [V]) -> Result<(), SweepError> {
            tape.reverse(adjoints)
        }

        #[track_caller]
        fn intermediate(tape: &mut Self::Tape, value: V) -> M::Id {
            match tape.intermediate(value) {
                Ok(id) => M::adopt(id),
                Err(refusal) => refusal.raise(),
            }
        }

        fn mark(tape: &Self::Tape) -> Mark {
            tape.mark()
        }

        fn reverse_through(
            tape: &Self::Tape,
            adjoints: &mut [V],
            ends: (Option<Mark>, Option<Mark>),
            stops: &mut dyn Iterator<Item = Mark>,
            at: &mut Stop<'_, V>,
        ) -> Result<(), SweepError> {
            tape.reverse_through(adjoints, ends, stops, at)
        }

        fn reverse_lanes_through(
            tape: &Self::Tape,
            lanes: usize,
            adjoints: &mut [V],
            ends: (Option<Mark>, Option<Mark>),
            stops: &mut dyn Iterator<Item = Mark>,
            at: &mut Stop<'_, V>,
        ) -> Result<(), SweepError> {
            tape.reverse_lanes_through(lanes, adjoints, ends, stops, at)
        }

        fn forward_through(
            tape: &Self::Tape,
            tangents: &mut [V],
            stops: &mut dyn Iterator<Item = Mark>,
            at: &mut Stop<'_, V>,
        ) -> Result<(), SweepError> {
            tape.forward_through(tangents, stops, at)
        }

        fn truncate(tape: &mut Self::Tape, mark: Mark) -> Result<(), SweepError> {
            tape.truncate(mark)
        }

        fn resume(tape: &mut Self::Tape, number: TapeNumber) {
            tape.resume(number);
        }

        fn renew(tape: &Self::Tape, id: &M::Id) -> M::Id {
            M::adopt_pinned(tape.renew(M::raw(id)))
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
pub(crate) use reverse_by_arena;

/// What strategies over [`Records`] can do when their records are spilled.
macro_rules! spills_by_records {
    ($strategy:ident) => {
        impl<V: Float, M: IndexManager, D: SpillDefaults, P: Policy> Spills for $strategy<V, M, Spilled<D>, P> {
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

/// The methods of [`Taping`](crate::Taping) that say what variables of strategies over [`Records`] are.
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

        #[track_caller]
        fn is_active(inputs: &[(V, &M::Id)]) -> bool {
            crate::active::recording_of::<Self>(inputs.iter().map(|(_, id)| *id)).is_some()
        }

        #[track_caller]
        fn record_external(
            inputs: &[(V, &M::Id)],
            outputs: &[V],
            rule: Box<dyn crate::External<V>>,
            each: &mut dyn FnMut(V, M::Id),
        ) {
            match crate::active::recording_of::<Self>(inputs.iter().map(|(_, id)| *id)) {
                Some(number) => crate::active::record_external::<Self>(number, inputs, outputs, rule, each),
                None => outputs.iter().for_each(|value| each(*value, M::passive())),
            }
        }

        #[track_caller]
        fn flow(arrays: &[&crate::Dependence<V>], inputs: &[(V, &M::Id)]) -> crate::Flow {
            crate::active::flow_of::<Self>(arrays, inputs)
        }

        #[track_caller]
        fn with_arrays(number: crate::TapeNumber, f: &mut dyn FnMut(&mut crate::Arrays<V>)) {
            crate::active::with_arrays::<Self, _>(number, f);
        }

        #[inline(always)]
        #[track_caller]
        fn make_room(number: crate::TapeNumber) {
            if <Self as crate::Reverse>::SPILLS {
                crate::active::make_room::<Self>(number);
            }
        }

        #[track_caller]
        fn record_launch(
            number: crate::TapeNumber,
            inputs: &[(V, &M::Id)],
            outputs: &[V],
            write: &mut dyn FnMut(&mut crate::lanes::Launched<V>),
            each: &mut dyn FnMut(V, M::Id),
        ) {
            crate::active::record_launch::<Self>(number, inputs, outputs, write, each);
        }

        #[track_caller]
        fn keep<C: crate::Companion + Default + Clone>(
            arrays: &[&crate::Dependence<V>],
            inputs: &[(V, &M::Id)],
        ) -> Option<C> {
            let crate::Flow::Recorded(number) = crate::active::flow_of::<Self>(arrays, inputs) else { return None };
            Some(crate::active::with_companion::<Self, C, _>(number, |companion| companion.clone()))
        }
    };
}
pub(crate) use variables_by_manager;
