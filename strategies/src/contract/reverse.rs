//! The contract for strategies that keep a tape.

use crate::scratch::Scratch;
use crate::{
    ArrayFile, Capacity, EachRecord, Mark, MemoryReport, Order, RecordingId, SpillOptions, SpillUsage, StorageError,
    SweepError, Taping,
};
use core::ops::Range;
use std::sync::Arc;

/// A [`Taping`] strategy that keeps a tape and can be swept in reverse.
///
/// Identifiers are numbered from 1 within a recording; slot 0 of an adjoint vector belongs to passive variables and
/// is never read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` keeps no tape, so there is nothing to sweep",
    label = "a strategy that can be swept is needed here",
    note = "use a taping strategy such as `Jacobian` or `PrimalValue`; `Passive` computes values only"
)]
pub trait Reverse: Taping {
    /// The memory of one recording; kept and reused from recording to recording.
    type Tape: Default + Send + 'static;

    /// Whether records may be written to disk. If so, statements and inputs may panic as
    /// [`catch_storage_errors`](crate::catch_storage_errors) catches it.
    const SPILLS: bool = false;

    /// Whether the strategy keeps track of places in a recording: see [`mark`](Self::mark).
    const MARKS: bool = false;

    /// Where arrays go that leave memory, of strategies that [spill](Self::SPILLS); `None` if arrays stay in memory.
    fn array_file(tape: &Self::Tape) -> Option<&Arc<ArrayFile>> {
        let _ = tape;
        None
    }

    /// Starts a new, empty recording with this number. Memory is kept.
    fn begin(tape: &mut Self::Tape, number: RecordingId);

    /// Registers an independent variable.
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers.
    fn input(tape: &mut Self::Tape, value: Self::Value) -> Self::Id;

    /// Registers an independent variable for each value, all or none of them, and appends what `variable` makes of
    /// values and identifiers, in order. Returns the slot of the first if it is known that the others' slots follow
    /// it one by one.
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers.
    #[inline]
    #[track_caller]
    fn inputs<T>(
        tape: &mut Self::Tape,
        values: &[Self::Value],
        variable: impl Fn(Self::Value, Self::Id) -> T,
        variables: &mut Vec<T>,
    ) -> Option<usize> {
        variables.extend(values.iter().map(|value| variable(*value, Self::input(tape, *value))));
        None
    }

    /// The recording that an identifier belongs to and its slot in the adjoint vector; `None` if passive.
    fn locate(id: &Self::Id) -> Option<(RecordingId, usize)>;

    /// The length that an adjoint vector of this recording must have: 1 + the largest identifier.
    fn identifiers(tape: &Self::Tape) -> usize;

    /// Propagates `adjoints` (seeded by the caller, zero elsewhere) from the last statement to the first, of a
    /// recording without [external functions](Self::external).
    ///
    /// Afterwards the slots of inputs hold their adjoints and every other slot, except slot 0, is 0. A statement adds
    /// adjoint·partial to the adjoint of each argument, where the partial is ∂statement/∂argument, and zero times
    /// anything is zero: nothing is added where one of them is exactly 0 and the other infinite or NaN.
    ///
    /// # Errors
    ///
    /// When records that are not in memory cannot be read, and [`SweepError::Unsupported`] when there is an external
    /// function. The adjoints are then of no use; the recording stays as it is.
    ///
    /// # Panics
    ///
    /// When `adjoints` is shorter than [`identifiers`](Self::identifiers).
    fn reverse(tape: &Self::Tape, adjoints: &mut [Self::Value]) -> Result<(), SweepError>;

    /// The place behind the last statement.
    ///
    /// Strategies need no places: this and the methods below it may be left out. Positions, external functions and
    /// checkpoints then panic. Those that do have them implement all of these methods and say so by
    /// [`MARKS`](Self::MARKS), and the conformance kit tests them.
    ///
    /// # Panics
    ///
    /// When the strategy keeps no track of places. Those that do also have [`reverse_through`](Self::reverse_through).
    #[track_caller]
    fn mark(tape: &Self::Tape) -> Mark {
        let _ = tape;
        no_marks::<Self>()
    }

    /// Records that an external function was called here, or a launch: its number, and the values of its results, each
    /// of which becomes a variable whose derivatives are propagated elsewhere. `each` is given their identifiers in
    /// order. They may be used again when the variables are gone.
    ///
    /// The number means nothing to the strategy. Every sweep, between two marks, forward or again, that comes by hands
    /// it to [whoever asked for the sweep](AtExternal), at its place among the statements.
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers; nothing is recorded then except variables that are used nowhere. And as
    /// [`mark`](Self::mark).
    #[track_caller]
    fn external(tape: &mut Self::Tape, external: u32, results: &[Self::Value], each: &mut dyn FnMut(Self::Id)) {
        let _ = (tape, external, results, each);
        no_marks::<Self>()
    }

    /// [`reverse`](Self::reverse) from the first mark of `ends` (the end of the recording if it is `None`) down to the
    /// second (the start). Where an [external function](Self::external) was recorded, `at` is called.
    ///
    /// # Errors
    ///
    /// As `reverse`, and the errors of `at`.
    ///
    /// # Panics
    ///
    /// As `reverse`, and as [`mark`](Self::mark).
    #[track_caller]
    fn reverse_through(
        tape: &Self::Tape,
        adjoints: &mut [Self::Value],
        ends: (Option<Mark>, Option<Mark>),
        at: &mut AtExternal<'_, Self::Value>,
    ) -> Result<(), SweepError> {
        let _ = (tape, adjoints, ends, at);
        no_marks::<Self>()
    }

    /// [`reverse_through`](Self::reverse_through) with several adjoint vectors, *lanes*, at once: the adjoint of
    /// identifier `i` in lane `l` is `adjoints[i * lanes + l]`. Each lane gets, bit for bit, what a sweep of its
    /// own would give it.
    ///
    /// Unless a strategy has something better, this sweeps lane by lane. Without marks among its arguments it needs
    /// none.
    ///
    /// # Errors
    ///
    /// As `reverse_through`.
    ///
    /// # Panics
    ///
    /// As `reverse_through`, and when there are no lanes.
    #[track_caller]
    fn reverse_lanes_through(
        tape: &Self::Tape,
        lanes: usize,
        adjoints: &mut [Self::Value],
        ends: (Option<Mark>, Option<Mark>),
        at: &mut AtExternal<'_, Self::Value>,
    ) -> Result<(), SweepError> {
        lane_by_lane::<Self>(tape, lanes, adjoints, ends, at)
    }

    /// Propagates `tangents` (set by the caller for inputs, zero elsewhere, also in slot 0) from the first statement to
    /// the last. Where an [external function](Self::external) was recorded, `at` is called with the tangents.
    ///
    /// The tangent of a statement's result is Σ partial·tangent over its arguments, where zero times anything is zero.
    /// Afterwards the slots of all variables that can still be asked for hold their tangents. Slot 0 stays 0.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] unless the strategy can do this; when records cannot be read back; and the errors of
    /// `at`.
    ///
    /// # Panics
    ///
    /// When `tangents` is shorter than [`identifiers`](Self::identifiers).
    fn forward_through(
        tape: &Self::Tape,
        tangents: &mut [Self::Value],
        at: &mut AtExternal<'_, Self::Value>,
    ) -> Result<(), SweepError> {
        let _ = (tape, tangents, at);
        let strategy = core::any::type_name::<Self>();
        Err(SweepError::Unsupported { what: format!("recordings of {strategy} cannot be swept forward") })
    }

    /// Forgets all statements behind a mark at which the recording was [resumed](Self::resume). Identifiers of
    /// variables from there may be given to others.
    ///
    /// # Errors
    ///
    /// When records cannot be read back.
    ///
    /// # Panics
    ///
    /// When the recording was not resumed there, and as [`mark`](Self::mark).
    #[track_caller]
    fn truncate(tape: &mut Self::Tape, mark: Mark) -> Result<(), SweepError> {
        let _ = (tape, mark);
        no_marks::<Self>()
    }

    /// Goes on with a recording under another number. Identifiers that were made under the old one are valid under the
    /// new one if [`renew`](Self::renew) says so.
    ///
    /// # Panics
    ///
    /// As [`mark`](Self::mark).
    #[track_caller]
    fn resume(tape: &mut Self::Tape, number: RecordingId) {
        let _ = (tape, number);
        no_marks::<Self>()
    }

    /// The identifier of an active variable of an earlier part of the recording, under the number of its present part.
    /// The identifier behind it is never given to another variable.
    ///
    /// # Panics
    ///
    /// As [`mark`](Self::mark).
    #[track_caller]
    fn renew(tape: &Self::Tape, id: &Self::Id) -> Self::Id {
        let _ = (tape, id);
        no_marks::<Self>()
    }

    /// The number that the next record gets, for strategies whose recordings can be [visited](Self::visit). Numbers are
    /// counted from 1, in the order of the records.
    fn next_record(tape: &Self::Tape) -> usize {
        let _ = tape;
        1
    }

    /// Gives `each` the records in this order.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] unless the strategy can do this; when records cannot be read back; and the errors of
    /// `each`, which end it.
    fn visit(tape: &Self::Tape, order: Order, each: &mut EachRecord<'_, Self::Value>) -> Result<(), SweepError> {
        let _ = (tape, order, each);
        let strategy = core::any::type_name::<Self>();
        Err(SweepError::Unsupported { what: format!("recordings of {strategy} cannot be looked at") })
    }

    /// Makes room for a recording of this size and touches the memory: its statements and arguments then take no memory
    /// from the allocator. A strategy that uses slots again cannot know how many variables will be alive at once, and
    /// need not make room for them; one that [spills](Self::SPILLS) makes room within its budget of memory.
    ///
    /// # Panics
    ///
    /// When that takes more bytes than there can be, as [`Capacity::bytes`] says, or than the allocator has. The tape
    /// can be used then.
    #[track_caller]
    fn reserve(tape: &mut Self::Tape, capacity: Capacity);

    /// Bytes of the recording, stream by stream, and its numbers of statements and arguments.
    fn memory(tape: &Self::Tape) -> MemoryReport;
}

/// A [`Reverse`] strategy that keeps the value of every variable, and whose recordings can be computed again at other
/// inputs.
#[diagnostic::on_unimplemented(
    message = "recordings of `{Self}` cannot be replayed",
    label = "a strategy that can be replayed is needed here",
    note = "a replay needs the value of every variable and the means to compute it: `PrimalValue` with `Linear` indices has both"
)]
pub trait Replay: Reverse {
    /// The value of each variable, by slot.
    fn values(tape: &Self::Tape) -> &[Self::Value];

    /// The value of each variable, by slot, to be changed where a variable has no statement.
    fn values_mut(tape: &mut Self::Tape) -> &mut [Self::Value];

    /// Whether the variable in this slot has no statement: it is an input, or a result of an external function.
    ///
    /// # Errors
    ///
    /// When records cannot be read back.
    fn has_no_statement(tape: &Self::Tape, slot: usize) -> Result<bool, SweepError>;

    /// Whether all statements can be computed from their records.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] if one cannot.
    fn can_be_replayed(tape: &Self::Tape) -> Result<(), SweepError>;

    /// The name of the first function that is singular at the present values of active arguments, for strategies that
    /// take the policy [`Checked`](crate::Checked).
    ///
    /// # Errors
    ///
    /// When records cannot be read back.
    fn singular(tape: &Self::Tape) -> Result<Option<&'static str>, SweepError> {
        let _ = tape;
        Ok(None)
    }

    /// Computes the values of all variables that have a statement again, first to last. Where an
    /// [external function](Reverse::external) was recorded, `at` is called with the values. Comparisons that left a
    /// guard are checked if `guarded`.
    ///
    /// # Errors
    ///
    /// [`SweepError::BranchChanged`] when a comparison comes out differently; when records cannot be read back; those
    /// of `at`. The values are partly the new ones then.
    fn replay_through(
        tape: &mut Self::Tape,
        guarded: bool,
        at: &mut AtExternal<'_, Self::Value>,
    ) -> Result<(), SweepError>;
}

/// What is done where a sweep comes to an [external function](Reverse::external): given are its number, the lanes that
/// the sweep is for (0..1 in one with one vector), and the adjoints, tangents or values of these lanes.
pub type AtExternal<'a, V> = dyn FnMut(usize, Range<usize>, &mut [V]) -> Result<(), SweepError> + 'a;

/// Sweeps with one lane after the other.
#[track_caller]
pub(crate) fn lane_by_lane<S: Reverse>(
    tape: &S::Tape,
    lanes: usize,
    adjoints: &mut [S::Value],
    ends: (Option<Mark>, Option<Mark>),
    at: &mut AtExternal<'_, S::Value>,
) -> Result<(), SweepError> {
    assert!(lanes > 0, "a sweep has at least one adjoint vector");
    let mut vector = Scratch::<S::Value>::new();
    for lane in 0..lanes {
        vector.clear();
        vector.extend(adjoints.iter().skip(lane).step_by(lanes));
        if S::MARKS {
            S::reverse_through(tape, &mut vector, ends, &mut |external, _, vector| {
                at(external, lane..lane + 1, vector)
            })?;
        } else {
            S::reverse(tape, &mut vector)?;
        }
        adjoints.iter_mut().skip(lane).step_by(lanes).zip(&*vector).for_each(|(to, from)| *to = *from);
    }
    Ok(())
}

#[cold]
#[track_caller]
fn no_marks<S>() -> ! {
    panic!(
        "{} keeps no track of places in a recording, which positions, external functions and checkpoints need (implement \
         `Reverse::mark` and the methods below it)",
        core::any::type_name::<S>()
    )
}

/// A [`Reverse`] strategy whose records may be written to disk.
pub trait Spills: Reverse {
    /// An empty tape with this storage, whose file exists.
    ///
    /// # Errors
    ///
    /// When the file cannot be created, or the memory budget is below two slabs.
    fn spilled(options: SpillOptions) -> Result<Self::Tape, StorageError>;

    /// Bytes of records and arrays in memory and on disk.
    fn usage(tape: &Self::Tape) -> SpillUsage;
}
