//! Aligned arrays with margins, so that a SIMD register may read beyond either end.

use super::pool::{Piece, Pool};
use crate::Number;
use crate::kernel::ir::access::RADIUS;
use crate::number::simd::vector::MOST;
use bytemuck::{Pod, Zeroable};
use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};

/// One cache line.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

const LINE: usize = 64;
/// Number of elements before and after an array that a SIMD group may read: the lanes of the largest register, and
/// twice the maximum offset, because a sweep reads values at the difference of two offsets.
pub(crate) const REACH: usize = MOST + 2 * RADIUS.unsigned_abs();

/// Number of cache lines before and after the elements.
const fn margin<V>() -> usize {
    let lines = (REACH * size_of::<V>()).div_ceil(LINE);
    if lines < 4 { 4 } else { lines }
}

/// Array aligned to cache lines, with a margin on both sides: a SIMD group at a boundary may read the margin, and
/// discards what it has read.
pub struct Buffer<V> {
    /// The allocation; may be longer than the elements need.
    lines: Vec<Line>,
    length: usize,
    numbers: PhantomData<V>,
    /// Arena that the buffer returns to when it is dropped.
    home: Weak<Arena<V>>,
}

/// Reference-counted, read-only buffer. The last owner returns it to the arena of its recording's tape.
pub struct SharedArray<V>(Option<Arc<Buffer<V>>>);

impl<V> SharedArray<V> {
    /// Wraps a buffer with a single owner, freed when dropped.
    #[must_use]
    pub fn new(buffer: Buffer<V>) -> Self {
        Self(Some(Arc::new(buffer)))
    }

    /// Returns the buffer for writing if this is the only owner.
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut Buffer<V>> {
        self.0.as_mut().and_then(Arc::get_mut)
    }

    /// Returns true if there are other owners.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(self.inner()) > 1
    }

    /// Returns an integer that identifies the buffer among all live ones.
    #[must_use]
    pub fn address(&self) -> usize {
        Arc::as_ptr(self.inner()).addr()
    }

    #[inline(always)]
    fn inner(&self) -> &Arc<Buffer<V>> {
        self.0.as_ref().expect("it is there until drop")
    }
}

impl<V> Clone for SharedArray<V> {
    fn clone(&self) -> Self {
        Self(Some(Arc::clone(self.inner())))
    }
}

impl<V> Deref for SharedArray<V> {
    type Target = Buffer<V>;
    #[inline(always)]
    fn deref(&self) -> &Buffer<V> {
        self.inner()
    }
}

impl<V> Drop for SharedArray<V> {
    fn drop(&mut self) {
        let Some(mut buffer) = self.0.take() else { return };
        if Arc::get_mut(&mut buffer).is_none() {
            // Other owners may let go of it at the same time: the last one gets it.
            let Some(last) = Arc::into_inner(buffer) else { return };
            buffer = Arc::new(last);
        }
        if let Some(home) = buffer.home.upgrade() {
            home.give_back(buffer.bytes(), buffer);
        }
    }
}

impl<V> fmt::Debug for SharedArray<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.inner(), f)
    }
}

/// Buffer with a single owner: written first, and possibly shared afterwards.
pub struct NewArray<V>(SharedArray<V>);

impl<V> NewArray<V> {
    /// Wraps a buffer that is freed when dropped.
    #[must_use]
    pub fn new(buffer: Buffer<V>) -> Self {
        Self(SharedArray::new(buffer))
    }

    /// Ends writing and turns the buffer into a shared one.
    #[must_use]
    pub fn share(self) -> SharedArray<V> {
        self.0
    }
}

/// Clones are freed when dropped; they do not return to an arena.
impl<V> Clone for NewArray<V> {
    fn clone(&self) -> Self {
        Self::new(Buffer::clone(self))
    }
}

impl<V> fmt::Debug for NewArray<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<V> Deref for NewArray<V> {
    type Target = Buffer<V>;
    #[inline(always)]
    fn deref(&self) -> &Buffer<V> {
        &self.0
    }
}

impl<V> DerefMut for NewArray<V> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Buffer<V> {
        self.0.get_mut().expect("nobody else has a new buffer")
    }
}

/// Memory pool for the arrays of a recording and of its sweeps.
pub(crate) type Arena<V> = Pool<Arc<Buffer<V>>>;

impl<V> Piece for Arc<Buffer<V>> {
    fn size(&self) -> usize {
        self.obtained()
    }
}

impl<V: Number> Arena<V> {
    /// Allocates a buffer with unspecified contents, which returns to the arena when dropped.
    ///
    /// # Panics
    ///
    /// When the allocator has no memory for the array, as [`Buffer::zeros`].
    #[track_caller]
    pub(crate) fn array(self: &Arc<Self>, length: usize) -> NewArray<V> {
        let asked =
            lines_of::<V>(length).and_then(|lines| lines.checked_mul(LINE)).unwrap_or_else(|| no_memory(length));
        let mut found = self.take(asked, || {
            let mut buffer = Buffer::zeros(length);
            buffer.home = Arc::downgrade(self);
            Arc::new(buffer)
        });
        if found.length != length {
            Arc::get_mut(&mut found).expect("nobody else has a spare buffer").length = length;
        }
        NewArray(SharedArray(Some(found)))
    }
}

#[cold]
#[track_caller]
fn no_memory(length: usize) -> ! {
    panic!("there is no memory for an array of {length} numbers")
}

/// Number of cache lines for this number of elements with both margins; `None` on overflow.
fn lines_of<V>(length: usize) -> Option<usize> {
    length.checked_mul(size_of::<V>()).map(|bytes| bytes.div_ceil(LINE) + 2 * margin::<V>())
}

impl<V: Number> Buffer<V> {
    /// Allocates an array of zeros.
    ///
    /// # Panics
    ///
    /// When the size overflows, or the allocator has no memory for the array.
    #[must_use]
    #[track_caller]
    pub fn zeros(length: usize) -> Self {
        let lines =
            lines_of::<V>(length).and_then(|lines| bytemuck::allocation::try_zeroed_slice_box::<Line>(lines).ok());
        let Some(lines) = lines else { no_memory(length) };
        Self { lines: lines.into_vec(), length, numbers: PhantomData, home: Weak::new() }
    }

    /// Copies a slice.
    #[must_use]
    #[track_caller]
    pub fn copy_of(numbers: &[V]) -> Self {
        let mut buffer = Self::zeros(numbers.len());
        buffer.copy_from_slice(numbers);
        buffer
    }

    /// Pointer to the first element; [`REACH`] elements before it and after the last one may be read.
    #[inline(always)]
    pub(crate) const fn start(&self) -> *const V {
        self.lines.as_ptr().cast::<V>().wrapping_byte_add(margin::<V>() * LINE)
    }

    /// Mutable version of [`start`](Self::start).
    #[inline(always)]
    pub(crate) const fn start_mut(&mut self) -> *mut V {
        self.lines.as_mut_ptr().cast::<V>().wrapping_byte_add(margin::<V>() * LINE)
    }
}

impl<V: Number> Deref for Buffer<V> {
    type Target = [V];
    #[inline]
    fn deref(&self) -> &[V] {
        // Cut to size first: the elements need not fill the last line.
        let bytes: &[u8] = bytemuck::cast_slice(&self.lines[margin::<V>()..]);
        bytemuck::cast_slice(&bytes[..self.length * size_of::<V>()])
    }
}

impl<V: Number> DerefMut for Buffer<V> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [V] {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.lines[margin::<V>()..]);
        bytemuck::cast_slice_mut(&mut bytes[..self.length * size_of::<V>()])
    }
}

impl<V> Buffer<V> {
    /// Bytes of the elements and the margins.
    #[must_use]
    pub fn bytes(&self) -> usize {
        lines_of::<V>(self.length).map_or(0, |lines| lines * LINE)
    }

    /// Bytes of the allocation: more than [`bytes`](Self::bytes) if a longer array had it before.
    pub(crate) const fn obtained(&self) -> usize {
        self.lines.len() * LINE
    }
}

impl<V> Clone for Buffer<V> {
    fn clone(&self) -> Self {
        let needed = lines_of::<V>(self.length).unwrap_or(usize::MAX).min(self.lines.len());
        Self { lines: self.lines[..needed].to_vec(), length: self.length, numbers: PhantomData, home: Weak::new() }
    }
}

impl<V> fmt::Debug for Buffer<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer of {} numbers", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, Buffer, REACH, SharedArray};
    use crate::{Dual, Number};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The margins hold as many elements as groups read, whatever the size of an element.
    #[test]
    fn margins_are_as_wide_as_groups_reach() {
        fn check<V: Number>() {
            let buffer = Buffer::<V>::zeros(5);
            let before = buffer.start().addr() - buffer.lines.as_ptr().addr();
            let behind = buffer.bytes() - before - 5 * size_of::<V>();
            assert!(before.min(behind) >= REACH * size_of::<V>(), "{before} and {behind} bytes");
            assert_eq!(before % 64, 0);
        }
        check::<f32>();
        check::<f64>();
        check::<Dual<f32, 1>>();
        check::<Dual<f64, 1>>();
        check::<Dual<f64, 3>>();
        check::<Dual<f64, 8>>();
        assert_eq!(Buffer::<f64>::zeros(1000).bytes(), 8000 + 512);
    }

    #[test]
    fn an_array_comes_back_when_two_threads_let_go_of_it_at_once() {
        let (arena, arrived) = (Arc::new(Arena::<f64>::default()), AtomicUsize::new(0));
        let bytes = arena.array(5).bytes();
        for round in 1..=if cfg!(miri) { 20 } else { 800 } {
            let own = SharedArray(Some(arena.take(bytes, || panic!("it was lost before round {round}"))));
            let other = own.clone();
            std::thread::scope(|scope| {
                let meet = |array| {
                    arrived.fetch_add(1, Ordering::AcqRel);
                    while arrived.load(Ordering::Acquire) < 2 * round {
                        std::hint::spin_loop();
                    }
                    drop(array);
                };
                scope.spawn(move || meet(other));
                meet(own);
            });
        }
    }
}
