//! Reading records back, last first: the one decoder.
//!
//! Only its end says what a record is. Everything that reads records uses [`Records::record`], except the sweep with
//! one adjoint vector, which knows by itself what [fixed](Form::Fixed) records are.

use super::codes::EXPLICIT;
use super::functions::{Sweep, identifiers, values_of};
use super::layout::{Form, Layout};
use super::records::{Content, Records};
use super::usize_of;
use crate::storage::{Layer, Reader, Segments};
use crate::{EachRecord, IndexManager, IndexType, Mark, Number, RecordKind, RecordView, StorageError, SweepError};
use core::ptr;
use smallvec::SmallVec;

/// One record, in place.
#[derive(Clone, Copy)]
pub(super) struct Record<V: 'static> {
    pub(super) layout: &'static Layout<V>,
    /// Its first byte.
    pub(super) start: *const u8,
    /// Where the identifiers of its arguments end.
    ids_end: *const u8,
    /// Where what it overwrites ends.
    tail_end: *const u8,
    pub(super) arguments: usize,
    /// Numbers in front of the identifiers.
    pub(super) payload: usize,
    /// How many numbers it has: more than one if it is several inputs, or results of an external function.
    pub(super) numbers: usize,
}

impl<V: Number> Record<V> {
    /// Whether it is of a statement, and not of independent variables or of an external function.
    #[inline(always)]
    pub(super) const fn is_statement(&self) -> bool {
        self.layout.form.is_of_statement()
    }

    /// Which external function or launch it is of, if it is.
    ///
    /// # Safety
    ///
    /// The record still lies there.
    #[inline(always)]
    pub(super) unsafe fn external(&self) -> Option<usize> {
        // SAFETY: promised by the caller; the record begins with the number.
        matches!(self.layout.form, Form::External)
            .then(|| unsafe { self.start.cast::<u32>().read_unaligned() } as usize)
    }

    /// The identifiers of the arguments, 0 for passive ones.
    ///
    /// # Safety
    ///
    /// The record still lies there, and has identifiers of this type.
    #[inline(always)]
    pub(super) unsafe fn ids<I: IndexType>(&self) -> impl ExactSizeIterator<Item = usize> + Clone + use<V, I> {
        // SAFETY: promised by the caller.
        unsafe { identifiers::<I>(self.ids_end, self.arguments) }
    }

    /// Appends what the record contributes to the adjoint of each argument, for this seed. Only closures of users are
    /// asked with seeds other than 1: what others contribute is the seed times that.
    ///
    /// # Safety
    ///
    /// The record still lies there, and is of a recording with these values.
    #[inline(always)]
    pub(super) unsafe fn contributions(&self, seed: V, values: &[V], contributions: &mut Vec<V>) {
        // SAFETY: promised by the caller.
        unsafe { _ = (self.layout.rerun)(self.ids_end, self.arguments, seed, values, Some(contributions)) }
    }

    /// Adds seed·∂/∂argument to the adjoint of each argument.
    ///
    /// # Safety
    ///
    /// The record still lies there, and the sweep is one of its recording. The seed is finite.
    #[inline(always)]
    pub(super) unsafe fn reverse(&self, seed: V, sweep: &mut Sweep<'_, V>) {
        // SAFETY: promised by the caller.
        unsafe { _ = (self.layout.reverse)(self.ids_end, self.arguments, seed, sweep) }
    }

    /// The name of a function in the statement that is singular at these values of variables, under the policy
    /// [`Checked`](crate::Checked).
    ///
    /// # Safety
    ///
    /// As [`value`](Self::value).
    pub(super) unsafe fn singular(&self, values: &[V]) -> Option<&'static str> {
        // SAFETY: promised by the caller.
        self.layout.singular.and_then(|singular| unsafe { singular(self.ids_end, self.arguments, values) })
    }

    /// The value of the statement at these values of variables; `None` if the record does not say how to compute it.
    ///
    /// # Safety
    ///
    /// The record still lies there, and there are as many values as the recording has identifiers.
    pub(super) unsafe fn value(&self, values: &[V]) -> Option<V> {
        // SAFETY: promised by the caller.
        unsafe { (self.layout.rerun)(self.ids_end, self.arguments, V::ONE, values, None) }
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// The record that ends there.
    ///
    /// # Safety
    ///
    /// One does.
    #[inline]
    pub(super) unsafe fn record(&self, end: *const u8) -> Record<V> {
        // SAFETY: records end in a code or an address, in front of which lies what the layout says.
        unsafe {
            let (layout, tail_end) = self.layout_before(end);
            let data_end = if layout.form.is_of_statement() { tail_end.sub(Self::TAIL) } else { tail_end };
            let count = |k: usize| data_end.sub(k * size_of::<u32>()).cast::<u32>().read_unaligned() as usize;
            let (arguments, payload) = (layout.arguments, layout.payload);
            let of = |counts: usize, arguments: usize, payload: usize| {
                let ids_end = data_end.sub(counts * size_of::<u32>());
                let bytes = arguments * size_of::<M::Index>() + payload * size_of::<V>();
                Record { layout, start: ids_end.sub(bytes), ids_end, tail_end, arguments, payload, numbers: 1 }
            };
            match layout.form {
                Form::Fixed => of(0, arguments, payload),
                Form::Passives => {
                    let passive = identifiers::<M::Index>(data_end, arguments).filter(|id| *id == 0).count();
                    of(0, arguments, payload + passive)
                }
                Form::Counted => of(1, count(1), payload * count(1)),
                Form::Object(bytes) => {
                    let record = of(2, count(1), 0);
                    Record { start: record.start.sub(bytes + count(2)), ..record }
                }
                Form::Input => of(0, 0, 0),
                Form::Inputs => Record { numbers: count(1), ..of(1, 0, 0) },
                Form::External => Record { numbers: count(1), ..of(2, 0, 0) },
            }
        }
    }

    /// The layout of the record that ends there, and where what it overwrites ends.
    ///
    /// # Safety
    ///
    /// One does.
    #[inline(always)]
    unsafe fn layout_before(&self, end: *const u8) -> (&'static Layout<V>, *const u8) {
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

    /// The identifier of the variable that a statement's record with this number assigns to.
    ///
    /// # Safety
    ///
    /// The record still lies there.
    #[inline(always)]
    pub(super) unsafe fn result(record: &Record<V>, number: usize) -> usize {
        // SAFETY: promised by the caller.
        unsafe { Self::result_before(record.tail_end, number).0 }
    }

    /// The identifier, and where the data of the record end.
    ///
    /// # Safety
    ///
    /// What a statement's record overwrites ends there.
    #[inline(always)]
    pub(super) unsafe fn result_before(tail_end: *const u8, number: usize) -> (usize, *const u8) {
        if !M::REUSES {
            return (number, tail_end);
        }
        // SAFETY: the tail ends in the identifier.
        unsafe {
            let id = tail_end.sub(size_of::<M::Index>()).cast::<M::Index>().read_unaligned();
            (usize_of(id.widen()), tail_end.sub(Self::TAIL))
        }
    }

    /// The same, and restores the value that the identifier had before.
    ///
    /// # Safety
    ///
    /// As [`result_before`](Self::result_before). Where values have to be restored, `values` has one entry for each
    /// identifier of the recording, and is a copy of the tape's, or nobody else uses it.
    #[inline(always)]
    pub(super) unsafe fn undo_before(tail_end: *const u8, number: usize, values: *mut V) -> (usize, *const u8) {
        // SAFETY: promised by the caller; the tail begins with the value.
        unsafe {
            let (id, data_end) = Self::result_before(tail_end, number);
            if Self::RESTORES {
                values.add(id).write(data_end.cast::<V>().read_unaligned());
            }
            (id, data_end)
        }
    }

    /// [`undo_before`](Self::undo_before) for a record, whatever it is; returns its result.
    ///
    /// # Safety
    ///
    /// As [`undo_before`](Self::undo_before); the record still lies there.
    #[inline(always)]
    pub(super) unsafe fn undo(record: &Record<V>, number: usize, values: *mut V) -> usize {
        if !record.is_statement() {
            return number;
        }
        // SAFETY: promised by the caller.
        unsafe { Self::undo_before(record.tail_end, number, values).0 }
    }
}

/// A place that moves through a recording, last record first.
pub(super) struct Cursor<'a, V: Number, M: IndexManager, L: Layer, K: Content> {
    records: &'a Records<V, M, L, K>,
    reader: <L::Segments as Segments>::Reader<'a>,
    /// The span, and where its segment lies; null as long as it is not loaded.
    at: usize,
    start: *const u8,
    /// The record that ends here has the number before `next`, and ends `data` bytes behind the start.
    next: usize,
    data: usize,
}

impl<'a, V: Number, M: IndexManager, L: Layer, K: Content> Cursor<'a, V, M, L, K> {
    /// Behind the last record.
    pub(super) fn new(records: &'a Records<V, M, L, K>) -> Self {
        let at = records.spans.len().saturating_sub(1);
        let data = if records.spans.is_empty() { 0 } else { records.data_of(at) };
        let reader = records.segments.reader();
        Self { records, reader, at, start: ptr::null(), next: usize_of(records.next), data }
    }

    /// Moves down to the record with this number, and gives `f` each span in between: the first number and the one
    /// behind the last, and where the last record ends. `f` returns where the first begins, and its number: it is
    /// below the one asked for if that is among several inputs.
    pub(super) fn move_to<E: From<StorageError>>(
        &mut self,
        number: usize,
        mut f: impl FnMut((usize, usize), *const u8) -> Result<(usize, *const u8), E>,
    ) -> Result<(), E> {
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
            let (next, begin) = f((number.max(usize_of(span.first)), self.next), self.start.wrapping_add(self.data))?;
            (self.next, self.data) = (next, begin.addr() - self.start.addr());
        }
        Ok(())
    }

    /// Moves down to the record with this number, and gives `f` each record on the way with its number.
    pub(super) fn down(&mut self, number: usize, mut f: impl FnMut(&Record<V>, usize)) -> Result<(), StorageError> {
        self.try_down(number, |record, number| {
            f(record, number);
            Ok(())
        })
    }

    /// The same with an `f` that may fail, which ends it.
    pub(super) fn try_down<E: From<StorageError>>(
        &mut self,
        number: usize,
        mut f: impl FnMut(&Record<V>, usize) -> Result<(), E>,
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

    /// Moves down to a mark without sweeping, and restores the values that identifiers had there, if they are reused.
    /// Any number is good for a mark: where its records end is found by walking, at most over one span if nothing
    /// is restored.
    ///
    /// # Safety
    ///
    /// `values` has one entry for each identifier of the recording, and is a copy, or nobody else uses it.
    pub(super) unsafe fn go_to(&mut self, mark: Mark, values: *mut V) -> Result<(), StorageError> {
        let [number, ..] = mark.numbers();
        let (number, records) = (number.clamp(1, self.records.next), self.records);
        if !Records::<V, M, L, K>::RESTORES && !records.spans.is_empty() {
            let at = records.spans.partition_point(|span| span.first < number).saturating_sub(1);
            if at != self.at {
                let next = usize_of(records.spans[at + 1].first);
                (self.at, self.start, self.next, self.data) = (at, ptr::null(), next, records.data_of(at));
            }
        }
        // SAFETY: promised by the caller.
        self.down(usize_of(number), |record, number| _ = unsafe { Records::<V, M, L, K>::undo(record, number, values) })
    }

    /// The number behind the last record before this place.
    pub(super) const fn next(&self) -> usize {
        self.next
    }

    /// The span, and where in it the records end.
    pub(super) const fn place(&self) -> (usize, usize) {
        (self.at, self.data)
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// The number that the next record gets.
    pub(crate) const fn next_record(&self) -> usize {
        usize_of(self.next)
    }

    /// Gives `each` the records between two marks; see [`Reverse::visit`](crate::Reverse::visit).
    pub(crate) fn visit(
        &self,
        (from, to): (Option<Mark>, Option<Mark>),
        each: &mut EachRecord<'_, V>,
    ) -> Result<(), SweepError> {
        let (mut copy, known) = (self.values_to_restore(), self.values().len());
        let values = copy.as_mut().map_or(self.values().as_ptr().cast_mut(), |copy| copy.as_mut_ptr());
        let mut cursor = Cursor::new(self);
        if let Some(from) = from {
            // SAFETY: there are as many values as the recording has identifiers, and they are a copy or not written to.
            unsafe { cursor.go_to(from, values)? }
        }
        cursor.move_to(to.map_or(1, |to| usize_of(to.numbers()[0])), |(first, mut next), mut end| {
            while next > first {
                // SAFETY: the reader has the bytes as they were written, and the record in front of `next` ends there;
                // the values are its recording's, from before it.
                next = unsafe {
                    let record = self.record(end);
                    let (number, bytes) = (next - record.numbers, end.addr() - record.start.addr());
                    let kind = match record.external() {
                        Some(external) => RecordKind::External(external),
                        None if record.is_statement() => {
                            RecordKind::Statement { result: Self::undo(&record, number, values) }
                        }
                        None => RecordKind::Inputs,
                    };
                    let arguments: SmallVec<[usize; 8]> = record.ids::<M::Index>().collect();
                    let partials = |to: &mut Vec<V>| record.contributions(V::ONE, values_of(values, known), to);
                    each(&RecordView { number, bytes, kind, arguments: &arguments, partials: &partials })?;
                    end = record.start;
                    number
                };
            }
            Ok((next, end))
        })
    }
}
