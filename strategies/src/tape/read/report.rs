//! Memory report of a recording, by a walk over it.

use super::cursor::Cursor;
use crate::storage::{Layer, Segments};
use crate::tape::store::recording::{Content, Counts, Records};
use crate::tape::usize_of;
use crate::{IndexManager, MemoryReport, MemoryUsage, Number, StorageError};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// What all spans hold, by walking over those that have not been counted.
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

    /// Bytes and counts, found by walking the recording.
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
        let further = [("guards", self.guards.memory()), ("destructors", self.objects.memory())];
        let report = further
            .into_iter()
            .filter(|(_, usage)| usage.reserved > 0)
            .fold(report, |report, (name, usage)| report.stream(name, usage));
        report.stream("tables", exact(size_of::<Self>()))
    }
}
