//! Iterators in both directions: slab by slab, or element by element.

use super::SlabStack;
use core::iter::{Flatten, FusedIterator};
use core::mem::take;
use core::slice;

impl<T, const INLINE: usize, const SLAB: usize> SlabStack<T, INLINE, SLAB> {
    /// Iterates over the elements from first to last.
    ///
    /// Methods that consume the iterator, such as `for_each`, `sum` and `fold`, are faster than a `for` loop.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, T, SLAB> {
        Iter { left: self.len(), elements: self.slabs().flatten() }
    }

    /// Iterates over the elements from first to last, to change them.
    #[must_use]
    pub fn iter_mut(&mut self) -> IterMut<'_, T, SLAB> {
        IterMut { left: self.len(), elements: self.slabs_mut().flatten() }
    }
}

/// Iterator over the elements of a stack as slices. See [`SlabStack::slabs`].
#[derive(Clone, Debug)]
pub struct Slabs<'a, T, const SLAB: usize> {
    pub(super) first: &'a [T],
    pub(super) full: slice::Iter<'a, &'a [T; SLAB]>,
    pub(super) last: &'a [T],
}

/// Iterator over the elements of a stack as mutable slices. See [`SlabStack::slabs_mut`].
#[derive(Debug)]
pub struct SlabsMut<'a, T, const SLAB: usize> {
    pub(super) first: &'a mut [T],
    pub(super) full: slice::IterMut<'a, &'a mut [T; SLAB]>,
    pub(super) last: &'a mut [T],
}

/// Iterator over the elements of a stack. See [`SlabStack::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T, const SLAB: usize> {
    elements: Flatten<Slabs<'a, T, SLAB>>,
    left: usize,
}

/// Iterator over the elements of a stack, to change them. See [`SlabStack::iter_mut`].
#[derive(Debug)]
pub struct IterMut<'a, T, const SLAB: usize> {
    elements: Flatten<SlabsMut<'a, T, SLAB>>,
    left: usize,
}

/// Takes the slice at one end of the stack, unless it is empty or has been taken.
fn rest<S: Default + AsRef<[T]>, T>(end: &mut S) -> Option<S> {
    (!end.as_ref().is_empty()).then(|| take(end))
}

impl<'a, T, const SLAB: usize> Iterator for Slabs<'a, T, SLAB> {
    type Item = &'a [T];

    fn next(&mut self) -> Option<&'a [T]> {
        let (full, last) = (&mut self.full, &mut self.last);
        rest(&mut self.first).or_else(|| full.next().map(|slab| slab.as_slice())).or_else(|| rest(last))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::from(!self.first.is_empty()) + self.full.len() + usize::from(!self.last.is_empty());
        (len, Some(len))
    }
}

impl<'a, T, const SLAB: usize> DoubleEndedIterator for Slabs<'a, T, SLAB> {
    fn next_back(&mut self) -> Option<&'a [T]> {
        let (full, first) = (&mut self.full, &mut self.first);
        rest(&mut self.last).or_else(|| full.next_back().map(|slab| slab.as_slice())).or_else(|| rest(first))
    }
}

impl<'a, T, const SLAB: usize> Iterator for SlabsMut<'a, T, SLAB> {
    type Item = &'a mut [T];

    fn next(&mut self) -> Option<&'a mut [T]> {
        let (full, last) = (&mut self.full, &mut self.last);
        rest(&mut self.first).or_else(|| full.next().map(|slab| slab.as_mut_slice())).or_else(|| rest(last))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = usize::from(!self.first.is_empty()) + self.full.len() + usize::from(!self.last.is_empty());
        (len, Some(len))
    }
}

impl<'a, T, const SLAB: usize> DoubleEndedIterator for SlabsMut<'a, T, SLAB> {
    fn next_back(&mut self) -> Option<&'a mut [T]> {
        let (full, first) = (&mut self.full, &mut self.first);
        rest(&mut self.last).or_else(|| full.next_back().map(|slab| slab.as_mut_slice())).or_else(|| rest(first))
    }
}

/// Implements iterators of elements by those of slices.
macro_rules! elements {
    ($($name:ident: $item:ty;)*) => { $(
        impl<'a, T, const SLAB: usize> Iterator for $name<'a, T, SLAB> {
            type Item = $item;

            #[inline]
            fn next(&mut self) -> Option<Self::Item> {
                let element = self.elements.next();
                self.left -= usize::from(element.is_some());
                element
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                (self.left, Some(self.left))
            }

            #[inline]
            fn fold<A, F: FnMut(A, Self::Item) -> A>(self, start: A, each: F) -> A {
                self.elements.fold(start, each)
            }
        }

        impl<T, const SLAB: usize> DoubleEndedIterator for $name<'_, T, SLAB> {
            #[inline]
            fn next_back(&mut self) -> Option<Self::Item> {
                let element = self.elements.next_back();
                self.left -= usize::from(element.is_some());
                element
            }

            #[inline]
            fn rfold<A, F: FnMut(A, Self::Item) -> A>(self, start: A, each: F) -> A {
                self.elements.rfold(start, each)
            }
        }
    )* };
}
elements! {
    Iter: &'a T;
    IterMut: &'a mut T;
}

/// Implements the marker traits of all four iterators, whose length is known.
macro_rules! exact {
    ($($name:ident)*) => { $(
        impl<T, const SLAB: usize> ExactSizeIterator for $name<'_, T, SLAB> {}
        impl<T, const SLAB: usize> FusedIterator for $name<'_, T, SLAB> {}
    )* };
}
exact! { Slabs SlabsMut Iter IterMut }

impl<'a, T, const INLINE: usize, const SLAB: usize> IntoIterator for &'a SlabStack<T, INLINE, SLAB> {
    type Item = &'a T;
    type IntoIter = Iter<'a, T, SLAB>;

    fn into_iter(self) -> Iter<'a, T, SLAB> {
        self.iter()
    }
}

impl<'a, T, const INLINE: usize, const SLAB: usize> IntoIterator for &'a mut SlabStack<T, INLINE, SLAB> {
    type Item = &'a mut T;
    type IntoIter = IterMut<'a, T, SLAB>;

    fn into_iter(self) -> IterMut<'a, T, SLAB> {
        self.iter_mut()
    }
}
