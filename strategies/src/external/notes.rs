//! Source locations of records, and the first non-finite value, under the policy [`Tracing`](crate::policy::Tracing).

use crate::error::out_of_memory;
use crate::{MemoryUsage, Number};
use core::fmt;
use core::panic::Location;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;

/// A source location: file, line and column.
pub(crate) type Here = &'static Location<'static>;

/// The kind of a non-finite value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonFiniteKind {
    /// The value of a statement or of an input, or of a result of an external function or launch.
    Value,
    /// The partial of a statement with respect to an argument that is not a constant.
    Partial,
    /// The adjoint of an argument after a statement has added to it, in a sweep.
    Adjoint,
}

/// A value, partial or adjoint of a recording that is infinite or NaN, and where it came from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NonFinite<V> {
    /// The kind of the non-finite value.
    pub kind: NonFiniteKind,
    /// The non-finite value.
    pub number: V,
    /// Source location of the statement, or of the registration of the input; `None` if unknown.
    pub location: Option<&'static Location<'static>>,
    /// The index of the input, if the value is that of an input, counted from 0 in the order of registration.
    pub input: Option<usize>,
    /// The index of the argument that the partial or adjoint belongs to, counted from 0 in the order in which the
    /// statement names its arguments. `None` for values, and for an adjoint with which the sweep began.
    pub argument: Option<usize>,
    /// The values of the statement's arguments, as far as they are kept: all of them for a statement that has just been
    /// recorded, none for adjoints.
    pub arguments: Vec<V>,
    /// The values of the statement's `f64` operands.
    pub literals: Vec<V>,
    /// The adjoint of the statement's result and the partial, if adding their product made the adjoint non-finite.
    pub factors: Option<(V, V)>,
}

impl<V> NonFinite<V> {
    pub(crate) const fn new(kind: NonFiniteKind, number: V, location: Option<Here>) -> Self {
        let (input, argument) = (None, None);
        Self { kind, number, location, input, argument, arguments: Vec::new(), literals: Vec::new(), factors: None }
    }
}

impl<V: fmt::Debug> fmt::Display for NonFinite<V> {
    /// Writes the location and the value; arguments are counted from 1, and inputs from 0, as slices are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.location {
            Some(location) => write!(f, "{location}: ")?,
            None => f.write_str("unknown line: ")?,
        }
        let number = &self.number;
        match (self.kind, self.input.or(self.argument)) {
            (NonFiniteKind::Value, Some(k)) => write!(f, "the value of input [{k}] is {number:?}")?,
            (NonFiniteKind::Value, None) => write!(f, "the value is {number:?}")?,
            (NonFiniteKind::Partial, Some(k)) => write!(f, "the partial by argument {} is {number:?}", k + 1)?,
            (NonFiniteKind::Adjoint, Some(k)) => write!(f, "the adjoint of argument {} becomes {number:?}", k + 1)?,
            (_, None) => write!(f, "the sweep begins with an adjoint that is {number:?}")?,
        }
        for (name, numbers) in [("arguments", &self.arguments), ("literals", &self.literals)] {
            if !numbers.is_empty() {
                write!(f, "; {name} {numbers:?}")?;
            }
        }
        self.factors.as_ref().map_or(Ok(()), |(adjoint, partial)| {
            write!(f, "; the result's adjoint is {adjoint:?}, the partial {partial:?}")
        })
    }
}

/// One call that registered inputs.
struct Registration {
    /// The slot of the first input of the call.
    slot: usize,
    count: usize,
    here: Here,
}

/// The notes on one recording.
pub(crate) struct Notes<V> {
    /// The source location of each record, by its number.
    places: Vec<Option<Here>>,
    /// The calls that registered inputs, in order.
    inputs: Vec<Registration>,
    /// For each record the nanoseconds since the record before it, if time is taken.
    times: Vec<u32>,
    /// The time when the last record was made.
    last: Option<Instant>,
    pub(crate) timed: bool,
    /// The first non-finite value or partial, and the number of its record.
    first: Option<(usize, NonFinite<V>)>,
    /// The first non-finite adjoint of the first sweep that met one.
    pub(crate) adjoint: OnceLock<NonFinite<V>>,
    /// Comparisons of active values: their count and the smallest margin, by file, line and column.
    branches: BTreeMap<(&'static str, u32, u32), (Here, u64, f64)>,
}

/// Returns true unless the line lies where Cargo keeps crates from registries and repositories, or in the standard
/// library.
fn is_own(here: Here) -> bool {
    let file = here.file().replace('\\', "/");
    !["/registry/src/", "/git/checkouts/", "/rustlib/src/"].iter().any(|place| file.contains(place))
        && !file.starts_with("/rustc/")
}

impl<V> Default for Notes<V> {
    fn default() -> Self {
        let (places, inputs, times) = (Vec::new(), Vec::new(), Vec::new());
        let (adjoint, branches) = (OnceLock::new(), BTreeMap::new());
        Self { places, inputs, times, last: None, timed: false, first: None, adjoint, branches }
    }
}

impl<V: Number> Notes<V> {
    /// Forgets everything, for a new recording.
    pub(crate) fn clear(&mut self) {
        self.truncate(0, 0);
        self.first = None;
        self.branches.clear();
        self.go_on();
    }

    /// Forgets the notes on records from this number on, and on inputs from this slot on.
    pub(crate) fn truncate(&mut self, number: usize, slot: usize) {
        self.places.truncate(number);
        self.times.truncate(number);
        self.inputs.retain(|call| call.slot < slot);
        self.first.take_if(|(at, _)| *at >= number);
        self.adjoint = OnceLock::new();
    }

    /// Restarts the clock, if time is taken.
    pub(crate) fn go_on(&mut self) {
        self.last = self.timed.then(Instant::now);
    }

    /// Returns true if there are times of records, or time is taken.
    pub(crate) const fn has_times(&self) -> bool {
        self.timed || !self.times.is_empty()
    }

    /// Notes the source location of the records `from..next`.
    #[inline(always)]
    pub(crate) fn note(&mut self, from: usize, next: usize, here: Here) {
        if self.places.len() == from && next == from + 1 {
            self.places.push(Some(here));
        } else {
            self.places.resize(from, None);
            self.places.resize(next, Some(here));
        }
        if self.timed {
            self.take_time(next);
        }
    }

    #[cold]
    fn take_time(&mut self, next: usize) {
        let now = Instant::now();
        let since = self.last.replace(now).map_or(0, |last| now.duration_since(last).as_nanos());
        self.times.resize(next.saturating_sub(1), 0);
        self.times.push(u32::try_from(since).unwrap_or(u32::MAX));
    }

    /// Notes a comparison of active values with this margin.
    pub(crate) fn note_branch(&mut self, here: Here, margin: f64) {
        // The compiler makes a location for each copy of a generic function, so they are compared by what they say.
        let (_, count, smallest) =
            self.branches.entry((here.file(), here.line(), here.column())).or_insert((here, 0, f64::INFINITY));
        (*count, *smallest) = (*count + 1, smallest.min(margin));
    }

    /// Comparisons of active values, by source location: their count, and the smallest margin.
    pub(crate) fn branches(&self) -> impl Iterator<Item = (Here, u64, f64)> + '_ {
        self.branches.values().copied()
    }

    /// The last source location outside crates from registries and the standard library, among those of records, or
    /// else among those of inputs.
    pub(crate) fn last_own(&self) -> Option<Here> {
        let records = self.places.iter().rev().flatten().copied();
        records.chain(self.inputs.iter().rev().map(|call| call.here)).find(|here| is_own(here))
    }

    /// Reserves memory for this number of records, in a recording without notes, and touches it.
    #[track_caller]
    pub(crate) fn reserve(&mut self, records: usize) {
        // Records are numbered from 1.
        let length = records.saturating_add(1);
        if self.places.try_reserve_exact(length).is_err() {
            out_of_memory(length.saturating_mul(size_of::<Option<Here>>()), "the lines of a recording");
        }
        self.places.resize(length, None);
        self.places.clear();
    }

    /// Notes the source location of the registration of `count` inputs, the first of them in this slot.
    pub(crate) fn note_inputs(&mut self, slot: usize, count: usize, here: Here) {
        self.inputs.push(Registration { slot, count, here });
    }

    /// The number of inputs that were registered before the last call.
    pub(crate) fn inputs_before(&self) -> usize {
        self.inputs.iter().rev().skip(1).map(|call| call.count).sum()
    }

    /// The index of the input in this slot, counted from 0.
    pub(crate) fn number_of_input(&self, slot: usize) -> Option<usize> {
        let at = self.inputs.iter().position(|call| (call.slot..call.slot + call.count).contains(&slot))?;
        let before: usize = self.inputs[..at].iter().map(|call| call.count).sum();
        Some(before + slot - self.inputs[at].slot)
    }

    /// Returns true if all values and partials so far are finite.
    #[inline(always)]
    pub(crate) const fn all_finite(&self) -> bool {
        self.first.is_none()
    }

    /// The first non-finite value or partial.
    pub(crate) fn first(&self) -> Option<&NonFinite<V>> {
        self.first.as_ref().map(|(_, found)| found)
    }

    /// Sets the first non-finite value or partial, with the number of its record.
    pub(crate) fn set_first(&mut self, first: Option<(usize, NonFinite<V>)>) {
        self.first = first;
    }

    /// The source location of the record with this number.
    pub(crate) fn place(&self, number: usize) -> Option<Here> {
        self.places.get(number).copied().flatten()
    }

    /// The source location of the registration of the input in this slot.
    pub(crate) fn place_of_input(&self, slot: usize) -> Option<Here> {
        let behind = self.inputs.partition_point(|call| call.slot <= slot);
        Some(self.inputs[behind.checked_sub(1)?].here)
    }

    /// The nanoseconds between the record with this number and the one before it.
    pub(crate) fn time(&self, number: usize) -> u32 {
        self.times.get(number).copied().unwrap_or(0)
    }

    pub(crate) fn bytes(&self) -> MemoryUsage {
        let parts =
            [MemoryUsage::of_vec(&self.places), MemoryUsage::of_vec(&self.inputs), MemoryUsage::of_vec(&self.times)];
        let sum = |part: fn(&MemoryUsage) -> usize| parts.iter().map(part).sum();
        MemoryUsage { used: sum(|part| part.used), reserved: sum(|part| part.reserved) }
    }
}
