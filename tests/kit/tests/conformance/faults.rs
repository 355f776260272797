//! For each scenario the mistakes that it must find.

use super::faulty::{Fault, Faulty, outcome_with};
use tapewright::conformance::{Unproven, scenarios};

/// Fails unless this scenario finds this fault.
fn is_caught(fault: Fault, scenario: &str) {
    let all = scenarios::<Faulty>();
    let (_, run) = all.iter().find(|(name, _)| *name == scenario).expect("a scenario of the kit");
    let outcome = outcome_with(fault, *run);
    assert!(matches!(outcome, Err(Unproven::Broken(_))), "{fault:?} passes {scenario}: {outcome:?}");
}

/// Scenarios that find no mistake of a strategy, and why not.
const WITHOUT_FAULT: [(&str, &str); 1] =
    [("lengths_that_differ", "lengths are compared by the engine before it asks the strategy for anything")];

/// A test for each scenario, in which it finds each of these faults: `polynomial: DropsAPartial;` becomes
/// `#[test] fn polynomial() { is_caught(Fault::DropsAPartial, "polynomial") }`.
macro_rules! faults {
    ($($scenario:ident: $($fault:ident)*;)*) => {
        /// Each scenario with the faults that it must find.
        const FAULTS: &[(&str, &[Fault])] = &[$((stringify!($scenario), &[$(Fault::$fault),*])),*];

        mod caught_by {
            use super::{Fault, is_caught};
            $(#[test] fn $scenario() { $(is_caught(Fault::$fault, stringify!($scenario));)* })*
        }
    };
}

faults! {
    values_are_those_of_floats: RoundsValues;
    polynomial: DropsAPartial;
    quotients: DropsNegativePartials;
    transcendental_functions: RoundsPartials;
    every_operator: DropsNegativePartials RoundsValues;
    compound_assignments: DropsNegativePartials KeepsAdjointOfResult;
    iterator_folds: DropsNegativePartials;
    chain_of_sines: RoundsPartials;
    fan_out: KeepsAdjointOfResult SharesIdentifiers;
    repeated_arguments: MergesRepeatedArguments DoublesRepeatedArguments;
    shared_partials: DropsNegativePartials DropsAPartial;
    unselected_branch_contributes_nothing: DropsNegativePartials;
    many_types_of_statements: RemembersActivity RoundsPartials;

    output_is_an_input: TakesAdjointsOfInputs;
    output_is_a_constant: GivesPassiveVariablesASlot;
    output_listed_twice: KeepsAdjointOfResult TakesAdjointsOfInputs;
    unused_input_has_gradient_zero: DoublesRepeatedArguments TakesAdjointsOfInputs;
    sweeps_do_not_pollute_each_other: KeepsAdjointOfResult;
    zero_adjoint_ignores_infinite_partials: MultipliesZeroByInfinity;
    infinite_partials_arrive: DropsInfinitePartials;
    adjoints_of_intermediates_are_consumed: KeepsAdjointOfResult;

    every_activity_pattern: MisplacesPartialsBesidePassive RecordsPassiveStatements;
    every_activity_pattern_of_slices: MisplacesPartialsBesidePassive IgnoresConstants;
    passive_statements_record_nothing: RecordsPassiveStatements;
    passive_results_stay_passive: RecordsPassiveStatements GivesPassiveVariablesASlot;
    activity_changes_between_identical_statements: RemembersActivity;

    expression_folded_twice: RecordsBeforeItChecks CountsInputsAsStatements;
    variable_assigned_over: KeepsAdjointOfResult MergesRepeatedArguments;
    statement_of_forty_arguments: DropsAPartial;
    wide_sum: CutsWideStatements;
    wide_dot: CutsWideStatements;
    wide_linear_combination: CutsWideStatements IgnoresConstants;
    empty_slices: TakesSlicesByPairs;

    unary_rule: DropsNegativePartials;
    binary_rule: DropsNegativePartials;
    ternary_rule: DropsNegativePartials;
    nary_rule: IgnoresConstants;
    rule_panics_while_recording: StaysBusyAfterAPanic;
    rule_panics_during_a_sweep: GoesOnWhereASweepPanicked;
    rule_records_in_its_derivative: TakesItsSlotBeforeItComputes;
    nary_rule_records_in_its_partials: TakesItsSlotBeforeItComputes;
    rule_records_on_a_tape_of_its_own: AcceptsAnyVariable SweepsTheLatestRecordingOnly;

    nested_recordings: AcceptsAnyVariable SweepsTheLatestRecordingOnly;
    another_strategy_inside: AcceptsAnyVariable;
    guards_end_in_any_order: AcceptsAnyVariable;
    guard_dropped_early: AcceptsAnyVariable;
    leaked_guard: AcceptsAnyVariable;
    panic_inside_a_recording: AcceptsAnyVariable;
    tape_moves_to_another_thread: SweepsOnItsOwnThreadOnly;
    two_threads_record_at_once: RecordsForTheProcess;
    many_recordings_on_one_tape: TiresAfterManyRecordings KeepsLastStatement;
    two_tapes_alternate: SweepsTheLatestRecordingOnly;

    lanes_are_sweeps_of_their_own: AddsZerosInLanes;
    forward_sweep_gives_the_tangents: KeepsOneTangent;
    sweeps_between_positions_are_the_whole: IgnoresEnds;
    zero_partial_below_an_infinite_adjoint: MultipliesZeroPartials;

    external_function: CallsExternalsAtTheEnd;
    callbacks_in_order: CallsOneOfSeveralExternals CallsExternalsAtTheEnd;
    checkpointed_stages: SweepsTheLatestRecordingOnly SharesIdentifiers;
    nested_recording_in_a_rule: SweepsTheLatestRecordingOnly KeepsAdjointOfResult;
    reversed_loop: CopiesOldVariablesAsPassive SweepsTheLatestRecordingOnly;
    rules_are_dropped_once: LeaksRules;

    variable_of_a_finished_recording: TakesStaleVariablesForPassive;
    variable_of_an_outdated_recording: AcceptsAnyVariable TakesStaleVariablesForPassive;
    variables_of_two_recordings: LooksAtOneArgument;
    variable_of_a_reset_tape: TakesStaleVariablesForPassive;
    variable_on_another_thread: TakesStaleVariablesForPassive;
    misuse_leaves_the_recording_intact: RecordsBeforeItChecks;
    foreign_variable_in_a_sweep: LocatesEverythingHere;

    recording_without_inputs: RecordsPassiveStatements ExpectsAStatement;
    identifiers_are_distinct: SharesIdentifiers;

    expression_folded_long_after_its_leaves: ReturnsWithTheFirstCopy;
    copies_dropped_in_any_order: ReturnsWithTheFirstCopy;
    inputs_registered_late_and_dropped_early: ReusesInputs LosesLateInputs;
    variable_dropped_after_its_recording: ReturnsToTheLatestRecording;
    variable_dropped_inside_another_recording: ReturnsToTheLatestRecording;
    variables_dropped_by_a_panic: ReturnsTwiceInAPanic;
    variable_dropped_on_another_thread: ReturnsToTheLatestRecording;
    copy_made_on_another_thread: DoesNotCountCopiesElsewhere;
    copy_of_a_finished_recording: CopiesOldVariablesAsPassive;
    sweeps_into_vectors_of_the_caller: KeepsAdjointOfResult;
    variables_come_and_go_at_random: SharesIdentifiers ReturnsWithTheFirstCopy;

    statements_and_arguments_are_counted: CountsInputsAsStatements;
    used_is_at_most_reserved: ReportsLengthAsReserve;
    reset_empties_the_streams: ReportsTheLargestRecording ForgetsToReset;
    same_recording_reserves_no_more: NeverReusesMemory;
    report_grows_with_the_recording: ReportsNoBytes;
    large_recording: CutsLongRecordings;
    reserved_tape_records_right: FillsWhatItReserves StopsAtItsCapacity;
    recording_within_its_capacity_reserves_no_more: ReservesNoStatements ReservesNoArguments;
}

#[test]
fn every_scenario_finds_a_fault_or_has_a_reason_why_not() {
    let excused = |name| WITHOUT_FAULT.iter().any(|(excused, why)| *excused == name && !why.is_empty());
    let finds = |name| FAULTS.iter().any(|(scenario, faults)| *scenario == name && !faults.is_empty());
    for (name, _) in scenarios::<Faulty>() {
        assert!(finds(name) != excused(name), "{name} has neither a fault nor a reason, or both");
    }
    assert_eq!(FAULTS.len() + WITHOUT_FAULT.len(), scenarios::<Faulty>().len(), "each scenario once");
}
