//! Array kernels: values and adjoints against formulas, against scalar statements, and between levels of instructions.
#![allow(
    clippy::redundant_closure,
    clippy::redundant_closure_for_method_calls,
    clippy::needless_range_loop,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "kernels read alike, elements are compared by their number, and counts are small"
)]

mod along;
#[cfg(feature = "arrays")]
mod arrays;
mod extrema;
mod figures;
mod functions;
mod joined;
mod library;
mod lifetimes;
mod literature;
mod loops;
#[cfg(feature = "wide")]
mod mixtures;
mod numbers;
mod oracle;
mod panics;
mod parts;
mod passive;
mod places;
mod refusals;
#[cfg(feature = "wide")]
mod replays;
mod scans;
mod scenarios;
#[cfg(feature = "wide")]
mod special_points;
mod spilled;
mod tangents;
#[cfg(feature = "wide")]
mod text;
#[cfg(feature = "threads")]
mod threads;
mod transfers;
mod trees;
mod vocabulary;
#[cfg(feature = "wide")]
mod widths;
#[cfg(feature = "wide")]
mod wrapped;

use tapewright::kernels::InstructionSet;
use tapewright::{Float, Ternary};
use tapewright_test_support::bits;

/// (x, y, z) ↦ x·y²·sin z.
struct Product;
impl Ternary for Product {
    fn value<V: Float>(x: V, y: V, z: V) -> V {
        x * y * y * z.sin()
    }
    fn partial_first<V: Float>(_: V, y: V, z: V, _: V) -> V {
        y * y * z.sin()
    }
    fn partial_second<V: Float>(x: V, y: V, z: V, _: V) -> V {
        V::from_f64(2.0) * x * y * z.sin()
    }
    fn partial_third<V: Float>(x: V, y: V, z: V, _: V) -> V {
        x * y * y * z.cos()
    }
}

/// Bytes of stack in which kernels must run without optimization: what threads have by default.
const STACK: usize = 2 << 20;

/// Runs `f` at each level that this machine has, and checks that it returns the same each time.
fn at_every_level<T: PartialEq + core::fmt::Debug + Send>(f: impl Fn() -> T + Sync) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || levels(&f)).expect("a thread");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn levels<T: PartialEq + core::fmt::Debug>(f: &impl Fn() -> T) -> T {
    /// The level is one for the whole process.
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    assert_eq!(InstructionSet::Baseline.set(), InstructionSet::Baseline);
    let expected = f();
    for level in [InstructionSet::Middle, InstructionSet::Wide] {
        if level.set() == level {
            assert_eq!(f(), expected, "{level:?} and the baseline differ");
        } else {
            println!("this machine has no level {level:?}: not compared");
        }
    }
    InstructionSet::best().set();
    expected
}

/// All of these, or the first ones under miri, which takes seconds for each.
#[cfg(feature = "wide")]
fn few<T: Copy>(first: usize, all: &[T]) -> &[T] {
    &all[..if cfg!(miri) { first } else { all.len() }]
}

/// Numbers that look random.
fn numbers(n: usize, seed: usize) -> Vec<f64> {
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    (0..n).map(|k| ((k * 37 + seed * 53) % 101) as f64 / 101.0 - 0.4).collect()
}

/// Whether two numbers agree but for some roundings of numbers of this size.
fn close(found: f64, expected: f64, scale: f64) -> bool {
    found == expected || (found - expected).abs() <= 64.0 * f64::EPSILON * scale.max(expected.abs())
}
