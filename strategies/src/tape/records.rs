//! The memory of one recording.

use super::closures::Objects;
use super::codes::Codes;
use super::guards::Guards;
use super::layout::Layout;
use super::places::Resumed;
use super::usize_of;
use crate::pool::Pool;
use crate::refusal::{Refusal, out_of_memory};
use crate::storage::{Layer, Segments, Slabs, Spilled};
use crate::{
    ArrayFile, Capacity, Float, IndexManager, LinearId, SpillDefaults, SpillOptions, SpillUsage, StorageError,
    TapeNumber, active,
};
use core::marker::PhantomData;
use core::ptr;
use smallvec::SmallVec;
use std::sync::Arc;

/// What the records of a tape say: [`Partials`], [`Values`] or [`Closures`].
pub trait Content: sealed::Sealed + 'static {
    /// Whether the tape keeps the value of every variable.
    #[doc(hidden)]
    const VALUES: bool;
    /// Whether each record ends in the address of its layout, and not in a code.
    #[doc(hidden)]
    const BY_ADDRESS: bool;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! contents {
    ($($(#[$doc:meta])* $name:ident: values $values:literal, by address $by_address:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());
        impl sealed::Sealed for $name {}
        impl Content for $name {
            const VALUES: bool = $values;
            const BY_ADDRESS: bool = $by_address;
        }
    )* };
}
contents! {
    /// Partials: the records of [`Jacobian`](crate::Jacobian).
    Partials: values false, by address false;
    /// What partials are recomputed from, or partials, beside the value of every variable: the records of
    /// [`PrimalValue`](crate::PrimalValue) and [`Hybrid`](crate::Hybrid).
    Values: values true, by address false;
    /// Partials, or closures of users: the records of [`Continuation`](crate::Continuation).
    Closures: values false, by address true;
}

/// A recording: segments of records and, where they are kept, the value of each variable.
///
/// The values are one contiguous array, not segments, because the sweep reads them at random; like the adjoint vector it
/// grows by doubling.
pub struct Records<V: 'static, M: IndexManager, L: Layer, K: Content> {
    /// Where the next record goes.
    pub(super) data: *mut u8,
    /// Records end before this: the segment does, or identifiers may do.
    pub(super) end: *mut u8,
    /// Where the segment that is being written ends.
    segment_end: *mut u8,
    /// The number of the next record, counted from 1. With linear indices it is the next identifier.
    pub(super) next: u64,
    /// The next identifier that has not been used, where identifiers are reused.
    pub(super) fresh: u64,
    /// Records with numbers below this are inputs, of which nothing is written.
    pub(super) inputs: u64,
    /// No identifier may reach this without a visit to `make_room`.
    pub(super) limit: u64,
    /// The values, addressed by identifier.
    pub(super) values: *mut V,
    pub(super) codes: Codes<V>,
    /// One past the largest identifier allowed.
    pub(super) identifiers: u64,
    pub(super) number: TapeNumber,
    pub(super) resumed: Resumed,
    /// What has to be dropped before segments are.
    pub(super) objects: Objects,
    pub(super) segments: L::Segments,
    /// The segments filled so far, and the current one last.
    pub(super) spans: SmallVec<[Span; 4]>,
    /// What the spans hold that have been counted.
    pub(super) counted: Counts,
    value_store: Vec<V>,
    /// The number of the first record of a statement whose value cannot be computed from it.
    pub(super) first_partials: u64,
    pub(super) guards: Guards<V>,
    kind: PhantomData<(M, K)>,
}

/// Where data go while no segment is being written.
const CLOSED: *mut u8 = ptr::without_provenance_mut(1);

/// What one segment holds.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// Its start and length when it was written.
    pub(super) start: *mut u8,
    pub(super) bytes: usize,
    /// Bytes of records; not yet known of the current one.
    pub(super) data: usize,
    /// The number of the first record that lies here.
    pub(super) first: u64,
    /// What had been counted when this span was begun.
    pub(super) before: Counts,
}

/// Numbers and bytes of some records.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// The spans that have been counted are those before this.
    pub(super) spans: usize,
    pub(super) records: usize,
    pub(super) statements: usize,
    pub(super) arguments: usize,
    pub(super) payload: usize,
    pub(super) bytes: usize,
}

// SAFETY: the raw pointers point into `segments` and `value_store`, which move along; closures of users are `Send`.
unsafe impl<V: Send, M: IndexManager, L: Layer, K: Content> Send for Records<V, M, L, K> {}
// SAFETY: shared references only read, and call closures of users by reference, which are `Sync`; the `Bump`s in segments, which are
// not, are used through exclusive ones alone.
unsafe impl<V: Sync, M: IndexManager, L: Layer, K: Content> Sync for Records<V, M, L, K> {}

impl<V: Float, M: IndexManager, L: Layer, K: Content> Default for Records<V, M, L, K> {
    fn default() -> Self {
        Self::on(L::Segments::default())
    }
}

impl<V: Float, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Bytes behind the data of each record of a statement that say what it overwrites: nothing with linear indices, else the
    /// value that its identifier had, if values are kept, and the identifier.
    pub(crate) const TAIL: usize = match (M::REUSES, K::VALUES) {
        (false, _) => 0,
        (true, false) => size_of::<M::Index>(),
        (true, true) => size_of::<V>() + size_of::<M::Index>(),
    };
    /// Bytes at the end of each record that say what it is.
    pub(super) const CODE: usize = if K::BY_ADDRESS { size_of::<*const Layout<V>>() } else { 1 };
    /// Whether values are those of the variables alive, so that a sweep has to go back to earlier ones.
    pub(super) const RESTORES: bool = M::REUSES && K::VALUES;

    /// Whether records may leave memory.
    pub(crate) const SPILLS: bool = L::SPILLS;

    /// An empty tape on this storage.
    pub(crate) fn on(segments: L::Segments) -> Self {
        Self {
            data: CLOSED,
            end: CLOSED,
            segment_end: CLOSED,
            next: 1,
            fresh: 1,
            inputs: 1,
            limit: 0,
            values: ptr::null_mut(),
            codes: Codes::new::<M::Index>(),
            identifiers: M::LARGEST + 1,
            number: TapeNumber::default(),
            resumed: Resumed::default(),
            objects: Objects::default(),
            segments,
            spans: SmallVec::new(),
            counted: Counts::default(),
            value_store: Vec::new(),
            first_partials: u64::MAX,
            guards: Guards::new(),
            kind: PhantomData,
        }
    }

    /// Notes that the value of the statement that is recorded next cannot be computed from its record.
    pub(super) fn keeps_partials(&mut self) {
        self.first_partials = self.first_partials.min(self.next);
    }

    /// Empties the recording, keeps its memory, and drops closures of users.
    #[inline(always)]
    pub(crate) fn begin(&mut self, number: TapeNumber) {
        self.number = number;
        self.next = 1;
        self.fresh = 1;
        self.inputs = 1;
        self.resumed.clear();
        if K::VALUES {
            self.first_partials = u64::MAX;
            if !self.guards.list.is_empty() {
                self.guards.truncate(0);
            }
        }
        match &mut *self.spans {
            // The common case of a small recording, and no work that depends on what earlier recordings used.
            [span] if self.data != CLOSED && !self.codes.is_full() => {
                span.first = 1;
                self.data = span.start;
                self.set_end();
            }
            _ => self.rewind(),
        }
        if K::BY_ADDRESS {
            self.objects.truncate(0);
        }
    }

    #[cold]
    fn rewind(&mut self) {
        self.spans.clear();
        self.counted = Counts::default();
        self.segments.rewind();
        self.close();
        if self.codes.is_full() {
            self.codes = Codes::new::<M::Index>();
        }
    }

    /// Whether a segment is being written.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.data != CLOSED
    }

    /// No segment is being written: nothing fits.
    pub(super) fn close(&mut self) {
        (self.data, self.end, self.segment_end) = (CLOSED, CLOSED, CLOSED);
    }

    /// Goes on writing in a segment that ends there, behind what has been written to it.
    pub(super) fn open(&mut self, data: *mut u8, segment_end: *mut u8) {
        (self.data, self.segment_end) = (data, segment_end);
        self.set_end();
    }

    /// How far records may go in the segment that is being written. With linear indices, and if no values are kept, so far that
    /// there are identifiers for all statements that fit; else whoever writes looks for an identifier.
    #[inline(always)]
    pub(super) fn set_end(&mut self) {
        let room = self.segment_end.addr() - self.data.addr();
        let left = self.identifiers.saturating_sub(self.next);
        self.end = self.segment_end;
        if !M::REUSES && !K::VALUES && left < room as u64 {
            let least = size_of::<M::Index>() + Self::CODE;
            self.end = self.data.wrapping_add(room.min(usize_of(left) * least));
        }
    }

    /// Begins the next segment.
    fn enter(&mut self, least: usize) -> Result<(), StorageError> {
        if self.is_open() {
            let current = self.spans.last_mut().expect("the current segment has a span");
            current.data = self.data.addr() - current.start.addr();
            let start = current.start;
            if L::Segments::COUNTS_AT_ONCE {
                self.counted = self.count(self.counted, start);
            }
        }
        self.close();
        if self.spans.try_reserve(1).is_err() {
            out_of_memory(2 * self.spans.len() * size_of::<Span>(), "the list of segments of the tape");
        }
        let (start, bytes) = self.segments.advance(least)?;
        self.spans.push(Span { start, bytes, data: 0, first: self.next, before: self.counted });
        self.open(start, start.wrapping_add(bytes));
        Ok(())
    }

    /// Bytes of records in span `at`.
    pub(super) fn data_of(&self, at: usize) -> usize {
        let span = &self.spans[at];
        let current = at + 1 == self.spans.len() && self.is_open();
        if current { self.data.addr() - span.start.addr() } else { span.data }
    }

    /// Changes the number of identifiers that a recording may use, for tests that exhaust them.
    pub fn limit_identifiers(&mut self, identifiers: u64) {
        self.identifiers = identifiers.min(M::LARGEST).saturating_add(1);
        self.limit = self.limit.min(self.identifiers);
        self.set_end();
    }

    /// Gives the first variable of a recording, in which there is none yet, this identifier: for tests that use the
    /// last identifiers. Sweeps over such a recording must end at a mark of it.
    ///
    /// # Panics
    ///
    /// When there are variables, when there is no such identifier, and when the tape keeps the values of variables,
    /// which would need as much memory as identifiers were left out.
    #[doc(hidden)]
    pub fn begin_identifiers_at(&mut self, first: u64) {
        let allowed = (1..=self.identifiers).contains(&first) && !K::VALUES;
        assert!(self.len() == 1 && allowed, "identifiers begin where the recording does");
        if M::REUSES {
            self.fresh = first;
            return;
        }
        self.rewind();
        (self.next, self.inputs) = (first, first);
    }

    /// Makes sure that the next record has room; grows the tape if not.
    #[inline]
    pub(super) fn make_room(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.make_room_for_identifier(false)?;
        if bytes <= self.segment_end.addr() - self.data.addr() {
            return Ok(());
        }
        self.enter(bytes).map_err(Refusal::Storage)
    }

    /// Makes sure that there is an identifier, a fresh one if it must be, and a place for its value.
    #[inline]
    fn make_room_for_identifier(&mut self, fresh: bool) -> Result<(), Refusal> {
        if M::REUSES {
            let ready = self.with_pool(|pool, next, limit| {
                let unused = *next < limit && *next < pool.len() as u64;
                if fresh { unused } else { pool.next(*next, limit).is_some() }
            });
            return if ready { Ok(()) } else { self.grow(self.fresh + 1) };
        }
        if self.next < self.limit { Ok(()) } else { self.grow(self.next + 1) }
    }

    /// Gives `f` the pool of this recording, the next fresh identifier and their limit.
    #[inline]
    fn with_pool<R>(&mut self, f: impl FnOnce(&mut Pool, &mut u64, u64) -> R) -> R {
        // SAFETY: the callers, all in this file, run nothing but methods of the pool.
        unsafe { active::with_pool(self.number, |pool| f(pool, &mut self.fresh, self.limit)) }
    }

    /// Takes an identifier from the pool, which has one.
    fn take_identifier(&mut self) -> u64 {
        self.with_pool(|pool, fresh, limit| {
            let id = pool.next(*fresh, limit).map(u64::from);
            let id = id.expect("the tape of a recording is not exchanged for another while it runs");
            pool.take(id, fresh);
            id
        })
    }

    /// Makes sure that all identifiers below `end` can be used, as far as they are allowed.
    #[cold]
    fn grow(&mut self, end: u64) -> Result<(), Refusal> {
        // Only a tape that never began one; identifiers without a recording would pass for passive.
        assert!(self.number != TapeNumber::default(), "nothing can be recorded before a recording begins");
        if end > self.identifiers {
            return Err(self.out_of_identifiers());
        }
        if K::VALUES && usize_of(end) > self.value_store.capacity() {
            self.grow_values(usize_of(end))?;
        }
        self.limit = self.identifiers;
        if K::VALUES {
            self.limit = self.limit.min(self.value_store.capacity() as u64);
        }
        if M::REUSES {
            let wanted = usize_of(self.identifiers.min((2 * self.fresh).max(end).max(512)));
            let grown =
                self.with_pool(|pool, _, _| if usize_of(end) > pool.len() { pool.grow(wanted) } else { Ok(()) });
            let room = self.with_pool(|pool, _, _| pool.len());
            self.limit = self.limit.min(room as u64);
            grown?;
        }
        Ok(())
    }

    fn out_of_identifiers(&self) -> Refusal {
        Refusal::OutOfIdentifiers { used: self.len() as u64 - 1, limit: self.identifiers - 1, reused: M::REUSES }
    }

    /// Makes room for the values of `least` identifiers at least. All is as it was when the allocator has no memory for
    /// that.
    fn grow_values(&mut self, least: usize) -> Result<(), Refusal> {
        let capacity = least.max(2 * self.value_store.capacity()).max(512);
        let used = if self.value_store.capacity() == 0 { 0 } else { self.len() };
        // SAFETY: elements 0..used have been written, and are not moved if there is no memory.
        let grown = unsafe {
            self.value_store.set_len(used);
            let grown = self.value_store.try_reserve_exact(capacity - used);
            self.value_store.set_len(0);
            grown
        };
        let refused = |_| Refusal::OutOfMemory {
            bytes: capacity.saturating_mul(size_of::<V>()),
            what: "the values of variables",
        };
        grown.map_err(refused)?;
        if used == 0 {
            self.value_store.spare_capacity_mut()[0].write(V::zero());
        }
        if M::REUSES {
            // What an identifier overwrites is read, also when it overwrites nothing.
            let used = self.len();
            self.value_store.spare_capacity_mut()[used..].iter_mut().for_each(|value| _ = value.write(V::zero()));
        }
        self.values = self.value_store.as_mut_ptr();
        Ok(())
    }

    /// Appends a record of a statement whose data `fill` writes; there are `bytes` of it.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        layout: &'static Layout<V>,
        value: V,
        bytes: usize,
        fill: impl FnOnce(&mut Writer<'_>),
    ) -> Result<LinearId<M::Index>, Refusal> {
        self.begin_record(layout, bytes + Self::TAIL)?;
        let id = if M::REUSES { self.take_identifier() } else { self.next };
        // SAFETY: `begin_record` found room for it, and nobody uses the tape before it is written.
        let mut writer = unsafe { Writer::to(self.data, bytes) };
        fill(&mut writer);
        assert_eq!(writer.left, 0, "a record is as long as it said");
        // SAFETY: `begin_record` found room for data, tail and code, and for a value.
        unsafe {
            let code_at = self.write_tail(writer.at, id, value);
            self.end_record(layout, code_at);
        }
        Ok(LinearId::pack(self.number, id))
    }

    /// Makes sure that there is room for a record of this layout, with so many bytes in front of what says so.
    fn begin_record(&mut self, layout: &'static Layout<V>, bytes: usize) -> Result<(), Refusal> {
        let address =
            if K::BY_ADDRESS || self.codes.code(layout).is_some() { 0 } else { size_of::<*const Layout<V>>() };
        self.make_room(bytes + address + Self::CODE)
    }

    /// Writes what a record is.
    ///
    /// # Safety
    ///
    /// [`begin_record`](Self::begin_record) found room for it, and its data lie in front of `code_at`.
    unsafe fn end_record(&mut self, layout: &'static Layout<V>, mut code_at: *mut u8) {
        let code = if K::BY_ADDRESS { None } else { self.codes.code(layout) };
        // SAFETY: promised by the caller.
        unsafe {
            if code.is_none() {
                code_at.cast::<&'static Layout<V>>().write_unaligned(layout);
                code_at = code_at.add(size_of::<&'static Layout<V>>());
            }
            if !K::BY_ADDRESS {
                code_at.write(code.unwrap_or(super::codes::EXPLICIT));
                code_at = code_at.add(1);
            }
        }
        self.data = code_at;
        self.next += 1;
        self.set_end();
    }

    /// Writes what the record overwrites, and the value; returns where the former ends.
    ///
    /// # Safety
    ///
    /// `TAIL` bytes at `at` belong to the record; there is room for the value of `id`.
    #[inline(always)]
    pub(super) unsafe fn write_tail(&mut self, at: *mut u8, id: u64, value: V) -> *mut u8 {
        // SAFETY: promised by the caller; `grow_values` has written to all places if what is overwritten is read.
        unsafe {
            let mut at = at;
            if K::VALUES {
                let place = self.values.add(usize_of(id));
                if M::REUSES {
                    at.cast::<V>().write_unaligned(place.read());
                    at = at.add(size_of::<V>());
                }
                place.write(value);
            }
            if M::REUSES {
                at.cast::<M::Index>().write_unaligned(<M::Index as crate::IndexType>::narrow(id));
                at = at.add(size_of::<M::Index>());
            }
            at
        }
    }

    /// Registers an independent variable.
    #[inline]
    pub(crate) fn input(&mut self, value: V) -> Result<LinearId<M::Index>, Refusal> {
        self.inputs(&[value]).map(|mut ids| ids.next().expect("there is one"))
    }

    /// Registers an independent variable for each value, and gives them consecutive identifiers.
    #[inline]
    pub(crate) fn inputs(
        &mut self,
        values: &[V],
    ) -> Result<impl Iterator<Item = LinearId<M::Index>> + use<V, M, L, K>, Refusal> {
        let first = self.len() as u64;
        let end = first + values.len() as u64;
        if end > self.identifiers {
            return Err(self.out_of_identifiers());
        }
        let number = self.number;
        let ids = (first..end).map(move |k| LinearId::pack(number, k));
        if values.is_empty() {
            return Ok(ids);
        }
        if end > self.limit || M::REUSES && self.with_pool(|pool, _, _| end > pool.len() as u64) {
            self.grow(end)?;
        }
        if K::VALUES {
            // SAFETY: `limit` is at most the capacity of the values.
            unsafe { self.values.add(usize_of(first)).copy_from_nonoverlapping(values.as_ptr(), values.len()) }
        }
        if M::REUSES {
            self.fresh = end;
        } else if self.inputs == first {
            (self.next, self.inputs) = (end, end);
            self.set_end();
        } else {
            self.push_inputs(values.len())?;
        }
        Ok(ids)
    }

    /// Appends records of so many independent variables.
    fn push_inputs(&mut self, count: usize) -> Result<(), Refusal> {
        let mut left = count;
        while left > 0 {
            let some = u32::try_from(left).unwrap_or(u32::MAX);
            let (layout, bytes) = if some == 1 {
                (super::layout::Common::<V, M::Index>::INPUT, 0)
            } else {
                (super::layout::Common::<V, M::Index>::INPUTS, size_of::<u32>())
            };
            self.begin_record(layout, bytes)?;
            // SAFETY: there is room for it.
            let mut writer = unsafe { Writer::to(self.data, bytes) };
            if some > 1 {
                writer.put(some);
            }
            // SAFETY: there is room for it.
            unsafe { self.end_record(layout, writer.at) }
            self.next += u64::from(some - 1);
            self.set_end();
            left -= some as usize;
        }
        Ok(())
    }

    /// 1 + the largest identifier used.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        usize_of(if M::REUSES { self.fresh } else { self.next })
    }

    /// The value of each variable, by identifier; empty if this kind of tape keeps none.
    #[inline(always)]
    pub(super) fn values(&self) -> &[V] {
        if !K::VALUES || self.values.is_null() {
            return &[];
        }
        // SAFETY: elements 0..len have been written, and nothing writes while `self` is borrowed.
        unsafe { core::slice::from_raw_parts(self.values, self.len()) }
    }

    /// Makes room for a recording of this size, and touches it.
    ///
    /// # Panics
    ///
    /// When that is more than can be addressed, or than the allocator has. The tape can be used then.
    #[track_caller]
    pub(crate) fn reserve(&mut self, capacity: Capacity) {
        let records = capacity.bytes(1, 1, 0);
        let argument = size_of::<V>() + size_of::<M::Index>();
        // Inputs behind statements have records.
        let input = if M::REUSES { 0 } else { Self::CODE };
        self.segments.reserve(capacity.bytes(input, Self::TAIL + Self::CODE, argument));
        if K::VALUES && !M::REUSES && records >= self.value_store.capacity() {
            if let Err(refusal) = self.grow_values(records + 1) {
                refusal.raise();
            }
            let used = self.len();
            self.value_store.spare_capacity_mut()[used..].iter_mut().for_each(|value| _ = value.write(V::zero()));
        }
    }

    /// Where arrays go that leave memory.
    pub(crate) fn array_file(&self) -> Option<&Arc<ArrayFile>> {
        self.segments.array_file()
    }

    /// Bytes of segments and of values obtained from the allocator.
    pub(super) fn reserved(&self) -> (usize, usize) {
        (self.segments.reserved(), self.value_store.capacity() * size_of::<V>())
    }
}

impl<V: Float, M: IndexManager, D: SpillDefaults, K: Content> Records<V, M, Spilled<D>, K> {
    /// An empty tape whose file exists.
    pub(crate) fn spilled(options: SpillOptions) -> Result<Self, StorageError> {
        Ok(Self::on(Slabs::open(options)?))
    }

    pub(crate) fn usage(&self) -> SpillUsage {
        self.segments.usage()
    }
}

/// Writes the data of one record.
pub(super) struct Writer<'a> {
    at: *mut u8,
    left: usize,
    bytes: PhantomData<&'a mut [u8]>,
}

impl<'a> Writer<'a> {
    /// Writes to these bytes.
    ///
    /// # Safety
    ///
    /// So many bytes there are the writer's as long as it lives.
    const unsafe fn to(at: *mut u8, left: usize) -> Self {
        Self { at, left, bytes: PhantomData }
    }

    /// Writes over these bytes.
    pub(super) const fn on(bytes: &'a mut [u8]) -> Self {
        // SAFETY: they are borrowed exclusively.
        unsafe { Self::to(bytes.as_mut_ptr(), bytes.len()) }
    }

    /// Writes the bytes of one value: a number, an identifier, a count, an object.
    pub(super) fn put<T>(&mut self, value: T) {
        assert!(size_of::<T>() <= self.left, "a record is as long as it said");
        // SAFETY: `left` bytes from `at` belong to the record being written.
        unsafe { self.at.cast::<T>().write_unaligned(value) }
        self.skip(size_of::<T>());
    }

    /// Leaves out so many bytes.
    pub(super) fn skip(&mut self, bytes: usize) {
        assert!(bytes <= self.left, "a record is as long as it said");
        self.at = self.at.wrapping_add(bytes);
        self.left -= bytes;
    }
}
