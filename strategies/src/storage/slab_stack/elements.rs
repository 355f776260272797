//! What reads and writes elements in place: all of the unsafe code of the stack. Its invariants are listed in
//! [`slab_stack`](super).

use super::{SlabStack, Slabs, SlabsMut};
use core::mem::needs_drop;
use core::ptr::{NonNull, slice_from_raw_parts_mut};
use core::slice;

// SAFETY: a stack owns its elements and its slabs as a vector does.
unsafe impl<T: Send, const INLINE: usize, const SLAB: usize> Send for SlabStack<T, INLINE, SLAB> {}
// SAFETY: `&SlabStack` gives out `&T` and reads plain fields. It does not touch the `Bump`s, which are not `Sync`.
unsafe impl<T: Sync, const INLINE: usize, const SLAB: usize> Sync for SlabStack<T, INLINE, SLAB> {}

impl<T, const INLINE: usize, const SLAB: usize> SlabStack<T, INLINE, SLAB> {
    /// Adds an element at the end.
    #[inline]
    pub fn push(&mut self, value: T) {
        self.push_with(|| value);
    }

    /// Adds the element that `value` returns, which is built in its place where the compiler can.
    ///
    /// When `value` panics, the stack is as it was.
    #[inline]
    pub fn push_with(&mut self, value: impl FnOnce() -> T) {
        let mut top = self.top;
        if top == self.room {
            self.advance();
            top = 0;
        }
        // SAFETY: `top < room`, so this is a place of the tail without an element. The count stays in a register, since
        // for all the compiler knows the write may change `self.top`.
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
        // SAFETY: the last element, which is forgotten by the line above.
        Some(unsafe { self.tail_mut().add(top - 1).read() })
    }

    /// Gives back to the allocator what is not in use.
    ///
    /// Slabs are taken in groups, of up to 1 MiB unless [`reserve`](Self::reserve) asked for more. A group goes back
    /// once none of its slabs is in use.
    pub fn shrink_to_fit(&mut self) {
        let len = self.len();
        // SAFETY: the number of elements stays. If the tail is empty, it is no longer the tail.
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
            // SAFETY: there is room for `count` elements, and `rest`, borrowed from elsewhere, has `count` elements.
            // They need no drop, being `Copy`.
            unsafe { self.tail_mut().add(self.top).copy_from_nonoverlapping(rest.as_ptr(), count) };
            self.top += count;
            rest = &rest[count..];
        }
    }

    /// The first place of the tail.
    #[inline(always)]
    const fn tail_mut(&mut self) -> *mut T {
        match self.base {
            Some(base) => base.as_ptr(),
            None => self.inline.as_mut_ptr().cast(),
        }
    }

    /// The last element.
    #[must_use]
    #[inline]
    pub fn last(&self) -> Option<&T> {
        let Some(top) = self.top.checked_sub(1) else { return self.get(self.len().checked_sub(1)?) };
        let tail = self.base.map_or(self.inline.as_ptr().cast::<T>(), |base| base.as_ptr().cast_const());
        // SAFETY: the last element of the tail.
        Some(unsafe { &*tail.add(top) })
    }

    /// The last element.
    #[must_use]
    #[inline]
    pub fn last_mut(&mut self) -> Option<&mut T> {
        let Some(top) = self.top.checked_sub(1) else { return self.get_mut(self.len().checked_sub(1)?) };
        // SAFETY: the last element of the tail, and the stack is borrowed exclusively.
        Some(unsafe { &mut *self.tail_mut().add(top) })
    }

    /// Element number `index`, counted from the first; `None` if there are not that many. Takes constant time.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: the elements `0..len()` are initialised.
        (index < self.len()).then(|| unsafe { &*self.place(index) })
    }

    /// Element number `index`, counted from the first; `None` if there are not that many. Takes constant time.
    #[must_use]
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut T> {
        // SAFETY: the elements `0..len()` are initialised, and the stack is borrowed exclusively.
        (index < self.len()).then(|| unsafe { &mut *self.piece_mut(index).0 })
    }

    /// Where element `index` lies, to read it.
    #[inline]
    fn place(&self, index: usize) -> *const T {
        debug_assert!(index < self.capacity());
        if index < Self::FIRST {
            // SAFETY: an inline place; elements without a size all have the same place.
            unsafe { self.inline.as_ptr().cast::<T>().add(index) }
        } else {
            let (slab, offset) = ((index - INLINE) / SLAB, (index - INLINE) % SLAB);
            // SAFETY: a place of this slab.
            unsafe { self.slabs.slab(slab).add(offset) }.as_ptr()
        }
    }

    /// Where element `index` lies, and how many places its block has from there on.
    #[inline]
    pub(super) fn piece_mut(&mut self, index: usize) -> (*mut T, usize) {
        debug_assert!(index < self.capacity());
        if index < Self::FIRST {
            // SAFETY: an inline place; elements without a size all have the same place.
            (unsafe { self.inline.as_mut_ptr().cast::<T>().add(index) }, Self::FIRST - index)
        } else {
            let (slab, offset) = ((index - INLINE) / SLAB, (index - INLINE) % SLAB);
            // SAFETY: a place of this slab.
            (unsafe { self.slabs.slab(slab).add(offset) }.as_ptr(), SLAB - offset)
        }
    }

    /// The elements as slices, from first to last: those kept inline, then one slice for each slab. None is empty.
    ///
    /// The iterator is double ended. A sweep from the last element to the first is fastest as two loops, one over
    /// `slabs().rev()`, the other over the slice from its end.
    #[must_use]
    pub fn slabs(&self) -> Slabs<'_, T, SLAB> {
        let (inline, full, last) = self.pieces();
        // SAFETY: `inline` elements are initialised.
        let first = unsafe { slice::from_raw_parts(self.inline.as_ptr().cast(), inline) };
        let full = self.slabs.first(full);
        // SAFETY: these slabs are full of elements that are borrowed with `self`, and a `NonNull` is laid out as a
        // reference is.
        let full = unsafe { slice::from_raw_parts(full.as_ptr().cast::<&[T; SLAB]>(), full.len()) };
        // SAFETY: the elements in the tail slab are initialised.
        let last = unsafe { slice::from_raw_parts(self.base.unwrap_or(NonNull::dangling()).as_ptr(), last) };
        Slabs { first, full: full.iter(), last }
    }

    /// The elements as slices, to change them.
    #[must_use]
    pub fn slabs_mut(&mut self) -> SlabsMut<'_, T, SLAB> {
        let (inline, full, last) = self.pieces();
        // SAFETY: `inline` elements are initialised.
        let first = unsafe { slice::from_raw_parts_mut(self.inline.as_mut_ptr().cast(), inline) };
        let full: &mut [NonNull<[T; SLAB]>] = self.slabs.first_mut(full);
        // SAFETY: these slabs are full of elements that are borrowed exclusively with `self`, and a `NonNull` is laid
        // out as a reference is. `SlabsMut` hands out the references and does not replace them.
        let full = unsafe { slice::from_raw_parts_mut(full.as_mut_ptr().cast::<&mut [T; SLAB]>(), full.len()) };
        // SAFETY: the elements in the tail slab are initialised. The tail is none of the slabs above.
        let last = unsafe { slice::from_raw_parts_mut(self.base.unwrap_or(NonNull::dangling()).as_ptr(), last) };
        SlabsMut { first, full: full.iter_mut(), last }
    }

    /// The number of inline elements, of full slabs before the tail, and of elements in the tail, if it is a slab.
    const fn pieces(&self) -> (usize, usize, usize) {
        match self.tail_slab() {
            None => (self.top, 0, 0),
            Some(slab) => (INLINE, slab, self.top),
        }
    }

    /// Changes the number of elements, and neither drops nor writes any. The tail is not empty unless all is.
    ///
    /// # Safety
    ///
    /// The elements `0..len` must be initialised. Those after them are the caller's from now on.
    unsafe fn set_len(&mut self, len: usize) {
        debug_assert!(len <= self.capacity());
        if len <= Self::FIRST {
            self.leave_slabs(len);
        } else {
            let slab = (len - INLINE - 1) / SLAB;
            self.enter(slab, len - INLINE - slab * SLAB);
        }
    }

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
    /// Drops the elements of the first block; false if none is left.
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
