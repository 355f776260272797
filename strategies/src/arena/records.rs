//! The memory of one recording.

use super::segment::Segment;
use super::table::{INPUT, Table};
use crate::{Capacity, Float, IndexType, LinearId, TapeNumber};
use core::marker::PhantomData;
use core::ptr;
use smallvec::SmallVec;

/// A recording of [`Jacobian`](crate::Jacobian) (`VALUES` = false) or [`PrimalValue`](crate::PrimalValue) (`VALUES` =
/// true): segments of records, and for the latter the value of each variable.
///
/// The values are one contiguous array, not segments, because the sweep reads them at random; like the adjoint vector it
/// grows by doubling.
pub struct Records<V: 'static, I, const VALUES: bool> {
    /// Where the next record's data go.
    pub(super) data: *mut u8,
    /// Where the code byte of identifier 0 would lie; the next one goes to `codes − next`.
    pub(super) codes: *mut u8,
    /// The next identifier.
    pub(super) next: u64,
    /// The identifiers below this are inputs.
    pub(super) inputs: u64,
    /// No identifier may reach this without a visit to `make_room`.
    pub(super) limit: u64,
    /// The values, addressed by identifier.
    pub(super) values: *mut V,
    pub(super) table: Table<V>,
    /// One past the largest identifier allowed.
    pub(super) identifiers: u64,
    number: TapeNumber,
    segments: Vec<Segment>,
    /// The segments filled so far, and the current one last.
    pub(super) spans: SmallVec<[Span; 4]>,
    value_store: Vec<V>,
    width: PhantomData<I>,
}

/// What one segment holds.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// Where the data of the span before this one end; null for the first.
    pub(super) data_before: *mut u8,
    pub(super) codes: *mut u8,
    /// The first identifier whose code lies here.
    pub(super) first: u64,
}

// SAFETY: the raw pointers point into `segments` and `value_store`, which move along.
unsafe impl<V: Send, I, const VALUES: bool> Send for Records<V, I, VALUES> {}
// SAFETY: shared references only read; the `Bump`s, which are not `Sync`, are used through exclusive ones alone.
unsafe impl<V: Sync, I, const VALUES: bool> Sync for Records<V, I, VALUES> {}

impl<V: Float, I: IndexType, const VALUES: bool> Default for Records<V, I, VALUES> {
    fn default() -> Self {
        Self {
            data: ptr::null_mut(),
            codes: ptr::null_mut(),
            next: 1,
            inputs: 1,
            limit: 0,
            values: ptr::null_mut(),
            table: Table::new(),
            identifiers: I::LARGEST,
            number: TapeNumber::default(),
            segments: Vec::new(),
            spans: SmallVec::new(),
            value_store: Vec::new(),
            width: PhantomData,
        }
    }
}

impl<V: Float, I: IndexType, const VALUES: bool> Records<V, I, VALUES> {
    /// Empties the recording and keeps its memory.
    #[inline(always)]
    pub(crate) fn begin(&mut self, number: TapeNumber) {
        self.number = number;
        self.next = 1;
        self.inputs = 1;
        if self.spans.len() == 1 && !self.table.is_full() {
            // The common case of a small recording, and no work that depends on what earlier recordings used.
            self.data = self.segments[0].start();
        } else {
            self.rewind();
        }
    }

    #[cold]
    fn rewind(&mut self) {
        self.spans.clear();
        if self.segments.is_empty() {
            self.limit = 0;
        } else {
            self.enter(0);
        }
        if self.table.is_full() {
            self.table = Table::new();
        }
    }

    /// Makes segment `at` the current one.
    fn enter(&mut self, at: usize) {
        debug_assert_eq!(at, self.spans.len(), "segments are entered in order");
        let segment = &self.segments[at];
        let data_before = if at == 0 { ptr::null_mut() } else { self.data };
        self.data = segment.start();
        // The code of identifier `next` goes to the last byte.
        self.codes = segment.end().wrapping_sub(1).wrapping_add(usize_of(self.next));
        self.spans.push(Span { data_before, codes: self.codes, first: self.next });
        self.set_limit();
    }

    fn set_limit(&mut self) {
        let room = if VALUES { self.value_store.capacity() as u64 } else { u64::MAX };
        self.limit = self.identifiers.min(room);
    }

    /// Changes the number of identifiers that a recording may use, for tests that exhaust them.
    pub fn limit_identifiers(&mut self, identifiers: u64) {
        self.identifiers = identifiers.min(I::LARGEST).saturating_add(1);
        if !self.spans.is_empty() {
            self.set_limit();
        }
    }

    /// Makes sure that the next record, with `bytes` of data, has room; grows the arena if not.
    #[inline]
    pub(super) fn make_room(&mut self, bytes: usize) -> Result<(), OutOfIdentifiers> {
        let code = self.codes.wrapping_sub(usize_of(self.next));
        if self.next < self.limit && self.data.addr() + bytes <= code.addr() {
            return Ok(());
        }
        self.grow(bytes)
    }

    #[cold]
    fn grow(&mut self, bytes: usize) -> Result<(), OutOfIdentifiers> {
        // Only a tape that never began one; identifiers without a recording would pass for passive.
        assert!(self.number != TapeNumber::default(), "nothing can be recorded before a recording begins");
        if self.next >= self.identifiers {
            return Err(OutOfIdentifiers { used: self.next - 1, limit: self.identifiers - 1 });
        }
        if VALUES && usize_of(self.next) >= self.value_store.capacity() {
            self.grow_values(usize_of(self.next) + 1);
        }
        let code = self.codes.wrapping_sub(usize_of(self.next));
        if self.spans.is_empty() || self.data.addr() + bytes > code.addr() {
            let at = self.spans.len();
            self.provide(at, bytes + 1);
            self.enter(at);
        }
        self.set_limit();
        Ok(())
    }

    /// Makes sure that segment `at` exists and has this many bytes.
    fn provide(&mut self, at: usize, bytes: usize) {
        let standard = if at == 0 { Segment::FIRST } else { Segment::BYTES };
        if at == self.segments.len() {
            self.segments.push(Segment::new(bytes.max(standard)));
        } else if self.segments[at].bytes() < bytes {
            self.segments.insert(at, Segment::new(bytes.max(standard)));
        }
    }

    fn grow_values(&mut self, least: usize) {
        let capacity = least.max(2 * self.value_store.capacity()).max(512);
        // SAFETY: elements 1..next have been written; element 0 is written here. `V` is a float: any bytes are one.
        unsafe {
            let next = usize_of(self.next);
            if self.value_store.capacity() == 0 {
                self.value_store.reserve_exact(capacity);
                self.value_store.as_mut_ptr().write(V::zero());
            }
            self.value_store.set_len(next);
            self.value_store.reserve_exact(capacity - next);
            self.value_store.set_len(0);
        }
        self.values = self.value_store.as_mut_ptr();
    }

    /// Appends a record whose data `fill` writes; there are `bytes` of it.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        code: u8,
        value: V,
        bytes: usize,
        fill: impl FnOnce(&mut Writer),
    ) -> Result<LinearId<I>, OutOfIdentifiers> {
        self.make_room(bytes)?;
        let mut writer = Writer { at: self.data, left: bytes };
        fill(&mut writer);
        assert_eq!(writer.left, 0, "a record is as long as it said");
        // SAFETY: `make_room` found room for `bytes` of data and one code byte, and for a value.
        unsafe {
            self.codes.wrapping_sub(usize_of(self.next)).write(code);
            if VALUES {
                self.values.add(usize_of(self.next)).write(value);
            }
        }
        self.data = self.data.wrapping_add(bytes);
        self.next += 1;
        Ok(LinearId::pack(self.number, self.next - 1))
    }

    /// Registers an independent variable.
    #[inline]
    pub(crate) fn input(&mut self, value: V) -> Result<LinearId<I>, OutOfIdentifiers> {
        let id = self.push(INPUT, value, 0, |_| ())?;
        if self.inputs + 1 == self.next {
            self.inputs = self.next;
        }
        Ok(id)
    }

    /// Registers an independent variable for each value.
    #[inline]
    pub(crate) fn inputs(
        &mut self,
        values: &[V],
        mut each: impl FnMut(V, LinearId<I>),
    ) -> Result<(), OutOfIdentifiers> {
        let (first, end) = (self.next, self.next + values.len() as u64);
        if end > self.identifiers {
            return Err(OutOfIdentifiers { used: self.next - 1, limit: self.identifiers - 1 });
        }
        let last_code = self.codes.wrapping_sub(usize_of(end) - 1);
        if values.is_empty() || end > self.limit || self.data.addr() > last_code.addr() {
            return values.iter().try_for_each(|value| self.input(*value).map(|id| each(*value, id)));
        }
        // SAFETY: the codes from `first` down to the last one lie above `data`, in free memory of the segment; the values,
        // if kept, below `limit`, which is at most their capacity.
        unsafe {
            for k in 0..values.len() {
                last_code.add(k).write(INPUT);
            }
            if VALUES {
                self.values.add(usize_of(first)).copy_from_nonoverlapping(values.as_ptr(), values.len());
            }
        }
        self.next = end;
        if self.inputs == first {
            self.inputs = end;
        }
        for (k, value) in (first..end).zip(values) {
            each(*value, LinearId::pack(self.number, k));
        }
        Ok(())
    }

    /// 1 + the largest identifier used.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        usize_of(self.next)
    }

    /// The value of each variable, by identifier; empty if this kind of tape keeps none.
    #[inline(always)]
    pub(super) fn values(&self) -> &[V] {
        if !VALUES || self.values.is_null() {
            return &[];
        }
        // SAFETY: elements 0..next have been written, and nothing writes while `self` is borrowed.
        unsafe { core::slice::from_raw_parts(self.values, self.len()) }
    }

    /// Makes room for a recording of this size, and touches it.
    pub(crate) fn reserve(&mut self, capacity: Capacity) {
        let identifiers = capacity.inputs + capacity.statements;
        let bytes = identifiers + capacity.arguments * (size_of::<V>() + size_of::<I>());
        let have: usize = self.segments.iter().map(Segment::bytes).sum();
        if bytes > have {
            // A record does not straddle segments, so the end of each may stay empty.
            let slack = 4096 * (self.segments.len() + 1);
            self.segments.push(Segment::new((bytes - have + slack).max(Segment::FIRST)));
        }
        self.segments.iter_mut().skip(self.spans.len()).for_each(Segment::touch);
        if self.spans.is_empty() && !self.segments.is_empty() && self.number != TapeNumber::default() {
            self.enter(0);
        }
        if VALUES && identifiers >= self.value_store.capacity() {
            self.grow_values(identifiers + 1);
            for value in &mut self.value_store.spare_capacity_mut()[usize_of(self.next)..] {
                value.write(V::zero());
            }
        }
        if !self.spans.is_empty() {
            self.set_limit();
        }
    }

    /// Bytes of segments and of values obtained from the allocator.
    pub(super) fn reserved(&self) -> (usize, usize) {
        let segments = self.segments.iter().map(Segment::reserved).sum();
        (segments, self.value_store.capacity() * size_of::<V>())
    }
}

/// The recording has used every identifier that its width, or its limit, allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutOfIdentifiers {
    /// Identifiers in use.
    pub(crate) used: u64,
    /// Identifiers that may be in use.
    pub(crate) limit: u64,
}

impl OutOfIdentifiers {
    #[cold]
    #[track_caller]
    pub(crate) fn raise(self) -> ! {
        panic!(
            "out of identifiers: the recording has {} inputs and statements, and its identifiers can number no more than {} \
             inputs and statements; nothing more has been recorded (use u64 identifiers, or record in stages)",
            self.used, self.limit
        )
    }
}

/// Identifiers index memory, so they fit.
#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "memory of that length exists")]
pub(crate) const fn usize_of(index: u64) -> usize {
    index as usize
}

/// Writes the data of one record.
pub(super) struct Writer {
    at: *mut u8,
    left: usize,
}

impl Writer {
    /// Writes the bytes of one plain value: a float, an identifier, a count, a layout's address.
    pub(super) fn put<T: Copy>(&mut self, value: T) {
        assert!(size_of::<T>() <= self.left, "a record is as long as it said");
        // SAFETY: `left` bytes from `at` belong to the record being written.
        unsafe { self.at.cast::<T>().write_unaligned(value) }
        self.at = self.at.wrapping_add(size_of::<T>());
        self.left -= size_of::<T>();
    }
}
