//! Elements by index, and the usual traits of collections.

use super::SlabStack;
use core::fmt;
use core::ops::{Index, IndexMut};

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
