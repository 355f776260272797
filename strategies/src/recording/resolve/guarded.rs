//! Recordings that keep guards, with which replays check that comparisons come out as before.

use crate::Reverse;
use crate::identifier::RecordingId;
use crate::recording::current::announced::{is_announced, some_announced};
use crate::recording::current::list::{guards_here, lend, look};
use crate::recording::resolve::messages::stale_comparison;
use crate::recording::resolve::statement::visible;

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

/// Calls `f` with the tape of strategy `S` that records under `number` on this thread, paused or not, if the recording
/// keeps guards and its tape is not in use.
///
/// # Panics
///
/// When there is no such recording on this thread, but another recording that is active here, or the one with this id
/// on another thread, keeps guards.
#[track_caller]
pub(crate) fn with_guarded<S: Reverse>(number: RecordingId, f: impl FnOnce(&mut S::Tape)) {
    let on_this_thread = guards_here();
    let seen = if on_this_thread { visible(number) } else { look(number, &[]) };
    match seen {
        Some(seen) if on_this_thread && seen.guarded => _ = lend::<S, _>(number, true, |tape, _| f(tape)),
        None if on_this_thread || is_announced(number) => stale_comparison(number),
        _ => {}
    }
}
