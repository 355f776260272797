//! The data that a tape keeps in addition to its records.

use super::arrays::{Arrays, Input};
use super::entry::{Deed, Entry};
use super::notes::Notes;
use crate::kernel::launch::Launch;
use crate::kernel::memory::SharedArray;
use crate::{MemoryUsage, Number};
use core::any::Any;
use std::collections::HashSet;

/// Data of external functions that a tape keeps from recording to recording, such as tapes for nested recordings.
pub trait TapeCache: Any + Send + Sync {
    /// Bytes obtained from the allocator.
    fn reserved(&self) -> usize;
}

/// The external functions and launches of one recording, in the order of their records, and other data that its tape
/// keeps in addition to its records.
pub(crate) struct Externals<V: 'static> {
    pub(crate) list: Vec<Entry<V>>,
    pub(crate) caches: Vec<Box<dyn TapeCache>>,
    pub(crate) arrays: Arrays<V>,
    /// Memory of old kernel launches, to be reused.
    pub(crate) spare: Vec<Box<dyn Launch<V>>>,
    /// Source locations of the records, under the policy [`Tracing`](crate::policy::Tracing).
    notes: Option<Box<Notes<V>>>,
}

impl<V> Default for Externals<V> {
    fn default() -> Self {
        Self { list: Vec::new(), caches: Vec::new(), arrays: Arrays::new(), spare: Vec::new(), notes: None }
    }
}

impl<V: Number> Externals<V> {
    /// The cache of this type, made if there is none yet.
    pub(crate) fn cache<C: TapeCache + Default>(&mut self) -> &mut C {
        let at = self.caches.iter().position(|cache| (&**cache as &dyn Any).is::<C>());
        let at = at.unwrap_or_else(|| {
            self.caches.push(Box::new(C::default()));
            self.caches.len() - 1
        });
        (&mut *self.caches[at] as &mut dyn Any).downcast_mut().expect("it is of this type")
    }

    /// The notes on the recording; `None` under other policies than [`Tracing`](crate::policy::Tracing).
    pub(crate) fn notes(&self) -> Option<&Notes<V>> {
        self.notes.as_deref()
    }

    /// The notes on the recording, made if there are none yet.
    pub(crate) fn notes_mut(&mut self) -> &mut Notes<V> {
        self.notes.get_or_insert_default()
    }

    /// Old launches of kernels, whose memory may be reused.
    pub(crate) fn spare_launches(&mut self) -> &mut Vec<Box<dyn Launch<V>>> {
        // Reserves the list for all launches of this recording, so that nothing is allocated when they come back.
        let expected = self.list.len() + 1;
        if self.spare.capacity() < expected {
            self.spare.reserve(2 * expected - self.spare.len());
        }
        &mut self.spare
    }

    /// Returns true if the recording has entries or arrays.
    pub(crate) const fn is_used(&self) -> bool {
        !self.list.is_empty() || self.arrays.slots() != 0
    }

    /// Forgets everything, for a new recording.
    pub(crate) fn clear(&mut self) {
        self.arrays.replayed = false;
        self.truncate(0, 0);
    }

    /// Forgets all entries from index `entries` on, and all slots of views above `slots`. Their memory can be reused.
    pub(crate) fn truncate(&mut self, entries: usize, slots: usize) {
        self.arrays.keep_slots(slots);
        // Last, because destructors of users may panic.
        for entry in self.list.drain(entries..) {
            if let Deed::Launch(mut launch) = entry.deed
                && launch.clear()
            {
                self.spare.push(launch);
            }
        }
        if let Some(held) = &mut self.arrays.held {
            held.purge();
        }
    }

    /// Keeps the values of an input view.
    pub(crate) fn keep_input(&mut self, slot: usize, values: SharedArray<V>) {
        self.arrays.input_values.push(Input { slot, values });
    }

    /// Bytes of the arrays that launches keep, and bytes reserved for arrays.
    pub(crate) fn array_bytes(&self) -> MemoryUsage {
        // Several launches may keep the same array, which counts once.
        let (mut seen, mut used) = (HashSet::new(), 0);
        let mut each = |address: usize, bytes: usize| used += if seen.insert(address) { bytes } else { 0 };
        self.list.iter().filter_map(Entry::launch).for_each(|launch| launch.arrays(&mut each));
        self.arrays.input_values.iter().for_each(|input| each(input.values.address(), input.values.bytes()));
        let inputs = MemoryUsage::of_vec(&self.arrays.inputs).reserved;
        let lists = inputs + MemoryUsage::of_vec(&self.arrays.input_values).reserved;
        MemoryUsage { used, reserved: used + lists + self.arrays.pool.as_ref().map_or(0, |pool| pool.bytes()) }
    }

    /// Bytes of the snapshots of time loops.
    pub(crate) fn snapshots(&self) -> MemoryUsage {
        let of_each = self.list.iter().map(|entry| match &entry.deed {
            Deed::Function(rule) => rule.snapshots(),
            Deed::Launch(launch) => launch.snapshots(),
        });
        of_each.sum()
    }

    /// Bytes of the entries, and bytes of the caches.
    pub(crate) fn bytes(&self) -> (MemoryUsage, usize) {
        let owned = |entry: &Entry<V>| {
            let rule = match &entry.deed {
                Deed::Function(rule) => size_of_val(&**rule) + rule.owned_bytes(),
                Deed::Launch(launch) => size_of_val(&**launch) + launch.bytes(),
            };
            rule + entry.inputs.bytes() + size_of_val(&*entry.passive) + entry.outputs.bytes()
        };
        let owned: usize = self.list.iter().map(owned).sum();
        let list = MemoryUsage::of_vec(&self.list);
        let spare = self.spare.iter().map(|launch| size_of_val(&**launch)).sum::<usize>()
            + MemoryUsage::of_vec(&self.spare).reserved;
        let functions = MemoryUsage { used: list.used + owned, reserved: list.reserved + owned + spare };
        (functions, self.caches.iter().map(|cache| cache.reserved()).sum())
    }
}
