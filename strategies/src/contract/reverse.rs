//! The contract for strategies that keep a tape: sweeps, marks, replays and storage on disk.

use crate::contract::{EachRecord, Order};
use crate::error::StorageError;
use crate::external::Mark;
use crate::identifier::RecordingId;
use crate::outline::{Entries, Outline, Touched};
use crate::rows::RowSweep;
use crate::scratch::Scratch;
use crate::storage::{ArrayFile, SpillOptions, SpillUsage};
use crate::{Capacity, MemoryReport, SweepError, Taping};
use core::ops::Range;
use std::sync::Arc;

/// A [`Taping`] strategy that keeps a tape and can be swept in reverse.
///
/// Identifiers are numbered from 1 within a recording. Slot 0 of an adjoint vector belongs to passive variables and is
/// never read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` keeps no tape, so there is nothing to sweep",
    label = "a strategy that can be swept is needed here",
    note = "use a taping strategy such as `Jacobian` or `PrimalValue`; `Passive` computes values only"
)]
pub trait Reverse: Taping {
    /// The memory of one recording, reused for later recordings.
    type Tape: Default + Send + 'static;

    /// True if records may be written to disk. Recording a statement or an input may then panic with an error that
    /// [`catch_storage_errors`](crate::error::catch_storage_errors) catches.
    const SPILLS: bool = false;

    /// True if the strategy can mark positions in a recording; see [`mark`](Self::mark).
    const MARKS: bool = false;

    /// Returns the file for arrays that leave memory, for strategies that [spill](Self::SPILLS); `None` if arrays stay
    /// in memory.
    fn array_file(tape: &Self::Tape) -> Option<&Arc<ArrayFile>> {
        let _ = tape;
        None
    }

    /// Starts a new, empty recording with this id and keeps the memory of the earlier one.
    fn begin(tape: &mut Self::Tape, number: RecordingId);

    /// Registers an independent variable and returns its identifier.
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers.
    fn input(tape: &mut Self::Tape, value: Self::Value) -> Self::Id;

    /// Registers an independent variable for each value, all or none of them. Appends `variable(value, identifier)` for
    /// each of them to `variables`, in order. Returns the slot of the first if the slots are known to be consecutive.
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

    /// Returns the recording that an identifier belongs to and its slot in the adjoint vector; `None` if it is passive.
    fn locate(id: &Self::Id) -> Option<(RecordingId, usize)>;

    /// Returns the length that an adjoint vector of this recording must have: 1 + the largest identifier.
    fn identifiers(tape: &Self::Tape) -> usize;

    /// Propagates `adjoints` (seeded by the caller, zero elsewhere) from the last statement to the first, in a
    /// recording without [external functions](Self::external).
    ///
    /// Afterwards the slots of inputs hold their adjoints and every other slot, except slot 0, is 0. A statement adds
    /// adjoint·partial to the adjoint of each argument, where the partial is ∂statement/∂argument. Zero times anything
    /// is zero: nothing is added where either factor is exactly 0, even if the other is infinite or NaN.
    ///
    /// # Errors
    ///
    /// When records that are not in memory cannot be read, and [`SweepError::Unsupported`] when the recording contains
    /// an external function. The adjoints are then unspecified; the recording is unchanged.
    ///
    /// # Panics
    ///
    /// When `adjoints` is shorter than [`identifiers`](Self::identifiers).
    fn reverse(tape: &Self::Tape, adjoints: &mut [Self::Value]) -> Result<(), SweepError>;

    /// Returns the position behind the last statement.
    ///
    /// Marks are optional: a strategy may leave out this method and all methods below it that have a default.
    /// Positions, external functions and checkpoints then panic. A strategy that supports marks implements all methods
    /// that refer to this one and sets [`MARKS`](Self::MARKS); the conformance kit then tests them.
    ///
    /// # Panics
    ///
    /// When the strategy does not support marks.
    #[track_caller]
    fn mark(tape: &Self::Tape) -> Mark {
        let _ = tape;
        no_marks::<Self>()
    }

    /// Records that an external function or a launch was called at this position: its index, and the values of its
    /// results. Each result becomes a variable whose derivatives are propagated by the function's rule, not by a
    /// statement. Calls `each` with the identifiers of the results, in order. Slots of results may be reused when the
    /// variables are gone.
    ///
    /// The index means nothing to the strategy. Every sweep that reaches this position (in reverse, between two marks,
    /// forward, or a replay) passes it to the [callback of the sweep](AtExternal).
    ///
    /// # Panics
    ///
    /// When the tape is out of identifiers; nothing is recorded then except variables that are used nowhere. Also when
    /// the strategy does not support [marks](Self::mark).
    #[track_caller]
    fn external(tape: &mut Self::Tape, external: u32, results: &[Self::Value], each: &mut dyn FnMut(Self::Id)) {
        let _ = (tape, external, results, each);
        no_marks::<Self>()
    }

    /// Like [`reverse`](Self::reverse), from the first mark of `ends` (`None`: the end of the recording) down to the
    /// second (`None`: its start). Calls `at` at the position of each [external function](Self::external).
    ///
    /// # Errors
    ///
    /// The errors of `reverse` for storage, and the errors of `at`.
    ///
    /// # Panics
    ///
    /// In the cases listed at `reverse`, and when the strategy does not support [marks](Self::mark).
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

    /// Like [`reverse_through`](Self::reverse_through), with several adjoint vectors, *lanes*, in one sweep: the
    /// adjoint of identifier `i` in lane `l` is `adjoints[i * lanes + l]`. Each lane gets, bit for bit, the result of a
    /// sweep with its vector alone.
    ///
    /// The default sweeps lane by lane, and calls `reverse` where the strategy does not support marks.
    ///
    /// # Errors
    ///
    /// The errors of `reverse_through`.
    ///
    /// # Panics
    ///
    /// In the cases listed at `reverse_through`, and when `lanes` is 0.
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

    /// Propagates `tangents` (set by the caller for inputs, zero elsewhere, also in slot 0) along several directions,
    /// *lanes*, from the first statement to the last: the tangent of identifier `i` in lane `l` is
    /// `tangents[i * lanes + l]`. Calls `at` with the tangents at the position of each
    /// [external function](Self::external).
    ///
    /// The tangent of a statement's result is Σ partial·tangent over its arguments, where zero times anything is zero.
    /// Each lane gets, bit for bit, the result of a sweep along its direction alone. Afterwards the slots of all live
    /// variables hold their tangents. Slot 0 stays 0.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] unless the strategy implements this method; when records cannot be read back; and
    /// the errors of `at`.
    ///
    /// # Panics
    ///
    /// When `tangents` is shorter than `lanes` times [`identifiers`](Self::identifiers), and when `lanes` is 0.
    fn forward_through(
        tape: &Self::Tape,
        lanes: usize,
        tangents: &mut [Self::Value],
        at: &mut AtExternal<'_, Self::Value>,
    ) -> Result<(), SweepError> {
        let _ = (tape, lanes, tangents, at);
        let strategy = core::any::type_name::<Self>();
        Err(SweepError::Unsupported { what: format!("recordings of {strategy} cannot be swept forward") })
    }

    /// Forgets all statements behind a mark at which the recording was [resumed](Self::resume). Later variables may get
    /// the identifiers of variables from behind the mark.
    ///
    /// # Errors
    ///
    /// When records cannot be read back.
    ///
    /// # Panics
    ///
    /// When the recording was not resumed at this mark, and when the strategy does not support [marks](Self::mark).
    #[track_caller]
    fn truncate(tape: &mut Self::Tape, mark: Mark) -> Result<(), SweepError> {
        let _ = (tape, mark);
        no_marks::<Self>()
    }

    /// Continues a recording under another id. Identifiers that were made under the old id become valid under the new
    /// one by [`renew`](Self::renew).
    ///
    /// # Panics
    ///
    /// When the strategy does not support [marks](Self::mark).
    #[track_caller]
    fn resume(tape: &mut Self::Tape, number: RecordingId) {
        let _ = (tape, number);
        no_marks::<Self>()
    }

    /// Returns the identifier, under the id of the present part of the recording, of an active variable that an earlier
    /// part made. Its slot is never given to another variable.
    ///
    /// # Panics
    ///
    /// When the strategy does not support [marks](Self::mark).
    #[track_caller]
    fn renew(tape: &Self::Tape, id: &Self::Id) -> Self::Id {
        let _ = (tape, id);
        no_marks::<Self>()
    }

    /// Returns the number that the next record gets, for strategies whose recordings can be [visited](Self::visit).
    /// Records are numbered from 1, in their order.
    fn next_record(tape: &Self::Tape) -> usize {
        let _ = tape;
        1
    }

    /// Calls `each` with the records, in the given order.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] unless the strategy implements this method; when records cannot be read back; and
    /// the errors of `each`, which end the visit.
    fn visit(tape: &Self::Tape, order: Order, each: &mut EachRecord<'_, Self::Value>) -> Result<(), SweepError> {
        let _ = (tape, order, each);
        let strategy = core::any::type_name::<Self>();
        Err(SweepError::Unsupported { what: format!("recordings of {strategy} cannot be looked at") })
    }

    /// Returns an outline of the recording, given what its entries pass on. `None` if the strategy makes none: sweeps
    /// then pass all records.
    ///
    /// # Errors
    ///
    /// When records cannot be read back.
    #[doc(hidden)]
    fn outline(tape: &Self::Tape, entries: &Entries<'_>) -> Result<Option<Outline>, SweepError> {
        let _ = (tape, entries);
        Ok(None)
    }

    /// Returns the number of records behind those of all variables in these slots, which a sweep from them passes in
    /// vain; 0 if the strategy makes no [outlines](Self::outline).
    #[doc(hidden)]
    fn records_behind(tape: &Self::Tape, slots: &mut dyn Iterator<Item = usize>) -> usize {
        let _ = (tape, slots);
        0
    }

    /// Like [`reverse_lanes_through`](Self::reverse_lanes_through) for the complete recording, with seeds in these
    /// slots only; leaves out records that the seeds do not reach, by the outline of the recording. Returns slots
    /// outside of which all adjoints are 0 afterwards.
    ///
    /// # Errors
    ///
    /// The errors of `reverse_through`.
    #[doc(hidden)]
    fn reverse_outlined(
        tape: &Self::Tape,
        (lanes, adjoints): (usize, &mut [Self::Value]),
        (outline, seeded): (&Outline, &mut dyn Iterator<Item = usize>),
        at: &mut AtExternal<'_, Self::Value>,
    ) -> Result<Touched, SweepError> {
        let _ = (outline, seeded);
        Self::reverse_lanes_through(tape, lanes, adjoints, (None, None), at)?;
        Ok(Touched::below(Self::identifiers(tape)))
    }

    /// Sweeps from each of several outputs of a recording without external functions: each over as many records as it
    /// depends on, and several at once if these records overlap. `adjoints`, all 0, have the layout of
    /// [`reverse_lanes_through`](Self::reverse_lanes_through), and are 0 again afterwards. Returns the largest number
    /// of lanes that were in use; `None` if the strategy does not do this, or gave up: then adjoints are unspecified.
    ///
    /// # Errors
    ///
    /// The errors of `reverse`.
    #[doc(hidden)]
    fn reverse_rows(
        tape: &Self::Tape,
        adjoints: &mut [Self::Value],
        rows: RowSweep<'_, Self::Value>,
    ) -> Result<Option<usize>, SweepError> {
        let _ = (tape, adjoints, rows);
        Ok(None)
    }

    /// Takes the memory of the first 64 statements of up to four arguments each from the allocator, so that a new tape
    /// records them without it. Returns the number of reused identifiers that they may need.
    #[doc(hidden)]
    fn prepare(tape: &mut Self::Tape) -> usize {
        let _ = tape;
        0
    }

    /// Reserves memory for a recording of this size and touches it, so that its statements and arguments take no memory
    /// from the allocator. A strategy that reuses slots cannot know how many variables will be alive at the same time,
    /// and need not reserve memory for the values of variables. A strategy that [spills](Self::SPILLS) reserves within
    /// its memory budget.
    ///
    /// # Panics
    ///
    /// When the size overflows, as described at [`Capacity::bytes`], or exceeds what the allocator has. The tape stays
    /// usable.
    #[track_caller]
    fn reserve(tape: &mut Self::Tape, capacity: Capacity);

    /// Returns the bytes of the recording, stream by stream, and the numbers of its statements and arguments.
    fn memory(tape: &Self::Tape) -> MemoryReport;
}

/// A [`Reverse`] strategy that keeps the value of every variable, and whose recordings can be recomputed at other
/// inputs.
#[diagnostic::on_unimplemented(
    message = "recordings of `{Self}` cannot be replayed",
    label = "a strategy that can be replayed is needed here",
    note = "a replay needs the value of every variable and the means to compute it: `PrimalValue` with `Linear` indices has both"
)]
pub trait Replay: Reverse {
    /// Returns the value of each variable, by slot.
    fn values(tape: &Self::Tape) -> &[Self::Value];

    /// Returns the value of each variable, by slot, for changing those of variables without a statement.
    fn values_mut(tape: &mut Self::Tape) -> &mut [Self::Value];

    /// Returns true if the variable in this slot has no statement: it is an input, or a result of an external function.
    ///
    /// # Errors
    ///
    /// When records cannot be read back.
    fn has_no_statement(tape: &Self::Tape, slot: usize) -> Result<bool, SweepError>;

    /// Checks that all statements can be computed from their records.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] if a statement cannot.
    fn can_be_replayed(tape: &Self::Tape) -> Result<(), SweepError>;

    /// Returns the name of the first function that is singular at the present values of active arguments, for
    /// strategies that support the policy [`Checked`](crate::Checked).
    ///
    /// # Errors
    ///
    /// When records cannot be read back.
    fn singular(tape: &Self::Tape) -> Result<Option<&'static str>, SweepError> {
        let _ = tape;
        Ok(None)
    }

    /// Recomputes the values of all variables that have a statement, first to last. Calls `at` with the values at the
    /// position of each [external function](Reverse::external). If `guarded`, also repeats the comparisons that left a
    /// guard.
    ///
    /// # Errors
    ///
    /// [`SweepError::BranchChanged`] when a comparison comes out differently; when records cannot be read back; and the
    /// errors of `at`. Only some of the values are then recomputed.
    fn replay_through(
        tape: &mut Self::Tape,
        guarded: bool,
        at: &mut AtExternal<'_, Self::Value>,
    ) -> Result<(), SweepError>;
}

/// The callback of a sweep for [external functions](Reverse::external). Its arguments are the index of the function,
/// the lanes that the sweep is for (0..1 in a sweep with one vector), and the adjoints, tangents or values of these
/// lanes.
pub type AtExternal<'a, V> = dyn FnMut(usize, Range<usize>, &mut [V]) -> Result<(), SweepError> + 'a;

/// Sweeps with one lane after the other. The default of [`Reverse::reverse_lanes_through`].
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
    /// Returns an empty tape with this storage, whose file exists.
    ///
    /// # Errors
    ///
    /// When the file cannot be created, or the memory budget is below two slabs.
    fn spilled(options: SpillOptions) -> Result<Self::Tape, StorageError>;

    /// Returns the bytes of records and arrays in memory and on disk.
    fn usage(tape: &Self::Tape) -> SpillUsage;
}
