//! The conformance kit: how the author of a strategy knows that it is right.
//!
//! A *scenario* is a generic function that exercises a strategy and says which promise was broken, if any. All of them
//! are written with borrowed variables, so that they also serve strategies whose variables are not `Copy`, and over
//! `S::Value`, with tolerances in units of its machine epsilon.
//!
//! ```
//! # use tapewright::Jacobian as MyStrategy;
//! tapewright::conformance!(MyStrategy); // in a test file: one #[test] for each scenario
//!
//! let failures = tapewright::conformance::run::<MyStrategy>(); // or all at once
//! assert_eq!(failures, []);
//! ```
//!
//! Needs the feature `conformance`. Strategies whose variables cannot be sent to other threads are beyond the kit.
#![allow(clippy::missing_errors_doc, reason = "a scenario fails when what its summary says is not so")]

pub mod activity;
mod check;
pub mod formulas;
pub mod instrument;
pub mod isolation;
pub mod lifetimes;
pub mod memory;
pub mod misuse;
pub mod outputs;
pub mod recordings;
pub mod rules;
pub mod statements;
pub mod sweeps;

use crate::{Error, Reverse};
use core::fmt;
use std::panic::catch_unwind;

/// The promise that a strategy broke, in words.
#[derive(Clone, PartialEq, Eq)]
pub struct Failure(String);

/// What a scenario finds.
pub type Outcome = Result<(), Failure>;

/// A scenario, applied to a strategy.
pub type Scenario = fn() -> Outcome;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As `Display`: a test that returns a failure prints this.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Failure {}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(format!("unexpected error: {error}"))
    }
}

/// Turns each scenario into a `#[test]` for this strategy.
///
/// `conformance!(Toy)` becomes `#[test] fn polynomial() -> Outcome { formulas::polynomial::<Toy>() }` and so on.
#[macro_export]
macro_rules! conformance {
    ($strategy:ty) => {
        $crate::conformance_scenarios! { conformance_tests [$strategy] }
    };
}

/// The scenarios by module, handed to the macro named first.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_scenarios {
    ($handler:ident $strategy:tt) => { $crate::$handler! { $strategy
        formulas: values_are_those_of_floats polynomial quotients transcendental_functions every_operator
            compound_assignments iterator_folds chain_of_sines fan_out repeated_arguments shared_partials
            unselected_branch_contributes_nothing many_types_of_statements;
        outputs: output_is_an_input output_is_a_constant output_is_the_same_input_twice output_listed_twice
            unused_input_has_gradient_zero recording_without_inputs outputs_with_different_seeds repeated_sweeps_agree
            sweeps_do_not_pollute_each_other zero_adjoint_ignores_infinite_partials infinite_partials_arrive
            adjoints_of_intermediates_are_consumed;
        activity: every_activity_pattern every_activity_pattern_of_slices passive_statements_record_nothing
            passive_results_stay_passive activity_changes_between_identical_statements;
        statements: expression_outlives_its_leaves expression_folded_twice variable_assigned_over
            statement_of_forty_arguments wide_sum wide_dot wide_linear_combination empty_slices;
        rules: unary_rule binary_rule nary_rule rule_panics_while_recording rule_panics_during_a_sweep
            rule_records_in_its_derivative nary_rule_records_in_its_partials rule_records_on_a_tape_of_its_own;
        recordings: nested_recordings nested_three_deep another_strategy_inside guards_end_in_any_order
            guard_dropped_early leaked_guard panic_inside_a_recording tape_moves_to_another_thread
            two_threads_record_at_once many_recordings_on_one_tape two_tapes_alternate;
        sweeps: lanes_are_sweeps_of_their_own forward_sweep_gives_the_tangents sweeps_between_positions_are_the_whole
            zero_partial_below_an_infinite_adjoint;
        instrument: external_function callbacks_in_order checkpointed_stages nested_recording_in_a_rule reversed_loop
            rules_are_dropped_once;
        misuse: variable_of_a_finished_recording variable_of_an_outdated_recording variables_of_two_recordings
            variable_of_a_reset_tape variable_on_another_thread misuse_leaves_the_recording_intact
            adjoint_of_a_foreign_variable output_of_a_foreign_recording lengths_that_differ;
        isolation: shorter_recording_after_a_longer_one reset_forgets_the_recording empty_recording
            inputs_registered_late identifiers_are_distinct;
        lifetimes: expression_folded_long_after_its_leaves copies_dropped_in_any_order input_dropped_early
            variable_dropped_after_its_recording variable_dropped_inside_another_recording variables_dropped_by_a_panic
            variable_dropped_on_another_thread copy_made_on_another_thread copy_of_a_finished_recording
            sweeps_into_vectors_of_the_caller variables_come_and_go_at_random;
        memory: statements_and_arguments_are_counted used_is_at_most_reserved reset_empties_the_streams
            same_recording_reserves_no_more report_grows_with_the_recording large_recording reserved_tape_records_right
            recording_beyond_its_capacity;
    } };
}

/// Makes tests of a table of scenarios.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ([$strategy:ty] $($module:ident: $($scenario:ident)*;)*) => { $( $(
        #[test]
        fn $scenario() -> $crate::conformance::Outcome {
            $crate::conformance::$module::$scenario::<$strategy>()
        }
    )* )* };
}

/// Makes a vector of a table of scenarios.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_vector {
    ([$strategy:ty] $($module:ident: $($scenario:ident)*;)*) => {
        vec![ $( $( (stringify!($scenario), $crate::conformance::$module::$scenario::<$strategy> as _), )* )* ]
    };
}

/// All scenarios by name.
#[must_use]
pub fn scenarios<S: Reverse<Variable: Send>>() -> Vec<(&'static str, Scenario)> {
    crate::conformance_scenarios! { conformance_vector [S] }
}

/// Runs every scenario, and returns the names of those that fail with their reasons. A scenario that panics where it
/// should not has failed.
#[must_use]
pub fn run<S: Reverse<Variable: Send>>() -> Vec<(&'static str, String)> {
    let reason = |scenario: Scenario| match catch_unwind(scenario) {
        Ok(outcome) => outcome.err().map(|failure| failure.to_string()),
        Err(payload) => Some(format!("unexpected panic: {}", check::panic_message(&*payload))),
    };
    scenarios::<S>().into_iter().filter_map(|(name, scenario)| Some((name, reason(scenario)?))).collect()
}
