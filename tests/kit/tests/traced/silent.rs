//! A strategy of somebody else that takes the policy, shows its records, and forgets to note lines.

use tapewright::prelude::*;
use tapewright::strategies::contract::{EachRecord, Order, RecordKind, RecordView, Taped};
use tapewright::strategies::identifier::{LinearId, RecordingId};
use tapewright::strategies::policy::Tracing;
use tapewright::strategies::rules::Curvature;
use tapewright::strategies::{Capacity, MemoryReport, MemoryUsage, Nary, Statement, recording};
use tapewright::{Error, SweepError};

/// Counts statements and keeps nothing of them.
struct Silent;

#[derive(Default)]
struct Length(RecordingId, u64);

impl Length {
    fn push(&mut self) -> LinearId {
        self.1 += 1;
        LinearId::new(self.0, self.1).expect("there are few")
    }
}

impl Taping for Silent {
    type Value = f64;
    type Id = LinearId;
    type Raw = LinearId;
    type Variable = Taped<f64, LinearId>;
    type Policy = Tracing;

    fn passive() -> LinearId {
        LinearId::PASSIVE
    }

    fn raw(id: &LinearId) -> LinearId {
        *id
    }

    fn record<N: Statement<Self>>(statement: &N) -> LinearId {
        let mut ids = Vec::new();
        statement.partials(1.0, &mut |_, id| ids.push(id));
        let number = recording::common_number(ids);
        number.map_or(LinearId::PASSIVE, |number| recording::with::<Self, _>(number, Length::push))
    }

    fn record_nary<R: Nary<f64>>(_: &[&[Self::Variable]], _: &[f64], _: f64) -> LinearId {
        LinearId::PASSIVE
    }
}

impl Reverse for Silent {
    type Tape = Length;

    fn begin(tape: &mut Length, number: RecordingId) {
        *tape = Length(number, 0);
    }
    fn input(tape: &mut Length, _: f64) -> LinearId {
        tape.push()
    }
    fn locate(id: &LinearId) -> Option<(RecordingId, usize)> {
        id.is_active().then(|| (id.number(), usize::try_from(id.index()).expect("it is small")))
    }
    fn identifiers(tape: &Length) -> usize {
        usize::try_from(tape.1).expect("it is small") + 1
    }
    fn reverse(_: &Length, _: &mut [f64]) -> Result<(), SweepError> {
        Ok(())
    }
    fn reserve(_: &mut Length, _: Capacity) {}
    fn memory(_: &Length) -> MemoryReport {
        MemoryReport::new(0, 0).stream("records", MemoryUsage::exact(0))
    }
    fn visit(tape: &Length, _: Order, each: &mut EachRecord<'_, f64>) -> Result<(), SweepError> {
        let (kind, curvature) = (RecordKind::Statement { result: 2 }, &Curvature::Everywhere);
        let record = RecordView { number: 1, bytes: 0, kind, arguments: &[1], curvature, partials: &|_| {} };
        if tape.1 > 1 { each(&record) } else { Ok(()) }
    }
}

#[test]
fn a_recording_that_notes_no_lines_is_an_error() {
    let mut tape = Tape::<Silent>::new();
    tape.record(|scope| scope.input(1.0));
    assert!(tape.trace().expect("there is nothing to note").lines().is_empty());
    tape.record(|scope| scope.input(1.0).sin().eval());
    let Err(Error::Sweep(SweepError::Unsupported { what })) = tape.trace() else { panic!("no line is known") };
    assert!(what.contains("Silent note no lines (`recording::note_statement` does)"), "{what}");
}
