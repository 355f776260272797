//! Recordings that keep guards, with which replays check that comparisons come out as before.

use crate::Reverse;
use crate::identifier::RecordingId;
use crate::recording::current::announced::{is_announced, some_announced};
use crate::recording::current::list::{guards_here, lend, look};
use crate::recording::resolve::messages::stale_comparison;
use crate::recording::resolve::statement::{recording_of, with_parts};

/// Returns true if any recording, on this thread or another one, keeps guards.
#[must_use]
#[inline(always)]
pub fn guards() -> bool {
    guards_here() | some_announced()
}

/// Returns true if the recording with this id keeps guards, and is active on this thread.
#[inline(always)]
pub(crate) fn keeps_guards(number: RecordingId) -> bool {
    guards_here() && look(number, &[]).is_some_and(|seen| seen.guarded)
}

/// Returns the length of the adjoint vectors of the recording that these identifiers belong to, if it keeps guards and
/// has no arrays.
///
/// # Panics
///
/// In the cases listed at [`common_number`](crate::recording::common_number).
#[track_caller]
pub(crate) fn length_if_guarded<'i, S: Reverse>(ids: impl IntoIterator<Item = &'i S::Id>) -> Option<usize> {
    let number = recording_of::<S>(ids).filter(|number| keeps_guards(*number))?;
    with_parts::<S, _>(number, |tape, externals| (externals.arrays.slots() == 0).then(|| S::identifiers(tape)))
}

/// Calls `f` with the tape of strategy `S` that records under `number` on this thread, paused and isolated or not, if
/// the recording keeps guards and its tape is not in use: what a stage compares of variables from outside decides what
/// it computes, too.
///
/// # Panics
///
/// When there is no such recording on this thread, but another recording that is active here, or the one with this id
/// on another thread, keeps guards.
#[track_caller]
pub(crate) fn with_guarded<S: Reverse>(number: RecordingId, f: impl FnOnce(&mut S::Tape)) {
    let on_this_thread = guards_here();
    match look(number, &[]) {
        Some(seen) if on_this_thread && seen.guarded => _ = lend::<S, _>(number, true, |tape, _| f(tape)),
        None if on_this_thread || is_announced(number) => stale_comparison(number),
        _ => {}
    }
}
