//! Runs tests under every strategy, index manager and layer. Without the feature `wide`, which the
//! continuous integration sets, under one of each kind: they take long to compile.

/// `everywhere!(a, b)` makes a module of tests for each of the generic functions `a` and `b`.
macro_rules! everywhere {
    ($($name:ident),*) => {$(
        mod $name {
            use tapewright::{Spilled, prelude::*};
            use tapewright_kit_tests::Tight;
            #[test] fn jacobian() { super::$name::<Jacobian>() }
            #[cfg(feature = "wide")] #[test] fn jacobian_u64() { super::$name::<Jacobian<f64, Linear<u64>>>() }
            #[cfg(feature = "wide")] #[test] fn jacobian_shared() { super::$name::<Jacobian<f64, Linear, Shared>>() }
            #[cfg(feature = "wide")] #[test] fn jacobian_spilled() { super::$name::<Jacobian<f64, Linear, Spilled<Tight>>>() }
            #[cfg(feature = "wide")] #[test] fn jacobian_reuse() { super::$name::<Jacobian<f64, Reuse>>() }
            #[cfg(feature = "wide")] #[test] fn jacobian_reuse_spilled() { super::$name::<Jacobian<f64, Reuse, Spilled<Tight>>>() }
            #[cfg(feature = "wide")] #[test] fn primal_value() { super::$name::<PrimalValue>() }
            #[cfg(feature = "wide")] #[test] fn primal_value_shared() { super::$name::<PrimalValue<f64, Linear, Shared>>() }
            #[cfg(feature = "wide")] #[test] fn primal_value_spilled() { super::$name::<PrimalValue<f64, Linear, Spilled<Tight>>>() }
            #[cfg(feature = "wide")] #[test] fn primal_value_reuse() { super::$name::<PrimalValue<f64, Reuse>>() }
            #[test] fn primal_value_reuse_spilled() { super::$name::<PrimalValue<f64, Reuse, Spilled<Tight>>>() }
            #[test] fn hybrid() { super::$name::<Hybrid>() }
            #[cfg(feature = "wide")] #[test] fn hybrid_reuse() { super::$name::<Hybrid<f64, Reuse>>() }
            #[cfg(feature = "wide")] #[test] fn hybrid_reuse_spilled() { super::$name::<Hybrid<f64, Reuse, Spilled<Tight>>>() }
            #[cfg(feature = "wide")] #[test] fn continuation() { super::$name::<Continuation>() }
            #[cfg(feature = "wide")] #[test] fn continuation_u64() { super::$name::<Continuation<f64, Linear<u64>>>() }
            #[test] fn continuation_reuse() { super::$name::<Continuation<f64, Reuse>>() }
        }
    )*};
}
pub(crate) use everywhere;
