//! What tests, benchmarks and examples have in common, compiled once. It knows nothing of tapewright, so that tests of
//! `strategies` can use it, too.

pub mod counting;
pub mod files;
mod random;

pub use random::{Random, mix};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The bits of numbers, which are compared where a result must be the same.
#[must_use]
pub fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

/// The middle one of some figures, or the upper one of the two in the middle.
///
/// # Panics
///
/// If there are none.
#[must_use]
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The gradient of a function of numbers by central differences with steps of this size.
pub fn central_differences(f: impl Fn(&[f64]) -> f64, x: &[f64], step: impl Fn(f64) -> f64) -> Vec<f64> {
    let quotient = |k: usize| {
        let h = step(x[k]);
        let at = |t: f64| {
            let mut moved = x.to_vec();
            moved[k] += t;
            f(&moved)
        };
        (at(h) - at(-h)) / (2.0 * h)
    };
    (0..x.len()).map(quotient).collect()
}

/// The message with which this panics.
///
/// # Panics
///
/// If it does not, or without a text.
#[track_caller]
pub fn panic_message<R>(f: impl FnOnce() -> R) -> String {
    let Err(panic) = catch_unwind(AssertUnwindSafe(f)) else { panic!("it went through") };
    panic.downcast::<String>().map_or_else(|panic| (*panic.downcast::<&str>().expect("a text")).into(), |text| *text)
}

/// Writes to the standard error, past the harness, which shows no output of tests that pass, why this test does not run.
pub fn skipped(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = std::io::stderr().write_all(format!("skipped: {test}: {reason}\n").as_bytes());
}
