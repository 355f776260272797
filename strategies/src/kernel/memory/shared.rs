//! Arrays with owners: new ones, which are written, and shared ones, which are read.

use super::buffer::{Arena, Buffer, LINE, lines_of, no_memory};
use super::device::Device;
use crate::Number;
use crate::number::simd::planes::Place;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

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

    /// Place of the array for a job that writes to it, like [`Buffer::place_mut`], and as long as nobody else is given
    /// the array: also after it was borrowed again.
    #[inline(always)]
    pub(crate) fn place_mut(&mut self, device: Device) -> Place<V>
    where
        V: Number,
    {
        let buffer = Arc::as_ptr(self.0.inner());
        let place = Buffer::place_mut(self, device);
        if device.is_some() { Place::new(buffer.cast_mut().cast(), 0) } else { place }
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

impl<V: Number> Arena<V> {
    /// Allocates a buffer with unspecified contents, which returns to the arena when dropped.
    ///
    /// # Panics
    ///
    /// When the allocator has no memory for the array, as [`Buffer::zeros`].
    #[track_caller]
    pub(crate) fn array(self: &Arc<Self>, length: usize) -> NewArray<V> {
        let needed = lines_of::<V>(length).unwrap_or_else(|| no_memory(length));
        let mut found = self.take(needed * LINE, || {
            let mut buffer = Buffer::zeros(length);
            buffer.home = Arc::downgrade(self);
            Arc::new(buffer)
        });
        if found.length != length {
            let buffer = Arc::get_mut(&mut found).expect("nobody else has a spare buffer");
            (buffer.length, buffer.needed) = (length, needed);
            buffer.copies.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        }
        found.fresh.store(0, Ordering::Relaxed);
        NewArray(SharedArray(Some(found)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, SharedArray};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

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
