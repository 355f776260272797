//! Places in a recording: marks, and what is forgotten behind them.

use super::layers::{Layer, Segments};
use super::records::{Records, usize_of};
use super::table::{INPUT, WIDE};
use super::walk::Cursor;
use crate::refusal::Refusal;
use crate::{Float, IndexManager, LinearId, Mark, SweepError, TapeNumber};

/// The marks at which a recording was resumed, the only ones to which it can be cut. Where else it were cut, records might
/// be left that have identifiers above those of the recording; a mark's numbers alone can be anybody's.
#[derive(Default)]
pub(super) struct Resumed(Vec<Mark>);

impl Resumed {
    #[inline(always)]
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets the marks behind this one.
    ///
    /// # Panics
    ///
    /// When the recording was not resumed there.
    #[track_caller]
    pub(super) fn cut(&mut self, mark: Mark) {
        let at = self.0.iter().position(|resumed| *resumed == mark);
        let at = at.unwrap_or_else(|| panic!("the recording was not resumed at {mark:?}, so it cannot be cut there"));
        self.0.truncate(at + 1);
    }

    pub(super) fn push(&mut self, mark: Mark) {
        self.0.push(mark);
    }
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// The place behind the last record.
    pub(crate) fn mark(&self) -> Mark {
        Mark::new([self.next, self.fresh, self.guards.list.len() as u64, 0])
    }

    /// Forgets the records behind a mark at which the recording was resumed. If they cannot be read back, to restore the values before them, nothing is forgotten;
    /// if the segment that is to be written again cannot, the next record begins another.
    pub(crate) fn truncate(&mut self, mark: Mark) -> Result<(), SweepError> {
        self.resumed.cut(mark);
        let [next, fresh, guards, _] = mark.numbers();
        if next == self.next {
            self.guards.truncate(usize_of(guards));
            self.fresh = fresh;
            return Ok(());
        }
        let mut copy = self.values_to_restore();
        let (values, known) = self.values_for_sweep(&mut copy);
        let mut cursor = Cursor::new(self);
        // SAFETY: the values are a copy, if they are written to.
        unsafe { cursor.go_to(mark, values)? }
        let (at, data) = cursor.place();
        drop(cursor);
        if VALUES && M::REUSES {
            // SAFETY: there are so many values, of the tape's own, and nobody reads them while `self` is borrowed exclusively.
            unsafe { self.values.copy_from_nonoverlapping(values, known) }
        }
        self.guards.truncate(usize_of(guards));
        if self.first_partials >= next {
            self.first_partials = u64::MAX;
        }
        self.spans.truncate(at + 1);
        self.spans[at].data = data;
        (self.next, self.fresh) = (next, fresh);
        self.inputs = self.inputs.min(next);
        self.counted = self.spans[at].before;
        self.close();
        let start = self.segments.truncate(self.spans.len())?;
        let span = &mut self.spans[at];
        span.start = start;
        self.data = start.wrapping_add(data);
        self.codes = span.codes_at(start).cast_mut();
        Ok(())
    }

    /// Goes on under another number.
    pub(crate) fn resume(&mut self, number: TapeNumber) {
        self.resumed.push(self.mark());
        self.number = number;
    }

    /// The identifier under the number of the present part of the recording.
    pub(crate) fn renew(&self, id: LinearId<M::Index>) -> LinearId<M::Index> {
        id.renewed(self.number, self.len())
    }

    /// Registers a variable whose derivatives somebody else propagates.
    pub(crate) fn intermediate(&mut self, value: V) -> Result<LinearId<M::Index>, Refusal> {
        if M::REUSES {
            // A statement without arguments, which says whose value it overwrites.
            return self.push(WIDE, value, size_of::<u32>(), |record| record.put(0_u32));
        }
        self.push(INPUT, value, 0, |_| ())
    }
}
