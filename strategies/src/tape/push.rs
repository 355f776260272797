//! Writing records that are not written in place.

use super::codes;
use super::common::Common;
use super::layout::Layout;
use super::records::{Content, Records};
use super::usize_of;
use super::writer::Writer;
use crate::refusal::Refusal;
use crate::storage::Layer;
use crate::{IndexManager, IndexType, LinearId, Number, active};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Appends a record of a statement whose data `fill` writes; there are `bytes` of it.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        layout: &'static Layout<V>,
        value: V,
        bytes: usize,
        fill: impl FnOnce(&mut Writer<'_>),
    ) -> Result<LinearId<M::Index>, Refusal> {
        let code = self.begin_record(layout, bytes + Self::TAIL)?;
        let id = if M::REUSES { self.take_identifier() } else { self.next };
        // SAFETY: `begin_record` found room for it, and nobody uses the tape before it is written.
        let mut writer = unsafe { Writer::to(self.data, bytes) };
        fill(&mut writer);
        assert_eq!(writer.left, 0, "a record is as long as it said");
        // SAFETY: `begin_record` found room for data, tail and code, and for a value.
        unsafe {
            let code_at = self.write_tail(writer.at, id, value);
            self.end_record(layout, code, code_at);
        }
        Ok(LinearId::pack(self.number, id))
    }

    /// Makes sure that there is room for a record of this layout, with this many bytes in front of what names the
    /// layout. Returns the layout's code; without one, the record holds the address.
    fn begin_record(&mut self, layout: &'static Layout<V>, bytes: usize) -> Result<Option<u8>, Refusal> {
        let code = if K::BY_ADDRESS { None } else { self.codes.code(layout) };
        let address = if K::BY_ADDRESS || code.is_some() { 0 } else { size_of::<*const Layout<V>>() };
        self.make_room(bytes + address + Self::CODE)?;
        Ok(code)
    }

    /// Writes what a record is.
    ///
    /// # Safety
    ///
    /// [`begin_record`](Self::begin_record) found room for it and returned `code`, and its data lie in front of
    /// `code_at`.
    unsafe fn end_record(&mut self, layout: &'static Layout<V>, code: Option<u8>, mut code_at: *mut u8) {
        // SAFETY: promised by the caller.
        unsafe {
            if code.is_none() {
                code_at.cast::<&'static Layout<V>>().write_unaligned(layout);
                code_at = code_at.add(size_of::<&'static Layout<V>>());
            }
            if !K::BY_ADDRESS {
                code_at.write(code.unwrap_or(codes::EXPLICIT));
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
                at.cast::<M::Index>().write_unaligned(M::Index::narrow(id));
                at = at.add(size_of::<M::Index>());
            }
            at
        }
    }

    /// Registers an independent variable for each value, and gives them consecutive identifiers.
    #[inline]
    pub(crate) fn inputs(
        &mut self,
        values: &[V],
    ) -> Result<impl Iterator<Item = LinearId<M::Index>> + use<V, M, L, K>, Refusal> {
        let (first, end) = self.new_variables(values)?;
        let number = self.number;
        let ids = (first..end).map(move |k| LinearId::pack(number, k));
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

    /// Finds room for variables with these values, and notes the values. Returns the first identifier, and the one
    /// behind the last.
    #[inline(always)]
    fn new_variables(&mut self, values: &[V]) -> Result<(u64, u64), Refusal> {
        let first = self.len() as u64;
        let end = first + values.len() as u64;
        if end > self.identifiers {
            return Err(self.out_of_identifiers());
        }
        if values.is_empty() {
            return Ok((first, end));
        }
        if end > self.limit || M::REUSES && end > active::with_pool(self.number, |pool| pool.len()) as u64 {
            self.grow(end)?;
        }
        if K::VALUES {
            // SAFETY: `limit` is at most the capacity of the values.
            unsafe { self.values.add(usize_of(first)).copy_from_nonoverlapping(values.as_ptr(), values.len()) }
        }
        Ok((first, end))
    }

    /// Makes a record of an external function or a launch, and registers a variable for each of its results.
    pub(crate) fn external(
        &mut self,
        external: u32,
        results: &[V],
        mut each: impl FnMut(LinearId<M::Index>),
    ) -> Result<(), Refusal> {
        if M::REUSES {
            for value in results {
                // A statement without arguments, which says whose value it overwrites.
                each(self.push_partials(core::iter::empty(), *value)?);
            }
            return self.push_counts(Common::<V, M::Index>::EXTERNAL, [external, 1], 1);
        }
        // Without results, it takes an identifier all the same.
        let nothing = [V::ZERO];
        let values = if results.is_empty() { &nothing } else { results };
        let (first, end) = self.new_variables(values)?;
        let count = u32::try_from(values.len()).expect("an external function has fewer than 2^32 results");
        self.push_counts(Common::<V, M::Index>::EXTERNAL, [external, count], count)?;
        (first..end).take(results.len()).for_each(|k| each(LinearId::pack(self.number, k)));
        Ok(())
    }

    /// Appends records of this many independent variables.
    fn push_inputs(&mut self, count: usize) -> Result<(), Refusal> {
        let mut left = count;
        while left > 0 {
            match u32::try_from(left).unwrap_or(u32::MAX) {
                1 => self.push_counts(Common::<V, M::Index>::INPUT, [], 1)?,
                some => self.push_counts(Common::<V, M::Index>::INPUTS, [some], some)?,
            }
            left = left.saturating_sub(u32::MAX as usize);
        }
        Ok(())
    }

    /// Appends a record that consists of counts, and takes this many numbers.
    #[inline(always)]
    fn push_counts<const N: usize>(
        &mut self,
        layout: &'static Layout<V>,
        counts: [u32; N],
        numbers: u32,
    ) -> Result<(), Refusal> {
        let code = self.begin_record(layout, size_of_val(&counts))?;
        // SAFETY: there is room for it.
        let mut writer = unsafe { Writer::to(self.data, size_of_val(&counts)) };
        writer.put(counts);
        // `end_record` counts one of them.
        self.next += u64::from(numbers - 1);
        // SAFETY: there is room for it.
        unsafe { self.end_record(layout, code, writer.at) }
        Ok(())
    }
}
