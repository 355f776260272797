//! Times of functions that are measured in turns, so that what else the machine does falls on all of them.

use cpu_time::ThreadTime;
use std::hint::black_box;

/// Seconds of thread time that `run` takes.
pub(crate) fn seconds<R>(run: impl FnOnce() -> R) -> f64 {
    let clock = ThreadTime::now();
    black_box(run());
    clock.elapsed().as_secs_f64()
}
