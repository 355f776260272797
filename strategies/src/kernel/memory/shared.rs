//! Arrays with owners: new ones, which are written, and shared ones, which are read.

use super::buffer::{ABSENT, Arena, Buffer, lines_of, no_memory};
use super::device::Device;
use crate::Number;
use crate::number::simd::planes::Place;
use crate::storage::LINE;
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
    /// Makes a buffer with unspecified contents, which returns to the arena when dropped. It is allocated when the host
    /// uses it for the first time, which panics if there is no memory for it.
    ///
    /// # Panics
    ///
    /// When the size overflows.
    #[track_caller]
    pub(crate) fn array(self: &Arc<Self>, length: usize) -> NewArray<V> {
        let needed = lines_of::<V>(length).unwrap_or_else(|| no_memory(length));
        let mut found = self.take(needed * LINE, || {
            let mut buffer = Buffer::unspecified(length);
            buffer.home = Arc::downgrade(self);
            Arc::new(buffer)
        });
        if found.length != length {
            let buffer = Arc::get_mut(&mut found).expect("nobody else has a spare buffer");
            (buffer.length, buffer.needed) = (length, needed);
            buffer.copies.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        }
        let is_absent = found.fresh.load(Ordering::Relaxed) & ABSENT;
        found.fresh.store(is_absent, Ordering::Relaxed);
        NewArray(SharedArray(Some(found)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Arena, SharedArray};
    use crate::kernel::memory::device::{DeviceArray, DeviceMemory, Precision};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex};

    /// A memory, with the number of arrays that were read.
    #[derive(Debug)]
    struct Elsewhere(AtomicUsize);
    #[derive(Debug)]
    struct Bytes(Mutex<Vec<u8>>, &'static AtomicUsize);

    static ELSEWHERE: Elsewhere = Elsewhere(AtomicUsize::new(0));

    impl DeviceMemory for Elsewhere {
        fn allocate(&self, length: usize, _: Precision) -> Arc<dyn DeviceArray> {
            Arc::new(Bytes(Mutex::new(vec![0; 8 * length]), &ELSEWHERE.0))
        }
    }

    impl DeviceArray for Bytes {
        fn read(&self, to: &mut [u8]) {
            self.1.fetch_add(1, Ordering::Relaxed);
            to.copy_from_slice(&self.0.lock().expect("no panic"));
        }

        fn write(&self, from: &[u8]) {
            self.0.lock().expect("no panic").copy_from_slice(from);
        }
    }

    #[test]
    fn an_array_has_a_place_on_the_host_when_the_host_uses_it() {
        let arena = Arc::new(Arena::<f64>::default());
        let mut array = arena.array(5);
        assert!(array.is_absent());
        array.place_mut(Some(&ELSEWHERE));
        array.place(Some(&ELSEWHERE));
        assert!(array.is_absent(), "only the device has used it");
        array.on_device(&ELSEWHERE).write(bytemuck::bytes_of(&[0.5, 1.0, 1.5, 2.0, 2.5]));
        let shared = array.share();
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert_eq!(shared.to_vec(), [0.5, 1.0, 1.5, 2.0, 2.5]));
            }
        });
        assert!(!shared.is_absent() && ELSEWHERE.0.load(Ordering::Relaxed) == 1);
        drop(shared);
        // A shorter array finds the place of the longer one.
        let mut array = arena.array(3);
        assert!(!array.is_absent());
        array.assign(&[1.0, 2.0, 3.0]);
        array.place_mut(Some(&ELSEWHERE));
        array.start_mut();
        array.set(1, -1.0);
        assert_eq!(array.to_vec(), [1.0, -1.0, 3.0]);
        // Without a place it can be given back, taken, and cloned.
        for length in [1000, 2000, 4000] {
            let array = arena.array(length);
            assert!(array.is_absent());
            assert_eq!((array.clone().len(), array.obtained() >= 8 * length), (length, true));
        }
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
