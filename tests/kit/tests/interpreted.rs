//! Scenarios of the conformance kit for the interpreter of `.ci/miri.sh`: those that reach unsafe code, each in a way of
//! its own. All of them take it more than five minutes a strategy, most of that for formulas.
#![cfg(miri)]

use tapewright::conformance::{
    Scenario, activity, formulas, instrument, lifetimes, misuse, outcome_of, recordings, rules, sweeps,
};
use tapewright::{Continuation, Hybrid, Jacobian, Linear, PrimalValue, Reuse, Reverse, Shared};

fn scenarios<S: Reverse<Variable: Send>>() -> [Scenario; 22] {
    [
        formulas::chain_of_sines::<S>,
        activity::activity_changes_between_identical_statements::<S>,
        rules::rule_panics_while_recording::<S>,
        rules::rule_records_in_its_derivative::<S>,
        rules::nary_rule_records_in_its_partials::<S>,
        recordings::nested_recordings::<S>,
        recordings::another_strategy_inside::<S>,
        recordings::guards_end_in_any_order::<S>,
        recordings::panic_inside_a_recording::<S>,
        recordings::tape_moves_to_another_thread::<S>,
        recordings::two_threads_record_at_once::<S>,
        sweeps::lanes_are_sweeps_of_their_own::<S>,
        sweeps::forward_sweep_gives_the_tangents::<S>,
        sweeps::sweeps_between_positions_are_the_whole::<S>,
        instrument::external_function::<S>,
        instrument::rules_are_dropped_once::<S>,
        misuse::variable_on_another_thread::<S>,
        lifetimes::inputs_registered_late_and_dropped_early::<S>,
        lifetimes::variable_dropped_inside_another_recording::<S>,
        lifetimes::variables_dropped_by_a_panic::<S>,
        lifetimes::variable_dropped_on_another_thread::<S>,
        lifetimes::copy_made_on_another_thread::<S>,
    ]
}

/// All kinds of records, linear and reused identifiers: half of them under each borrow model.
macro_rules! interpreted {
    ($($name:ident: $strategy:ty;)*) => { $(
        mod $name {
            use super::*;
            #[test]
            fn scenarios() {
                for (k, scenario) in super::scenarios::<$strategy>().into_iter().enumerate() {
                    assert_eq!(outcome_of(scenario), Ok(()), "scenario {k} of the list");
                }
            }
            #[test]
            fn leaked() {
                assert_eq!(recordings::leaked_guard::<$strategy>(), Ok(()));
            }
        }
    )* };
}
interpreted! {
    jacobian: Jacobian;
    primal_value_shared: PrimalValue<f64, Linear, Shared>;
    hybrid_reuse: Hybrid<f64, Reuse>;
    continuation_reuse: Continuation<f64, Reuse>;
}
