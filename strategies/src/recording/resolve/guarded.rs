//! Recordings that keep guards, with which replays check that comparisons come out as before.

use crate::Reverse;
use crate::contract::Flow;
use crate::identifier::RecordingId;
use crate::recording::current::announced::{is_announced, some_announced};
use crate::recording::current::list::{change_state, guards_here, lend, look};
use crate::recording::current::state::Constants;
use crate::recording::resolve::messages::stale_comparison;
use crate::recording::resolve::statement::with_parts;

/// Returns true if any recording, on this thread or another one, keeps guards.
#[must_use]
#[inline(always)]
pub fn guards() -> bool {
    guards_here() | some_announced()
}

/// Returns true if the recording with this id keeps guards, and is active on this thread, paused and isolated or not.
#[inline(always)]
pub(crate) fn keeps_guards(number: RecordingId) -> bool {
    guards() && look(number, &[]).is_some_and(|seen| seen.guarded)
}

/// Notes that elements of arrays were read as numbers which depend on inputs of the recording with this id. If it keeps
/// guards, it cannot be computed again: what the numbers decide leaves no guard.
pub fn note_read(number: RecordingId) {
    if keeps_guards(number) {
        change_state(number, |state| state.constants = Some(Constants::Read));
    }
}

/// Returns how many variables and elements of arrays the recording holds to which these derivatives go, if it keeps
/// guards.
///
/// # Panics
///
/// In the cases listed at [`with`](crate::recording::with).
#[track_caller]
pub(crate) fn length_if_guarded<S: Reverse>(flow: Flow) -> Option<usize> {
    let Flow::Recorded(number) = flow else { return None };
    keeps_guards(number).then(|| {
        with_parts::<S, _>(number, |tape, externals| {
            let arrays = externals.arrays.pool.as_ref().map_or(0, |pool| pool.in_use());
            S::identifiers(tape) + arrays / size_of::<S::Value>()
        })
    })
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
    match look(number, &[]) {
        Some(seen) if seen.guarded => _ = lend::<S, _>(number, true, |tape, _| f(tape)),
        None if guards_here() || is_announced(number) => stale_comparison(number),
        _ => {}
    }
}
