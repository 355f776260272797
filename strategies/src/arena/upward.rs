//! Going through a recording from the first record to the last.
//!
//! How long a record is can only be told from its end. So a span is first walked down, to find out where its records end,
//! and then up. Where identifiers are reused and values kept, the values that records read are restored on the way: first,
//! going down through the whole recording, those at its start; then in each span those at its end, which are kept meanwhile for
//! the identifiers that the span assigns to, and from there down again to its start.

use super::layers::{Layer, Reader, Segments};
use super::records::{Records, usize_of};
use super::table::{Entry, Kind};
use super::walk::Cursor;
use crate::scratch::Scratch;
use crate::{Float, IndexManager, Mark, SweepError};

/// One record, on the way up.
#[derive(Clone, Copy)]
pub(super) struct Found {
    pub(super) code: u8,
    pub(super) number: usize,
    /// Where its bytes end, the tail included.
    pub(super) end: *const u8,
}

/// What is done on the way.
pub(super) trait Climb<V> {
    /// A record.
    ///
    /// # Safety
    ///
    /// It is one of the recording, and lies where `found` says.
    unsafe fn record(&mut self, found: Found) -> Result<(), SweepError>;

    /// A stop: all records before it have been visited.
    fn stop(&mut self) -> Result<(), SweepError>;
}

/// The values that identifiers have at the end of each span, as far as it assigns to them, where they are reused.
struct Later<V: 'static> {
    /// The values of all identifiers at the start of the span that is being visited; null where they need not be restored.
    values: *mut V,
    changes: Scratch<(usize, V)>,
    /// Where the changes of each span begin, last span first.
    first: Scratch<usize>,
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// Visits all records, first to last, and the stops between them.
    ///
    /// # Safety
    ///
    /// Where identifiers are reused and values kept, `values` are as many as the recording has identifiers, a copy of its own,
    /// and what `climb` does to them is to read them. When a record is visited, they are those of that time.
    pub(super) unsafe fn climb(
        &self,
        values: *mut V,
        stops: &mut dyn Iterator<Item = Mark>,
        climb: &mut impl Climb<V>,
    ) -> Result<(), SweepError> {
        // SAFETY: promised by the caller.
        let later = unsafe { self.go_to_the_start(values)? };
        let mut stops = stops.peekable();
        let mut records: Vec<(Found, V)> = Vec::new();
        let mut reader = self.segments.reader();
        for at in 0..self.spans.len() {
            let start = reader.segment(at)?;
            // SAFETY: the reader has the bytes as they were written; the values are the caller's.
            unsafe { self.collect(at, start, later.as_ref(), &mut records) }
            while let Some((found, value)) = records.pop() {
                while stops.next_if(|stop| usize_of(stop.numbers()[0]) <= found.number).is_some() {
                    climb.stop()?;
                }
                // SAFETY: it has just been found.
                unsafe {
                    climb.record(found)?;
                    if let Some(later) = &later
                        && self.table.kind(found.code) != Kind::Input
                    {
                        let (id, _) = Self::assigned(found.end, found.number);
                        later.values.add(id).write(value);
                    }
                }
            }
        }
        stops.try_for_each(|_| climb.stop())
    }

    /// Gives all identifiers the values that they had at the start, and keeps those that they had at the end of spans.
    ///
    /// # Safety
    ///
    /// As [`climb`](Self::climb).
    unsafe fn go_to_the_start(&self, values: *mut V) -> Result<Option<Later<V>>, SweepError> {
        if !(VALUES && M::REUSES) {
            return Ok(None);
        }
        let mut later = Later { values, changes: Scratch::new(), first: Scratch::new() };
        // The span in which an identifier was met last, plus 1.
        let mut met = vec![0_u32; self.len()];
        let mut spans = 0;
        Cursor::new(self).move_to(1, |at, start, (first, next), mut end| {
            later.first.push(later.changes.len());
            spans += 1;
            for number in (first..next).rev() {
                // SAFETY: the record with this number is in this span, and ends at `end`.
                unsafe {
                    let code = *self.spans[at].codes_at(start).wrapping_sub(number);
                    let kind = self.table.kind(code);
                    if kind != Kind::Input {
                        let (id, _) = Self::assigned(end, number);
                        if core::mem::replace(&mut met[id], spans) != spans {
                            later.changes.push((id, values.add(id).read()));
                        }
                        Self::undo(end, number, values);
                    }
                    end = self.special(code, kind, end).record;
                }
            }
            end
        })?;
        later.first.push(later.changes.len());
        Ok(Some(later))
    }

    /// The identifier that the record which ends at `end` assigns to, and where its data end.
    ///
    /// # Safety
    ///
    /// A record that is not an input's ends there.
    pub(super) unsafe fn assigned(end: *const u8, number: usize) -> (usize, *const u8) {
        if !M::REUSES {
            return (number, end);
        }
        // SAFETY: the record ends in the identifier, below which lies, if values are kept, the value before it.
        unsafe {
            let id = end.sub(size_of::<M::Index>()).cast::<M::Index>().read_unaligned();
            (usize_of(crate::IndexType::widen(id)), end.sub(Self::TAIL))
        }
    }

    /// Lists the records of a span, last first, with the values that they assign if they are to be restored, and restores the
    /// values that identifiers have at its start.
    ///
    /// # Safety
    ///
    /// The span's segment lies at `start`, and the values are those at the start of the span.
    unsafe fn collect(&self, at: usize, start: *const u8, later: Option<&Later<V>>, records: &mut Vec<(Found, V)>) {
        let span = &self.spans[at];
        let next = self.spans.get(at + 1).map_or(self.next, |span| span.first);
        let mut end = start.wrapping_add(self.data_of(at));
        if let Some(later) = later
            && let Some(from_last) = later.first.len().checked_sub(at + 2)
        {
            for (id, value) in &later.changes[later.first[from_last]..later.first[from_last + 1]] {
                // SAFETY: there are as many values as identifiers.
                unsafe { later.values.add(*id).write(*value) }
            }
        }
        for number in (usize_of(span.first)..usize_of(next)).rev() {
            // SAFETY: the code with this number is in this span, and says how many bytes lie below `end`.
            unsafe {
                let code = *span.codes_at(start).wrapping_sub(number);
                let (kind, bytes) = (self.table.kind(code), self.table.entries[code as usize].bytes);
                let mut value = V::zero();
                if let Some(later) = later
                    && kind != Kind::Input
                {
                    let (id, _) = Self::assigned(end, number);
                    value = later.values.add(id).read();
                    Self::undo(end, number, later.values);
                }
                records.push((Found { code, number, end }, value));
                end = if bytes == Entry::<V>::SPECIAL {
                    self.special(code, kind, end).record
                } else {
                    end.sub(bytes + Self::TAIL)
                };
            }
        }
    }
}
