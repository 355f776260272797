//! Strategies under which tests run, and comparisons of their numbers.
//!
//! Every index manager on every layer of memory, for every strategy, is the business of the conformance kit
//! (`tests/conformance.rs`). A test of something else runs under one strategy of each mechanism.

use tapewright::{Float, Number, Reverse, Tape};

/// `everywhere!(a, b)` makes a module of tests for each of the generic functions `a` and `b`, over strategies of `f64`:
/// every kind of record with linear and with reused identifiers, and every layer. Without the feature `wide`, which the
/// continuous integration sets, there is one of each kind: they take long to compile.
#[macro_export]
macro_rules! everywhere {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use ::tapewright::{Spilled, prelude::*};
            use $crate::Tight;
            #[test] fn jacobian() { super::$name::<Jacobian>() }
            #[cfg(feature = "wide")] #[test] fn jacobian_reuse_spilled() { super::$name::<Jacobian<f64, Reuse, Spilled<Tight>>>() }
            #[cfg(feature = "wide")] #[test] fn primal_value_shared() { super::$name::<PrimalValue<f64, Linear, Shared>>() }
            #[test] fn primal_value_reuse_spilled() { super::$name::<PrimalValue<f64, Reuse, Spilled<Tight>>>() }
            #[test] fn hybrid() { super::$name::<Hybrid>() }
            #[cfg(feature = "wide")] #[test] fn hybrid_reuse() { super::$name::<Hybrid<f64, Reuse>>() }
            #[cfg(feature = "wide")] #[test] fn continuation_u64() { super::$name::<Continuation<f64, Linear<u64>>>() }
            #[test] fn continuation_reuse() { super::$name::<Continuation<f64, Reuse>>() }
        }
    )*};
}

/// As [`everywhere!`], for functions over strategies of any number: entries beside the records, which are the same for
/// all strategies, so that one of each mechanism and one in single precision are enough.
#[macro_export]
macro_rules! for_each_mechanism {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use ::tapewright::{Spilled, prelude::*};
            use $crate::Tight;
            #[test] fn jacobian() { super::$name::<Jacobian>() }
            #[test] fn hybrid_f32_reuse_spilled() { super::$name::<Hybrid<f32, Reuse, Spilled<Tight>>>() }
            #[cfg(feature = "wide")] #[test] fn continuation() { super::$name::<Continuation>() }
        }
    )*};
}

/// A number of the value type.
#[must_use]
pub fn float<V: Number>(x: f64) -> V {
    V::from_f64(x)
}

/// Asserts that two numbers differ by no more than so many roundings.
///
/// # Panics
///
/// Where they do.
#[track_caller]
pub fn close<V: Number>(found: V, expected: V, roundings: usize) {
    assert_close(found.as_f64(), expected.as_f64(), <V::Lane as Float>::epsilon().as_f64(), roundings);
}

#[track_caller]
fn assert_close(found: f64, expected: f64, epsilon: f64, roundings: usize) {
    #[allow(clippy::cast_precision_loss, reason = "a few thousand at most")]
    let tolerance = roundings as f64 * epsilon * expected.abs();
    let difference = (found - expected).abs();
    assert!(difference <= tolerance, "{found} is not {expected}: {difference:e} > {tolerance:e}");
}

/// Asserts that numbers differ pairwise by no more than so many roundings.
///
/// # Panics
///
/// Where they do, or where there are more of one.
#[track_caller]
pub fn all_close<V: Number>(found: &[V], expected: &[V], roundings: usize) {
    assert_eq!(found.len(), expected.len());
    for k in 0..found.len() {
        close(found[k], expected[k], roundings);
    }
}

/// Asserts that the recording holds inputs and so many results of external functions, and nothing else. Where
/// identifiers are reused, such a result may take a record without arguments, which counts as a statement.
///
/// # Panics
///
/// Where it holds more.
#[track_caller]
pub fn holds_results_only<S: Reverse>(tape: &Tape<S>, results: usize) {
    let report = tape.memory();
    let most = if std::mem::needs_drop::<S::Id>() { results } else { 0 };
    assert!(report.statements <= most && report.arguments == 0, "{report}");
}
