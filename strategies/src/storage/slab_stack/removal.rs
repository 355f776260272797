//! Removing many elements: each is dropped once, whatever its destructor does.

use super::SlabStack;
use core::mem::needs_drop;
use core::ptr::slice_from_raw_parts_mut;

impl<T, const INLINE: usize, const SLAB: usize> SlabStack<T, INLINE, SLAB> {
    /// Drops the elements from number `len` on, in their order. Does nothing if there are none. Memory is kept.
    ///
    /// When a destructor panics, the other elements are dropped nevertheless, as by [`Vec::truncate`].
    pub fn truncate(&mut self, len: usize) {
        let to = self.len();
        if len < to {
            // SAFETY: there are fewer elements than before. The others are dropped here, once.
            unsafe { self.set_len(len) };
            if needs_drop::<T>() {
                let mut removed = Removed { stack: self, from: len, to };
                while removed.drop_piece() {}
            }
        }
    }

    /// Drops all elements, the first one first. Memory is kept for later pushes.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}

impl<T, const INLINE: usize, const SLAB: usize> Drop for SlabStack<T, INLINE, SLAB> {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The elements `from..to`, which are no longer part of the stack and not yet dropped.
struct Removed<'a, T, const INLINE: usize, const SLAB: usize> {
    stack: &'a mut SlabStack<T, INLINE, SLAB>,
    from: usize,
    to: usize,
}

impl<T, const INLINE: usize, const SLAB: usize> Removed<'_, T, INLINE, SLAB> {
    /// Drops those of the first block; false if none is left.
    fn drop_piece(&mut self) -> bool {
        let (place, room) = self.stack.piece_mut(self.from);
        let count = room.min(self.to - self.from);
        self.from += count;
        // SAFETY: initialised elements of one block, forgotten by the line above, before a destructor can panic.
        unsafe { slice_from_raw_parts_mut(place, count).drop_in_place() };
        self.from < self.to
    }
}

impl<T, const INLINE: usize, const SLAB: usize> Drop for Removed<'_, T, INLINE, SLAB> {
    /// The rest, when a destructor panicked.
    fn drop(&mut self) {
        while self.from < self.to {
            self.drop_piece();
        }
    }
}
