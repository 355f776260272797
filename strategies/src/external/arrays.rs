//! The arrays of a recording: slots of views, and memory of arrays.

use crate::Number;
use crate::error::StorageError;
use crate::kernel::launch::Launch;
use crate::kernel::memory::{NewArray, SharedArray};
use crate::kernel::{Arena, HeldVersions};
use crate::storage::ArrayFile;
use std::sync::Arc;

/// The arrays of a recording.
pub struct Arrays<V> {
    /// The number of view slots given out so far, which is the largest slot; slots are counted from 1.
    slots: usize,
    /// The slots of input views, in ascending order.
    pub(super) inputs: Vec<usize>,
    /// The memory of arrays, made with the first buffer.
    pub(crate) pool: Option<Arc<Arena<V>>>,
    /// The versions that launches keep and that may leave memory, if the recording has a file for them.
    pub(crate) held: Option<Box<HeldVersions<V>>>,
    /// The values of input views, for recordings that keep guards.
    pub(crate) input_values: Vec<Input<V>>,
    /// True if the recording has been replayed.
    pub(crate) replayed: bool,
}

/// An input view and its values.
pub(crate) struct Input<V> {
    pub(crate) slot: usize,
    pub(crate) values: SharedArray<V>,
}

impl<V> Arrays<V> {
    pub(super) const fn new() -> Self {
        Self { slots: 0, inputs: Vec::new(), pool: None, held: None, input_values: Vec::new(), replayed: false }
    }
}

impl<V: Number> Arrays<V> {
    /// Returns a new slot, for a view.
    pub const fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots
    }

    /// The largest slot.
    pub(crate) const fn slots(&self) -> usize {
        self.slots
    }

    /// Returns a new slot, for an input view of the recording.
    pub fn input_slot(&mut self) -> usize {
        let slot = self.slot();
        self.inputs.push(slot);
        slot
    }

    /// Forgets the views in slots above `slots`.
    pub(super) fn keep_slots(&mut self, slots: usize) {
        self.slots = slots;
        self.inputs.truncate(self.inputs.partition_point(|slot| *slot <= slots));
        self.input_values.retain(|input| input.slot <= slots);
    }

    pub(crate) fn is_input(&self, slot: usize) -> bool {
        self.inputs.binary_search(&slot).is_ok()
    }

    /// Returns a buffer with unspecified contents. Its memory goes back to the tape when the buffer is dropped.
    ///
    /// # Panics
    ///
    /// When the allocator has no memory.
    #[must_use]
    #[track_caller]
    pub fn buffer(&mut self, length: usize) -> NewArray<V> {
        self.pool.get_or_insert_default().array(length)
    }

    /// Writes arrays to this file until the remaining ones fit into memory.
    pub(crate) fn make_room(&mut self, file: Option<&Arc<ArrayFile>>) -> Result<(), StorageError> {
        let Self { pool, held, .. } = self;
        held_in(held, file).map_or(Ok(()), |held| held.make_room(pool.as_ref()))
    }

    /// Allows the arrays of a launch to leave memory for this file.
    pub(crate) fn hold(&mut self, launch: &mut dyn Launch<V>, file: Option<&Arc<ArrayFile>>) {
        if let Some(held) = held_in(&mut self.held, file) {
            launch.hold(&mut |version| held.hold(version));
        }
    }
}

/// The versions that may leave memory for this file, made if there are none yet; `None` without a file.
fn held_in<'v, V: Number>(
    held: &'v mut Option<Box<HeldVersions<V>>>,
    file: Option<&Arc<ArrayFile>>,
) -> Option<&'v mut HeldVersions<V>> {
    if held.is_none() {
        *held = file.map(|file| Box::new(HeldVersions::new(Arc::clone(file))));
    }
    held.as_deref_mut()
}
