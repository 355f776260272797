//! Recordings that take no notice, and recordings that must not be seen.

use super::{Barrier, Header, INNERMOST, each_listed, unlist};
use crate::level;
use core::any::TypeId;

/// Runs `f` with all recordings of this thread paused: its statements are computed, not recorded, and their results are
/// passive. In forward mode, too, what `f` computes is a constant to the derivative. Recordings, and forward drivers,
/// that `f` starts work as ever. All go on when `f` returns or panics.
///
/// The pause is one of this thread. What another thread computes meanwhile, also one that `f` starts, is not paused:
/// there, a variable of forward mode moves as ever, so use its value; statements of recorded variables panic there
/// anyway.
pub fn pause<R>(f: impl FnOnce() -> R) -> R {
    struct GoOn;
    impl Drop for GoOn {
        fn drop(&mut self) {
            each_listed(|header| {
                let pauses = header.pauses.get();
                header.pauses.set(pauses.saturating_sub(1));
                if pauses == 1 {
                    header.set_lent(false);
                }
            });
        }
    }
    each_listed(|header| {
        // One that is lent out is being written, and nothing is recorded on it in the meantime.
        if !header.lent.get() || header.pauses.get() > 0 {
            header.pauses.set(header.pauses.get() + 1);
            header.set_lent(true);
        }
    });
    let _go_on = GoOn;
    level::pause(f)
}

/// Runs `f` out of sight of the recordings of this thread: a statement of `f` with a variable of theirs panics, because
/// the variable is not among the inputs that `f` was given. Recordings that `f` starts do record.
pub fn isolated<R>(f: impl FnOnce() -> R) -> R {
    struct Unhide<'a>(&'a Header);
    impl Drop for Unhide<'_> {
        fn drop(&mut self) {
            unlist(self.0);
        }
    }
    let barrier = Header::new(TypeId::of::<Barrier>());
    barrier.outer.set(INNERMOST.replace(&raw const barrier));
    let _unhide = Unhide(&barrier);
    f()
}
