//! Elements by number, and the traits that collections have.

use super::SlabStack;
use core::fmt;
use core::ops::{Index, IndexMut};

impl<T, const INLINE: usize, const SLAB: usize> SlabStack<T, INLINE, SLAB> {
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

    /// Element number `index`, counted from the first; `None` if there are not as many. Takes constant time.
    #[must_use]
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        // SAFETY: the elements `0..len()` are initialised.
        (index < self.len()).then(|| unsafe { &*self.place(index) })
    }

    /// Element number `index`, counted from the first; `None` if there are not as many. Takes constant time.
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
}

#[cold]
#[track_caller]
fn out_of_range(index: usize, len: usize) -> ! {
    panic!("there is no element {index} in a stack of {len}")
}

impl<T, const INLINE: usize, const SLAB: usize> Index<usize> for SlabStack<T, INLINE, SLAB> {
    type Output = T;

    #[inline]
    #[track_caller]
    fn index(&self, index: usize) -> &T {
        self.get(index).unwrap_or_else(|| out_of_range(index, self.len()))
    }
}

impl<T, const INLINE: usize, const SLAB: usize> IndexMut<usize> for SlabStack<T, INLINE, SLAB> {
    #[inline]
    #[track_caller]
    fn index_mut(&mut self, index: usize) -> &mut T {
        let len = self.len();
        self.get_mut(index).unwrap_or_else(|| out_of_range(index, len))
    }
}

impl<T, const INLINE: usize, const SLAB: usize> Default for SlabStack<T, INLINE, SLAB> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, const INLINE: usize, const SLAB: usize> Extend<T> for SlabStack<T, INLINE, SLAB> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        values.into_iter().for_each(|value| self.push(value));
    }
}

impl<T, const INLINE: usize, const SLAB: usize> FromIterator<T> for SlabStack<T, INLINE, SLAB> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut stack = Self::new();
        stack.extend(values);
        stack
    }
}

impl<T: Clone, const INLINE: usize, const SLAB: usize> Clone for SlabStack<T, INLINE, SLAB> {
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        copy.reserve(self.len());
        copy.extend(self.iter().cloned());
        copy
    }
}

impl<T: PartialEq, const INLINE: usize, const SLAB: usize> PartialEq for SlabStack<T, INLINE, SLAB> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other)
    }
}

impl<T: Eq, const INLINE: usize, const SLAB: usize> Eq for SlabStack<T, INLINE, SLAB> {}

impl<T: fmt::Debug, const INLINE: usize, const SLAB: usize> fmt::Debug for SlabStack<T, INLINE, SLAB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}
