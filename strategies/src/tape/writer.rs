//! Writing the data of one record.

use core::marker::PhantomData;

/// Writes the data of one record.
pub(super) struct Writer<'a> {
    pub(super) at: *mut u8,
    pub(super) left: usize,
    bytes: PhantomData<&'a mut [u8]>,
}

impl<'a> Writer<'a> {
    /// Writes to these bytes.
    ///
    /// # Safety
    ///
    /// The `left` bytes from `at` on are the writer's as long as it lives.
    pub(super) const unsafe fn to(at: *mut u8, left: usize) -> Self {
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

    /// Leaves out this many bytes.
    pub(super) fn skip(&mut self, bytes: usize) {
        assert!(bytes <= self.left, "a record is as long as it said");
        self.at = self.at.wrapping_add(bytes);
        self.left -= bytes;
    }
}
