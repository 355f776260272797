//! Walks over all records of a recording.

use super::cursor::{Cursor, Later, Values};
use super::record::Record;
use crate::contract::{EachRecord, Order, RecordKind, RecordView};
use crate::error::{StorageError, out_of_memory};
use crate::scratch::Scratch;
use crate::storage::{Layer, Segments};
use crate::tape::store::recording::{Content, Counts, Records};
use crate::tape::usize_of;
use crate::{IndexManager, MemoryReport, MemoryUsage, Number, SweepError};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Returns the values of variables at the end of the recording, for walks over it.
    pub(crate) fn walked_values(&self) -> Values<'_, V> {
        if !Self::RESTORES {
            return Values::Lasting(self.values());
        }
        let mut copy = Scratch::<V>::new();
        if copy.try_reserve(self.len()).is_err() {
            out_of_memory(self.len() * size_of::<V>(), "a copy of the values of all variables");
        }
        copy.extend_from_slice(self.values());
        Values::OfTheTime(copy)
    }

    /// Restores the values that all identifiers had at the start of the recording, and returns the values that they had
    /// at the ends of spans.
    pub(crate) fn go_to_the_start(&self, values: &mut Values<'_, V>) -> Result<Later<V>, SweepError> {
        let mut later = Later { changes: Scratch::new(), first: Scratch::new() };
        if let Values::Lasting(_) = values {
            return Ok(later);
        }
        // For each identifier, the span in which it was met last, counted from the end and from 1; 0 if none.
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

    /// Returns the number that the next record gets.
    pub(crate) const fn next_record(&self) -> usize {
        usize_of(self.next)
    }

    /// Calls `each` with the records; see [`Reverse::visit`](crate::Reverse::visit).
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

    /// Calls `each` with a record, given the values of variables before it; lists its arguments in `arguments`.
    fn show(
        record: &Record<'_, V, M::Index>,
        number: usize,
        values: &[V],
        arguments: &mut Vec<usize>,
        each: &mut EachRecord<'_, V>,
    ) -> Result<(), SweepError> {
        let kind = match record.external {
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

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Returns the counts of all spans, by walking over those that have not been counted.
    pub(crate) fn count(&self) -> Result<Counts, StorageError> {
        let mut counts = self.counted;
        let Some(first) = self.spans.get(counts.spans).map(|span| usize_of(span.first)) else { return Ok(counts) };
        counts.bytes += (counts.spans..self.spans.len()).map(|at| self.data_of(at)).sum::<usize>();
        counts.spans = self.spans.len();
        Cursor::new(self).down(first, |record, _| {
            counts.records += 1;
            counts.statements += usize::from(record.is_statement());
            counts.arguments += record.arguments();
            counts.payload += record.payload * size_of::<V>();
        })?;
        Ok(counts)
    }

    /// Returns bytes and counts, found by walking the recording.
    pub(crate) fn memory(&self) -> MemoryReport {
        let counts = self.count().expect("segments that have not been counted are in memory");
        let (segments, values) = self.reserved();
        let free = (segments + self.segments.on_disk()).saturating_sub(counts.bytes);
        let free = MemoryUsage { used: 0, reserved: free };
        let codes = counts.records * Self::CODE;
        let ids = counts.arguments * size_of::<M::Index>();
        let tails = counts.statements * Self::TAIL;
        let report = MemoryReport::new(counts.statements, counts.arguments);
        let exact = MemoryUsage::exact;
        let report = if K::BY_ADDRESS {
            let captures = counts.bytes - codes - tails;
            report.stream("closures", exact(captures)).stream("functions", exact(codes))
        } else {
            report
                .stream("codes", exact(codes))
                .stream("arguments", exact(ids))
                .stream(if K::VALUES { "constants" } else { "partials" }, exact(counts.payload))
                .stream("counts", exact(counts.bytes - codes - ids - counts.payload - tails))
        };
        let mut report = report.stream("results", exact(tails)).stream("free", free);
        if K::VALUES {
            let used = if self.len() == 1 { 0 } else { self.len() * size_of::<V>() };
            report = report.stream("values", MemoryUsage { used, reserved: values });
        }
        let further = [
            ("guards", self.guards.memory()),
            ("steps", self.steps.memory(self.extent())),
            ("destructors", self.objects.memory()),
            ("lengths", self.lengths.memory(self.extent())),
        ];
        let report = further
            .into_iter()
            .filter(|(_, usage)| usage.reserved > 0)
            .fold(report, |report, (name, usage)| report.stream(name, usage));
        report.stream("tables", exact(size_of::<Self>()))
    }
}
