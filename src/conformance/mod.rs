//! The conformance kit, by which the author of a strategy knows that it is right.
//!
//! A *scenario* is a generic function that exercises a strategy and says which promise was broken, if any. All
//! scenarios are written with borrowed variables, so that they also serve strategies whose variables are not `Copy`,
//! and over `S::Value`, with tolerances in units of its machine epsilon.
//!
//! ```
//! # use tapewright::Jacobian as MyStrategy;
//! tapewright::conformance!(MyStrategy); // in a test file: one #[test] for each scenario
//!
//! let report = tapewright::conformance::run::<MyStrategy>(); // or all at once
//! assert_eq!(report.failures, []);
//! assert_eq!(report.skips, []);
//! ```
//!
//! Optional features, such as marks and forward sweeps, are not tested if the strategy lacks them. Scenarios that are
//! skipped for that reason say so: see [`Unproven::Skipped`].
//!
//! Needs the feature `conformance`. Strategies whose variables cannot be sent to other threads are beyond the kit.
#![allow(clippy::missing_errors_doc, reason = "a scenario fails when what its summary says is not so")]

mod check;
pub mod instrument;
pub mod rules;
mod scenarios;

pub use scenarios::{
    activity, formulas, isolation, lifetimes, memory, misuse, outputs, recordings, statements, sweeps,
};

use crate::{Error, Reverse};
use core::fmt;
use std::io::Write as _;
use std::panic::catch_unwind;

/// Reason why a scenario ended without having seen its promise kept.
#[derive(Clone, PartialEq, Eq)]
pub enum Unproven {
    /// The strategy broke the promise, in the way that the text says.
    Broken(String),
    /// The scenario does not apply, because the strategy lacks the feature that the text names.
    Skipped(String),
}

/// Result of a scenario.
pub type Outcome = Result<(), Unproven>;

/// A scenario, applied to a strategy.
pub type Scenario = fn() -> Outcome;

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(reason) => f.write_str(reason),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
        }
    }
}

/// Prints the text of `Display`, because a test that returns it prints `Debug`.
impl fmt::Debug for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for Unproven {}

impl From<Error> for Unproven {
    fn from(error: Error) -> Self {
        Self::Broken(format!("unexpected error: {error}"))
    }
}

/// A scenario's name and a reason.
pub type Named = (&'static str, String);

/// Results of all scenarios together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Scenarios that failed, each with the promise that the strategy broke.
    pub failures: Vec<Named>,
    /// Scenarios that do not apply, each with the feature that the strategy lacks.
    pub skips: Vec<Named>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failures.iter().try_for_each(|(name, reason)| writeln!(f, "failed: {name}: {reason}"))?;
        self.skips.iter().try_for_each(|(name, reason)| writeln!(f, "skipped: {name}: {reason}"))
    }
}

/// Turns each scenario into a `#[test]` for this strategy.
///
/// `conformance!(Toy)` becomes `#[test] fn polynomial() -> Outcome { unless_skipped("polynomial",
/// formulas::polynomial::<Toy>()) }` and so on. A test that is skipped passes, and writes a line that says so to the
/// standard error.
///
/// `conformance!(Toy, complete)` is for strategies that have all features of the contract. It becomes `#[test] fn
/// polynomial() -> Outcome { formulas::polynomial::<Toy>() }` and so on: a test that would be skipped fails.
#[macro_export]
macro_rules! conformance {
    ($strategy:ty) => {
        $crate::conformance_scenarios! { conformance_tests [$strategy] }
    };
    ($strategy:ty, complete) => {
        $crate::conformance_scenarios! { conformance_complete_tests [$strategy] }
    };
}

/// Passes the scenarios by module to the macro named first.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_scenarios {
    ($handler:ident $strategy:tt) => { $crate::$handler! { $strategy
        formulas: values_are_those_of_floats polynomial quotients transcendental_functions every_operator
            compound_assignments iterator_folds chain_of_sines fan_out repeated_arguments shared_partials
            unselected_branch_contributes_nothing many_types_of_statements;
        outputs: output_is_an_input output_is_a_constant output_listed_twice unused_input_has_gradient_zero
            sweeps_do_not_pollute_each_other zero_adjoint_ignores_infinite_partials infinite_partials_arrive
            adjoints_of_intermediates_are_consumed;
        activity: every_activity_pattern every_activity_pattern_of_slices passive_statements_record_nothing
            passive_results_stay_passive activity_changes_between_identical_statements;
        statements: expression_folded_twice variable_assigned_over
            statement_of_forty_arguments wide_sum wide_dot wide_linear_combination empty_slices;
        rules: unary_rule binary_rule ternary_rule nary_rule rule_panics_while_recording rule_panics_during_a_sweep
            rule_records_in_its_derivative nary_rule_records_in_its_partials rule_records_on_a_tape_of_its_own;
        recordings: nested_recordings another_strategy_inside guards_end_in_any_order
            guard_dropped_early leaked_guard panic_inside_a_recording tape_moves_to_another_thread
            two_threads_record_at_once many_recordings_on_one_tape two_tapes_alternate;
        sweeps: lanes_are_sweeps_of_their_own forward_sweep_gives_the_tangents sweeps_between_positions_are_the_whole
            zero_partial_below_an_infinite_adjoint;
        instrument: external_function callbacks_in_order checkpointed_stages nested_recording_in_a_rule reversed_loop
            rules_are_dropped_once;
        misuse: variable_of_a_finished_recording variable_of_an_outdated_recording variables_of_two_recordings
            variable_of_a_reset_tape variable_on_another_thread misuse_leaves_the_recording_intact
            foreign_variable_in_a_sweep lengths_that_differ;
        isolation: recording_without_inputs identifiers_are_distinct;
        lifetimes: expression_folded_long_after_its_leaves copies_dropped_in_any_order
            inputs_registered_late_and_dropped_early
            variable_dropped_after_its_recording variable_dropped_inside_another_recording variables_dropped_by_a_panic
            variable_dropped_on_another_thread copy_made_on_another_thread copy_of_a_finished_recording
            sweeps_into_vectors_of_the_caller variables_come_and_go_at_random;
        memory: statements_and_arguments_are_counted used_is_at_most_reserved reset_empties_the_streams
            same_recording_reserves_no_more report_grows_with_the_recording large_recording reserved_tape_records_right
            recording_within_its_capacity_reserves_no_more;
    } };
}

/// Makes tests of a table of scenarios.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_tests {
    ([$strategy:ty] $($module:ident: $($scenario:ident)*;)*) => { $( $(
        #[test]
        fn $scenario() -> $crate::conformance::Outcome {
            let outcome = $crate::conformance::$module::$scenario::<$strategy>();
            $crate::conformance::unless_skipped(stringify!($scenario), outcome)
        }
    )* )* };
}

/// Makes tests of a table of scenarios, none of which may be skipped.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_complete_tests {
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

/// Writes to the standard error that a scenario was skipped, which is then no reason to fail.
#[doc(hidden)]
pub fn unless_skipped(name: &str, outcome: Outcome) -> Outcome {
    let Err(Unproven::Skipped(reason)) = outcome else { return outcome };
    // Written directly and in one piece: the output of tests is shown only when they fail, and other threads write,
    // too. A failure to write is ignored.
    let _ = std::io::stderr().write_all(format!("skipped: {name}: {reason}\n").as_bytes());
    Ok(())
}

/// Runs every scenario. A scenario that panics where it should not has failed.
#[must_use]
pub fn run<S: Reverse<Variable: Send>>() -> Report {
    let mut report = Report::default();
    for (name, scenario) in scenarios::<S>() {
        match outcome_of(scenario) {
            Ok(()) => {}
            Err(Unproven::Broken(reason)) => report.failures.push((name, reason)),
            Err(Unproven::Skipped(reason)) => report.skips.push((name, reason)),
        }
    }
    report
}

/// Runs a scenario; a panic that it lets through is a broken promise.
#[doc(hidden)]
pub fn outcome_of(scenario: Scenario) -> Outcome {
    let broken = |text: &str| Unproven::Broken(format!("unexpected panic: {text}"));
    catch_unwind(scenario).unwrap_or_else(|payload| Err(broken(check::panic_message(&*payload))))
}
