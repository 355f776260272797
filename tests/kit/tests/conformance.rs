//! The conformance kit on every strategy of this repository, and on one that is broken on purpose in many ways.

#[path = "conformance/faulty.rs"]
mod faulty;

use faulty::{Fault, failures_with};
use std::collections::HashSet;
use tapewright::conformance::scenarios;
use tapewright::{Continuation, Hybrid, Jacobian, Linear, PrimalValue, Reuse, Shared, Spilled, Tape};
use tapewright_kit_tests::FewPages;

/// The kit, for each strategy in a module of its own.
macro_rules! conforms {
    ($($module:ident: $strategy:ty;)*) => { $(
        mod $module {
            use super::*;
            tapewright::conformance!($strategy);
        }
    )* };
}

conforms! {
    jacobian: Jacobian;
    jacobian_f32: Jacobian<f32>;
    jacobian_reuse_spilled: Jacobian<f64, Reuse, Spilled<FewPages>>;
    primal_value_shared: PrimalValue<f64, Linear, Shared>;
    hybrid_reuse: Hybrid<f64, Reuse>;
    continuation_u64: Continuation<f64, Linear<u64>>;
}

/// The others, which take long to compile.
#[cfg(feature = "wide")]
mod wide {
    use super::*;

    conforms! {
        jacobian_u64: Jacobian<f64, Linear<u64>>;
        jacobian_f32_u64: Jacobian<f32, Linear<u64>>;
        jacobian_shared: Jacobian<f64, Linear, Shared>;
        jacobian_spilled: Jacobian<f64, Linear, Spilled<FewPages>>;
        jacobian_reuse: Jacobian<f64, Reuse>;
        jacobian_reuse_f32: Jacobian<f32, Reuse>;
        jacobian_reuse_shared: Jacobian<f64, Reuse, Shared>;
        primal_value: PrimalValue;
        primal_value_f32: PrimalValue<f32>;
        primal_value_u64: PrimalValue<f64, Linear<u64>>;
        primal_value_f32_u64: PrimalValue<f32, Linear<u64>>;
        primal_value_spilled: PrimalValue<f64, Linear, Spilled<FewPages>>;
        primal_value_reuse: PrimalValue<f64, Reuse>;
        primal_value_reuse_f32: PrimalValue<f32, Reuse>;
        primal_value_reuse_shared: PrimalValue<f64, Reuse, Shared>;
        primal_value_reuse_spilled: PrimalValue<f64, Reuse, Spilled<FewPages>>;
        hybrid: Hybrid;
        hybrid_f32: Hybrid<f32>;
        hybrid_u64: Hybrid<f64, Linear<u64>>;
        hybrid_shared: Hybrid<f64, Linear, Shared>;
        hybrid_spilled: Hybrid<f64, Linear, Spilled<FewPages>>;
        hybrid_reuse_f32: Hybrid<f32, Reuse>;
        hybrid_reuse_shared: Hybrid<f64, Reuse, Shared>;
        hybrid_reuse_spilled: Hybrid<f64, Reuse, Spilled<FewPages>>;
        continuation: Continuation;
        continuation_f32: Continuation<f32>;
        continuation_reuse: Continuation<f64, Reuse>;
    }
}

/// Fails unless the kit finds this fault, in the scenario that is meant to.
fn is_caught(fault: Fault, scenario: &str) {
    let failures = failures_with(fault);
    let caught = failures.iter().any(|(name, _)| *name == scenario);
    assert!(caught, "{fault:?} passes {scenario}; the kit found {failures:#?}");
}

#[test]
fn strategy_without_fault_passes() {
    assert_eq!(failures_with(Fault::None), []);
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

/// One test for each fault: `dropped_partial_is_caught: DropsAPartial by polynomial` becomes
/// `#[test] fn dropped_partial_is_caught() { is_caught(Fault::DropsAPartial, "polynomial") }`.
macro_rules! faults {
    ($($test:ident: $fault:ident by $scenario:ident;)*) => { $(
        #[test]
        fn $test() {
            is_caught(Fault::$fault, stringify!($scenario));
        }
    )* };
}

faults! {
    dropped_partial_is_caught: DropsAPartial by statement_of_forty_arguments;
    repeated_argument_counted_once_is_caught: MergesRepeatedArguments by repeated_arguments;
    repeated_argument_counted_doubly_is_caught: DoublesRepeatedArguments by repeated_arguments;
    rounded_partials_are_caught: RoundsPartials by transcendental_functions;
    partials_of_passive_arguments_are_caught: MisplacesPartialsBesidePassive by every_activity_pattern;
    recorded_passive_statements_are_caught: RecordsPassiveStatements by passive_statements_record_nothing;
    kept_adjoint_is_caught: KeepsAdjointOfResult by adjoints_of_intermediates_are_consumed;
    adjoint_left_for_the_next_sweep_is_caught: KeepsAdjointOfResult by sweeps_do_not_pollute_each_other;
    zero_times_infinity_is_caught: MultipliesZeroByInfinity by zero_adjoint_ignores_infinite_partials;
    infinity_times_zero_is_caught: MultipliesZeroPartials by zero_partial_below_an_infinite_adjoint;
    accepted_stale_variable_is_caught: AcceptsAnyVariable by variable_of_an_outdated_recording;
    variables_recorded_on_the_innermost_tape_are_caught: AcceptsAnyVariable by nested_recordings;
    accepted_mixture_of_recordings_is_caught: LooksAtOneArgument by variables_of_two_recordings;
    refused_statement_that_is_recorded_is_caught: RecordsBeforeItChecks by misuse_leaves_the_recording_intact;
    statement_kept_from_the_last_recording_is_caught: KeepsLastStatement by shorter_recording_after_a_longer_one;
    unforgotten_recording_is_caught: ForgetsToReset by reset_forgets_the_recording;
    lost_late_input_is_caught: LosesLateInputs by inputs_registered_late;
    identifier_given_twice_is_caught: SharesIdentifiers by identifiers_are_distinct;
    identifier_of_two_variables_alive_is_caught: SharesIdentifiers by variables_come_and_go_at_random;
    adjoint_left_in_a_vector_of_the_caller_is_caught: KeepsAdjointOfResult by sweeps_into_vectors_of_the_caller;
    input_lost_after_others_were_dropped_is_caught: LosesLateInputs by input_dropped_early;
    short_wide_statement_is_caught: CutsWideStatements by wide_sum;
    wrong_constants_of_slices_are_caught: IgnoresConstants by wide_linear_combination;
    miscounted_statements_are_caught: CountsInputsAsStatements by statements_and_arguments_are_counted;
    use_beyond_the_reserve_is_caught: ReportsLengthAsReserve by used_is_at_most_reserved;
    leaked_memory_is_caught: NeverReusesMemory by same_recording_reserves_no_more;
}
