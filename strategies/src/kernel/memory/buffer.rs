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
/// How many numbers before an array and behind it a group of lanes may read: as many as the largest register has, and
/// twice the largest shift, at which a sweep reads values.
pub(crate) const REACH: usize = MOST + 2 * RADIUS.unsigned_abs();

/// Lines before and behind the numbers.
const fn margin<V>() -> usize {
    let lines = (REACH * size_of::<V>()).div_ceil(LINE);
    if lines < 4 { 4 } else { lines }
}

/// Numbers in one piece of memory that is aligned to cache lines, with memory on both sides that belongs to it: a group
/// of lanes at a border may read it, and throws away what it has read.
pub struct Buffer<V> {
    /// Perhaps more than the numbers need.
    lines: Vec<Line>,
    length: usize,
    numbers: PhantomData<V>,
    /// Where it goes in the end.
    home: Weak<Arena<V>>,
}

/// A buffer that several may have, in which case nobody writes to it. One of a recording goes back to the recording's
/// tape when nobody has it any more.
pub struct SharedArray<V>(Option<Arc<Buffer<V>>>);

impl<V> SharedArray<V> {
    /// One that nobody else has, and that is freed in the end.
    #[must_use]
    pub fn new(buffer: Buffer<V>) -> Self {
        Self(Some(Arc::new(buffer)))
    }

    /// The buffer, to write to it, if nobody else has it.
    #[must_use]
    pub fn get_mut(&mut self) -> Option<&mut Buffer<V>> {
        self.0.as_mut().and_then(Arc::get_mut)
    }

    /// Whether it has other owners, too.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(self.inner()) > 1
    }

    /// A number that no other buffer has as long as this one is there.
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

/// A buffer that nobody else has: to be written to, and perhaps shared in the end.
pub struct NewArray<V>(SharedArray<V>);

impl<V> NewArray<V> {
    /// One that is freed in the end.
    #[must_use]
    pub fn new(buffer: Buffer<V>) -> Self {
        Self(SharedArray::new(buffer))
    }

    /// Written to for the last time.
    #[must_use]
    pub fn share(self) -> SharedArray<V> {
        self.0
    }
}

/// A copy, which is freed in the end.
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

/// The memory of the arrays of a recording, and of its sweeps.
pub(crate) type Arena<V> = Pool<Arc<Buffer<V>>>;

impl<V> Piece for Arc<Buffer<V>> {
    fn size(&self) -> usize {
        self.obtained()
    }
}

impl<V: Number> Arena<V> {
    /// A buffer with anything in it, which comes back in the end.
    ///
    /// # Panics
    ///
    /// As [`Buffer::zeros`].
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

/// Lines for this number of numbers.
fn lines_of<V>(length: usize) -> Option<usize> {
    length.checked_mul(size_of::<V>()).map(|bytes| bytes.div_ceil(LINE) + 2 * margin::<V>())
}

impl<V: Number> Buffer<V> {
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
        let Some(lines) = lines else { no_memory(length) };
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

    /// The first number; [`REACH`] numbers before it and behind the last may be read.
    #[inline(always)]
    pub(crate) const fn start(&self) -> *const V {
        self.lines.as_ptr().cast::<V>().wrapping_byte_add(margin::<V>() * LINE)
    }

    /// [`start`](Self::start), to write to the numbers.
    #[inline(always)]
    pub(crate) const fn start_mut(&mut self) -> *mut V {
        self.lines.as_mut_ptr().cast::<V>().wrapping_byte_add(margin::<V>() * LINE)
    }
}

impl<V: Number> Deref for Buffer<V> {
    type Target = [V];
    #[inline]
    fn deref(&self) -> &[V] {
        // Cut to size first: the numbers need not fill the last line.
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
    /// Bytes that the numbers need, with the memory beside them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        lines_of::<V>(self.length).map_or(0, |lines| lines * LINE)
    }

    /// Bytes of memory: more than [`bytes`](Self::bytes) if a longer array had it before.
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

    /// A group of lanes reads numbers, however many bytes they have.
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
