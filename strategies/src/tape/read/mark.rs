//! Marks: positions in a recording, at which it can be truncated.

use super::cursor::Cursor;
use super::cursor::Values;
use crate::external::Mark;
use crate::identifier::{LinearId, RecordingId};
use crate::storage::{Layer, Segments};
use crate::tape::store::recording::{Content, Records};
use crate::tape::usize_of;
use crate::{IndexManager, Number, SweepError};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Returns the position behind the last record.
    pub(crate) fn mark(&self) -> Mark {
        Mark::new([self.next, self.fresh, self.guards.list.len() as u64, self.objects.len() as u64])
    }

    /// Forgets the records behind a mark at which the recording was resumed. If they cannot be read back, to restore
    /// the values before them, nothing is forgotten. If the segment that is to be continued cannot be read back, the
    /// next record begins another segment.
    pub(crate) fn truncate(&mut self, mark: Mark) -> Result<(), SweepError> {
        self.resumed.cut(mark);
        let [next, fresh, guards, objects] = mark.numbers();
        if next == self.next {
            self.guards.truncate(usize_of(guards));
            self.fresh = fresh;
            return Ok(());
        }
        let mut values = self.walked_values();
        let mut cursor = Cursor::new(self);
        cursor.go_to(mark, &mut values)?;
        let (at, data) = cursor.place();
        drop(cursor);
        if let Values::OfTheTime(copy) = values {
            self.all_values_mut().copy_from_slice(&copy);
        }
        self.revision += 1;
        self.guards.truncate(usize_of(guards));
        if self.first_partials >= next {
            self.first_partials = u64::MAX;
        }
        (self.next, self.fresh) = (next, fresh);
        self.inputs = self.inputs.min(next);
        let outcome = self.write_again(at, data);
        // Last, because destructors of users may panic.
        self.objects.truncate(usize_of(objects));
        Ok(outcome?)
    }

    /// Continues writing in span `at`, behind this many bytes.
    fn write_again(&mut self, at: usize, data: usize) -> Result<(), crate::error::StorageError> {
        self.close();
        self.spans.truncate(at + 1);
        let Some(span) = self.spans.last_mut() else { return Ok(()) };
        span.data = data;
        span.first = span.first.min(self.next);
        self.counted = span.before;
        let start = self.segments.truncate(at + 1)?;
        let span = &mut self.spans[at];
        span.start = start;
        let end = start.wrapping_add(span.bytes);
        self.open(start.wrapping_add(data), end);
        Ok(())
    }

    /// Continues the recording under another id.
    pub(crate) fn resume(&mut self, number: RecordingId) {
        self.resumed.0.push(self.mark());
        self.number = number;
    }

    /// Returns the identifier under the id of the present part of the recording.
    pub(crate) fn renew(&self, id: LinearId<M::Index>) -> LinearId<M::Index> {
        id.renewed(self.number, self.len())
    }
}
