//! Going through a recording from the first record to the last, and telling what statements read.
//!
//! Only its end says what a record is. So a span is first walked down, to find out where its records end, and then up.
//! Where identifiers are reused and values kept, the values that records read are restored on the way: first, going
//! down through the whole recording, the values at its start; then in each span the values at its end, which are kept
//! meanwhile for the identifiers that the span assigns to, and from there down again to its start.

use super::read::{Cursor, Record};
use super::records::{Content, Records};
use super::usize_of;
use crate::scratch::Scratch;
use crate::storage::{Layer, Reader, Segments};
use crate::{Dependent, IndexManager, Number, SweepError};
use core::marker::PhantomData;
use core::ptr;

/// What is done on the way.
pub(super) trait Climb<V> {
    /// A record of a statement, or of an external function.
    ///
    /// # Safety
    ///
    /// It is one of the recording, and still lies there.
    unsafe fn record(&mut self, record: &Record<V>, number: usize) -> Result<(), SweepError>
    where
        V: 'static;
}

/// The values that identifiers have at the end of each span, as far as it assigns to them, where they are reused.
struct Later<V: 'static> {
    /// The values of all identifiers at the start of the span that is being visited; null where they need not be
    /// restored.
    values: *mut V,
    changes: Scratch<(usize, V)>,
    /// Where the changes of each span begin, last span first.
    first: Scratch<usize>,
}

/// A record on the way up: its number, where it ends, and the value that it assigns, if values are restored.
type Found<V> = (usize, *const u8, V);

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Visits the records of all statements and external functions, first to last.
    ///
    /// # Safety
    ///
    /// Where identifiers are reused and values kept, `values` has one entry for each identifier of the recording and is
    /// a copy of its own, which `climb` only reads. When a record is visited, they are the values at that time.
    pub(super) unsafe fn climb(&self, values: *mut V, climb: &mut impl Climb<V>) -> Result<(), SweepError> {
        // SAFETY: promised by the caller.
        let later = unsafe { self.go_to_the_start(values)? };
        let mut found = Scratch::<Found<V>>::new();
        let mut reader = self.segments.reader();
        for at in 0..self.spans.len() {
            let start = reader.segment(at)?;
            // SAFETY: the reader has the bytes as they were written; the values are the caller's.
            unsafe { self.collect(at, start, later.as_ref(), &mut found) }
            while let Some((number, end, value)) = found.pop() {
                // SAFETY: it has just been found.
                unsafe {
                    let record = self.record(end);
                    climb.record(&record, number)?;
                    if let Some(later) = &later
                        && record.is_statement()
                    {
                        later.values.add(Self::result(&record, number)).write(value);
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives all identifiers the values that they had at the start, and keeps those that they had at the end of spans.
    ///
    /// # Safety
    ///
    /// As [`climb`](Self::climb).
    unsafe fn go_to_the_start(&self, values: *mut V) -> Result<Option<Later<V>>, SweepError> {
        if !Self::RESTORES {
            return Ok(None);
        }
        let mut later = Later { values, changes: Scratch::new(), first: Scratch::new() };
        // The span in which an identifier was met last, plus 1.
        let mut met = vec![0_u32; self.len()];
        let mut cursor = Cursor::new(self);
        for (spans, span) in (1..).zip(self.spans.iter().rev()) {
            later.first.push(later.changes.len());
            cursor.down(usize_of(span.first), |record, number| {
                // SAFETY: the cursor found the record; there are as many values as identifiers.
                unsafe {
                    if !record.is_statement() {
                        return;
                    }
                    let id = Self::result(record, number);
                    if core::mem::replace(&mut met[id], spans) != spans {
                        later.changes.push((id, values.add(id).read()));
                    }
                    Self::undo(record, number, values);
                }
            })?;
        }
        later.first.push(later.changes.len());
        Ok(Some(later))
    }

    /// Lists the records of a span that are visited, last first, with the values that they assign if they are to be
    /// restored, and restores the values that identifiers have at its start.
    ///
    /// # Safety
    ///
    /// The span's segment lies at `start`, and the values are those at the start of the span.
    unsafe fn collect(&self, at: usize, start: *const u8, later: Option<&Later<V>>, found: &mut Vec<Found<V>>) {
        if let Some(later) = later
            && let Some(from_last) = later.first.len().checked_sub(at + 2)
        {
            for (id, value) in &later.changes[later.first[from_last]..later.first[from_last + 1]] {
                // SAFETY: there are as many values as identifiers.
                unsafe { later.values.add(*id).write(*value) }
            }
        }
        let mut number = usize_of(self.spans.get(at + 1).map_or(self.next, |span| span.first));
        let mut end = start.wrapping_add(self.data_of(at));
        while end > start {
            // SAFETY: the span's records end here, one after the other.
            unsafe {
                let record = self.record(end);
                number -= record.numbers;
                if record.is_statement() || record.external().is_some() {
                    let mut value = V::ZERO;
                    if let Some(later) = later
                        && record.is_statement()
                    {
                        value = later.values.add(Self::result(&record, number)).read();
                        Self::undo(&record, number, later.values);
                    }
                    found.push((number, end, value));
                }
                end = record.start;
            }
        }
    }
}

type Tell<'a> = dyn FnMut(Dependent<'_>) -> Result<(), SweepError> + 'a;

struct Telling<'a, R> {
    /// The slots of the arguments of the statement that is being visited.
    arguments: Vec<usize>,
    tell: &'a mut Tell<'a>,
    records: PhantomData<R>,
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// See [`Reverse::dependences`](crate::Reverse::dependences).
    pub(crate) fn dependences(&self, down: bool, tell: &mut Tell<'_>) -> Result<(), SweepError> {
        let mut telling = Telling { arguments: Vec::new(), tell, records: PhantomData::<Self> };
        if down {
            // SAFETY: the cursor found the record.
            return Cursor::new(self).try_down(1, |record, number| unsafe { telling.record(record, number) });
        }
        let mut copy = self.values_to_restore();
        let values = copy.as_mut().map_or(ptr::null_mut(), |copy| copy.as_mut_ptr());
        // SAFETY: where values are restored, they are a copy of all of them.
        unsafe { self.climb(values, &mut telling) }
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Climb<V> for Telling<'_, Records<V, M, L, K>> {
    unsafe fn record(&mut self, record: &Record<V>, number: usize) -> Result<(), SweepError> {
        // SAFETY: promised by the caller.
        unsafe {
            if let Some(external) = record.external() {
                return (self.tell)(Dependent::External(external));
            }
            if !record.is_statement() {
                return Ok(());
            }
            let result = Records::<V, M, L, K>::result(record, number);
            self.arguments.clear();
            self.arguments.extend(record.ids::<M::Index>());
            let curvature = record.layout.curvature;
            (self.tell)(Dependent::Statement { result, arguments: &self.arguments, curvature })
        }
    }
}
