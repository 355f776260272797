//! The conformance kit on every strategy of this repository, and on one that is broken on purpose in many ways.

#[path = "conformance/faults.rs"]
mod faults;
#[path = "conformance/faulty.rs"]
mod faulty;

use faulty::{Fault, report_with};

use std::collections::HashSet;
use std::process::Command;
use tapewright::conformance::{Report, scenarios};
#[cfg(feature = "wide")]
use tapewright::{Checked, Continuation, Subgradient};
use tapewright::{Hybrid, Jacobian, Linear, PrimalValue, Reuse, Shared, Spilled, Tape, Traced};
use tapewright_kit_tests::FewPages;

/// The kit as users write it, with a test for each scenario.
mod jacobian {
    tapewright::conformance!(tapewright::Jacobian, complete);
}

/// Runs the kit, in one test for each strategy. None of them may skip a scenario.
macro_rules! conforms {
    ($($name:ident: $strategy:ty;)*) => { $(
        #[test]
        fn $name() {
            let report = tapewright::conformance::run::<$strategy>();
            assert_eq!(report, Report::default(), "{report}");
        }
    )* };
}

mod every_scenario_holds_under {
    use super::*;

    conforms! {
        jacobian_f32: Jacobian<f32>;
        jacobian_reuse_spilled: Jacobian<f64, Reuse, Spilled<FewPages>>;
        primal_value_shared: PrimalValue<f64, Linear, Shared>;
        hybrid_reuse: Hybrid<f64, Reuse>;
        traced_jacobian: Traced<Jacobian>;
    }

    // The others, which take long to compile.
    #[cfg(feature = "wide")]
    conforms! {
        jacobian_u64: Jacobian<f64, Linear<u64>>;
        jacobian_shared: Jacobian<f64, Linear, Shared>;
        jacobian_spilled: Jacobian<f64, Linear, Spilled<FewPages>>;
        jacobian_reuse: Jacobian<f64, Reuse>;
        jacobian_reuse_shared: Jacobian<f64, Reuse, Shared>;
        jacobian_subgradient: Subgradient<Jacobian>;
        primal_value: PrimalValue;
        primal_value_f32: PrimalValue<f32>;
        primal_value_u64: PrimalValue<f64, Linear<u64>>;
        primal_value_spilled: PrimalValue<f64, Linear, Spilled<FewPages>>;
        primal_value_reuse: PrimalValue<f64, Reuse>;
        primal_value_reuse_shared: PrimalValue<f64, Reuse, Shared>;
        primal_value_reuse_spilled: PrimalValue<f64, Reuse, Spilled<FewPages>>;
        hybrid: Hybrid;
        hybrid_shared: Hybrid<f64, Linear, Shared>;
        hybrid_spilled: Hybrid<f64, Linear, Spilled<FewPages>>;
        hybrid_reuse_shared: Hybrid<f64, Reuse, Shared>;
        hybrid_reuse_spilled: Hybrid<f64, Reuse, Spilled<FewPages>>;
        continuation: Continuation;
        continuation_f32: Continuation<f32>;
        continuation_u64: Continuation<f64, Linear<u64>>;
        continuation_reuse: Continuation<f64, Reuse>;
        traced_primal_value_reuse_spilled: Traced<PrimalValue<f64, Reuse, Spilled<FewPages>>>;
        traced_hybrid_shared: Traced<Hybrid<f64, Linear, Shared>>;
        traced_continuation_reuse: Traced<Continuation<f64, Reuse>>;
    }
}

/// The store of slabs is no type, so this runs the strategies above once more, as another process.
#[test]
fn c16_scenarios_hold_where_slabs_go_to_a_second_buffer() {
    let mut these = Command::new(std::env::current_exe().expect("this program"));
    let found = these.arg("_spilled").env("TAPEWRIGHT_SECOND_BUFFER", "1").output().expect("it starts");
    let text = String::from_utf8_lossy(&found.stdout);
    let ran = text.matches("_spilled ... ok").count();
    assert!(found.status.success() && ran == if cfg!(feature = "wide") { 7 } else { 1 }, "{text}");
}

/// Under `Checked` scenarios about singular points are skipped, and no others.
#[cfg(feature = "wide")]
#[test]
fn checked_strategies_skip_singular_points() {
    let report = tapewright::conformance::run::<Checked<PrimalValue<f64, Reuse>>>();
    assert_eq!(report.failures, []);
    let skipped: Vec<&str> = report.skips.iter().map(|(name, _)| *name).collect();
    let expected = [
        "zero_adjoint_ignores_infinite_partials",
        "lanes_are_sweeps_of_their_own",
        "zero_partial_below_an_infinite_adjoint",
    ];
    assert_eq!(skipped, expected);
}

#[test]
fn strategy_without_fault_passes_and_skips_nothing() {
    assert_eq!(report_with(Fault::None), Report::default());
}

#[test]
fn scenarios_have_distinct_names() {
    let all = scenarios::<Jacobian>();
    let names: HashSet<_> = all.iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), all.len());
}

#[test]
fn tapes_can_be_sent_to_other_threads() {
    fn sendable<T: Send>(_: T) {}
    sendable(Tape::<Jacobian>::new());
    sendable(Tape::<PrimalValue<f32, Linear<u64>>>::new());
}
