//! Access to elements in place: all unsafe code of the stack. Its invariants are listed in [`slab_stack`](super).

use super::{SlabStack, Slabs, SlabsMut};
use core::mem::needs_drop;
use core::ptr::{NonNull, slice_from_raw_parts_mut};
use core::slice;

// SAFETY: a stack owns its elements and its slabs like a vector.
unsafe impl<T: Send, const INLINE: usize, const SLAB: usize> Send for SlabStack<T, INLINE, SLAB> {}
// SAFETY: `&SlabStack` gives `&T` and reads plain fields. It does not touch the `Bump`s, which are not `Sync`.
unsafe impl<T: Sync, const INLINE: usize, const SLAB: usize> Sync for SlabStack<T, INLINE, SLAB> {}

impl<T, const INLINE: usize, const SLAB: usize> SlabStack<T, INLINE, SLAB> {
    /// Adds an element at the end.
    #[inline]
    pub fn push(&mut self, value: T) {
        self.push_with(|| value);
    }

    /// Adds the element that `value` returns, constructed in place where the compiler can do so.
    ///
    /// If `value` panics, the stack is unchanged.
    #[inline]
    pub fn push_with(&mut self, value: impl FnOnce() -> T) {
        let mut top = self.top;
        if top == self.room {
            self.advance();
            top = 0;
        }
        // SAFETY: `top < room`, so this is uninitialized memory of the tail. `top` stays in a register, since for all
        // the compiler knows the write may change `self.top`.
        unsafe { self.tail_mut().add(top).write(value()) };
        self.top = top + 1;
    }

    /// Removes the last element and returns it; `None` if there is none. Its slab is kept for later pushes.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let mut top = self.top;
        if top == 0 {
            top = self.retreat();
            if top == 0 {
                return None;
            }
        }
        self.top = top - 1;
        // SAFETY: this is the last element, which the line above has removed from the stack.
        Some(unsafe { self.tail_mut().add(top - 1).read() })
    }

    /// Returns unused memory to the allocator.
    ///
    /// Slabs are allocated in groups, of up to 1 MiB unless [`reserve`](Self::reserve) asked for more. A group is freed
    /// once none of its slabs is in use.
    pub fn shrink_to_fit(&mut self) {
        let len = self.len();
        // SAFETY: the number of elements does not change. If the tail is empty, it is no longer the tail.
        unsafe { self.set_len(len) };
        self.slabs.shrink(len.saturating_sub(Self::FIRST).div_ceil(SLAB));
    }

    /// Adds copies of `values` at the end, in their order, slab by slab.
    pub fn extend_from_slice(&mut self, values: &[T])
    where
        T: Copy,
    {
        let mut rest = values;
        while !rest.is_empty() {
            if self.top == self.room {
                self.advance();
            }
            let count = rest.len().min(self.room - self.top);
            // SAFETY: there is room for `count` elements, and `rest`, which does not overlap the stack, has `count`
            // elements. They need no drop, because they are `Copy`.
            unsafe { self.tail_mut().add(self.top).copy_from_nonoverlapping(rest.as_ptr(), count) };
            self.top += count;
            rest = &rest[count..];
        }
    }

    /// Start of the tail.
    #[inline(always)]
    const fn tail_mut(&mut self) -> *mut T {
        match self.base {
            Some(base) => base.as_ptr(),
            None => self.inline.as_mut_ptr().cast(),
        }
    }

    /// Returns the last element.
    #[must_use]
    #[inline]
    pub fn last(&self) -> Option<&T> {
        let Some(top) = self.top.checked_sub(1) else { return self.get(self.len().checked_sub(1)?) };
        let tail = self.base.map_or(self.inline.as_ptr().cast::<T>(), |base| base.as_ptr().cast_const());
        // SAFETY: this is the last element of the tail.
        Some(unsafe { &*tail.add(top) })
    }

    /// Returns the last element, to change it.
    #[must_use]
    #[inline]
    pub fn last_mut(&mut self) -> Option<&mut T> {
        let Some(top) = self.top.checked_sub(1) else { return self.get_mut(self.len().checked_sub(1)?) };
        // SAFETY: this is the last element of the tail, and the stack is borrowed exclusively.
        Some(unsafe { &mut *self.tail_mut().add(top) })
    }

    /// Returns element `index`, counted from the first; `None` if there are fewer. Takes constant time.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: the elements `0..len()` are initialized.
        (index < self.len()).then(|| unsafe { &*self.place(index) })
    }

    /// Returns element `index`, to change it; `None` if there are fewer. Takes constant time.
    #[must_use]
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        // SAFETY: the elements `0..len()` are initialized, and the stack is borrowed exclusively.
        (index < self.len()).then(|| unsafe { &mut *self.piece_mut(index).0 })
    }

    /// Address of element `index`, to read it.
    #[inline]
    fn place(&self, index: usize) -> *const T {
        debug_assert!(index < self.capacity());
        if index < Self::FIRST {
            // SAFETY: the address is inside the inline memory; elements without a size all have the same address.
            unsafe { self.inline.as_ptr().cast::<T>().add(index) }
        } else {
            let (slab, offset) = ((index - INLINE) / SLAB, (index - INLINE) % SLAB);
            // SAFETY: the address is inside this slab.
            unsafe { self.slabs.slab(slab).add(offset) }.as_ptr()
        }
    }

    /// Address of element `index`, and the number of elements of its block from there on.
    #[inline]
    pub(super) fn piece_mut(&mut self, index: usize) -> (*mut T, usize) {
        debug_assert!(index < self.capacity());
        if index < Self::FIRST {
            // SAFETY: the address is inside the inline memory; elements without a size all have the same address.
            (unsafe { self.inline.as_mut_ptr().cast::<T>().add(index) }, Self::FIRST - index)
        } else {
            let (slab, offset) = ((index - INLINE) / SLAB, (index - INLINE) % SLAB);
            // SAFETY: the address is inside this slab.
            (unsafe { self.slabs.slab(slab).add(offset) }.as_ptr(), SLAB - offset)
        }
    }

    /// Iterates over the elements as slices, from first to last: those kept inline, then one slice for each slab. No
    /// slice is empty.
    ///
    /// The iterator is double ended. A sweep from the last element to the first is fastest as two nested loops: one
    /// over `slabs().rev()`, the other over each slice from its end.
    #[must_use]
    pub fn slabs(&self) -> Slabs<'_, T, SLAB> {
        let (inline, full, last) = self.pieces();
        // SAFETY: `inline` elements are initialized.
        let first = unsafe { slice::from_raw_parts(self.inline.as_ptr().cast(), inline) };
        let full = self.slabs.first(full);
        // SAFETY: these slabs are full of elements that are borrowed with `self`, and a `NonNull` has the layout of a
        // reference.
        let full = unsafe { slice::from_raw_parts(full.as_ptr().cast::<&[T; SLAB]>(), full.len()) };
        // SAFETY: the elements in the tail slab are initialized.
        let last = unsafe { slice::from_raw_parts(self.base.unwrap_or(NonNull::dangling()).as_ptr(), last) };
        Slabs { first, full: full.iter(), last }
    }

    /// Iterates over the elements as slices, to change them.
    #[must_use]
    pub fn slabs_mut(&mut self) -> SlabsMut<'_, T, SLAB> {
        let (inline, full, last) = self.pieces();
        // SAFETY: `inline` elements are initialized.
        let first = unsafe { slice::from_raw_parts_mut(self.inline.as_mut_ptr().cast(), inline) };
        let full: &mut [NonNull<[T; SLAB]>] = self.slabs.first_mut(full);
        // SAFETY: these slabs are full of elements that are borrowed exclusively with `self`, and a `NonNull` has the
        // layout of a reference. `SlabsMut` passes on the references and does not replace them.
        let full = unsafe { slice::from_raw_parts_mut(full.as_mut_ptr().cast::<&mut [T; SLAB]>(), full.len()) };
        // SAFETY: the elements in the tail slab are initialized. The tail is not one of the slabs above.
        let last = unsafe { slice::from_raw_parts_mut(self.base.unwrap_or(NonNull::dangling()).as_ptr(), last) };
        SlabsMut { first, full: full.iter_mut(), last }
    }

    /// Number of inline elements, of full slabs before the tail, and of elements in the tail if it is a slab.
    const fn pieces(&self) -> (usize, usize, usize) {
        match self.tail_slab() {
            None => (self.top, 0, 0),
            Some(slab) => (INLINE, slab, self.top),
        }
    }

    /// Changes the number of elements, and neither drops nor writes any. Leaves the tail empty only if the stack is.
    ///
    /// # Safety
    ///
    /// The elements `0..len` must be initialized. The caller owns those after them from now on.
    unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity());
        if len <= Self::FIRST {
            self.leave_slabs(len);
        } else {
            let slab = (len - INLINE - 1) / SLAB;
            self.enter(slab, len - INLINE - slab * SLAB);
        }
    }

    /// Drops the elements from index `len` on, in order. Does nothing if there are none. Memory is kept.
    ///
    /// If a destructor panics, the other elements are dropped nevertheless, like by [`Vec::truncate`].
    pub fn truncate(&mut self, len: usize) {
        let to = self.len();
        if len < to {
            // SAFETY: `len` is smaller than before. The removed elements are dropped here, once.
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

/// Elements `from..to`, which have been removed from the stack and not yet been dropped.
struct Removed<'a, T, const INLINE: usize, const SLAB: usize> {
    stack: &'a mut SlabStack<T, INLINE, SLAB>,
    from: usize,
    to: usize,
}

impl<T, const INLINE: usize, const SLAB: usize> Removed<'_, T, INLINE, SLAB> {
    /// Drops the elements of the first block; returns false if none is left.
    fn drop_piece(&mut self) -> bool {
        let (place, room) = self.stack.piece_mut(self.from);
        let count = room.min(self.to - self.from);
        self.from += count;
        // SAFETY: these are initialized elements of one block, removed by the line above, before a destructor can
        // panic.
        unsafe { slice_from_raw_parts_mut(place, count).drop_in_place() };
        self.from < self.to
    }
}

impl<T, const INLINE: usize, const SLAB: usize> Drop for Removed<'_, T, INLINE, SLAB> {
    /// Drops the remaining elements after a destructor panicked.
    fn drop(&mut self) {
        while self.from < self.to {
            self.drop_piece();
        }
    }
}
