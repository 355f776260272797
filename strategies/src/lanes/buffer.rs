//! Arrays of numbers that lanes may read beyond.

use crate::Float;
use bytemuck::{Pod, Zeroable};
use core::fmt;
use core::ops::{Deref, DerefMut};

/// One cache line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

const LINE: usize = 64;
/// Lines before and behind the numbers.
const MARGIN: usize = 4;

/// Numbers in one piece of memory that is aligned to cache lines, with [`MARGIN_BYTES`] of memory on both sides that belong to
/// it: a group of lanes at a border may read them, and throws away what it has read.
pub struct Buffer<V> {
    lines: Vec<Line>,
    length: usize,
    numbers: core::marker::PhantomData<V>,
}

/// Bytes on either side of the numbers that may be read.
pub(super) const MARGIN_BYTES: usize = MARGIN * LINE;

impl<V: Float> Buffer<V> {
    /// This number of zeros.
    ///
    /// # Panics
    ///
    /// When there cannot be as many, or the allocator has no memory for them.
    #[must_use]
    #[track_caller]
    pub fn zeros(length: usize) -> Self {
        let lines = length.checked_mul(size_of::<V>()).map(|bytes| bytes.div_ceil(LINE) + 2 * MARGIN);
        let lines = lines.and_then(|lines| bytemuck::allocation::try_zeroed_slice_box::<Line>(lines).ok());
        let Some(lines) = lines else { panic!("there is no memory for an array of {length} numbers") };
        Self { lines: lines.into_vec(), length, numbers: core::marker::PhantomData }
    }

    /// A copy of these numbers.
    #[must_use]
    #[track_caller]
    pub fn copy_of(numbers: &[V]) -> Self {
        let mut buffer = Self::zeros(numbers.len());
        buffer.copy_from_slice(numbers);
        buffer
    }

    /// Bytes of memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.lines.len() * LINE
    }

    /// The first number; [`MARGIN_BYTES`] before it and behind the last may be read.
    #[inline(always)]
    pub(super) const fn start(&self) -> *const V {
        self.lines.as_ptr().cast::<V>().wrapping_byte_add(MARGIN_BYTES)
    }

    /// [`start`](Self::start), to write to the numbers.
    #[inline(always)]
    pub(super) const fn start_mut(&mut self) -> *mut V {
        self.lines.as_mut_ptr().cast::<V>().wrapping_byte_add(MARGIN_BYTES)
    }
}

impl<V: Float> Deref for Buffer<V> {
    type Target = [V];
    #[inline]
    fn deref(&self) -> &[V] {
        &bytemuck::cast_slice(&self.lines[MARGIN..])[..self.length]
    }
}

impl<V: Float> DerefMut for Buffer<V> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [V] {
        &mut bytemuck::cast_slice_mut(&mut self.lines[MARGIN..])[..self.length]
    }
}

impl<V> Clone for Buffer<V> {
    fn clone(&self) -> Self {
        Self { lines: self.lines.clone(), length: self.length, numbers: self.numbers }
    }
}

impl<V> fmt::Debug for Buffer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer of {} numbers", self.length)
    }
}
