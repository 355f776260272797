//! Arrays of numbers that lanes may read beyond.

use crate::Float;
use bytemuck::{Pod, Zeroable};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// One cache line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

const LINE: usize = 64;
/// Lines before and behind the numbers.
const MARGIN: usize = 4;

/// Numbers in one piece of memory that is aligned to cache lines, with 256 bytes of memory on both sides that belong to
/// it: a group of lanes at a border may read them, and throws away what it has read.
pub struct Buffer<V> {
    lines: Vec<Line>,
    length: usize,
    numbers: PhantomData<V>,
    /// Where the memory goes in the end.
    home: Weak<Pool>,
}

/// Memory of buffers that are gone, for others of the same size.
#[derive(Default)]
pub(crate) struct Pool(Mutex<Vec<Vec<Line>>>);

impl Pool {
    /// A buffer with anything in it, whose memory comes back in the end.
    ///
    /// # Panics
    ///
    /// As [`Buffer::zeros`].
    #[track_caller]
    pub(crate) fn buffer<V: Float>(self: &Arc<Self>, length: usize) -> Buffer<V> {
        let lines = {
            let mut spare = self.spare();
            let found = spare.iter().rposition(|lines| Some(lines.len()) == lines_of::<V>(length));
            found.map(|k| spare.swap_remove(k))
        };
        let home = Arc::downgrade(self);
        if let Some(lines) = lines {
            return Buffer { lines, length, numbers: PhantomData, home };
        }
        let mut buffer = Buffer::zeros(length);
        buffer.home = home;
        buffer
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        self.spare().iter().map(|lines| lines.len() * LINE).sum()
    }

    /// Frees memory until there are at most so many bytes of it.
    pub(crate) fn shrink(&self, bytes: usize) {
        let mut spare = self.spare();
        let mut all: usize = spare.iter().map(|lines| lines.len() * LINE).sum();
        // What was put there last is the likeliest to be of use.
        let over = spare
            .iter()
            .take_while(|lines| {
                all > bytes && {
                    all -= lines.len() * LINE;
                    true
                }
            })
            .count();
        spare.drain(..over);
    }

    fn spare(&self) -> MutexGuard<'_, Vec<Vec<Line>>> {
        // Nothing that could panic is done meanwhile.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Drop for Buffer<V> {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            let mut spare = home.spare();
            // Without memory for the list it is freed.
            if spare.try_reserve(1).is_ok() {
                spare.push(core::mem::take(&mut self.lines));
            }
        }
    }
}

/// Lines for this number of numbers.
fn lines_of<V>(length: usize) -> Option<usize> {
    length.checked_mul(size_of::<V>()).map(|bytes| bytes.div_ceil(LINE) + 2 * MARGIN)
}

/// Bytes on either side of the numbers that may be read.
pub(super) const MARGIN_BYTES: usize = MARGIN * LINE;

impl<V: Float> Buffer<V> {
    /// A buffer with anything in it, one of these if there is one of this length.
    pub(super) fn out_of(spare: &mut Vec<Self>, length: usize) -> Self {
        let found = spare.iter().rposition(|buffer| buffer.len() == length);
        found.map_or_else(|| Self::zeros(length), |k| spare.swap_remove(k))
    }

    /// This number of zeros.
    ///
    /// # Panics
    ///
    /// When there cannot be as many, or the allocator has no memory for them.
    #[must_use]
    #[track_caller]
    pub fn zeros(length: usize) -> Self {
        let lines =
            lines_of::<V>(length).and_then(|lines| bytemuck::allocation::try_zeroed_slice_box::<Line>(lines).ok());
        let Some(lines) = lines else { panic!("there is no memory for an array of {length} numbers") };
        Self { lines: lines.into_vec(), length, numbers: PhantomData, home: Weak::new() }
    }

    /// A copy of these numbers.
    #[must_use]
    #[track_caller]
    pub fn copy_of(numbers: &[V]) -> Self {
        let mut buffer = Self::zeros(numbers.len());
        buffer.copy_from_slice(numbers);
        buffer
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

impl<V> Buffer<V> {
    /// Bytes of memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.lines.len() * LINE
    }
}

impl<V> Clone for Buffer<V> {
    fn clone(&self) -> Self {
        Self { lines: self.lines.clone(), length: self.length, numbers: PhantomData, home: Weak::new() }
    }
}

impl<V> fmt::Debug for Buffer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer of {} numbers", self.length)
    }
}
