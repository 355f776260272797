//! Resolution of the recording of a statement from its arguments.

use super::messages::{in_use, not_active, paused, two_recordings, undeclared};
use crate::Reverse;
use crate::contract::{Dependence, Flow};
use crate::external::Externals;
use crate::identifier::{LinearId, RecordingId};
use crate::recording::current::list::{Barrier, change_state, innermost_number, is_paused, lend, look};
use crate::recording::current::singular::Singular;
use crate::recording::current::state::{Constants, Seen};
use core::any::TypeId;

/// Calls `f` with the tape of strategy `S` that records under `number` on this thread.
///
/// # Panics
///
/// When there is no such recording, or when `f` of an outer call is still using this tape.
#[track_caller]
#[inline]
pub fn with<S: Reverse, R>(number: RecordingId, f: impl FnOnce(&mut S::Tape) -> R) -> R {
    with_parts::<S, R>(number, |tape, _| f(tape))
}

#[track_caller]
#[inline]
pub(crate) fn with_parts<S: Reverse, R>(
    number: RecordingId,
    f: impl FnOnce(&mut S::Tape, &mut Externals<S::Value>) -> R,
) -> R {
    let Some(outcome) = lend::<S, R>(number, false, f) else { refuse::<S>(number) };
    outcome
}

/// Panics with the reason why this recording cannot be lent.
#[cold]
#[track_caller]
fn refuse<S: Reverse>(number: RecordingId) -> ! {
    match visible(number).filter(|seen| seen.kind == TypeId::of::<S>()) {
        Some(seen) if seen.paused => paused(number),
        Some(_) => in_use(number),
        None => not_active(number, innermost_number()),
    }
}

/// Returns the recording with this id. A recording that is not found on this side of a barrier must not be used: it
/// lies behind the barrier, or is no longer active because a stage is recorded during a sweep.
#[track_caller]
pub(crate) fn visible(number: RecordingId) -> Option<Seen> {
    let seen = look(number, &[TypeId::of::<Barrier>()]);
    if seen.is_some_and(|seen| seen.kind == TypeId::of::<Barrier>()) {
        undeclared(number);
    }
    seen
}

/// Returns the recording that all active identifiers belong to; `None` if all are passive, or the recording is paused.
///
/// # Panics
///
/// When they belong to two recordings.
#[track_caller]
pub fn common_number<I: crate::identifier::IndexType>(
    ids: impl IntoIterator<Item = LinearId<I>>,
) -> Option<RecordingId> {
    common(ids.into_iter().map(LinearId::number))
}

#[track_caller]
fn common(numbers: impl Iterator<Item = RecordingId>) -> Option<RecordingId> {
    let mut common = RecordingId::NONE;
    for number in numbers {
        if number == RecordingId::NONE || number == common {
            continue;
        }
        if common != RecordingId::NONE {
            // A use of a recording that a barrier hides is the more likely mistake, and is reported first.
            visible(common);
            visible(number);
            two_recordings(common, number);
        }
        common = number;
    }
    if common == RecordingId::NONE {
        return None;
    }
    let is_paused = is_paused(common);
    if is_paused {
        // A recording that a barrier hides must not be used, paused or not.
        visible(common);
        change_state(common, |state| state.constants = Some(Constants::Paused));
    }
    (!is_paused).then_some(common)
}

/// Returns the result of [`common_number`] for the identifiers of any strategy that can be swept.
///
/// # Panics
///
/// In the cases listed at [`common_number`].
#[track_caller]
pub fn recording_of<'i, S: Reverse>(ids: impl IntoIterator<Item = &'i S::Id>) -> Option<RecordingId> {
    let number = |id| S::locate(id).map_or(RecordingId::NONE, |(number, _)| number);
    common(ids.into_iter().map(number))
}

/// Returns the destination of the derivatives of a launch over these arrays and variables: the recording that all of
/// them belong to, and [`Flow::Nowhere`] if it is paused or there is none.
///
/// # Panics
///
/// In the cases listed at [`common_number`].
#[must_use]
#[track_caller]
pub fn flow_of<S: Reverse>(arrays: &[&Dependence<S::Value>], inputs: &[(S::Value, &S::Id)]) -> Flow {
    let of_id = |(_, id): &(S::Value, &S::Id)| S::locate(id).map_or(RecordingId::NONE, |(number, _)| number);
    let of_array = |array: &&Dependence<S::Value>| match array {
        Dependence::Recorded { number, .. } => *number,
        _ => RecordingId::NONE,
    };
    common(arrays.iter().map(of_array).chain(inputs.iter().map(of_id))).map_or(Flow::Nowhere, Flow::Recorded)
}

/// Returns the innermost recording of strategy `S` on this thread as a destination of derivatives, and
/// [`Flow::Nowhere`] if it is paused or there is none. Recordings that are hidden from a stage do not count.
#[must_use]
pub fn innermost_flow<S: Reverse>() -> Flow {
    match look(RecordingId::NONE, &[TypeId::of::<S>(), TypeId::of::<Barrier>()]) {
        Some(seen) if seen.kind == TypeId::of::<S>() && !seen.paused => Flow::Recorded(seen.number),
        _ => Flow::Nowhere,
    }
}

/// Notes that a function in the caller's statement, which the recording with this id has just recorded, is singular. A
/// recording keeps the first such statement, and every sweep over the recording fails with it.
///
/// For strategies that support the policy [`Checked`](crate::Checked). Does nothing if there is no such recording on
/// this thread.
#[cold]
#[track_caller]
pub fn note_singular(number: RecordingId, function: &'static str) {
    let singular = Singular::here(function);
    change_state(number, |state| _ = state.singular.get_or_insert(singular));
}
