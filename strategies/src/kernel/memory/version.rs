//! Immutable versions of arrays, kept by recordings in memory or in a file.

use super::buffer::{Arena, Buffer};
use super::shared::SharedArray;
use crate::Number;
use crate::error::StorageError;
use crate::storage::ArrayFile;
use crate::storage::spill::Stored;
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use smallvec::SmallVec;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An immutable version of a view's values, from before or after a launch, kept by a recording.
#[derive(Debug)]
pub enum Version<V> {
    /// Version that stays in memory.
    Memory(SharedArray<V>),
    /// Version that may be spilled to a file.
    Held(Arc<Held<V>>),
}

impl<V> Clone for Version<V> {
    fn clone(&self) -> Self {
        match self {
            Self::Memory(buffer) => Self::Memory(buffer.clone()),
            Self::Held(held) => Self::Held(Arc::clone(held)),
        }
    }
}

impl<V> Version<V> {
    /// Returns the array if the version stays in memory.
    pub(crate) fn in_memory(&self) -> Option<&SharedArray<V>> {
        match self {
            Self::Memory(buffer) => Some(buffer),
            Self::Held(_) => None,
        }
    }
}

impl<V: Number> Version<V> {
    /// Returns an address that identifies the version among all live ones, and its bytes: with margins if it is in
    /// memory, those of the elements if it is in a file.
    #[must_use]
    pub fn address_and_bytes(&self) -> (usize, usize) {
        match self {
            Self::Memory(buffer) => (buffer.address(), buffer.bytes()),
            Self::Held(held) => (Arc::as_ptr(held).addr(), held.bytes()),
        }
    }
}

/// A version that is in memory at first, and may be spilled to a file while its recording goes on.
pub struct Held<V> {
    /// Unique id of the version.
    pub(crate) number: u64,
    file: Arc<ArrayFile>,
    /// Current location. Changes only while the recording goes on, so that it is fixed during sweeps.
    place: Mutex<Location<V>>,
}

/// Location of a version.
enum Location<V> {
    Memory(SharedArray<V>),
    /// Number of elements, and the positions of the planes in the file.
    File(usize, SmallVec<[Stored; 1]>),
}

/// Result of spilling a version.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Gone,
    /// A view shares the array, so that spilling it would free no memory.
    InUse,
}

impl<V: Number> Held<V> {
    fn new(buffer: SharedArray<V>, file: &Arc<ArrayFile>) -> Self {
        static LATEST: AtomicU64 = AtomicU64::new(0);
        file.enter(buffer.obtained());
        let place = Mutex::new(Location::Memory(buffer));
        Self { number: LATEST.fetch_add(1, Ordering::Relaxed), file: Arc::clone(file), place }
    }

    /// Returns the array if it is in memory, else its length.
    pub(crate) fn look_up(&self) -> Result<SharedArray<V>, usize> {
        match &*self.place() {
            Location::Memory(buffer) => Ok(buffer.clone()),
            Location::File(length, _) => Err(*length),
        }
    }

    /// Reads the array from the file into a buffer of its length. Does nothing if it is in memory.
    pub(crate) fn read(&self, buffer: &mut Buffer<V>) -> Result<(), StorageError> {
        let stored = match &*self.place() {
            Location::Memory(_) => return Ok(()),
            Location::File(_, stored) => stored.clone(),
        };
        let mut planes = stored.into_iter().enumerate();
        planes.try_for_each(|(p, stored)| self.file.load(bytemuck::cast_slice_mut(buffer.part_mut(p)), stored))
    }

    /// Writes the array to the file and releases its memory, unless it has other owners.
    fn write(&self) -> Result<Outcome, StorageError> {
        let mut place = self.place();
        let Location::Memory(buffer) = &*place else { return Ok(Outcome::Gone) };
        if buffer.is_shared() {
            return Ok(Outcome::InUse);
        }
        let (length, bytes) = (buffer.len(), buffer.obtained());
        let mut stored = SmallVec::new();
        for p in Buffer::<V>::parts() {
            let plane = self.file.store(bytemuck::cast_slice(buffer.part(p)));
            stored.push(plane.inspect_err(|_| self.forget(&stored))?);
        }
        *place = Location::File(length, stored);
        self.file.leave(bytes);
        Ok(Outcome::Gone)
    }

    fn bytes(&self) -> usize {
        match &*self.place() {
            Location::Memory(buffer) => buffer.bytes(),
            Location::File(length, _) => length * size_of::<V>(),
        }
    }
}

impl<V> Held<V> {
    fn forget(&self, planes: &[Stored]) {
        planes.iter().for_each(|plane| self.file.forget(*plane));
    }

    fn place(&self) -> MutexGuard<'_, Location<V>> {
        // Every operation under the lock leaves one complete location or the other.
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Drop for Held<V> {
    fn drop(&mut self) {
        match &*self.place() {
            Location::Memory(buffer) => self.file.leave(buffer.obtained()),
            Location::File(_, stored) => self.forget(stored),
        }
    }
}

impl<V> fmt::Debug for Held<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if matches!(*self.place(), Location::Memory(_)) { "memory" } else { "the file" };
        write!(f, "Held {} in {place}", self.number)
    }
}

/// Versions of one recording that are in memory and may be spilled.
pub(crate) struct HeldVersions<V> {
    file: Arc<ArrayFile>,
    /// Versions by address of their array, each once, however many launches keep it.
    list: HashMap<usize, Arc<Held<V>>>,
    /// Addresses in the order in which versions are to be spilled.
    order: VecDeque<usize>,
}

impl<V: Number> HeldVersions<V> {
    pub(crate) fn new(file: Arc<ArrayFile>) -> Self {
        Self { file, list: HashMap::new(), order: VecDeque::new() }
    }

    /// Makes a version spillable.
    pub(crate) fn hold(&mut self, version: &mut Version<V>) {
        let Version::Memory(buffer) = version else { return };
        let address = buffer.address();
        // The address still identifies the array, because every listed version keeps its array alive.
        let held = self.list.entry(address).or_insert_with(|| {
            self.order.push_back(address);
            Arc::new(Held::new(buffer.clone(), &self.file))
        });
        *version = Version::Held(Arc::clone(held));
    }

    /// Spills the oldest versions until those in memory fit into the budget. Versions shared with views stay in memory.
    /// Spare buffers are freed, too, except for the rest of the budget or the bytes just spilled, whichever is more,
    /// because the next launch may need them.
    ///
    /// # Errors
    ///
    /// When a version cannot be written. It stays in memory, and the next call tries again.
    pub(crate) fn make_room(&mut self, pool: Option<&Arc<Arena<V>>>) -> Result<(), StorageError> {
        let (limit, before) = (self.file.memory(), self.file.resident());
        for _ in 0..self.order.len() {
            let Some(address) = self.order.front().copied().filter(|_| self.file.resident() > limit) else { break };
            // Versions that no launch keeps any more need not be written.
            let wanted = self.list.get(&address).filter(|held| Arc::strong_count(held) > 1);
            let outcome = wanted.map_or(Ok(Outcome::Gone), |held| held.write())?;
            self.order.pop_front();
            match outcome {
                Outcome::Gone => _ = self.list.remove(&address),
                Outcome::InUse => self.order.push_back(address),
            }
        }
        let resident = self.file.resident();
        let spare = limit.saturating_sub(resident).max(before.saturating_sub(resident));
        pool.into_iter().for_each(|pool| pool.shrink(spare));
        Ok(())
    }
}

impl<V> HeldVersions<V> {
    /// Forgets the versions that no launch keeps any more.
    pub(crate) fn purge(&mut self) {
        self.list.retain(|_, held| Arc::strong_count(held) > 1);
        self.order.retain(|address| self.list.contains_key(address));
    }
}
