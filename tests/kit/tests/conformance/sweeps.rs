//! Sweeps over recordings, and places in them.

use super::identifiers::{Id, slot};
use super::recording::{self, Kind, Record, Recording};
use super::{Fault, Faulty, has};
use tapewright::strategies::contract::AtExternal;
use tapewright::strategies::external::Mark;
use tapewright::strategies::identifier::RecordingId;
use tapewright::tape::MemoryReport;
use tapewright::{Capacity, Reverse, SweepError};

/// The number of records before a mark.
fn records_before(mark: Mark) -> usize {
    usize::try_from(mark.numbers()[0]).expect("marks are of recordings")
}

/// Partials and slots of the arguments of a statement; `None` if the variable is given.
fn arguments(tape: &Recording, record: &Record) -> Option<Vec<(f64, usize)>> {
    match &record.kind {
        Kind::Given => has(Fault::TakesAdjointsOfInputs).then(Vec::new),
        Kind::External(_) => None,
        Kind::Statement(arguments) => Some(tape.arguments[arguments.clone()].to_vec()),
        Kind::Late(late) => Some(late.partials()),
    }
}

/// Reverses one statement in all lanes.
fn reverse_record(tape: &Recording, record: &Record, lanes: usize, adjoints: &mut [f64]) {
    let Some(arguments) = arguments(tape, record) else { return };
    for lane in 0..lanes {
        let result = &mut adjoints[record.result * lanes + lane];
        let seed = if has(Fault::KeepsAdjointOfResult) { *result } else { core::mem::take(result) };
        let all = has(Fault::MultipliesZeroByInfinity) || has(Fault::AddsZerosInLanes) && lanes > 1;
        if seed == 0.0 && !all {
            continue;
        }
        for (partial, argument) in &arguments {
            if *partial != 0.0 || has(Fault::MultipliesZeroPartials) {
                adjoints[argument * lanes + lane] += seed * partial;
            }
        }
    }
}

/// Reverses the statements from the first end to the second, and meets external functions among them.
fn sweep(
    tape: &Recording,
    lanes: usize,
    adjoints: &mut [f64],
    ends: (Option<Mark>, Option<Mark>),
    at: &mut AtExternal<'_, f64>,
) -> Result<(), SweepError> {
    assert!(!has(Fault::ExpectsAStatement) || !tape.records.is_empty(), "nothing has been recorded");
    let lost = has(Fault::SweepsTheLatestRecordingOnly) && tape.number != recording::latest()
        || has(Fault::SweepsOnItsOwnThreadOnly) && tape.home != Some(std::thread::current().id());
    if lost {
        return Ok(());
    }
    let ends = if has(Fault::IgnoresEnds) { (None, None) } else { ends };
    let (from, to) = (ends.0.map_or(tape.records.len(), records_before), ends.1.map_or(0, records_before));
    let left = tape.swept_to.take().filter(|_| has(Fault::GoesOnWhereASweepPanicked));
    let mut late = Vec::new();
    let mut next = left.unwrap_or(from);
    while next > to {
        next -= 1;
        tape.swept_to.set(Some(next));
        let follows = next > 0 && matches!(tape.records[next - 1].kind, Kind::External(_));
        match tape.records[next].kind {
            Kind::External(external) if has(Fault::CallsExternalsAtTheEnd) => late.push(external),
            Kind::External(_) if has(Fault::CallsOneOfSeveralExternals) && follows => {}
            Kind::External(external) => at(external, 0..lanes, adjoints)?,
            _ => reverse_record(tape, &tape.records[next], lanes, adjoints),
        }
    }
    tape.swept_to.set(None);
    late.into_iter().try_for_each(|external| at(external, 0..lanes, adjoints))
}

impl Reverse for Faulty {
    type Tape = Recording;

    const MARKS: bool = true;

    fn begin(tape: &mut Recording, number: RecordingId) {
        tape.begin(number);
    }

    fn input(tape: &mut Recording, _: f64) -> Id {
        tape.input()
    }

    fn external(tape: &mut Recording, external: u32, results: &[f64], each: &mut dyn FnMut(Id)) {
        results.iter().for_each(|_| each(tape.push(Kind::Given, None)));
        drop(tape.push(Kind::External(external as usize), None));
    }

    fn locate(id: &Id) -> Option<(RecordingId, usize)> {
        if !id.raw.is_active() {
            return has(Fault::GivesPassiveVariablesASlot).then(|| (recording::latest(), 1));
        }
        let here = has(Fault::LocatesEverythingHere);
        Some((if here { recording::latest() } else { id.raw.number() }, slot(id.raw)))
    }

    fn identifiers(tape: &Recording) -> usize {
        tape.identifiers()
    }

    fn reverse(tape: &Recording, adjoints: &mut [f64]) -> Result<(), SweepError> {
        sweep(tape, 1, adjoints, (None, None), &mut |_, _, _| Ok(()))
    }

    fn mark(tape: &Recording) -> Mark {
        Mark::new([tape.records.len() as u64, 0, 0, 0])
    }

    fn reverse_through(
        tape: &Recording,
        adjoints: &mut [f64],
        ends: (Option<Mark>, Option<Mark>),
        at: &mut AtExternal<'_, f64>,
    ) -> Result<(), SweepError> {
        sweep(tape, 1, adjoints, ends, at)
    }

    fn reverse_lanes_through(
        tape: &Recording,
        lanes: usize,
        adjoints: &mut [f64],
        ends: (Option<Mark>, Option<Mark>),
        at: &mut AtExternal<'_, f64>,
    ) -> Result<(), SweepError> {
        sweep(tape, lanes, adjoints, ends, at)
    }

    fn forward_through(
        tape: &Recording,
        lanes: usize,
        tangents: &mut [f64],
        at: &mut AtExternal<'_, f64>,
    ) -> Result<(), SweepError> {
        for record in &tape.records {
            if let Kind::External(external) = record.kind {
                at(external, 0..lanes, tangents)?;
            }
            let Some(arguments) = arguments(tape, record) else { continue };
            let arguments: Vec<_> = arguments.into_iter().collect();
            for lane in 0..lanes {
                let mut tangent = 0.0;
                for (partial, argument) in &arguments {
                    let along = tangents[argument * lanes + lane];
                    if *partial != 0.0 && along != 0.0 {
                        let kept = if has(Fault::KeepsOneTangent) { 0.0 } else { tangent };
                        tangent = kept + partial * along;
                    }
                }
                tangents[record.result * lanes + lane] = tangent;
            }
        }
        Ok(())
    }

    fn truncate(tape: &mut Recording, mark: Mark) -> Result<(), SweepError> {
        tape.truncate(records_before(mark));
        Ok(())
    }

    fn resume(tape: &mut Recording, number: RecordingId) {
        tape.ends.push(tape.records.len());
        tape.renumber(number);
    }

    fn renew(tape: &Recording, id: &Id) -> Id {
        tape.renew(id)
    }

    fn reserve(tape: &mut Recording, capacity: Capacity) {
        tape.reserve(capacity);
    }

    fn memory(tape: &Recording) -> MemoryReport {
        tape.memory()
    }
}
