//! A strategy that is right, until it is told to make a mistake: Jacobian taping into lists, with reused identifiers,
//! marks and forward sweeps, so that there is something to do wrong for every scenario.

mod identifiers;
mod recording;
mod statements;
mod sweeps;

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tapewright::conformance::{self, Outcome, Report, Scenario};

/// A list of statements, and one of the partials and the slots of their arguments.
pub(crate) struct Faulty;

/// A mistake to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fault {
    None,
    // What variables carry.
    RoundsValues,
    GivesPassiveVariablesASlot,
    LocatesEverythingHere,
    // When identifiers are given back.
    ReusesInputs,
    ReturnsWithTheFirstCopy,
    ReturnsToTheLatestRecording,
    ReturnsTwiceInAPanic,
    DoesNotCountCopiesElsewhere,
    CopiesOldVariablesAsPassive,
    SharesIdentifiers,
    // Statements.
    DropsAPartial,
    MergesRepeatedArguments,
    DoublesRepeatedArguments,
    RoundsPartials,
    DropsNegativePartials,
    DropsInfinitePartials,
    MisplacesPartialsBesidePassive,
    RemembersActivity,
    RecordsPassiveStatements,
    CutsWideStatements,
    TakesSlicesByPairs,
    IgnoresConstants,
    StaysBusyAfterAPanic,
    TakesItsSlotBeforeItComputes,
    // Where they are recorded.
    AcceptsAnyVariable,
    RecordsForTheProcess,
    TakesStaleVariablesForPassive,
    LooksAtOneArgument,
    RecordsBeforeItChecks,
    // The tape.
    KeepsLastStatement,
    TiresAfterManyRecordings,
    ForgetsToReset,
    LosesLateInputs,
    StopsAtItsCapacity,
    FillsWhatItReserves,
    ReservesNoStatements,
    ReservesNoArguments,
    CutsLongRecordings,
    // Sweeps.
    KeepsAdjointOfResult,
    TakesAdjointsOfInputs,
    ExpectsAStatement,
    MultipliesZeroByInfinity,
    MultipliesZeroPartials,
    GoesOnWhereASweepPanicked,
    SweepsTheLatestRecordingOnly,
    SweepsOnItsOwnThreadOnly,
    AddsZerosInLanes,
    KeepsOneTangent,
    // Places.
    CallsExternalsAtTheEnd,
    CallsOneOfSeveralExternals,
    IgnoresEnds,
    LeaksRules,
    // Reports.
    CountsInputsAsStatements,
    ReportsLengthAsReserve,
    ReportsTheLargestRecording,
    ReportsNoBytes,
    NeverReusesMemory,
}

/// The fault of the moment: the process has one, because scenarios start threads.
static FAULT: AtomicU8 = AtomicU8::new(Fault::None as u8);
/// Held by the test whose fault it is.
static TURN: Mutex<()> = Mutex::new(());

fn has(fault: Fault) -> bool {
    FAULT.load(Ordering::Relaxed) == fault as u8
}

/// Makes the mistake until the guard is dropped.
fn with(fault: Fault) -> MutexGuard<'static, ()> {
    let turn = lock(&TURN);
    FAULT.store(fault as u8, Ordering::Relaxed);
    turn
}

/// What all scenarios find in the strategy with this fault.
pub(crate) fn report_with(fault: Fault) -> Report {
    let _turn = with(fault);
    conformance::run::<Faulty>()
}

/// What one scenario finds in it.
pub(crate) fn outcome_with(fault: Fault, scenario: Scenario) -> Outcome {
    let _turn = with(fault);
    conformance::outcome_of(scenario)
}

/// What is locked, also after a panic: scenarios provoke some.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
