//! Reading records back, last first.

use super::layers::{Layer, Reader, Segments};
use super::layout::{Layout, Partials, ReverseFn, Sweep};
use super::patterns::{self, PATTERNS};
use super::prefetch::{self, prefetch};
use super::records::{Records, usize_of};
use super::table::{ASSIGNED, CLASSIC, Entry, Kind};
use crate::refusal::out_of_memory;
use crate::scratch::Scratch;
use crate::{Float, IndexManager, IndexType, Mark, Stop, StorageError, SweepError, counts};
use core::slice;
use smallvec::SmallVec;

/// One record, read in place; `record` is its first byte.
pub(super) struct Special<V: 'static> {
    pub(super) record: *const u8,
    pub(super) bytes: usize,
    pub(super) arguments: usize,
    /// Floats in front of the identifiers.
    pub(super) payload: usize,
    pub(super) layout: Option<&'static Layout<V>>,
}

impl<V: Float> Special<V> {
    /// The floats in front of the identifiers, and the identifiers, which are of type `I`.
    ///
    /// # Safety
    ///
    /// This describes a record that still lies there.
    pub(super) unsafe fn parts<I: IndexType>(
        &self,
    ) -> (impl ExactSizeIterator<Item = V> + Clone + use<V, I>, impl ExactSizeIterator<Item = usize> + Clone + use<V, I>)
    {
        // SAFETY: promised by the caller; the payload comes first, then the identifiers.
        let (payload, ids) = unsafe {
            let ids = self.record.add(self.payload * size_of::<V>());
            (read::<V>(self.record, self.payload), read::<I>(ids, self.arguments))
        };
        (payload, ids.map(|id| usize_of(id.widen())))
    }

    /// The partials of a typed record, one for each identifier; those of passive arguments are anything.
    ///
    /// # Safety
    ///
    /// As [`parts`](Self::parts); the record is a typed one, of a recording with these values.
    unsafe fn partials<I: IndexType>(&self, values: &[V]) -> Partials<V> {
        let layout = self.layout.expect("typed records have a layout");
        let passive = self.payload - layout.payload;
        // SAFETY: promised by the caller.
        let (payload, ids) = unsafe { self.parts::<I>() };
        let payload: SmallVec<[V; 128]> = payload.collect();
        let values: Partials<V> = layout.values_at(ids, payload[..passive].iter().copied(), values).collect();
        layout.expand::<I>(&payload[passive..], &values)
    }
}

/// The values that a sweep reads; none if there are none.
///
/// # Safety
///
/// So many values lie there, and nobody writes to them meanwhile.
pub(super) unsafe fn values_of<'a, V>(values: *const V, known: usize) -> &'a [V] {
    // SAFETY: promised by the caller.
    if known == 0 { &[] } else { unsafe { slice::from_raw_parts(values, known) } }
}

/// # Safety
///
/// `count` values of type `T`, written as plain bytes, lie from `at` on.
pub(super) unsafe fn read<T: Copy>(at: *const u8, count: usize) -> impl ExactSizeIterator<Item = T> + Clone {
    // SAFETY: promised by the caller.
    (0..count).map(move |k| unsafe { at.cast::<T>().add(k).read_unaligned() })
}

/// A place that moves through a recording, last record first.
pub(super) struct Cursor<'a, V: Float, M: IndexManager, L: Layer, const VALUES: bool> {
    records: &'a Records<V, M, L, VALUES>,
    reader: <L::Segments as Segments>::Reader<'a>,
    /// The span, and where its segment lies; null as long as it is not loaded.
    at: usize,
    start: *const u8,
    /// The record that ends here has the number before `next`, its data end so many bytes behind the start.
    next: usize,
    data: usize,
}

impl<'a, V: Float, M: IndexManager, L: Layer, const VALUES: bool> Cursor<'a, V, M, L, VALUES> {
    /// Behind the last record.
    pub(super) fn new(records: &'a Records<V, M, L, VALUES>) -> Self {
        let at = records.spans.len().saturating_sub(1);
        let data = if records.spans.is_empty() { 0 } else { records.data_of(at) };
        let reader = records.segments.reader();
        Self { records, reader, at, start: core::ptr::null(), next: usize_of(records.next), data }
    }

    /// Moves down to the record with this number, and calls `f` for each span in between, with its index, where its segment
    /// lies, the first number and the one behind the last, and where the data end; `f` returns where they begin.
    pub(super) fn move_to(
        &mut self,
        number: usize,
        mut f: impl FnMut(usize, *const u8, (usize, usize), *const u8) -> *const u8,
    ) -> Result<(), StorageError> {
        while self.next > number {
            let span = &self.records.spans[self.at];
            if self.next == usize_of(span.first) {
                self.at -= 1;
                self.data = self.records.data_of(self.at);
                self.start = core::ptr::null();
                continue;
            }
            if self.start.is_null() {
                self.start = self.reader.segment(self.at)?;
            }
            let first = number.max(usize_of(span.first));
            let begin = f(self.at, self.start, (first, self.next), self.start.wrapping_add(self.data));
            self.next = first;
            self.data = begin.addr() - self.start.addr();
        }
        Ok(())
    }

    /// Sweeps down to the record with this number.
    ///
    /// # Safety
    ///
    /// `sweep` is fit for the recording.
    #[inline]
    unsafe fn reverse_to(&mut self, number: usize, sweep: &mut Sweep<'_, V>) -> Result<(), SweepError> {
        let records = self.records;
        let large = records.is_large();
        // SAFETY: the reader has the bytes as they were written, and the data of the records below `next` end at `data`.
        let reverse = |at, start, numbers, end| unsafe { records.reverse_some(large, at, start, numbers, end, sweep) };
        Ok(self.move_to(number, reverse)?)
    }

    /// Moves down to a mark without sweeping, and restores the values that identifiers had there, if they are reused. Any
    /// number is good for a mark: where its records end is found by walking, at most over one span if nothing is restored.
    ///
    /// # Safety
    ///
    /// `values` are as many as the recording has identifiers, and a copy, or nobody else uses them.
    pub(super) unsafe fn go_to(&mut self, mark: Mark, values: *mut V) -> Result<(), StorageError> {
        let [number, ..] = mark.numbers();
        let (number, records) = (number.clamp(1, self.records.next), self.records);
        let restores = VALUES && M::REUSES;
        if !restores && !records.spans.is_empty() {
            let at = records.spans.partition_point(|span| span.first < number).saturating_sub(1);
            if at != self.at {
                let next = usize_of(records.spans[at + 1].first);
                (self.at, self.start, self.next, self.data) = (at, core::ptr::null(), next, records.data_of(at));
            }
        }
        self.move_to(usize_of(number), |at, start, (first, next), mut end| {
            let span = &records.spans[at];
            for number in (first..next).rev() {
                // SAFETY: the record with this number is in this span, and ends at `end`.
                unsafe {
                    let code = *span.codes_at(start).wrapping_sub(number);
                    let kind = records.table.kind(code);
                    if VALUES && M::REUSES && kind != Kind::Input {
                        Records::<V, M, L, VALUES>::undo(end, number, values);
                    }
                    end = records.special(code, kind, end).record;
                }
            }
            end
        })
    }

    /// The span, and where in it the data end.
    pub(super) const fn place(&self) -> (usize, usize) {
        (self.at, self.data)
    }
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// Sweeps from the last statement to the first; see [`Reverse::reverse`](crate::Reverse::reverse).
    pub(crate) fn reverse(&self, adjoints: &mut [V]) -> Result<(), SweepError> {
        self.check_length(adjoints.len());
        let mut copy = self.values_to_restore();
        let (values, known) = self.values_for_sweep(&mut copy);
        let mut sweep = Sweep { adjoints, values, known, site: 0 };
        // A loop of its own and no cursor: this is a large part of the time of a gradient of a few operations.
        let (mut reader, large) = (self.segments.reader(), self.is_large());
        let mut next = usize_of(self.next);
        for (at, span) in self.spans.iter().enumerate().rev() {
            let (start, numbers) = (reader.segment(at)?, (usize_of(span.first), next));
            let end = start.wrapping_add(self.data_of(at));
            // SAFETY: the reader has the bytes as they were written, and the data of the span's records end at `end`; `adjoints` is as
            // long as the recording, and `values` too where records read them.
            unsafe { self.reverse_some(large, at, start, numbers, end, &mut sweep) };
            next = usize_of(span.first);
        }
        Ok(())
    }

    /// Sweeps with stops; see [`Reverse::reverse_through`](crate::Reverse::reverse_through).
    pub(crate) fn reverse_through(
        &self,
        adjoints: &mut [V],
        (from, to): (Option<Mark>, Option<Mark>),
        stops: &mut dyn Iterator<Item = Mark>,
        at: &mut Stop<'_, V>,
    ) -> Result<(), SweepError> {
        self.check_length(adjoints.len());
        let mut copy = self.values_to_restore();
        let (values, known) = self.values_for_sweep(&mut copy);
        let mut sweep = Sweep { adjoints, values, known, site: 0 };
        let mut cursor = Cursor::new(self);
        if let Some(from) = from {
            // SAFETY: as below.
            unsafe { cursor.go_to(from, sweep.values)? }
        }
        for stop in stops {
            let [number, ..] = stop.numbers();
            // SAFETY: `adjoints` is as long as the recording, and `values` too where records read them.
            unsafe { cursor.reverse_to(usize_of(number), &mut sweep)? }
            at(sweep.adjoints)?;
        }
        let first = to.map_or(1, |to| usize_of(to.numbers()[0]));
        // SAFETY: as above.
        unsafe { cursor.reverse_to(first, &mut sweep) }
    }

    /// Whether records are more than the caches hold.
    fn is_large(&self) -> bool {
        self.spans.len().checked_sub(1).is_some_and(|last| prefetch::is_large(last, self.data_of(last)))
    }

    pub(super) fn check_length(&self, adjoints: usize) {
        check_length(adjoints, self.len());
    }

    /// Reused identifiers have had other values: a sweep goes back to them in this copy.
    pub(super) fn values_to_restore(&self) -> Option<Scratch<V>> {
        (VALUES && M::REUSES).then(|| {
            let mut copy = Scratch::<V>::new();
            if copy.try_reserve(self.len()).is_err() {
                out_of_memory(self.len() * size_of::<V>(), "a copy of the values of all variables");
            }
            copy.extend_from_slice(self.values());
            copy
        })
    }

    /// The values that a sweep reads, which it only writes to if they are a copy.
    pub(super) fn values_for_sweep(&self, copy: &mut Option<Scratch<V>>) -> (*mut V, usize) {
        match copy {
            Some(copy) => (copy.as_mut_ptr(), copy.len()),
            None => (self.values().as_ptr().cast_mut(), self.values().len()),
        }
    }

    /// [`reverse_span`](Self::reverse_span) of a recording that is large or not.
    ///
    /// # Safety
    ///
    /// As there.
    #[inline(always)]
    unsafe fn reverse_some(
        &self,
        large: bool,
        at: usize,
        start: *const u8,
        numbers: (usize, usize),
        end: *const u8,
        sweep: &mut Sweep<'_, V>,
    ) -> *const u8 {
        // SAFETY: promised by the caller.
        unsafe {
            if large {
                self.reverse_span::<true>(at, start, numbers, end, sweep)
            } else {
                self.reverse_span::<false>(at, start, numbers, end, sweep)
            }
        }
    }

    /// Sweeps over the records of span `at` with numbers below `next` and from `first` on. The segment lies at `start` now, the
    /// data of these records end at `end`. Returns where they begin. `PREFETCH` says whether the caches need hints.
    ///
    /// # Safety
    ///
    /// The segment's bytes are those that were written, `end` belongs to `next`, and `sweep` is fit for the recording.
    unsafe fn reverse_span<const PREFETCH: bool>(
        &self,
        at: usize,
        start: *const u8,
        (first, next): (usize, usize),
        mut end: *const u8,
        sweep: &mut Sweep<'_, V>,
    ) -> *const u8 {
        let entries = self.table.entries.as_ptr();
        let span = &self.spans[at];
        let mut code_at = span.codes_at(start).wrapping_sub(next.wrapping_sub(1));
        let mut number = next;
        // The inputs that come before all statements have nothing to be reversed.
        let first = first.max(usize_of(self.inputs));
        while number > first {
            number -= 1;
            // SAFETY: the code with this number is in this span, so it lies in the span's segment, in which codes follow one
            // another; it says how many bytes of data lie below `end`. Identifiers in a record are below the lengths of
            // adjoints and of values.
            unsafe {
                let code = *code_at;
                code_at = code_at.add(1);
                if PREFETCH {
                    prefetch(end.wrapping_sub(prefetch::AHEAD));
                }
                if code < ASSIGNED {
                    if code < CLASSIC {
                        end = self.reverse_special(code, end, number, sweep);
                    } else {
                        let (id, data_end) = Self::undo(end, number, sweep.values);
                        let adjoints = &mut *sweep.adjoints;
                        debug_assert!(id < adjoints.len(), "identifiers are below the recording's length");
                        let seed = core::mem::replace(adjoints.get_unchecked_mut(id), V::zero());
                        end = reverse_frequent::<V, M::Index>(code, data_end, seed, adjoints);
                    }
                    continue;
                }
                let entry = &*entries.add(code as usize);
                if entry.bytes == Entry::<V>::SPECIAL {
                    end = self.reverse_special(code, end, number, sweep);
                    continue;
                }
                let (id, data_end) = Self::undo(end, number, sweep.values);
                end = data_end.sub(entry.bytes);
                debug_assert!(id < sweep.adjoints.len(), "identifiers are below the recording's length");
                let seed = *sweep.adjoints.get_unchecked(id);
                if seed.is_ordinary() {
                    *sweep.adjoints.get_unchecked_mut(id) = V::zero();
                    dispatch(code, end, seed, sweep, entry.reverse);
                } else if !seed.is_nought() {
                    self.reverse_typed_with_care(code, end, id, sweep);
                }
            }
        }
        end
    }

    /// The variable that the record which ends at `end` assigns to, and where its data end. Restores the value that the
    /// variable's identifier had before.
    ///
    /// # Safety
    ///
    /// A record that is not an input's ends at `end`. Where identifiers are reused and values kept, `values` are a copy of
    /// them, or nobody else uses them.
    #[inline(always)]
    pub(super) unsafe fn undo(end: *const u8, number: usize, values: *mut V) -> (usize, *const u8) {
        if !M::REUSES {
            return (number, end);
        }
        // SAFETY: the record ends in the identifier, below the recording's length, and, if values are kept, the value before it.
        unsafe {
            let at = end.sub(size_of::<M::Index>());
            let id = usize_of(at.cast::<M::Index>().read_unaligned().widen());
            if VALUES {
                let before = at.sub(size_of::<V>());
                values.add(id).write(before.cast::<V>().read_unaligned());
                return (id, before);
            }
            (id, at)
        }
    }

    /// Reverses the record that ends at `end` and returns where it starts.
    ///
    /// # Safety
    ///
    /// A record with this code and number ends at `end`, and `sweep` is fit for the recording.
    #[inline(never)]
    unsafe fn reverse_special(&self, code: u8, end: *const u8, number: usize, sweep: &mut Sweep<'_, V>) -> *const u8 {
        let kind = self.table.kind(code);
        if kind == Kind::Input {
            return end;
        }
        // SAFETY: promised by the caller; nothing writes to the values while they are borrowed below.
        let (special, id, values) = unsafe {
            let special = self.special(code, kind, end);
            let (id, _) = Self::undo(end, number, sweep.values);
            (special, id, values_of(sweep.values, sweep.known))
        };
        let seed = core::mem::replace(&mut sweep.adjoints[id], V::zero());
        if seed == V::zero() {
            return special.record;
        }
        if !seed.is_ordinary() {
            // SAFETY: promised by the caller.
            unsafe { self.reverse_with_care(code, end, seed, sweep) };
            return special.record;
        }
        let adjoints = &mut *sweep.adjoints;
        // SAFETY: `special` describes the record.
        let (payload, ids) = unsafe { special.parts::<M::Index>() };
        match kind {
            Kind::Wide => ids.zip(payload).for_each(|(id, partial)| adjoints[id] += seed * partial),
            Kind::Ones => ids.for_each(|id| adjoints[id] += seed),
            Kind::Nary => {
                let layout = special.layout.expect("n-ary records have a layout");
                layout.partials_at(ids.clone().map(|id| values[id]), payload, |partials| {
                    ids.zip(partials).for_each(|(id, partial)| adjoints[id] += seed * *partial);
                });
            }
            Kind::Mixed | Kind::Explicit => {
                let layout = special.layout.expect("typed records have a layout");
                let passives = special.payload - layout.payload;
                let arguments = layout.values_at(ids.clone(), payload.clone().take(passives), values);
                let mut targets = ids.clone();
                let add = |contribution| {
                    if let Some(id @ 1..) = targets.next() {
                        adjoints[id] += contribution;
                    }
                };
                if layout.reverse_few::<M::Index>(seed, payload.skip(passives), arguments, add) {
                    return special.record;
                }
                // SAFETY: as above.
                let partials = unsafe { special.partials::<M::Index>(values) };
                let active = ids.zip(partials).filter(|(id, _)| *id != 0);
                active.for_each(|(id, partial)| adjoints[id] += seed * partial);
            }
            _ => unreachable!("inputs have no data, the others are no special ones"),
        }
        special.record
    }

    /// Reverses the typed record that begins there and assigns to `id`, whose adjoint is not finite.
    ///
    /// # Safety
    ///
    /// As [`reverse_with_care`](Self::reverse_with_care).
    #[cold]
    unsafe fn reverse_typed_with_care(&self, code: u8, record: *const u8, id: usize, sweep: &mut Sweep<'_, V>) {
        let seed = core::mem::replace(&mut sweep.adjoints[id], V::zero());
        let bytes = self.table.entries[code as usize].bytes + Self::TAIL;
        // SAFETY: promised by the caller.
        unsafe { self.reverse_with_care(code, record.wrapping_add(bytes), seed, sweep) }
    }

    /// Reverses the record that ends at `end`, whatever it is and whatever the seed.
    ///
    /// # Safety
    ///
    /// A record with this code ends at `end`, `sweep` is fit for the recording, and where identifiers are reused, the values are
    /// those from before the record.
    #[cold]
    #[inline(never)]
    unsafe fn reverse_with_care(&self, code: u8, end: *const u8, seed: V, sweep: &mut Sweep<'_, V>) {
        let mut partials = Scratch::<(usize, V)>::new();
        // SAFETY: promised by the caller.
        unsafe { self.list(code, end, values_of(sweep.values, sweep.known), &mut partials) };
        for (id, partial) in partials.iter().filter(|(_, partial)| counts(seed, *partial)) {
            sweep.adjoints[*id] += seed * *partial;
        }
    }

    /// Lists the arguments of the record that ends at `end`, those that are not passive, with their partials: the one reader of all
    /// kinds of records.
    ///
    /// # Safety
    ///
    /// A record with this code ends at `end`; `values` are as many as the recording has identifiers, if it keeps them.
    pub(super) unsafe fn list(&self, code: u8, end: *const u8, values: &[V], list: &mut Vec<(usize, V)>) {
        let kind = self.table.kind(code);
        // SAFETY: promised by the caller; `special` describes the record.
        let (special, (payload, ids)) = unsafe {
            let special = self.special(code, kind, end);
            let parts = special.parts::<M::Index>();
            (special, parts)
        };
        match kind {
            Kind::Input => {}
            Kind::Classic(_) | Kind::Wide => list.extend(ids.zip(payload)),
            Kind::Pattern => list.extend(ids.zip(patterns::partials(patterns::text(code), payload))),
            Kind::Ones => list.extend(ids.map(|id| (id, V::one()))),
            Kind::Nary => {
                let layout = special.layout.expect("n-ary records have a layout");
                layout.partials_at(ids.clone().map(|id| values[id]), payload, |partials| {
                    list.extend(ids.zip(partials.iter().copied()));
                });
            }
            Kind::Typed | Kind::Mixed | Kind::Explicit => {
                // SAFETY: `special` describes the record.
                let partials = unsafe { special.partials::<M::Index>(values) };
                list.extend(ids.zip(partials).filter(|(id, _)| *id != 0));
            }
        }
    }

    /// What lies below `end`.
    ///
    /// # Safety
    ///
    /// A record with this code, of this kind, ends at `end`.
    pub(super) unsafe fn special(&self, code: u8, kind: Kind, end: *const u8) -> Special<V> {
        let (float, id) = (size_of::<V>(), size_of::<M::Index>());
        let tail = if kind == Kind::Input { 0 } else { Self::TAIL };
        let end = end.wrapping_sub(tail);
        let special = |bytes: usize, payload: usize, arguments: usize, layout| Special {
            record: end.wrapping_sub(bytes),
            bytes: bytes + tail,
            arguments,
            payload,
            layout,
        };
        // SAFETY: `append` and `append_nary` wrote the record with this code; the reads below mirror them.
        unsafe {
            let count = || end.sub(4).cast::<u32>().read_unaligned() as usize;
            match kind {
                Kind::Input => special(0, 0, 0, None),
                Kind::Classic(n) => special(n as usize * (float + id), n as usize, n as usize, None),
                Kind::Pattern => {
                    let (leaves, factors) = patterns::size(code);
                    special(factors * float + leaves * id, factors, leaves, None)
                }
                Kind::Wide => special(count() * (float + id) + 4, count(), count(), None),
                Kind::Ones => special(count() * id + 4, 0, count(), None),
                Kind::Nary => {
                    let layout = self.table.layout(code);
                    let payload = count() * layout.payload;
                    special(payload * float + count() * id + 4, payload, count(), Some(layout))
                }
                Kind::Mixed | Kind::Explicit | Kind::Typed => {
                    let handle = if kind == Kind::Explicit { size_of::<u32>() } else { 0 };
                    let layout = if kind == Kind::Explicit {
                        self.table.numbered(end.sub(handle).cast::<u32>().read_unaligned())
                    } else {
                        self.table.layout(code)
                    };
                    let ids = end.sub(handle + layout.arguments * id);
                    let passive = if layout.partials {
                        0
                    } else {
                        read::<M::Index>(ids, layout.arguments).filter(|id| id.widen() == 0).count()
                    };
                    let bytes = layout.bytes + passive * float + handle;
                    special(bytes, layout.payload + passive, layout.arguments, Some(layout))
                }
            }
        }
    }
}

/// Fails unless an adjoint vector is long enough.
pub(super) fn check_length(adjoints: usize, needed: usize) {
    assert!(adjoints >= needed, "the adjoint vector has {adjoints} entries, the recording needs {needed}");
}

/// Reverses a record of a listed pattern or of partials without passive arguments among them; returns where it starts.
///
/// A binary search over the codes: a `match` would become a jump through a table, which is slow where an indirect
/// call is (see [`dispatch`]).
///
/// # Safety
///
/// A record with this code, from `CLASSIC` to `PATTERNS_END`, ends at `end`; its identifiers are below the number of
/// adjoints.
#[inline(always)]
unsafe fn reverse_frequent<V: Float, I: IndexType>(code: u8, end: *const u8, seed: V, adjoints: &mut [V]) -> *const u8 {
    macro_rules! pattern {
        ($k:literal) => {
            patterns::reverse::<V, I, $k>(end, seed, adjoints)
        };
    }
    /// `one!(first or second, a, b)`, by halves.
    macro_rules! search {
        ($at:expr, $a:expr, $b:expr) => {
            if code < $at { $a } else { $b }
        };
    }
    // SAFETY: promised by the caller.
    unsafe {
        if code >= PATTERNS {
            return search!(
                PATTERNS + 4,
                search!(
                    PATTERNS + 2,
                    search!(PATTERNS + 1, pattern!(0), pattern!(1)),
                    search!(PATTERNS + 3, pattern!(2), pattern!(3))
                ),
                search!(
                    PATTERNS + 6,
                    search!(PATTERNS + 5, pattern!(4), pattern!(5)),
                    search!(PATTERNS + 7, pattern!(6), pattern!(7))
                )
            );
        }
        if code < CLASSIC + 4 {
            return search!(
                CLASSIC + 2,
                patterns::reverse_classic::<V, I, 1>(end, seed, adjoints),
                search!(
                    CLASSIC + 3,
                    patterns::reverse_classic::<V, I, 2>(end, seed, adjoints),
                    patterns::reverse_classic::<V, I, 3>(end, seed, adjoints)
                )
            );
        }
        reverse_partials::<V, I>((code - CLASSIC) as usize, end, seed, adjoints)
    }
}

/// Reverses a record of `n` partials and identifiers, which ends at `end`; returns where it starts.
///
/// # Safety
///
/// Such a record ends there.
unsafe fn reverse_partials<V: Float, I: IndexType>(n: usize, end: *const u8, seed: V, adjoints: &mut [V]) -> *const u8 {
    let ids = end.wrapping_sub(n * size_of::<I>());
    let record = ids.wrapping_sub(n * size_of::<V>());
    // SAFETY: promised by the caller.
    let (partials, ids) = unsafe { (read::<V>(record, n), read::<I>(ids, n)) };
    let arguments = ids.map(|id| usize_of(id.widen())).zip(partials);
    if seed.is_ordinary() {
        arguments.for_each(|(id, partial)| adjoints[id] += seed * partial);
    } else {
        let counting = arguments.filter(|(_, partial)| counts(seed, *partial));
        counting.for_each(|(id, partial)| adjoints[id] += seed * partial);
    }
    record
}

/// Calls `reverse`, from one of sixteen call sites chosen by `code`.
///
/// Some machines predict the target of an indirect call to be what it was the last time at the same address (so do the
/// virtual machines that this was measured on, whatever the pattern of calls), but predict conditional branches very well.
/// With one call site a sweep over two alternating statement types took 23 ms for burgers2d, with sixteen 16 ms.
///
/// # Safety
///
/// As [`ReverseFn`].
#[inline(always)]
unsafe fn dispatch<V>(code: u8, record: *const u8, seed: V, sweep: &mut Sweep<'_, V>, reverse: ReverseFn<V>) {
    let site = usize::from(code % 16);
    /// Binary search for `site` among the `n` sites from `at` on: `tree!(at, n, n/2, n/4, …)`.
    macro_rules! tree {
        ($at:expr,) => { call_site::<{ $at }, V>(record, seed, sweep, reverse) };
        ($at:expr, $half:literal $($rest:literal)*) => {
            if site < $at + $half { tree!($at, $($rest)*) } else { tree!($at + $half, $($rest)*) }
        };
    }
    // SAFETY: promised by the caller.
    unsafe { tree!(0, 8 4 2 1) }
}

/// # Safety
///
/// As [`ReverseFn`].
#[inline(never)]
unsafe fn call_site<const SITE: usize, V>(record: *const u8, seed: V, sweep: &mut Sweep<'_, V>, reverse: ReverseFn<V>) {
    sweep.site = SITE;
    // SAFETY: promised by the caller.
    unsafe { reverse(record, seed, sweep) }
}
