//! Outlines of recordings.

use super::cursor::{Cursor, Values};
use super::record::Record;
use crate::outline::{Chunk, Entries, Outline, Passes, Touched};
use crate::storage::Layer;
use crate::tape::store::recording::{Content, Records};
use crate::tape::usize_of;
use crate::{IndexManager, Number, SweepError};
use core::ops::Range;
use smallvec::SmallVec;

/// Number of records in a chunk, or fewer at the end of a segment.
const RECORDS: usize = 128;

/// An outline that is being made.
struct Draft<'a> {
    outline: Outline,
    /// For each slot, 1 + the chunk with the record that wrote it last; 0 for inputs.
    latest: Vec<u32>,
    entries: &'a Entries<'a>,
    /// Number of records in the last chunk.
    records: usize,
    /// True if slots are reused, and not numbers of records.
    reuses: bool,
}

impl Draft<'_> {
    /// Adds the record with these numbers, which ends at this place, to a chunk.
    fn add(&mut self, numbers: Range<usize>, place: (usize, usize)) {
        let Outline { chunks, written, .. } = &mut self.outline;
        self.records += 1;
        if let Some(chunk) = chunks.last_mut()
            && chunk.place.0 == place.0
            && self.records <= RECORDS
        {
            (chunk.numbers.end, chunk.place) = (numbers.end, place);
            return;
        }
        self.records = 1;
        let reach = u32::try_from(chunks.len()).expect("a recording has fewer than 2^32 chunks of records");
        let written = u32::try_from(written.len()).expect("and they write fewer than 2^32 slots");
        let (written, inputs) = (written..written, Touched::default());
        chunks.push(Chunk { numbers, place, reach, written, inputs, launches: false });
    }

    fn chunk(&mut self) -> &mut Chunk {
        self.outline.chunks.last_mut().expect("a record has been added")
    }

    /// Notes that a record of the last chunk may pass an adjoint to this slot.
    fn reads(&mut self, slot: usize) {
        if slot == 0 {
            return;
        }
        let written = self.latest[slot];
        let chunk = self.chunk();
        match written.checked_sub(1) {
            Some(earlier) => chunk.reach = chunk.reach.min(earlier),
            None => chunk.inputs.add(slot..slot + 1),
        }
    }

    /// Notes that a record of the last chunk takes the adjoint of this slot.
    fn writes(&mut self, slot: usize) {
        let chunks = u32::try_from(self.outline.chunks.len()).unwrap_or(u32::MAX);
        let before = core::mem::replace(&mut self.latest[slot], chunks);
        if self.reuses && before != chunks {
            self.outline.written.push(u32::try_from(slot).expect("reused identifiers have 30 bits"));
            self.chunk().written.end += 1;
        }
    }

    /// Notes that the last record is one of this entry.
    fn enters(&mut self, entry: usize) {
        let entries = self.entries;
        let passes =
            entries(entry, &mut |slot, is_result| if is_result { self.writes(slot) } else { self.reads(slot) });
        if passes == Passes::Results {
            return;
        }
        let all = Touched::below(self.latest.len());
        let chunk = self.chunk();
        (chunk.reach, chunk.launches, chunk.inputs) = (0, true, all);
        let at = u32::try_from(self.outline.chunks.len() - 1).unwrap_or(u32::MAX);
        if passes == Passes::Always && self.outline.always.last() != Some(&at) {
            self.outline.always.push(at);
        }
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Makes an outline of the recording; `None` if earlier values have to be restored on the way down, so that a sweep
    /// cannot leave out records.
    pub(crate) fn outline(&self, entries: &Entries<'_>) -> Result<Option<Outline>, SweepError> {
        if Self::RESTORES {
            return Ok(None);
        }
        let (outline, latest) = (Outline::default(), vec![0; self.len()]);
        let mut draft = Draft { outline, latest, entries, records: 0, reuses: M::REUSES };
        self.up_with_places(&mut Values::Lasting(&[]), |record, (number, place), _| {
            Self::draw(record, number, place, &mut draft);
            Ok(())
        })?;
        let Draft { mut outline, latest, .. } = draft;
        if M::REUSES {
            outline.latest = latest;
        }
        Ok(Some(outline))
    }

    /// Adds a record to an outline.
    fn draw(record: &Record<'_, V, M::Index>, number: usize, place: (usize, usize), draft: &mut Draft<'_>) {
        draft.add(number..number + record.numbers, place);
        record.ids().for_each(|id| draft.reads(id));
        match record.external {
            Some(entry) => draft.enters(entry),
            None if record.is_statement() => draft.writes(Self::result(record, number)),
            None => {}
        }
    }

    /// Returns the number of records that are behind those of all of these variables. With reused identifiers it is
    /// found by walking down to the first of them; 0 where sweeps cannot leave out records.
    pub(crate) fn records_behind(&self, slots: &mut dyn Iterator<Item = usize>) -> usize {
        if Self::RESTORES {
            return 0;
        }
        if !M::REUSES {
            return usize_of(self.next).saturating_sub(1 + slots.max().unwrap_or(0));
        }
        let slots: SmallVec<[usize; 8]> = slots.collect();
        let mut behind = 0;
        _ = Cursor::new(self).try_down(1, |record, number| {
            if record.is_statement() && slots.contains(&Self::result(record, number)) {
                return Err(SweepError::Unsupported { what: String::new() });
            }
            behind += 1;
            Ok(())
        });
        behind
    }
}
