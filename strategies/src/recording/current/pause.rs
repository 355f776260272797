//! Paused and isolated recordings.

use super::list::behind;
use crate::level;

/// Runs `f` with all recordings of this thread paused: its statements are computed, not recorded, and their results are
/// passive. In forward mode, too, what `f` computes is a constant to the derivative. Recordings, and forward drivers,
/// that `f` starts work as ever. All go on when `f` returns or panics.
///
/// The pause is one of this thread. What another thread computes meanwhile, also one that `f` starts, is not paused:
/// there, a variable of forward mode moves as ever, so use its value; statements of recorded variables panic there
/// anyway.
pub fn pause<R>(f: impl FnOnce() -> R) -> R {
    behind(true, || level::pause(f))
}

/// Runs `f` out of sight of the recordings of this thread: a statement of `f` with a variable of theirs panics, because
/// the variable is not among the inputs that `f` was given. Recordings that `f` starts do record.
pub fn isolated<R>(f: impl FnOnce() -> R) -> R {
    behind(false, f)
}
