//! What a recording takes, found by walking it.

use super::layers::{Layer, Reader, Segments};
use super::records::{Counts, Records, usize_of};
use super::table::Kind;
use crate::{Float, IndexManager, MemoryReport, MemoryUsage};

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// These counts and those of the span after them, whose segment lies at `start` now.
    pub(super) fn count(&self, mut counts: Counts, start: *const u8) -> Counts {
        let at = counts.spans;
        counts.spans += 1;
        let span = &self.spans[at];
        let next = self.spans.get(at + 1).map_or(self.next, |span| span.first);
        let mut end = start.wrapping_add(self.data_of(at));
        for number in (usize_of(span.first)..usize_of(next)).rev() {
            // SAFETY: as in `reverse_span`.
            let record = unsafe {
                let code = *span.codes_at(start).wrapping_sub(number);
                let kind = self.table.kind(code);
                counts.statements += usize::from(kind != Kind::Input);
                self.special(code, kind, end)
            };
            end = record.record;
            counts.arguments += record.arguments;
            counts.payload += record.payload * size_of::<V>();
            counts.data += record.bytes;
        }
        counts
    }

    /// Bytes and counts, found by walking the recording.
    pub(crate) fn memory(&self) -> MemoryReport {
        let mut counts = self.counted;
        let mut reader = self.segments.reader();
        while counts.spans < self.spans.len() {
            let start = reader.segment(counts.spans).expect("segments that have not been counted are in memory");
            counts = self.count(counts, start);
        }
        let (segments, values) = self.reserved();
        let codes = self.spans.first().map_or(0, |span| usize_of(self.next - span.first));
        let ids = counts.arguments * size_of::<M::Index>();
        let tails = counts.statements * Self::TAIL;
        let report = MemoryReport::new(counts.statements, counts.arguments)
            .stream("codes", MemoryUsage::exact(codes))
            .stream("arguments", MemoryUsage::exact(ids))
            .stream(if VALUES { "constants" } else { "partials" }, MemoryUsage::exact(counts.payload))
            .stream("counts", MemoryUsage::exact(counts.data - ids - counts.payload - tails))
            .stream("results", MemoryUsage::exact(tails))
            .stream(
                "free",
                MemoryUsage {
                    used: 0,
                    reserved: (segments + self.segments.on_disk()).saturating_sub(codes + counts.data),
                },
            );
        let report = if VALUES {
            let used = if self.len() == 1 { 0 } else { self.len() * size_of::<V>() };
            report.stream("values", MemoryUsage { used, reserved: values })
        } else {
            report
        };
        let guards = self.guards.memory();
        let report = if guards.reserved > 0 { report.stream("guards", guards) } else { report };
        report.stream("tables", MemoryUsage::exact(size_of::<Self>() + self.table.reserved()))
    }
}
