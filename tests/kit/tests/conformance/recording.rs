//! The memory of one recording.

use super::identifiers::{Free, Id, slot};
use super::statements::Late;
use super::{Fault, Faulty, has, lock};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use tapewright::Capacity;
use tapewright::strategies::identifier::{LinearId, RecordingId};
use tapewright::strategies::recording;
use tapewright::tape::{MemoryReport, MemoryUsage};

thread_local! {
    /// The recording that began last on this thread.
    static LATEST: Cell<RecordingId> = Cell::default();
    /// The slots that were given back in it.
    static LATEST_FREE: RefCell<Free> = RefCell::default();
    /// The activity of the first statement of each type in it.
    static ACTIVITY: RefCell<HashMap<&'static str, Vec<bool>>> = RefCell::default();
}

/// The recording that began last anywhere.
static LATEST_ANYWHERE: Mutex<Option<RecordingId>> = Mutex::new(None);

pub(crate) fn latest() -> RecordingId {
    LATEST.get()
}

pub(crate) fn latest_free() -> Free {
    LATEST_FREE.with_borrow(Arc::clone)
}

pub(crate) fn latest_anywhere() -> RecordingId {
    lock(&LATEST_ANYWHERE).unwrap_or_default()
}

/// Which arguments the first statement of this type had active, of which these are now.
pub(crate) fn remembered(statement: &'static str, active: Vec<bool>) -> Vec<bool> {
    ACTIVITY.with_borrow_mut(|known| known.entry(statement).or_insert(active).clone())
}

/// How a variable came to be.
pub(crate) enum Kind {
    /// As an input, or a result of an external function.
    Given,
    /// By a statement with this part of the recording's arguments.
    Statement(Range<usize>),
    /// By one whose partials the sweep computes.
    Late(Late),
    /// Not at all: the external function with this number was called here.
    External(usize),
}

/// A variable and how it came to be.
pub(crate) struct Record {
    pub(crate) result: usize,
    pub(crate) kind: Kind,
}

impl Record {
    fn arguments(&self) -> usize {
        match &self.kind {
            Kind::Given | Kind::External(_) => 0,
            Kind::Statement(arguments) => arguments.len(),
            Kind::Late(late) => late.arguments(),
        }
    }
}

#[derive(Default)]
pub(crate) struct Recording {
    pub(crate) number: RecordingId,
    pub(crate) records: Vec<Record>,
    /// The partials and the slots of the arguments of all statements.
    pub(crate) arguments: Vec<(f64, usize)>,
    /// The largest slot that was ever used.
    used: usize,
    free: Free,
    /// How many records there were when it was resumed.
    pub(crate) ends: Vec<usize>,
    pub(crate) home: Option<ThreadId>,
    /// Where a sweep is that has not come to its end.
    pub(crate) swept_to: Cell<Option<usize>>,
    capacity: Option<usize>,
    begun: usize,
    leaked: usize,
    largest: usize,
}

impl Recording {
    pub(crate) fn begin(&mut self, number: RecordingId) {
        self.free = Free::default();
        LATEST_FREE.set(Arc::clone(&self.free));
        ACTIVITY.with_borrow_mut(HashMap::clear);
        self.renumber(number);
        self.ends.clear();
        self.swept_to.set(None);
        self.begun += 1;
        if has(Fault::ForgetsToReset) {
            return;
        }
        if has(Fault::NeverReusesMemory) {
            self.leaked += self.records.capacity() * size_of::<Record>();
        }
        let kept = usize::from(has(Fault::KeepsLastStatement)).min(self.records.len());
        self.records.drain(..self.records.len() - kept);
        if kept == 0 {
            self.used = 0;
            self.arguments.clear();
        }
    }

    pub(crate) fn renumber(&mut self, number: RecordingId) {
        self.number = number;
        self.home = Some(thread::current().id());
        LATEST.set(number);
        *lock(&LATEST_ANYWHERE) = Some(number);
    }

    /// 1 + the largest slot.
    pub(crate) fn identifiers(&self) -> usize {
        self.used + 1
    }

    /// The slot of the next variable that is not an input.
    pub(crate) fn next_slot(&self) -> usize {
        lock(&self.free).last().copied().unwrap_or(self.used + 1)
    }

    fn fresh(&mut self) -> usize {
        self.used += 1;
        if has(Fault::SharesIdentifiers) && self.used.is_multiple_of(4) { self.used - 1 } else { self.used }
    }

    fn raw(&self, slot: usize) -> LinearId {
        LinearId::new(self.number, slot as u64).expect("fewer than 2^32 statements")
    }

    pub(crate) fn input(&mut self) -> Id {
        let late = self.records.iter().any(|record| !matches!(record.kind, Kind::Given));
        let result = self.fresh();
        let lost = has(Fault::LosesLateInputs) && late;
        self.records.push(Record { result, kind: if lost { Kind::Statement(0..0) } else { Kind::Given } });
        let raw = self.raw(result);
        if has(Fault::ReusesInputs) { Id::counted(raw, &self.free, true) } else { Id::pinned(raw) }
    }

    pub(crate) fn push_statement(&mut self, arguments: &[(f64, usize)], at: Option<usize>) -> Id {
        let start = self.arguments.len();
        self.arguments.extend(arguments);
        self.push(Kind::Statement(start..self.arguments.len()), at)
    }

    pub(crate) fn push(&mut self, kind: Kind, at: Option<usize>) -> Id {
        let full = self.capacity.is_some_and(|capacity| self.records.len() >= capacity);
        let lost = has(Fault::StopsAtItsCapacity) && full
            || has(Fault::CutsLongRecordings) && self.records.len() > 700_000
            || has(Fault::TiresAfterManyRecordings) && self.begun > 5_000;
        if lost {
            return Id::pinned(LinearId::PASSIVE);
        }
        let returned = if at.is_none() { lock(&self.free).pop() } else { at };
        let result = returned.unwrap_or_else(|| self.fresh());
        self.used = self.used.max(result);
        self.records.push(Record { result, kind });
        self.largest = self.largest.max(self.records.len());
        Id::counted(self.raw(result), &self.free, false)
    }

    pub(crate) fn truncate(&mut self, records: usize) {
        assert!(self.ends.contains(&records), "a recording is cut where it was resumed");
        self.ends.retain(|end| *end <= records);
        let forgotten = self.records.drain(records..).find_map(|record| match record.kind {
            Kind::Statement(arguments) => Some(arguments.start),
            _ => None,
        });
        self.arguments.truncate(forgotten.unwrap_or(self.arguments.len()));
    }

    pub(crate) fn renew(&self, id: &Id) -> Id {
        if id.raw.is_active() { Id::pinned(self.raw(slot(id.raw))) } else { id.clone() }
    }

    pub(crate) fn reserve(&mut self, capacity: Capacity) {
        let records = capacity.inputs + capacity.statements;
        self.capacity = Some(records);
        if !has(Fault::ReservesNoStatements) {
            self.records.reserve(records);
        }
        if !has(Fault::ReservesNoArguments) {
            self.arguments.reserve(capacity.arguments);
        }
        if has(Fault::FillsWhatItReserves) {
            let blank = || Record { result: 0, kind: Kind::Statement(0..0) };
            self.records.extend((0..capacity.statements).map(|_| blank()));
        }
    }

    pub(crate) fn memory(&self) -> MemoryReport {
        let is_statement = |record: &&Record| !matches!(record.kind, Kind::Given | Kind::External(_));
        let statements = self.records.iter().filter(is_statement).count();
        let arguments = self.records.iter().map(Record::arguments).sum();
        let counted = if has(Fault::CountsInputsAsStatements) { self.records.len() } else { statements };
        let mut records = MemoryUsage::of_vec(&self.records);
        if has(Fault::ReportsLengthAsReserve) {
            records.reserved = self.records.len();
        }
        if has(Fault::ReportsTheLargestRecording) {
            records.used = self.largest * size_of::<Record>();
        }
        if has(Fault::ReportsNoBytes) {
            return MemoryReport::new(counted, arguments);
        }
        MemoryReport::new(counted, arguments)
            .stream("records", records)
            .stream("arguments", MemoryUsage::of_vec(&self.arguments))
            .stream("leaked", MemoryUsage { used: 0, reserved: self.leaked })
    }
}

/// Gives `f` the tape of the recording with this number.
#[track_caller]
pub(crate) fn with_recording<R>(number: RecordingId, f: impl FnOnce(&mut Recording) -> R) -> R {
    recording::with::<Faulty, _>(number, f)
}
