//! A strategy that is right, until it is told to make a mistake.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use tapewright::conformance;
use tapewright::strategies::{LinearId, Strict, TapeNumber, Taped, active};
use tapewright::{Capacity, MemoryReport, MemoryUsage, Nary, Reverse, Statement, SweepError, Taping};

/// A mistake to make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fault {
    None,
    DropsAPartial,
    MergesRepeatedArguments,
    DoublesRepeatedArguments,
    RoundsPartials,
    MisplacesPartialsBesidePassive,
    RecordsPassiveStatements,
    KeepsAdjointOfResult,
    MultipliesZeroByInfinity,
    MultipliesZeroPartials,
    AcceptsAnyVariable,
    LooksAtOneArgument,
    RecordsBeforeItChecks,
    KeepsLastStatement,
    ForgetsToReset,
    LosesLateInputs,
    SharesIdentifiers,
    CutsWideStatements,
    IgnoresConstants,
    CountsInputsAsStatements,
    ReportsLengthAsReserve,
    NeverReusesMemory,
}

/// The fault of the moment: the process has one, because scenarios start threads.
static FAULT: AtomicU8 = AtomicU8::new(Fault::None as u8);
/// Held by the test whose fault it is.
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    /// The recording that began last on this thread.
    static LATEST: Cell<TapeNumber> = Cell::default();
}

fn has(fault: Fault) -> bool {
    FAULT.load(Ordering::Relaxed) == fault as u8
}

/// What the kit finds in the strategy with this fault.
pub(crate) fn failures_with(fault: Fault) -> Vec<(&'static str, String)> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    FAULT.store(fault as u8, Ordering::Relaxed);
    conformance::run::<Faulty>()
}

/// Partials and arguments of each statement, in a list of its own.
pub(crate) struct Faulty;

#[derive(Default)]
pub(crate) struct Statements {
    number: TapeNumber,
    /// `None` for an input.
    records: Vec<Option<Vec<(f64, usize)>>>,
    leaked: usize,
}

impl Statements {
    fn push(&mut self, record: Option<Vec<(f64, usize)>>) -> LinearId {
        self.records.push(record);
        let shared = has(Fault::SharesIdentifiers) && self.records.len().is_multiple_of(4);
        let index = self.records.len() - usize::from(shared);
        LinearId::new(self.number, index as u64).expect("fewer than 2^32 statements")
    }
}

/// The recording that a statement of these arguments belongs to.
#[track_caller]
fn recording_of(arguments: &[(f64, LinearId)]) -> Option<TapeNumber> {
    let mut active = arguments.iter().map(|(_, id)| *id).filter(|id| id.is_active());
    if has(Fault::RecordsPassiveStatements) && !arguments.is_empty() && active.clone().next().is_none() {
        return Some(LATEST.get());
    }
    if has(Fault::AcceptsAnyVariable) {
        return active.next().map(|_| LATEST.get());
    }
    if has(Fault::LooksAtOneArgument) {
        return active.next().map(LinearId::number);
    }
    if has(Fault::RecordsBeforeItChecks)
        && let Some(first) = active.clone().next()
    {
        active::with::<Faulty, _>(first.number(), |tape| tape.push(Some(Vec::new())));
    }
    active::common_number(active)
}

/// Changes what is recorded.
fn spoil(arguments: &mut Vec<(f64, LinearId)>) {
    if has(Fault::DropsAPartial) && arguments.len() > 3 {
        arguments.pop();
    }
    if has(Fault::RoundsPartials) {
        for (partial, _) in arguments.iter_mut() {
            *partial = (*partial * 1e6).round() / 1e6;
        }
    }
    if has(Fault::MergesRepeatedArguments) || has(Fault::DoublesRepeatedArguments) {
        let all = arguments.clone();
        let times = |id: LinearId| all.iter().filter(|(_, other)| other.index() == id.index()).count();
        if has(Fault::DoublesRepeatedArguments) {
            arguments.iter_mut().filter(|(_, id)| times(*id) > 1).for_each(|(partial, _)| *partial *= 2.0);
        } else {
            arguments.dedup_by_key(|(_, id)| id.index());
        }
    }
    if has(Fault::MisplacesPartialsBesidePassive) {
        let active = arguments.iter().filter(|(_, id)| id.is_active()).map(|(_, id)| *id);
        *arguments = active.zip(arguments.iter()).map(|(id, (partial, _))| (*partial, id)).collect();
    }
}

#[track_caller]
fn record(mut arguments: Vec<(f64, LinearId)>) -> LinearId {
    let Some(number) = recording_of(&arguments) else { return LinearId::PASSIVE };
    spoil(&mut arguments);
    active::with::<Faulty, _>(number, |tape| {
        let active = arguments.iter().filter(|(_, id)| id.is_active());
        tape.push(Some(active.map(|(partial, id)| (*partial, slot(*id))).collect()))
    })
}

fn slot(id: LinearId) -> usize {
    usize::try_from(id.index()).expect("identifiers fit")
}

impl Taping for Faulty {
    type Value = f64;
    type Id = LinearId;
    type Raw = LinearId;
    type Variable = Taped<f64, LinearId>;
    type Policy = Strict;

    fn passive() -> LinearId {
        LinearId::PASSIVE
    }

    fn raw(id: &LinearId) -> LinearId {
        *id
    }

    #[track_caller]
    fn record<N: Statement<Self>>(statement: &N) -> LinearId {
        let mut arguments = Vec::new();
        statement.partials(1.0, &mut |partial, id| arguments.push((partial, id)));
        record(arguments)
    }

    #[track_caller]
    fn record_nary<R: Nary<f64>>(arguments: &[&[Self::Variable]], constants: &[f64], _: f64) -> LinearId {
        let all = || arguments.iter().copied().flatten();
        let values: Vec<f64> = all().map(|x| x.value).collect();
        let mut partials = vec![0.0; values.len()];
        let ones = vec![1.0; constants.len()];
        R::partials(&values, if has(Fault::IgnoresConstants) { &ones } else { constants }, &mut partials);
        let most = if has(Fault::CutsWideStatements) { 255 } else { usize::MAX };
        record(partials.into_iter().zip(all().map(|x| x.id)).take(most).collect())
    }
}

impl Reverse for Faulty {
    type Tape = Statements;

    fn begin(tape: &mut Statements, number: TapeNumber) {
        LATEST.set(number);
        tape.number = number;
        if has(Fault::ForgetsToReset) {
            return;
        }
        if has(Fault::NeverReusesMemory) {
            tape.leaked += tape.records.capacity() * size_of::<Option<Vec<(f64, usize)>>>();
        }
        let kept = usize::from(has(Fault::KeepsLastStatement)).min(tape.records.len());
        tape.records.drain(..tape.records.len() - kept);
    }

    fn input(tape: &mut Statements, _: f64) -> LinearId {
        let late = tape.records.iter().any(Option::is_some);
        tape.push(if has(Fault::LosesLateInputs) && late { Some(Vec::new()) } else { None })
    }

    fn locate(id: &LinearId) -> Option<(TapeNumber, usize)> {
        id.is_active().then(|| (id.number(), slot(*id)))
    }

    fn identifiers(tape: &Statements) -> usize {
        tape.records.len() + 1
    }

    fn reverse(tape: &Statements, adjoints: &mut [f64]) -> Result<(), SweepError> {
        for (i, record) in tape.records.iter().enumerate().rev() {
            let Some(record) = record else { continue };
            let seed = adjoints[i + 1];
            if !has(Fault::KeepsAdjointOfResult) {
                adjoints[i + 1] = 0.0;
            }
            if seed == 0.0 && !has(Fault::MultipliesZeroByInfinity) {
                continue;
            }
            for (partial, argument) in record {
                if *partial != 0.0 || has(Fault::MultipliesZeroPartials) {
                    adjoints[*argument] += seed * partial;
                }
            }
        }
        Ok(())
    }

    fn reserve(tape: &mut Statements, capacity: Capacity) {
        tape.records.reserve(capacity.inputs + capacity.statements);
    }

    fn memory(tape: &Statements) -> MemoryReport {
        let statements = tape.records.iter().flatten().count();
        let arguments = tape.records.iter().flatten().map(Vec::len).sum();
        let counted = if has(Fault::CountsInputsAsStatements) { tape.records.len() } else { statements };
        let mut records = MemoryUsage::of_vec(&tape.records);
        if has(Fault::ReportsLengthAsReserve) {
            records.reserved = tape.records.len();
        }
        MemoryReport::new(counted, arguments)
            .stream("records", records)
            .stream("arguments", MemoryUsage::exact(size_of::<(f64, usize)>() * arguments))
            .stream("leaked", MemoryUsage { used: 0, reserved: tape.leaked })
    }
}
