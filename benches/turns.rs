//! Figures that are taken in turns, so that what else the machine does falls on all of them.
#![allow(dead_code, reason = "some benchmarks need one of the two")]

use cpu_time::ThreadTime;
use std::hint::black_box;

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Seconds of thread time that `run` takes.
pub(crate) fn seconds<R>(run: impl FnOnce() -> R) -> f64 {
    let clock = ThreadTime::now();
    black_box(run());
    clock.elapsed().as_secs_f64()
}
