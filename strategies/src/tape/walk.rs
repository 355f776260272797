//! Walks over recordings, from the last record to the first, and from the first to the last.
//!
//! Only its end says what a record is. On the way up, a span is therefore walked down first, to find out where its
//! records end. Where identifiers are reused and values kept, the values that records read are restored on the way:
//! first, going down through the whole recording, the values at its start; then in each span the values at its end,
//! which are kept meanwhile for the identifiers that the span assigns to, and from there down again to its start.

use super::record::{Record, Values};
use super::records::{Content, Records};
use super::usize_of;
use crate::scratch::Scratch;
use crate::storage::{Layer, Reader, Segments};
use crate::{EachRecord, IndexManager, Mark, Number, Order, RecordKind, RecordView, StorageError, SweepError};
use core::ptr;

/// A place that moves through a recording, last record first.
pub(super) struct Cursor<'a, V: Number, M: IndexManager, L: Layer, K: Content> {
    records: &'a Records<V, M, L, K>,
    reader: <L::Segments as Segments>::Reader<'a>,
    /// The span, and where its segment lies; null as long as it is not loaded.
    at: usize,
    start: *const u8,
    /// The record that ends here has the number before `next`, and ends `data` bytes behind the start.
    next: usize,
    data: usize,
}

impl<'a, V: Number, M: IndexManager, L: Layer, K: Content> Cursor<'a, V, M, L, K> {
    /// Behind the last record.
    pub(super) fn new(records: &'a Records<V, M, L, K>) -> Self {
        let at = records.spans.len().saturating_sub(1);
        let data = if records.spans.is_empty() { 0 } else { records.data_of(at) };
        let reader = records.segments.reader();
        Self { records, reader, at, start: ptr::null(), next: usize_of(records.next), data }
    }

    /// Moves down to the record with this number, and gives `f` each span in between: the first number and the one
    /// behind the last, and where the last record ends. `f` returns where the first begins, and its number: it is
    /// below the one asked for if that is among several inputs.
    pub(super) fn move_to<E: From<StorageError>>(
        &mut self,
        number: usize,
        mut f: impl FnMut((usize, usize), *const u8) -> Result<(usize, *const u8), E>,
    ) -> Result<(), E> {
        let number = number.max(usize_of(self.records.inputs));
        while self.next > number {
            let span = &self.records.spans[self.at];
            if self.next <= usize_of(span.first) {
                self.at -= 1;
                self.data = self.records.data_of(self.at);
                self.start = ptr::null();
                continue;
            }
            if self.start.is_null() {
                self.start = self.reader.segment(self.at)?;
            }
            let (next, begin) = f((number.max(usize_of(span.first)), self.next), self.start.wrapping_add(self.data))?;
            (self.next, self.data) = (next, begin.addr() - self.start.addr());
        }
        Ok(())
    }

    /// Moves down to the record with this number, and gives `f` each record on the way with its number.
    pub(super) fn down(
        &mut self,
        number: usize,
        mut f: impl FnMut(&Record<'_, V, M::Index>, usize),
    ) -> Result<(), StorageError> {
        self.try_down(number, |record, number| {
            f(record, number);
            Ok(())
        })
    }

    /// The same with an `f` that may fail, which ends it.
    pub(super) fn try_down<E: From<StorageError>>(
        &mut self,
        number: usize,
        mut f: impl FnMut(&Record<'_, V, M::Index>, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let records = self.records;
        self.move_to(number, |(first, mut next), mut end| {
            while next > first {
                // SAFETY: the reader has the bytes as they were written, and the record in front of `next` ends there.
                let record = unsafe { records.record(end) };
                next -= record.numbers;
                f(&record, next)?;
                end = record.start;
            }
            Ok((next, end))
        })
    }

    /// Moves down to a mark without sweeping, and restores the values that identifiers had there, if they are reused.
    /// Any number is good for a mark: where its records end is found by walking, at most over one span if nothing
    /// is restored.
    pub(super) fn go_to(&mut self, mark: Mark, values: &mut Values<'_, V>) -> Result<(), StorageError> {
        let [number, ..] = mark.numbers();
        let (number, records) = (number.clamp(1, self.records.next), self.records);
        if !Records::<V, M, L, K>::RESTORES && !records.spans.is_empty() {
            let at = records.spans.partition_point(|span| span.first < number).saturating_sub(1);
            if at != self.at {
                let next = usize_of(records.spans[at + 1].first);
                (self.at, self.start, self.next, self.data) = (at, ptr::null(), next, records.data_of(at));
            }
        }
        self.down(usize_of(number), |record, number| _ = Records::<V, M, L, K>::undo(record, number, values))
    }

    /// The number behind the last record before this place.
    pub(super) const fn next(&self) -> usize {
        self.next
    }

    /// The span, and where in it the records end.
    pub(super) const fn place(&self) -> (usize, usize) {
        (self.at, self.data)
    }
}

/// The values that identifiers have at the end of each span, as far as it assigns to them, where they are reused.
struct Later<V: 'static> {
    changes: Scratch<(usize, V)>,
    /// Where the changes of each span begin, last span first.
    first: Scratch<usize>,
}

/// A record on the way up: its number, where it ends, and the value that it assigns, if values are restored.
type Found<V> = (usize, *const u8, V);

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Gives `f` all records with their numbers, first to last, and the values of variables at the time of each, if
    /// `values` are those at the end.
    pub(super) fn up(
        &self,
        values: &mut Values<'_, V>,
        mut f: impl FnMut(&Record<'_, V, M::Index>, usize, &[V]) -> Result<(), SweepError>,
    ) -> Result<(), SweepError> {
        let later = self.go_to_the_start(values)?;
        let mut found = Scratch::<Found<V>>::new();
        let mut reader = self.segments.reader();
        for at in 0..self.spans.len() {
            let start = reader.segment(at)?;
            // SAFETY: the reader has the bytes as they were written.
            unsafe { self.collect(at, start, &later, values, &mut found) }
            while let Some((number, end, value)) = found.pop() {
                // SAFETY: it has just been found, and the reader is not asked for another segment meanwhile.
                let record = unsafe { self.record(end) };
                f(&record, number, values)?;
                if let Values::OfTheTime(values) = values
                    && record.is_statement()
                {
                    values[Self::result(&record, number)] = value;
                }
            }
        }
        Ok(())
    }

    /// Gives all identifiers the values that they had at the start, and keeps those that they had at the end of spans.
    fn go_to_the_start(&self, values: &mut Values<'_, V>) -> Result<Later<V>, SweepError> {
        let mut later = Later { changes: Scratch::new(), first: Scratch::new() };
        if let Values::Lasting(_) = values {
            return Ok(later);
        }
        // The span in which an identifier was met last, plus 1.
        let mut met = vec![0_u32; self.len()];
        let mut cursor = Cursor::new(self);
        for (spans, span) in (1..).zip(self.spans.iter().rev()) {
            later.first.push(later.changes.len());
            cursor.down(usize_of(span.first), |record, number| {
                if !record.is_statement() {
                    return;
                }
                let id = Self::result(record, number);
                if core::mem::replace(&mut met[id], spans) != spans {
                    later.changes.push((id, values[id]));
                }
                Self::undo(record, number, values);
            })?;
        }
        later.first.push(later.changes.len());
        Ok(later)
    }

    /// Lists the records of a span, last first, with the values that they assign if they are to be restored, and
    /// restores the values that identifiers have at its start.
    ///
    /// # Safety
    ///
    /// The span's segment lies at `start`.
    unsafe fn collect(
        &self,
        at: usize,
        start: *const u8,
        later: &Later<V>,
        values: &mut Values<'_, V>,
        found: &mut Vec<Found<V>>,
    ) {
        if let Values::OfTheTime(values) = values
            && let Some(from_last) = later.first.len().checked_sub(at + 2)
        {
            for (id, value) in &later.changes[later.first[from_last]..later.first[from_last + 1]] {
                values[*id] = *value;
            }
        }
        let mut number = usize_of(self.spans.get(at + 1).map_or(self.next, |span| span.first));
        let mut end = start.wrapping_add(self.data_of(at));
        while end > start {
            // SAFETY: the span's records end here, one after the other.
            let record = unsafe { self.record(end) };
            number -= record.numbers;
            let mut value = V::ZERO;
            if let Values::OfTheTime(values) = values
                && record.is_statement()
            {
                value = values[Self::result(&record, number)];
            }
            Self::undo(&record, number, values);
            found.push((number, end, value));
            end = record.start;
        }
    }

    /// The number that the next record gets.
    pub(crate) const fn next_record(&self) -> usize {
        usize_of(self.next)
    }

    /// Gives `each` the records; see [`Reverse::visit`](crate::Reverse::visit).
    pub(crate) fn visit(&self, order: Order, each: &mut EachRecord<'_, V>) -> Result<(), SweepError> {
        let (mut values, mut arguments) = (self.walked_values(), Scratch::new());
        let Order::Descending(from, to) = order else {
            return self
                .up(&mut values, |record, number, values| Self::show(record, number, values, &mut arguments, each));
        };
        let mut cursor = Cursor::new(self);
        if let Some(from) = from {
            cursor.go_to(from, &mut values)?;
        }
        cursor.try_down(to.map_or(1, |to| usize_of(to.numbers()[0])), |record, number| {
            Self::undo(record, number, &mut values);
            Self::show(record, number, &values, &mut arguments, each)
        })
    }

    /// Gives `each` a record, before which variables have these values; lists its arguments.
    fn show(
        record: &Record<'_, V, M::Index>,
        number: usize,
        values: &[V],
        arguments: &mut Vec<usize>,
        each: &mut EachRecord<'_, V>,
    ) -> Result<(), SweepError> {
        let kind = match record.external() {
            Some(external) => RecordKind::External(external),
            None if record.is_statement() => RecordKind::Statement { result: Self::result(record, number) },
            None => RecordKind::Inputs,
        };
        arguments.clear();
        arguments.extend(record.ids());
        let (bytes, curvature) = (record.bytes(), &record.layout.curvature);
        let partials = |to: &mut Vec<V>| record.contributions(V::ONE, values, to);
        each(&RecordView { number, bytes, kind, arguments, curvature, partials: &partials })
    }
}
