//! Paused and isolated recordings.

use super::list::{Screen, behind};
use crate::level;

/// Runs `f` with all recordings of this thread paused: its statements are computed, not recorded, and their results are
/// passive. In forward mode, too, the results of `f` are constants to the derivative. Recordings and forward drivers
/// that `f` starts are not affected. All recordings continue when `f` returns or panics.
///
/// The pause is one of this thread. Other threads, also those that `f` starts, are not paused: there, a variable of
/// forward mode still carries its tangents, so use its value; statements of recorded variables panic there in any case.
pub fn pause<R>(f: impl FnOnce() -> R) -> R {
    behind(Screen::Pauses, || level::pause(f))
}

/// Runs `f` isolated from the recordings of this thread: a statement of `f` with a variable of one of them panics,
/// because the variable is not among the inputs that `f` was given. Recordings that `f` starts do record.
pub fn isolated<R>(f: impl FnOnce() -> R) -> R {
    behind(Screen::Hides, f)
}

/// Runs a block whose statements are recorded in the recording of their variables, as they would be without this, and
/// which may compare variables of recordings that have ended, as in a block that is [isolated].
pub fn in_place<R>(f: impl FnOnce() -> R) -> R {
    behind(Screen::Shows, f)
}
