//! Spans: consecutive elements of an array, which can be divided among threads.

use super::buffer::Buffer;
use crate::Number;
use crate::number::simd::planes::Place;
use core::marker::PhantomData;
use core::ops::Range;

/// Consecutive elements of an array that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span<'a, V: Number> {
    first: Place<V>,
    length: usize,
    array: PhantomData<&'a V>,
}

/// Consecutive elements of an array that is written.
#[derive(Debug)]
pub(crate) struct SpanMut<'a, V: Number> {
    first: Place<V>,
    length: usize,
    array: PhantomData<&'a mut V>,
}

// SAFETY: it stands for a shared reference to the elements.
unsafe impl<V: Number> Send for Span<'_, V> {}
// SAFETY: as above.
unsafe impl<V: Number> Sync for Span<'_, V> {}
// SAFETY: it stands for the only reference to the elements.
unsafe impl<V: Number> Send for SpanMut<'_, V> {}

/// Checks that a range lies inside a span.
#[inline(always)]
fn check(range: &Range<usize>, length: usize) {
    assert!(range.start <= range.end && range.end <= length, "{range:?} goes beyond {length} elements");
}

impl<'a, V: Number> Span<'a, V> {
    /// No elements.
    pub(crate) const NONE: Self = Self { first: Place::NULL, length: 0, array: PhantomData };

    /// All elements of an array.
    pub(crate) fn of(buffer: &'a Buffer<V>) -> Self {
        Self { first: buffer.start(), length: buffer.len(), array: PhantomData }
    }

    /// Number of elements.
    #[inline(always)]
    pub(crate) const fn len(self) -> usize {
        self.length
    }

    /// Returns true if there are no elements.
    #[inline(always)]
    pub(crate) const fn is_empty(self) -> bool {
        self.length == 0
    }

    /// Returns an element.
    #[inline(always)]
    pub(crate) fn get(self, k: usize) -> V {
        assert!(k < self.length, "there is no element {k} among {}", self.length);
        // SAFETY: the element belongs to the span, and nobody writes it as long as the span is there.
        unsafe { self.first.wrapping_offset(k.cast_signed()).get() }
    }

    /// Returns the elements in a range.
    #[inline(always)]
    pub(crate) fn within(self, range: Range<usize>) -> Self {
        check(&range, self.length);
        let first = self.first.wrapping_offset(range.start.cast_signed());
        Self { first, length: range.end - range.start, array: PhantomData }
    }

    /// Returns the elements from `k` on; none if there are no more than `k`.
    pub(crate) fn behind(self, k: usize) -> Self {
        self.within(k.min(self.length)..self.length)
    }
}

impl<'a, V: Number> SpanMut<'a, V> {
    /// No elements.
    pub(crate) const NONE: Self = Self { first: Place::NULL, length: 0, array: PhantomData };

    /// All elements of an array.
    pub(crate) fn of(buffer: &'a mut Buffer<V>) -> Self {
        Self { first: buffer.start_mut(), length: buffer.len(), array: PhantomData }
    }

    /// Number of elements.
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// Returns true if there are no elements.
    #[inline(always)]
    pub(crate) const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Returns an element.
    #[inline(always)]
    pub(crate) fn get(&self, k: usize) -> V {
        assert!(k < self.length, "there is no element {k} among {}", self.length);
        // SAFETY: the element belongs to the span, the only reference to it.
        unsafe { self.first.wrapping_offset(k.cast_signed()).get() }
    }

    /// Replaces an element.
    #[inline(always)]
    pub(crate) fn set(&mut self, k: usize, number: V) {
        assert!(k < self.length, "there is no element {k} among {}", self.length);
        // SAFETY: the element belongs to the span, the only reference to it.
        unsafe { self.first.wrapping_offset(k.cast_signed()).set(number) }
    }

    /// Adds a number to an element.
    #[inline(always)]
    pub(crate) fn add(&mut self, k: usize, number: V) {
        self.set(k, self.get(k) + number);
    }

    /// Replaces all elements.
    pub(crate) fn fill(&mut self, number: V) {
        (0..self.length).for_each(|k| self.set(k, number));
    }

    /// Returns the elements in a range, to be written.
    #[inline(always)]
    pub(crate) fn within(&mut self, range: Range<usize>) -> SpanMut<'_, V> {
        check(&range, self.length);
        let first = self.first.wrapping_offset(range.start.cast_signed());
        SpanMut { first, length: range.end - range.start, array: PhantomData }
    }

    /// Divides the span before element `k`.
    #[inline(always)]
    pub(crate) fn split(self, k: usize) -> (Self, Self) {
        check(&(0..k), self.length);
        let behind = self.first.wrapping_offset(k.cast_signed());
        let behind = Self { first: behind, length: self.length - k, array: PhantomData };
        (Self { length: k, ..self }, behind)
    }

    /// Divides the span into `K` spans of equal length.
    #[inline(always)]
    pub(crate) fn divided<const K: usize>(self) -> [Self; K] {
        let length = self.length / K;
        core::array::from_fn(|k| {
            let first = self.first.wrapping_offset((k * length).cast_signed());
            Self { first, length, array: PhantomData }
        })
    }
}
