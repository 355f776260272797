//! From first to last and back: slab by slab, or element by element.

use super::SlabStack;
use core::iter::{Flatten, FusedIterator};
use core::mem::take;
use core::ptr::NonNull;
use core::slice;

impl<T, const INLINE: usize, const SLAB: usize> SlabStack<T, INLINE, SLAB> {
    /// The elements as slices, from first to last: those kept inline, then one slice for each slab. None is empty.
    ///
    /// The iterator is double ended. A sweep from the last element to the first is fastest as two loops, one over
    /// `slabs().rev()`, the other over the slice from its end.
    #[must_use]
    pub fn slabs(&self) -> Slabs<'_, T, SLAB> {
        let (inline, full, last) = self.pieces();
        // SAFETY: so many elements are initialised.
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
        // SAFETY: so many elements are initialised.
        let first = unsafe { slice::from_raw_parts_mut(self.inline.as_mut_ptr().cast(), inline) };
        let full: &mut [NonNull<[T; SLAB]>] = self.slabs.first_mut(full);
        // SAFETY: these slabs are full of elements that are borrowed exclusively with `self`, and a `NonNull` is laid
        // out as a reference is. `SlabsMut` hands out the references and does not replace them.
        let full = unsafe { slice::from_raw_parts_mut(full.as_mut_ptr().cast::<&mut [T; SLAB]>(), full.len()) };
        // SAFETY: the elements in the tail slab are initialised. The tail is none of the slabs above.
        let last = unsafe { slice::from_raw_parts_mut(self.base.unwrap_or(NonNull::dangling()).as_ptr(), last) };
        SlabsMut { first, full: full.iter_mut(), last }
    }

    /// The elements from first to last.
    ///
    /// Methods that consume the iterator, such as `for_each`, `sum` and `fold`, are faster than a `for` loop.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, T, SLAB> {
        Iter { left: self.len(), elements: self.slabs().flatten() }
    }

    /// The elements from first to last, to change them.
    #[must_use]
    pub fn iter_mut(&mut self) -> IterMut<'_, T, SLAB> {
        IterMut { left: self.len(), elements: self.slabs_mut().flatten() }
    }

    /// The number of inline elements, of full slabs before the tail, and of elements in the tail, if it is a slab.
    const fn pieces(&self) -> (usize, usize, usize) {
        match self.tail_slab() {
            None => (self.top, 0, 0),
            Some(slab) => (INLINE, slab, self.top),
        }
    }
}

/// The elements of a stack as slices. See [`SlabStack::slabs`].
#[derive(Clone, Debug)]
pub struct Slabs<'a, T, const SLAB: usize> {
    first: &'a [T],
    full: slice::Iter<'a, &'a [T; SLAB]>,
    last: &'a [T],
}

/// The elements of a stack as slices. See [`SlabStack::slabs_mut`].
#[derive(Debug)]
pub struct SlabsMut<'a, T, const SLAB: usize> {
    first: &'a mut [T],
    full: slice::IterMut<'a, &'a mut [T; SLAB]>,
    last: &'a mut [T],
}

/// The elements of a stack. See [`SlabStack::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a, T, const SLAB: usize> {
    elements: Flatten<Slabs<'a, T, SLAB>>,
    left: usize,
}

/// The elements of a stack. See [`SlabStack::iter_mut`].
#[derive(Debug)]
pub struct IterMut<'a, T, const SLAB: usize> {
    elements: Flatten<SlabsMut<'a, T, SLAB>>,
    left: usize,
}

/// What an end of the stack still has to give.
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

/// Element by element, by way of the slices.
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

/// All four know how many they still give, and end for good.
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
