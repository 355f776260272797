//! Decoding of records, from the last to the first or from the first to the last: the one decoder, and the one walk.
//!
//! Only the end of a record tells its kind. All code that reads records uses this file, except the sweep with one
//! adjoint vector, which decodes [fixed](Form::Fixed) records by itself. On the way up, a span is first walked down, to
//! find the ends of its records. Where identifiers are reused and values kept, the values that records read are
//! restored on the way: first, going down through the complete recording, the values at its start; then in each span
//! the values at its end, which are kept meanwhile for the identifiers to which the span assigns, and from there down
//! again to its start.

use super::record::Record;
use crate::error::StorageError;
use crate::external::Mark;
use crate::identifier::IndexType;
use crate::outline::Chunk;
use crate::scratch::Scratch;
use crate::storage::{Layer, Reader, Segments};
use crate::tape::format::code::{EXPLICIT, EXTERNAL, FREQUENT, lists};
use crate::tape::format::entry_points::{AnyData, ReverseFn, SHAPED, SkipFn, shaped};
use crate::tape::format::kind::{Ids, Terms, branch};
use crate::tape::format::layout::{Form, Layout};
use crate::tape::store::lengths::{Ends, Lengths};
use crate::tape::store::recording::{Content, Records};
use crate::tape::usize_of;
use crate::{IndexManager, Number, SweepError};
use core::ops::Deref;
use core::ptr;
use std::sync::Arc;

/// Some records in one segment: the first number and the one behind the last, and the end of the last record.
type InOneSegment = ((usize, usize), *const u8);

/// A position that moves through a recording, last record first.
pub(crate) struct Cursor<'a, V: Number, M: IndexManager, L: Layer, K: Content> {
    records: &'a Records<V, M, L, K>,
    reader: <L::Segments as Segments>::Reader<'a>,
    /// The current span, and the start of its segment; null until the segment is loaded.
    at: usize,
    start: *const u8,
    /// The record in front of the position has the number before `next`, and ends `data` bytes behind the start.
    next: usize,
    data: usize,
}

impl<'a, V: Number, M: IndexManager, L: Layer, K: Content> Cursor<'a, V, M, L, K> {
    /// Starts behind the last record.
    pub(crate) fn new(records: &'a Records<V, M, L, K>) -> Self {
        let at = records.spans.len().saturating_sub(1);
        let data = if records.spans.is_empty() { 0 } else { records.data_of(at) };
        let reader = records.segments.reader();
        Self { records, reader, at, start: ptr::null(), next: usize_of(records.next), data }
    }

    /// Moves down to the record with this number, and calls `f` with each span in between: the first number and the one
    /// behind the last, and the end of the last record. `f` returns the number and the start of the first record, whose
    /// number is below the requested one if that is among several inputs.
    pub(crate) fn move_to<E: From<StorageError>>(
        &mut self,
        number: usize,
        mut f: impl FnMut((usize, usize), *const u8) -> Result<(usize, *const u8), E>,
    ) -> Result<(), E> {
        while let Some((numbers, end)) = self.span_above(number)? {
            let (next, begin) = f(numbers, end)?;
            self.reached(next, begin);
        }
        Ok(())
    }

    /// Returns the records in front of the position, down to this number, that are in one segment: the first number and
    /// the one behind the last, and the end of the last record. `None` if the position has this number.
    #[inline(always)]
    pub(crate) fn span_above(&mut self, number: usize) -> Result<Option<InOneSegment>, StorageError> {
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
            return Ok(Some(((number.max(usize_of(span.first)), self.next), self.start.wrapping_add(self.data))));
        }
        Ok(None)
    }

    /// Notes that the position is in front of the record with the number `next`, which begins there.
    #[inline(always)]
    pub(crate) fn reached(&mut self, next: usize, begin: *const u8) {
        (self.next, self.data) = (next, begin.addr() - self.start.addr());
    }

    /// Moves down to the record with this number, and calls `f` with each record on the way and its number.
    pub(crate) fn down(
        &mut self,
        number: usize,
        mut f: impl FnMut(&Record<'_, V, M::Index>, usize),
    ) -> Result<(), StorageError> {
        self.try_down(number, |record, number| {
            f(record, number);
            Ok(())
        })
    }

    /// Moves down to the record with this number without decoding what need not be decoded, and calls `f` with each
    /// record on the way, with its number, with the [place](Self::place) behind it, and with the values before it. The
    /// walk ends when `f` returns false.
    #[inline(always)]
    pub(crate) fn down_by_code<E: From<StorageError>>(
        &mut self,
        number: usize,
        values: &mut Values<'_, V>,
        mut f: impl FnMut(Met<'_, V, M::Index>, (usize, (usize, usize)), &[V]) -> Result<bool, E>,
    ) -> Result<(), E> {
        let mut row = [V::ZERO; SHAPED];
        while let Some(((first, mut next), mut end)) = self.span_above(number)? {
            while next > first {
                let place = (self.at, end.addr() - self.start.addr());
                // SAFETY: the reader has the bytes as they were written, and the record in front of `next` ends there.
                let (met, start) = unsafe { self.records.meet(end, next - 1, &mut row) };
                next -= met.numbers();
                Records::<V, M, L, K>::undo_met(&met, next, end, values);
                let goes_on = f(met, (next, place), values)?;
                end = start;
                if !goes_on {
                    self.reached(next, end);
                    return Ok(());
                }
            }
            self.reached(next, end);
        }
        Ok(())
    }

    /// Moves down to the record with this number.
    pub(crate) fn skip_to(&mut self, number: usize) -> Result<(), StorageError> {
        self.down_by_code(number, &mut Values::Lasting(&[]), |_, _, _| Ok(true))
    }

    /// Moves down as [`down`](Self::down) does, with an `f` that may fail, which ends the walk.
    pub(crate) fn try_down<E: From<StorageError>>(
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

    /// Moves behind the last record of a chunk.
    pub(crate) fn go_to_chunk(&mut self, chunk: &Chunk) {
        self.go_to_place(chunk.place, chunk.numbers.end);
    }

    /// Moves to this [place](Self::place), behind the record in front of `next`.
    pub(crate) fn go_to_place(&mut self, (at, data): (usize, usize), next: usize) {
        if at != self.at {
            self.start = ptr::null();
        }
        (self.at, self.data, self.next) = (at, data, next);
    }

    /// Moves down to a mark without sweeping, and restores the values that identifiers had there, if identifiers are
    /// reused. Any number is valid in a mark: the end of its records is found by walking, over at most one span if
    /// nothing is restored.
    pub(crate) fn go_to(&mut self, mark: Mark, values: &mut Values<'_, V>) -> Result<(), StorageError> {
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

    /// The number behind the last record before this position.
    pub(crate) const fn next(&self) -> usize {
        self.next
    }

    /// The current span, and the end of the records in front of the position in that span.
    pub(crate) const fn place(&self) -> (usize, usize) {
        (self.at, self.data)
    }
}

/// A record on the way.
pub(crate) enum Met<'a, V: Number, I> {
    /// A statement's that consists of partials and identifiers, or is of a frequent shape: partials and identifiers of
    /// its arguments, and the identifier of its result.
    Terms(Terms<'a, V, I>, usize),
    /// A statement's, of a kind whose records have one length: its layout, its data, and the identifier of its result.
    Fixed(&'static Layout<V>, AnyData<'a, V, I>, usize),
    /// Any other.
    Other(Record<'a, V, I>),
}

impl<V: Number, I: IndexType> Met<'_, V, I> {
    /// Count of numbers that the record has.
    #[inline(always)]
    pub(crate) const fn numbers(&self) -> usize {
        match self {
            Self::Terms(..) | Self::Fixed(..) => 1,
            Self::Other(record) => record.numbers,
        }
    }
}

/// What a walk does with each record. A trait, so that it is inlined, which a closure need not be.
pub(crate) trait Visit<V: Number, I> {
    /// Meets the record with this number, given the values of variables before it.
    fn meet(&mut self, met: Met<'_, V, I>, number: usize, values: &[V]) -> Result<(), SweepError>;
}

/// The records of a span, for a way up.
pub(crate) struct Found<'a, V: 'static> {
    /// The span, and the start of its segment.
    pub(crate) span: usize,
    pub(crate) start: *const u8,
    /// The end of each record.
    pub(crate) ends: Ends<'a>,
    /// The value that each record assigns, last first, if values are restored; any number for records of no statement.
    pub(crate) assigned: &'a mut Scratch<V>,
}

/// The data of the record of a statement, without objects: values, followed by the identifiers of the arguments.
pub(crate) fn written<'r, V: Number, I: IndexType>(record: &'r Record<'_, V, I>) -> &'r [u8] {
    let start = record.data.start_of(record.payload);
    // SAFETY: values and identifiers lie there, and do not change for as long as the record is borrowed.
    unsafe { core::slice::from_raw_parts(start, record.data.end().addr() - start.addr()) }
}

/// Decodes the data of a record of a statement with `n` arguments that is in `bytes` and not on a tape. Checks that the
/// bytes have the length that the layout gives, with values of passive arguments in front unless arguments are counted,
/// and that identifiers are below `known`.
pub(crate) fn data_in<'a, V: Number, I: IndexType>(
    layout: &'static Layout<V>,
    bytes: &'a [u8],
    n: usize,
    known: usize,
) -> AnyData<'a, V, I> {
    let end = bytes.as_ptr_range().end;
    assert!(n * size_of::<I>() <= bytes.len(), "a record is as long as it says");
    // SAFETY: they lie in these bytes.
    let ids = unsafe { Ids::<I>::before(end, n) };
    let numbers = match layout.form {
        Form::Fixed | Form::Passives if n == layout.arguments => {
            layout.payload + ids.clone().filter(|id| *id == 0).count()
        }
        Form::Counted => layout.payload * n,
        _ => usize::MAX,
    };
    let fits = numbers.checked_mul(size_of::<V>()) == Some(bytes.len() - n * size_of::<I>());
    assert!(fits && ids.max() < Some(known.max(1)), "a record is as its layout says");
    // SAFETY: the bytes are a record with this layout, and identifiers are below `known`.
    unsafe { AnyData::new(&layout.functions, end, n, known) }
}

/// The values of variables, by identifier, at the position of a walk over a recording.
pub(crate) enum Values<'a, V: 'static> {
    /// One value for each variable, which never changes, or no values.
    Lasting(&'a [V]),
    /// One value for each identifier, which are reused: a copy in which a walk restores earlier values.
    OfTheTime(Scratch<V>),
}

impl<V: 'static> Deref for Values<'_, V> {
    type Target = [V];
    #[inline(always)]
    fn deref(&self) -> &[V] {
        match self {
            Self::Lasting(values) => values,
            Self::OfTheTime(values) => values,
        }
    }
}

/// The values at the end of each span of the identifiers to which the span assigns, where identifiers are reused.
pub(crate) struct Later<V: 'static> {
    pub(crate) changes: Scratch<(usize, V)>,
    /// Start of the changes of each span, last span first.
    pub(crate) first: Scratch<usize>,
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Decodes the record that ends at `end`.
    ///
    /// # Safety
    ///
    /// A record of this recording ends at `end`, and its bytes do not change for `'a`.
    #[inline]
    pub(crate) unsafe fn record<'a>(&self, end: *const u8) -> Record<'a, V, M::Index> {
        // SAFETY: records end in a code or an address, in front of which lies what the layout says.
        unsafe {
            let (layout, tail_end) = self.layout_before(end);
            let data_end = if layout.form.is_of_statement() { tail_end.sub(Self::TAIL) } else { tail_end };
            let count = |k: usize| data_end.sub(k * size_of::<u32>()).cast::<u32>().read_unaligned() as usize;
            let known = if K::VALUES { self.len() } else { 0 };
            let of = |counts: usize, arguments: usize, payload: usize| {
                let ids_end = data_end.sub(counts * size_of::<u32>());
                let start = ids_end.sub(arguments * size_of::<M::Index>() + payload * size_of::<V>());
                let data = AnyData::new(&layout.functions, ids_end, arguments, known);
                Record { layout, data, start, tail_end, end, payload, numbers: 1, external: None }
            };
            match layout.form {
                Form::Fixed => of(0, layout.arguments, layout.payload),
                Form::Passives => {
                    let passive = Ids::<M::Index>::before(data_end, layout.arguments).filter(|id| *id == 0).count();
                    of(0, layout.arguments, layout.payload + passive)
                }
                Form::Counted => of(1, count(1), layout.payload * count(1)),
                Form::Object(bytes) => {
                    let record = of(2, count(1), 0);
                    Record { start: record.start.sub(bytes + count(2)), ..record }
                }
                Form::Input => of(0, 0, 0),
                Form::Inputs => Record { numbers: count(1), ..of(1, 0, 0) },
                Form::External => Record { numbers: count(1), external: Some(count(2)), ..of(2, 0, 0) },
            }
        }
    }

    /// Returns the layout of the record that ends at `end`, and the end of its tail.
    ///
    /// # Safety
    ///
    /// A record of this recording ends at `end`.
    #[inline(always)]
    pub(crate) unsafe fn layout_before(&self, end: *const u8) -> (&'static Layout<V>, *const u8) {
        const ADDRESS: usize = size_of::<*const u8>();
        // SAFETY: promised by the caller; addresses were written as references.
        unsafe {
            if K::BY_ADDRESS {
                let at = end.sub(ADDRESS);
                return (at.cast::<&'static Layout<V>>().read_unaligned(), at);
            }
            let at = end.sub(1);
            if *at == EXPLICIT {
                let at = at.sub(ADDRESS);
                return (at.cast::<&'static Layout<V>>().read_unaligned(), at);
            }
            (self.codes.layout(*at), at)
        }
    }

    /// Returns the function that reverses the record that ends at `end` and has this code, and the function that skips
    /// it, if all records of its kind have the same length.
    ///
    /// # Safety
    ///
    /// A record ends at `end`.
    #[inline(always)]
    pub(crate) unsafe fn functions_before(&self, end: *const u8, code: u8) -> (ReverseFn<V>, Option<SkipFn>) {
        // SAFETY: promised by the caller; there is an entry for each code.
        unsafe {
            if K::BY_ADDRESS {
                let functions = &end.sub(Self::CODE).cast::<&'static Layout<V>>().read_unaligned().functions;
                // Functions are mostly aligned to 16 bytes.
                let place = functions.reverse as usize / 16;
                branch(place & 1 != 0);
                branch(place & 2 != 0);
                return (functions.reverse, functions.skip);
            }
            // Codes are assigned one after the other: neighbors differ in the lowest bit, and the parity repeats
            // itself less than any bit.
            branch(code & 1 != 0);
            branch(code.count_ones() & 1 != 0);
            let entry = &*self.codes.entries.as_ptr().add(code as usize);
            (entry.reverse, entry.skip)
        }
    }

    /// Returns the identifier of the variable to which the statement of this record assigns.
    #[inline(always)]
    pub(crate) fn result(record: &Record<'_, V, M::Index>, number: usize) -> usize {
        // SAFETY: what it overwrites ends there.
        unsafe { Self::result_before(record.tail_end, number).0 }
    }

    /// Returns the identifier of the result, and the end of the data of the record.
    ///
    /// # Safety
    ///
    /// The tail of a statement's record ends at `tail_end`.
    #[inline(always)]
    pub(crate) unsafe fn result_before(tail_end: *const u8, number: usize) -> (usize, *const u8) {
        if !M::REUSES {
            return (number, tail_end);
        }
        // SAFETY: the tail ends in the identifier.
        unsafe {
            let id = tail_end.sub(size_of::<M::Index>()).cast::<M::Index>().read_unaligned();
            (usize_of(id.widen()), tail_end.sub(Self::TAIL))
        }
    }

    /// Returns identifier and end as [`result_before`](Self::result_before) does, and restores the value that the
    /// identifier had before.
    ///
    /// # Safety
    ///
    /// The conditions of [`result_before`](Self::result_before). Where values have to be restored, `values` has one
    /// entry for each identifier of the recording, and is a copy of the tape's, or nobody else uses it.
    #[inline(always)]
    pub(crate) unsafe fn undo_before(tail_end: *const u8, number: usize, values: *mut V) -> (usize, *const u8) {
        // SAFETY: promised by the caller; the tail begins with the value.
        unsafe {
            let (id, data_end) = Self::result_before(tail_end, number);
            if Self::RESTORES {
                values.add(id).write(data_end.cast::<V>().read_unaligned());
            }
            (id, data_end)
        }
    }

    /// Goes back over a record of any kind: restores the value that its result's identifier had before, if `values` is
    /// a copy for that. Returns the identifier of the result.
    #[inline(always)]
    pub(crate) fn undo(record: &Record<'_, V, M::Index>, number: usize, values: &mut Values<'_, V>) -> usize {
        if !record.is_statement() {
            return number;
        }
        let id = Self::result(record, number);
        if let Values::OfTheTime(values) = values {
            // SAFETY: the tail begins with the value.
            values[id] = unsafe { record.tail_end.sub(Self::TAIL).cast::<V>().read_unaligned() };
        }
        id
    }

    /// Decodes the record that ends at `end` as far as necessary, and returns its start, too. If it is of a statement,
    /// it has this number. The partials of some are in the row then.
    ///
    /// # Safety
    ///
    /// A record of this recording ends at `end`, and its bytes do not change for `'a`.
    #[inline(always)]
    unsafe fn meet<'a>(
        &self,
        end: *const u8,
        number: usize,
        row: &'a mut [V; SHAPED],
    ) -> (Met<'a, V, M::Index>, *const u8) {
        // SAFETY: promised by the caller.
        unsafe {
            if let Some(start) = self.start_of_fixed(end) {
                return (Self::terms(end, number, row).unwrap_or_else(|| self.fixed(end, number)), start);
            }
            let record = self.record(end);
            (Met::Other(record), record.start)
        }
    }

    /// Decodes a record whose code says that it consists of partials and identifiers, or that it is of a frequent
    /// shape, whose partials it writes to the row; `None` for other codes.
    ///
    /// # Safety
    ///
    /// A record of this recording ends at `end`, and its bytes do not change while the result is used.
    #[inline(always)]
    unsafe fn terms(end: *const u8, number: usize, row: &mut [V; SHAPED]) -> Option<Met<'_, V, M::Index>> {
        // SAFETY: promised by the caller.
        unsafe {
            let code = if K::BY_ADDRESS { 0 } else { *end.sub(1) };
            if !(FREQUENT..EXTERNAL).contains(&code) {
                return None;
            }
            let (result, ids_end) = Self::result_before(end.sub(Self::CODE), number);
            if !lists(code) {
                return Some(Met::Terms(shaped(code, ids_end, row), result));
            }
            Some(Met::Terms(Terms::before(ids_end, usize::from(code - FREQUENT) + 1), result))
        }
    }

    /// Decodes a record of a statement whose kind has records of one length.
    ///
    /// # Safety
    ///
    /// Such a record of this recording ends at `end`, and its bytes do not change for `'a`.
    #[inline(always)]
    unsafe fn fixed<'a>(&self, end: *const u8, number: usize) -> Met<'a, V, M::Index> {
        // SAFETY: promised by the caller.
        unsafe {
            let (layout, tail_end) = self.layout_before(end);
            let (result, ids_end) = Self::result_before(tail_end, number);
            let known = if K::VALUES { self.len() } else { 0 };
            Met::Fixed(layout, AnyData::new(&layout.functions, ids_end, layout.arguments, known), result)
        }
    }

    /// Goes back over a record, which ends at `end`, as [`undo`](Self::undo) does.
    #[inline(always)]
    fn undo_met(met: &Met<'_, V, M::Index>, number: usize, end: *const u8, values: &mut Values<'_, V>) {
        match (met, &mut *values) {
            (_, Values::Lasting(_)) => {}
            (Met::Other(record), _) => _ = Self::undo(record, number, values),
            (Met::Terms(_, result) | Met::Fixed(_, _, result), Values::OfTheTime(values)) => {
                let tail = end.wrapping_sub(Self::CODE + Self::TAIL);
                // SAFETY: the record has just been met, and its tail begins with the value.
                values[*result] = unsafe { tail.cast::<V>().read_unaligned() };
            }
        }
    }

    /// Visits the records as [`up`](Self::up) does, without decoding what need not be decoded.
    #[inline(always)]
    pub(crate) fn up_by_code(
        &self,
        values: &mut Values<'_, V>,
        visit: &mut impl Visit<V, M::Index>,
    ) -> Result<(), SweepError> {
        let mut row = [V::ZERO; SHAPED];
        self.up_by_spans(values, |found, mut number, values| {
            for end in found.ends {
                // SAFETY: it has just been found.
                let met = unsafe {
                    Self::terms(end, number, &mut row).unwrap_or_else(|| {
                        let is_fixed = self.layout_before(end).0.form == Form::Fixed;
                        if is_fixed { self.fixed(end, number) } else { Met::Other(self.record(end)) }
                    })
                };
                let (numbers, result) = match &met {
                    Met::Terms(_, result) | Met::Fixed(_, _, result) => (1, Some(*result)),
                    Met::Other(record) => (record.numbers, record.is_statement().then(|| Self::result(record, number))),
                };
                visit.meet(met, number, values)?;
                if let (Values::OfTheTime(values), Some(value)) = (&mut *values, found.assigned.pop())
                    && let Some(result) = result
                {
                    values[result] = value;
                }
                number += numbers;
            }
            Ok(())
        })
    }

    /// Calls `f` with the records of each span, first span first, with the number of its first record, and with the
    /// values of variables there, given `values` at the end of the recording. It leaves the values at the span's end.
    #[inline(always)]
    pub(crate) fn up_by_spans(
        &self,
        values: &mut Values<'_, V>,
        mut f: impl FnMut(Found<'_, V>, usize, &mut Values<'_, V>) -> Result<(), SweepError>,
    ) -> Result<(), SweepError> {
        let later = self.go_to_the_start(values)?;
        let (extent, mut reader) = (self.extent(), self.segments.reader());
        let (mut lengths, known) = self.lengths.of(extent);
        let mut assigned = Scratch::new();
        for span in 0..self.spans.len() {
            let start = reader.segment(span)?;
            if !known {
                let lengths = Arc::get_mut(&mut lengths).expect("nobody else has them");
                // SAFETY: the reader has the bytes as they were written, and is asked for no other segment meanwhile.
                unsafe { self.collect(span, start, &later, values, (lengths, &mut assigned)) }
            }
            let (number, ends) = lengths.span(span, start);
            f(Found { span, start, ends, assigned: &mut assigned }, number, values)?;
            assigned.clear();
        }
        if !known {
            // Values are restored by the walk that finds the lengths.
            self.lengths.keep(lengths, (!Self::RESTORES).then_some(extent));
        }
        Ok(())
    }

    /// Calls `f` with all records and their numbers, first to last, and the values of variables at each record, given
    /// `values` at the end of the recording.
    #[inline(always)]
    pub(crate) fn up(
        &self,
        values: &mut Values<'_, V>,
        mut f: impl FnMut(&Record<'_, V, M::Index>, usize, &[V]) -> Result<(), SweepError>,
    ) -> Result<(), SweepError> {
        self.up_with_places(values, |record, (number, _), values| f(record, number, values))
    }

    /// Calls `f` as [`up`](Self::up) does, and passes to it the span of each record and the offset of its end there.
    pub(crate) fn up_with_places(
        &self,
        values: &mut Values<'_, V>,
        mut f: impl FnMut(&Record<'_, V, M::Index>, (usize, (usize, usize)), &[V]) -> Result<(), SweepError>,
    ) -> Result<(), SweepError> {
        self.up_by_spans(values, |found, mut number, values| {
            for end in found.ends {
                // SAFETY: it has just been found.
                let record = unsafe { self.record(end) };
                f(&record, (number, (found.span, end.addr() - found.start.addr())), values)?;
                if let (Values::OfTheTime(values), Some(value)) = (&mut *values, found.assigned.pop())
                    && record.is_statement()
                {
                    values[Self::result(&record, number)] = value;
                }
                number += record.numbers;
            }
            Ok(())
        })
    }

    /// Lists the lengths of the records of a span, last first, with the values that they assign if values are to be
    /// restored, and restores the values that identifiers have at the start of the span.
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
        (lengths, assigned): (&mut Lengths, &mut Vec<V>),
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
        lengths.begin();
        while end > start {
            // SAFETY: the span's records end here, one after the other.
            if let Some((before, begin)) = unsafe { self.back_over(end, number - 1, values, assigned) } {
                lengths.push(end.addr() - begin.addr());
                (number, end) = (before, begin);
                continue;
            }
            // SAFETY: as above.
            let record = unsafe { self.record(end) };
            lengths.push(end.addr() - record.start.addr());
            number -= record.numbers;
            if Self::RESTORES {
                let is_known = record.is_statement();
                assigned.push(if is_known { values[Self::result(&record, number)] } else { V::ZERO });
            }
            Self::undo(&record, number, values);
            end = record.start;
        }
        lengths.end(number);
    }

    /// Returns the start of the record that ends at `end`, if it is of a statement and of a kind whose records have one
    /// length.
    ///
    /// # Safety
    ///
    /// A record of this recording ends at `end`.
    #[inline(always)]
    unsafe fn start_of_fixed(&self, end: *const u8) -> Option<*const u8> {
        // SAFETY: promised by the caller.
        unsafe {
            let code = if K::BY_ADDRESS { 0 } else { *end.sub(1) };
            let data_end = end.wrapping_sub(Self::CODE + Self::TAIL);
            if K::BY_ADDRESS || !lists(code) {
                return self.functions_before(end, code).1.map(|skip| skip(data_end));
            }
            let each = size_of::<V>() + size_of::<M::Index>();
            // Constants, so that the processor knows the start of a record by predicting a branch, and need not wait
            // until it has read the code.
            Some(data_end.wrapping_sub(match code - FREQUENT {
                0 => each,
                1 => 2 * each,
                2 => 3 * each,
                more => (usize::from(more) + 1) * each,
            }))
        }
    }

    /// Goes back over the record that ends at `end` and has this number, if it is of a statement and of a kind whose
    /// records have one length: restores the value of its result, after adding it to `assigned`. Returns the number and
    /// the start of the record.
    ///
    /// # Safety
    ///
    /// A record of this recording ends at `end`.
    #[inline(always)]
    unsafe fn back_over(
        &self,
        end: *const u8,
        number: usize,
        values: &mut Values<'_, V>,
        assigned: &mut Vec<V>,
    ) -> Option<(usize, *const u8)> {
        // SAFETY: promised by the caller.
        unsafe {
            let begin = self.start_of_fixed(end)?;
            let (id, data_end) = Self::result_before(end.sub(Self::CODE), number);
            if let Values::OfTheTime(values) = values {
                assigned.push(core::mem::replace(&mut values[id], data_end.cast::<V>().read_unaligned()));
            }
            Some((number, begin))
        }
    }
}
