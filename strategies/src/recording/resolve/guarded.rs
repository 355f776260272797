//! Recordings that keep guards, so that replays can tell whether comparisons come out as they did.

use crate::recording::current::announced::{is_announced, some_announced};
use crate::recording::current::list::{guards_here, lend, look};
use crate::recording::resolve::messages::stale_comparison;
use crate::recording::resolve::statement::visible;
use crate::{RecordingId, Reverse};

/// Whether a recording keeps guards, on this thread or on another one.
#[inline(always)]
pub(crate) fn guards() -> bool {
    guards_here() | some_announced()
}

/// Whether the recording with this number keeps guards, and is one of this thread.
#[inline(always)]
pub(crate) fn keeps_guards(number: RecordingId) -> bool {
    guards_here() && look(number, &[]).is_some_and(|seen| seen.guarded)
}

/// Gives `f` the tape of strategy `S` that records under `number` on this thread, paused or not, if it keeps guards and
/// is not in use.
///
/// # Panics
///
/// When there is no such recording, but one around it, or one with this number on another thread, keeps guards.
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
