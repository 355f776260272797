//! Visits of all records of a recording.

use super::cursor::{Cursor, Later, Values};
use super::record::Record;
use crate::error::out_of_memory;
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::tape::store::recording::{Content, Records};
use crate::tape::usize_of;
use crate::{EachRecord, IndexManager, Number, Order, RecordKind, RecordView, SweepError};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// The values of variables at the end of the recording, for walks over it.
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

    /// Gives all identifiers the values that they had at the start, and keeps those that they had at the end of spans.
    pub(crate) fn go_to_the_start(&self, values: &mut Values<'_, V>) -> Result<Later<V>, SweepError> {
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
