//! Writing of records that are not written in place, and of the values of variables.

use crate::error::Refusal;
use crate::identifier::{IndexType, LinearId};
use crate::storage::Layer;
use crate::tape::format::code;
use crate::tape::format::kind::Ids;
use crate::tape::format::layout::{Form, Layout};
use crate::tape::store::recording::{Content, IDENTIFIERS, Records};
use crate::tape::usize_of;
use crate::{IndexManager, Number};
use core::marker::PhantomData;
use core::mem::needs_drop;

// SAFETY: the raw pointers point into `segments` and `value_store`, which move along; closures of users are `Send`.
unsafe impl<V: Number, M: IndexManager, L: Layer, K: Content> Send for Records<V, M, L, K> {}
// SAFETY: shared references only read, and call closures of users by reference, which are `Sync`; the `Bump`s in
// segments, which are not, are used through exclusive ones alone.
unsafe impl<V: Number, M: IndexManager, L: Layer, K: Content> Sync for Records<V, M, L, K> {}

/// The value of a statement, and [`own`](IndexManager::own), the identifier that its result gets if possible.
pub(crate) type Assigned<V, I> = (V, Option<LinearId<I>>);

/// Writes the data of one record.
pub(crate) struct Writer<'a> {
    pub(crate) at: *mut u8,
    pub(crate) left: usize,
    bytes: PhantomData<&'a mut [u8]>,
}

impl<'a> Writer<'a> {
    /// Makes a writer to the `left` bytes from `at` on.
    ///
    /// # Safety
    ///
    /// The `left` bytes from `at` on are the writer's as long as it lives.
    pub(crate) const unsafe fn to(at: *mut u8, left: usize) -> Self {
        Self { at, left, bytes: PhantomData }
    }

    /// Makes a writer that overwrites these bytes.
    pub(crate) const fn on(bytes: &'a mut [u8]) -> Self {
        // SAFETY: they are borrowed exclusively.
        unsafe { Self::to(bytes.as_mut_ptr(), bytes.len()) }
    }

    /// Writes the bytes of one value, identifier, count or object.
    pub(crate) fn put<T>(&mut self, value: T) {
        assert!(size_of::<T>() <= self.left, "a record is as long as it said");
        // SAFETY: `left` bytes from `at` belong to the record being written.
        unsafe { self.at.cast::<T>().write_unaligned(value) }
        self.skip(size_of::<T>());
    }

    /// Skips this many bytes.
    pub(crate) fn skip(&mut self, bytes: usize) {
        assert!(bytes <= self.left, "a record is as long as it said");
        self.at = self.at.wrapping_add(bytes);
        self.left -= bytes;
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Appends a record of a statement, whose data, `bytes` long, are written by `fill`.
    ///
    /// # Panics
    ///
    /// When the data are not as the layout gives.
    #[inline(always)]
    pub(crate) fn push(
        &mut self,
        layout: &'static Layout<V>,
        assigned: Assigned<V, M::Index>,
        bytes: usize,
        fill: impl FnOnce(&mut Writer<'_>),
    ) -> Result<LinearId<M::Index>, Refusal> {
        let (code, end) = self.write(layout, assigned.1, bytes, Self::TAIL, fill)?;
        assert!(self.is_as(layout, end, bytes), "a record is as its layout says");
        // SAFETY: it has just been written, and is as its layout says.
        Ok(unsafe { self.finish(layout, code, end, assigned) })
    }

    /// Appends a record of a user's closure over arguments of this recording; the closure is then taken out of
    /// `reverse`.
    pub(crate) fn push_closure<F>(
        &mut self,
        arguments: &[LinearId<M::Index>],
        reverse: &mut Option<F>,
    ) -> Result<LinearId<M::Index>, Refusal>
    where
        F: Fn(V, &mut [V]) + Send + Sync + 'static,
    {
        let count = u32::try_from(arguments.len()).expect("a closure has fewer than 2^32 arguments");
        let fixed = size_of::<F>() + arguments.len() * size_of::<M::Index>() + 2 * size_of::<u32>();
        let layout = const { &Layout::closure::<F, M::Index>() };
        // Includes the padding that aligns the closure.
        self.make_room(None, fixed + align_of::<F>() - 1 + Self::TAIL + Self::CODE)?;
        if needs_drop::<F>() {
            let refused = |bytes| Refusal::OutOfMemory { bytes, what: "the list of closures with destructors" };
            self.objects.reserve().map_err(refused)?;
        }
        let skipped = self.data.addr().next_multiple_of(align_of::<F>()) - self.data.addr();
        let object = self.data.wrapping_add(skipped);
        let known = self.len() as u64;
        let (code, end) = self.write(layout, None, skipped + fixed, Self::TAIL, |record| {
            record.skip(skipped);
            record.put(reverse.take().expect("the closure is moved once"));
            arguments.iter().for_each(|id| record.put(M::Index::narrow(id.index())));
            record.put(u32::try_from(skipped).expect("alignments are small"));
            record.put(count);
        })?;
        assert!(arguments.iter().all(|id| id.index() < known), "a record is as its layout says");
        // SAFETY: it has just been written; an `F` lies at `object`, which is `Send` and `Sync`.
        unsafe {
            if needs_drop::<F>() {
                self.objects.push::<F>(object);
            }
            Ok(self.finish(layout, code, end, (V::ZERO, None)))
        }
    }

    /// Appends a record that consists of counts, and takes `numbers` record numbers.
    #[inline(always)]
    pub(crate) fn push_counts<const N: usize>(
        &mut self,
        layout: &'static Layout<V>,
        counts: [u32; N],
        numbers: u32,
    ) -> Result<(), Refusal> {
        let (code, end) = self.write(layout, None, size_of_val(&counts), 0, |record| record.put(counts))?;
        assert!(self.is_as(layout, end, size_of_val(&counts)), "a record is as its layout says");
        // `end_record` counts one of the numbers.
        self.next += u64::from(numbers - 1);
        // SAFETY: it has just been written, and is as its layout says.
        unsafe { self.end_record(layout, code, end) }
        Ok(())
    }

    /// Reserves memory for a record of this layout, with `bytes` of data and `behind` more, and an identifier unless
    /// its result may have `own`; lets `fill` write the data. Returns the layout's code, or `None` if the record has to
    /// hold the address of the layout, and the end of the data.
    #[inline(always)]
    fn write(
        &mut self,
        layout: &'static Layout<V>,
        own: Option<LinearId<M::Index>>,
        bytes: usize,
        behind: usize,
        fill: impl FnOnce(&mut Writer<'_>),
    ) -> Result<(Option<u8>, *mut u8), Refusal> {
        let code = if K::BY_ADDRESS { None } else { self.codes.code(layout) };
        let address = if K::BY_ADDRESS || code.is_some() { 0 } else { size_of::<*const Layout<V>>() };
        self.make_room(own, bytes + behind + address + Self::CODE)?;
        // SAFETY: there is memory for it, and nobody uses the tape before it is written.
        let mut writer = unsafe { Writer::to(self.data, bytes) };
        fill(&mut writer);
        assert_eq!(writer.left, 0, "a record is as long as it said");
        Ok((code, writer.at))
    }

    /// Returns true if the `bytes` bytes in front of `end`, which have been written, are data of this layout without an
    /// object, with identifiers of variables only.
    fn is_as(&self, layout: &'static Layout<V>, end: *const u8, bytes: usize) -> bool {
        let counts = match layout.form {
            Form::Fixed | Form::Passives | Form::Input => 0,
            Form::Counted | Form::Inputs => 1,
            Form::External => 2,
            Form::Object(_) => return false,
        };
        let ids_end = end.wrapping_sub(counts * size_of::<u32>());
        let Some(left) = bytes.checked_sub(counts * size_of::<u32>()) else { return false };
        let (n, payload) = if layout.form == Form::Counted {
            // SAFETY: the count lies there.
            let n = unsafe { ids_end.cast::<u32>().read_unaligned() as usize };
            (n, layout.payload * n)
        } else {
            (layout.arguments, layout.payload)
        };
        let Some(left) = left.checked_sub(n * size_of::<M::Index>()) else { return false };
        // SAFETY: the identifiers lie there.
        let ids = unsafe { Ids::<M::Index>::before(ids_end, n) };
        let kept = if layout.form == Form::Passives { ids.clone().filter(|id| *id == 0).count() } else { 0 };
        let known = self.len();
        left == (payload + kept) * size_of::<V>() && { ids }.all(|id| id < known)
    }

    /// Completes data that have been written to a record of a statement, whose value and identifier are `assigned`.
    ///
    /// # Safety
    ///
    /// [`write`](Self::write) has just returned code and end, with memory for `TAIL` bytes, and the data are as the
    /// layout gives.
    #[inline(always)]
    unsafe fn finish(
        &mut self,
        layout: &'static Layout<V>,
        code: Option<u8>,
        end: *mut u8,
        (value, own): Assigned<V, M::Index>,
    ) -> LinearId<M::Index> {
        let id = if M::REUSES { self.take_identifier(own) } else { self.next };
        // SAFETY: promised by the caller; `make_room` found an identifier, with memory for its value.
        unsafe {
            let code_at = self.write_tail(end, id, value);
            self.end_record(layout, code, code_at);
        }
        LinearId::pack(self.number, id)
    }

    /// Writes the code of a record, or the address of its layout.
    ///
    /// # Safety
    ///
    /// [`write`](Self::write) reserved memory for it and returned `code`, and its data lie in front of `code_at`.
    unsafe fn end_record(&mut self, layout: &'static Layout<V>, code: Option<u8>, mut code_at: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe {
            if code.is_none() {
                code_at.cast::<&'static Layout<V>>().write_unaligned(layout);
                code_at = code_at.add(size_of::<&'static Layout<V>>());
            }
            if !K::BY_ADDRESS {
                code_at.write(code.unwrap_or(code::EXPLICIT));
                code_at = code_at.add(1);
            }
        }
        self.data = code_at;
        self.next += 1;
        self.set_end();
    }

    /// Writes the tail of a record, and stores the value of its result; returns the end of the tail.
    ///
    /// # Safety
    ///
    /// `TAIL` bytes at `at` belong to the record; there is memory for the value of `id`.
    #[inline(always)]
    pub(crate) unsafe fn write_tail(&mut self, at: *mut u8, id: u64, value: V) -> *mut u8 {
        // SAFETY: promised by the caller; `grow_values` has written to all entries if overwritten values are read.
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
                at.cast::<M::Index>().write_unaligned(M::Index::narrow(id));
                at = at.add(size_of::<M::Index>());
            }
            at
        }
    }

    /// Stores the values of the variables from identifier `first` on, if values are kept.
    #[inline(always)]
    pub(crate) fn note_values(&mut self, first: u64, values: &[V]) {
        if K::VALUES {
            assert!(first + values.len() as u64 <= self.value_store.capacity() as u64, "there is room for values");
            // SAFETY: there is.
            unsafe { self.values.add(usize_of(first)).copy_from_nonoverlapping(values.as_ptr(), values.len()) }
        }
    }

    /// Returns the value of each variable, by identifier; empty if this kind of tape keeps no values.
    #[inline(always)]
    pub(crate) fn values(&self) -> &[V] {
        if !K::VALUES || self.values.is_null() {
            return &[];
        }
        // SAFETY: elements 0..len have been written, and nothing writes while `self` is borrowed.
        unsafe { core::slice::from_raw_parts(self.values, self.len()) }
    }

    /// Returns the recording, on which [`values`](Self::values) must not be called meanwhile, and the value of each
    /// variable.
    pub(crate) fn with_values(&mut self) -> (&Self, &mut [V]) {
        if !K::VALUES || self.values.is_null() {
            return (self, &mut []);
        }
        // SAFETY: elements 0..len have been written, and `self` is borrowed exclusively.
        let values = unsafe { core::slice::from_raw_parts_mut(self.values, self.len()) };
        (self, values)
    }

    /// Reserves memory for the values of `least` identifiers or more. When the allocator has no memory for that,
    /// nothing changes.
    pub(crate) fn grow_values(&mut self, least: usize) -> Result<(), Refusal> {
        let capacity = least.max(2 * self.value_store.capacity()).max(IDENTIFIERS);
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
            self.value_store.spare_capacity_mut()[0].write(V::ZERO);
        }
        if M::REUSES {
            // A record keeps the earlier value of its identifier, even if the identifier is used for the first time.
            let used = self.len();
            self.value_store.spare_capacity_mut()[used..].iter_mut().for_each(|value| _ = value.write(V::ZERO));
        }
        self.values = self.value_store.as_mut_ptr();
        Ok(())
    }
}
