//! Runs tests under strategies, index managers, layers and value types. Without the feature `wide`, which the
//! continuous integration sets, under one of each kind: they take long to compile.

use tapewright::{Number, Reverse, Tape};

/// `everywhere!(a, b)` makes a module of tests for each of the generic functions `a` and `b`.
macro_rules! everywhere {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            use tapewright::{Spilled, prelude::*};
            use tapewright_kit_tests::Tight;
            #[test] fn jacobian() { super::$name::<Jacobian>() }
            #[cfg(feature = "wide")] #[test] fn jacobian_shared() { super::$name::<Jacobian<f64, Linear, Shared>>() }
            #[cfg(feature = "wide")] #[test] fn jacobian_reuse() { super::$name::<Jacobian<f64, Reuse>>() }
            #[cfg(feature = "wide")] #[test] fn primal_value_f32() { super::$name::<PrimalValue<f32>>() }
            #[test] fn primal_value_reuse_spilled() { super::$name::<PrimalValue<f64, Reuse, Spilled<Tight>>>() }
            #[cfg(feature = "wide")] #[test] fn hybrid_spilled() { super::$name::<Hybrid<f64, Linear, Spilled<Tight>>>() }
            #[test] fn hybrid_reuse_f32() { super::$name::<Hybrid<f32, Reuse>>() }
            #[test] fn continuation() { super::$name::<Continuation>() }
            #[cfg(feature = "wide")] #[test] fn continuation_reuse() { super::$name::<Continuation<f64, Reuse>>() }
        }
    )*};
}
pub(crate) use everywhere;

/// A number of the value type.
pub(crate) fn float<V: Number>(x: f64) -> V {
    V::from_f64(x)
}

/// Asserts that two numbers differ by no more than so many roundings.
#[track_caller]
pub(crate) fn close<V: Number>(found: V, expected: V, roundings: usize) {
    #[allow(clippy::cast_precision_loss, reason = "a few thousand at most")]
    let tolerance = roundings as f64 * <V::Lane as tapewright::Float>::epsilon().as_f64() * expected.as_f64().abs();
    let difference = (found.as_f64() - expected.as_f64()).abs();
    assert!(difference <= tolerance, "{found} is not {expected}: {difference:e} > {tolerance:e}");
}

/// Asserts that the recording holds inputs and so many results of external functions, and nothing else. Where
/// identifiers are reused, such a result may take a record without arguments, which counts as a statement.
#[allow(dead_code, reason = "not every test of those that share this file asks")]
#[track_caller]
pub(crate) fn holds_results_only<S: Reverse>(tape: &Tape<S>, results: usize) {
    let report = tape.memory();
    let most = if std::mem::needs_drop::<S::Id>() { results } else { 0 };
    assert!(report.statements <= most && report.arguments == 0, "{report}");
}
