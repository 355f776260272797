//! The memory of one recording.

use super::guards::Guards;
use super::layers::{Layer, Segments};
use super::places::Resumed;
use super::spilled::{Slabs, Spilled};
use super::table::{INPUT, Table};
use crate::active;
use crate::pool::Pool;
pub(super) use crate::refusal::Refusal;
use crate::refusal::out_of_memory;
use crate::{
    ArrayFile, Capacity, Float, IndexManager, LinearId, SpillDefaults, SpillOptions, SpillUsage, StorageError,
    TapeNumber,
};
use core::marker::PhantomData;
use core::ptr;
use smallvec::SmallVec;
use std::sync::Arc;

/// A recording of [`Jacobian`](crate::Jacobian) (`VALUES` = false), [`PrimalValue`](crate::PrimalValue) or
/// [`Hybrid`](crate::Hybrid) (`VALUES` = true): segments of records, and for the latter two the value of each variable.
///
/// The values are one contiguous array, not segments, because the sweep reads them at random; like the adjoint vector it
/// grows by doubling.
pub struct Records<V: 'static, M: IndexManager, L: Layer, const VALUES: bool> {
    /// Where the next record's data go.
    pub(super) data: *mut u8,
    /// Where the code byte of number 0 would lie; the next one goes to `codes − next`.
    pub(super) codes: *mut u8,
    /// The number of the next code byte, counted from 1. With linear indices it is the next identifier.
    pub(super) next: u64,
    /// The next identifier that has not been used, where identifiers are reused.
    pub(super) fresh: u64,
    /// The codes below this are those of inputs.
    pub(super) inputs: u64,
    /// No identifier may reach this without a visit to `make_room`.
    pub(super) limit: u64,
    /// The values, addressed by identifier.
    pub(super) values: *mut V,
    pub(super) table: Table<V>,
    /// One past the largest identifier allowed.
    pub(super) identifiers: u64,
    pub(super) number: TapeNumber,
    pub(super) resumed: Resumed,
    pub(super) segments: L::Segments,
    /// The segments filled so far, and the current one last.
    pub(super) spans: SmallVec<[Span; 4]>,
    /// What the spans hold that have been counted.
    pub(super) counted: Counts,
    value_store: Vec<V>,
    /// The number of the first record of a statement whose value cannot be computed from it.
    pub(super) first_partials: u64,
    pub(super) guards: Guards<V, M::Index>,
    manager: PhantomData<M>,
}

/// Where data go while no segment is being written.
const CLOSED: *mut u8 = ptr::without_provenance_mut(1);

/// What one segment holds.
#[derive(Clone, Copy)]
pub(super) struct Span {
    /// Its start and length when it was written.
    pub(super) start: *mut u8,
    pub(super) bytes: usize,
    /// Bytes of data; not yet known of the current one.
    pub(super) data: usize,
    /// The number of the first code that lies here.
    pub(super) first: u64,
    /// What had been counted when this span was begun.
    pub(super) before: Counts,
}

impl Span {
    /// Where the code byte of number 0 would lie if the segment lay at `start`.
    pub(super) fn codes_at(&self, start: *const u8) -> *const u8 {
        start.wrapping_add(self.bytes - 1).wrapping_add(usize_of(self.first))
    }
}

/// Numbers and bytes of some records.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    /// The spans that have been counted are those before this.
    pub(super) spans: usize,
    pub(super) statements: usize,
    pub(super) arguments: usize,
    pub(super) payload: usize,
    pub(super) data: usize,
}

// SAFETY: the raw pointers point into `segments` and `value_store`, which move along.
unsafe impl<V: Send, M: IndexManager, L: Layer, const VALUES: bool> Send for Records<V, M, L, VALUES> {}
// SAFETY: shared references only read.
unsafe impl<V: Sync, M: IndexManager, L: Layer, const VALUES: bool> Sync for Records<V, M, L, VALUES> {}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Default for Records<V, M, L, VALUES> {
    fn default() -> Self {
        Self::on(L::Segments::default())
    }
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// Bytes at the end of each record that say what it overwrites: nothing with linear indices, else the value that its
    /// identifier had, if values are kept, and the identifier.
    pub(crate) const TAIL: usize = match (M::REUSES, VALUES) {
        (false, _) => 0,
        (true, false) => size_of::<M::Index>(),
        (true, true) => size_of::<V>() + size_of::<M::Index>(),
    };

    /// An empty tape on this storage.
    pub(crate) fn on(segments: L::Segments) -> Self {
        Self {
            data: CLOSED,
            codes: ptr::null_mut::<u8>().wrapping_add(1),
            next: 1,
            fresh: 1,
            inputs: 1,
            limit: 0,
            values: ptr::null_mut(),
            table: Table::new(),
            identifiers: M::LARGEST + 1,
            number: TapeNumber::default(),
            resumed: Resumed::default(),
            segments,
            spans: SmallVec::new(),
            counted: Counts::default(),
            value_store: Vec::new(),
            first_partials: u64::MAX,
            guards: Guards::new(),
            manager: PhantomData,
        }
    }

    /// Notes that the value of the statement that is recorded next cannot be computed from its record.
    pub(super) fn keeps_partials(&mut self) {
        self.first_partials = self.first_partials.min(self.next);
    }

    /// Empties the recording and keeps its memory.
    #[inline(always)]
    pub(crate) fn begin(&mut self, number: TapeNumber) {
        self.number = number;
        self.next = 1;
        self.fresh = 1;
        self.inputs = 1;
        self.resumed.clear();
        if VALUES {
            self.first_partials = u64::MAX;
            if !self.guards.list.is_empty() {
                self.guards.truncate(0);
            }
        }
        if self.spans.len() == 1 && self.spans[0].first == 1 && !self.table.is_full() && self.is_open() {
            // The common case of a small recording, and no work that depends on what earlier recordings used.
            self.data = self.spans[0].start;
        } else {
            self.rewind();
        }
    }

    #[cold]
    fn rewind(&mut self) {
        self.spans.clear();
        self.counted = Counts::default();
        self.segments.rewind();
        self.close();
        if self.table.is_full() {
            self.table = Table::new();
        }
    }

    /// Whether a segment is being written.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.data != CLOSED
    }

    /// No segment is being written: nothing fits between address 1 and the code that would lie at address 0.
    pub(super) fn close(&mut self) {
        self.data = CLOSED;
        self.codes = ptr::null_mut::<u8>().wrapping_add(usize_of(self.next));
    }

    /// Whether a record with so many bytes of data has room in the current segment.
    #[inline(always)]
    fn fits(&self, bytes: usize) -> bool {
        self.data.addr() + bytes <= self.codes.wrapping_sub(usize_of(self.next)).addr()
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
        self.data = start;
        // The code of number `next` goes to the last byte.
        self.codes = start.wrapping_add(bytes - 1).wrapping_add(usize_of(self.next));
        self.spans.push(Span { start, bytes, data: 0, first: self.next, before: self.counted });
        Ok(())
    }

    /// Bytes of data in span `at`.
    pub(super) fn data_of(&self, at: usize) -> usize {
        let span = &self.spans[at];
        let current = at + 1 == self.spans.len() && self.is_open();
        if current { self.data.addr() - span.start.addr() } else { span.data }
    }

    /// Changes the number of identifiers that a recording may use, for tests that exhaust them.
    pub fn limit_identifiers(&mut self, identifiers: u64) {
        self.identifiers = identifiers.min(M::LARGEST).saturating_add(1);
        self.limit = self.limit.min(self.identifiers);
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
        let allowed = (1..=self.identifiers).contains(&first) && !VALUES;
        assert!(self.len() == 1 && allowed, "identifiers begin where the recording does");
        if M::REUSES {
            self.fresh = first;
            return;
        }
        self.rewind();
        (self.next, self.inputs) = (first, first);
        self.close();
    }

    /// Makes sure that the next record, with `bytes` of data, has room; grows the arena if not.
    #[inline]
    pub(super) fn make_room(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.make_room_for_identifier(false)?;
        if self.fits(bytes) { Ok(()) } else { self.enter(bytes + 1).map_err(Refusal::Storage) }
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
        if VALUES && usize_of(end) > self.value_store.capacity() {
            self.grow_values(usize_of(end))?;
        }
        self.limit = self.identifiers;
        if VALUES {
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

    /// Appends a record whose data `fill` writes; there are `bytes` of it.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        code: u8,
        value: V,
        bytes: usize,
        fill: impl FnOnce(&mut Writer),
    ) -> Result<LinearId<M::Index>, Refusal> {
        let bytes = bytes + Self::TAIL;
        self.make_room(bytes)?;
        let mut writer = Writer { at: self.data, left: bytes };
        fill(&mut writer);
        assert_eq!(writer.left, Self::TAIL, "a record is as long as it said");
        let id = if M::REUSES { self.take_identifier() } else { self.next };
        // SAFETY: `make_room` found room for `bytes` of data and one code byte, and for a value.
        unsafe {
            self.write_tail(writer.at, id, value);
            self.codes.wrapping_sub(usize_of(self.next)).write(code);
        }
        self.data = self.data.wrapping_add(bytes);
        self.next += 1;
        Ok(LinearId::pack(self.number, id))
    }

    /// Writes what the record overwrites, and the value.
    ///
    /// # Safety
    ///
    /// `TAIL` bytes at `at` belong to the record; there is room for the value of `id`.
    #[inline(always)]
    pub(super) unsafe fn write_tail(&mut self, at: *mut u8, id: u64, value: V) {
        // SAFETY: promised by the caller; `grow_values` has written to all places if what is overwritten is read.
        unsafe {
            let mut at = at;
            if VALUES {
                let place = self.values.add(usize_of(id));
                if M::REUSES {
                    at.cast::<V>().write_unaligned(place.read());
                    at = at.add(size_of::<V>());
                }
                place.write(value);
            }
            if M::REUSES {
                at.cast::<M::Index>().write_unaligned(<M::Index as crate::IndexType>::narrow(id));
            }
        }
    }

    /// Registers an independent variable.
    #[inline]
    pub(crate) fn input(&mut self, value: V) -> Result<LinearId<M::Index>, Refusal> {
        if M::REUSES {
            self.make_room_for_identifier(true)?;
            let id = self.fresh;
            self.fresh += 1;
            if VALUES {
                // SAFETY: there is room for the value of each identifier below the limit.
                unsafe { self.values.add(usize_of(id)).write(value) }
            }
            return Ok(LinearId::pack(self.number, id));
        }
        let id = self.push(INPUT, value, 0, |_| ())?;
        if self.inputs + 1 == self.next {
            self.inputs = self.next;
        }
        Ok(id)
    }

    /// Registers an independent variable for each value.
    #[inline]
    pub(crate) fn inputs(&mut self, values: &[V], mut each: impl FnMut(V, LinearId<M::Index>)) -> Result<(), Refusal> {
        let first = self.len() as u64;
        let end = first + values.len() as u64;
        if end > self.identifiers {
            return Err(self.out_of_identifiers());
        }
        if values.is_empty() {
            return Ok(());
        }
        if M::REUSES {
            if end > self.limit || self.with_pool(|pool, _, _| end > pool.len() as u64) {
                self.grow(end)?;
            }
            if VALUES {
                // SAFETY: `limit` is at most the capacity of the values.
                unsafe { self.values.add(usize_of(first)).copy_from_nonoverlapping(values.as_ptr(), values.len()) }
            }
            self.fresh = end;
            (first..end).zip(values).for_each(|(k, value)| each(*value, LinearId::pack(self.number, k)));
            return Ok(());
        }
        let last_code = self.codes.wrapping_sub(usize_of(end) - 1);
        if !self.is_open() || end > self.limit || self.data.addr() > last_code.addr() {
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
        usize_of(if M::REUSES { self.fresh } else { self.next })
    }

    /// The value of each variable, by identifier; empty if this kind of tape keeps none.
    #[inline(always)]
    pub(super) fn values(&self) -> &[V] {
        if !VALUES || self.values.is_null() {
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
        self.segments.reserve(capacity.bytes(1, 1 + Self::TAIL, size_of::<V>() + size_of::<M::Index>()));
        if VALUES && !M::REUSES && records >= self.value_store.capacity() {
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

impl<V: Float, M: IndexManager, D: SpillDefaults, const VALUES: bool> Records<V, M, Spilled<D>, VALUES> {
    /// An empty tape whose file exists.
    pub(crate) fn spilled(options: SpillOptions) -> Result<Self, StorageError> {
        Ok(Self::on(Slabs::open(options)?))
    }

    pub(crate) fn usage(&self) -> SpillUsage {
        self.segments.usage()
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
