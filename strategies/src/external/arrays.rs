//! The arrays of a recording: the slots of views, and the memory.

use crate::kernel::{Arena, HeldVersions, LaunchSlot, NewArray, SharedArray};
use crate::{ArrayFile, Number, StorageError};
use std::sync::Arc;

/// The arrays of a recording.
pub struct Arrays<V> {
    /// The slots of views that have been given out, counted from 1.
    slots: usize,
    /// The slots of views that are inputs, in order.
    pub(super) inputs: Vec<usize>,
    /// Made with the first buffer.
    pub(crate) pool: Option<Arc<Arena<V>>>,
    /// The versions that launches keep, if they may leave memory.
    pub(crate) held: Option<Box<HeldVersions<V>>>,
    /// The input views of a recording that keeps guards.
    pub(crate) input_values: Vec<Input<V>>,
    /// Whether the recording has been replayed.
    pub(crate) replayed: bool,
}

/// A view that is an input.
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
    /// A slot for one more view.
    pub const fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots
    }

    /// The largest slot.
    pub(crate) const fn slots(&self) -> usize {
        self.slots
    }

    /// A slot for a view that is an input of the recording.
    pub fn input_slot(&mut self) -> usize {
        let slot = self.slot();
        self.inputs.push(slot);
        slot
    }

    /// Forgets the views whose slots are beyond the first ones.
    pub(super) fn keep_slots(&mut self, slots: usize) {
        self.slots = slots;
        self.inputs.truncate(self.inputs.partition_point(|slot| *slot <= slots));
        self.input_values.retain(|input| input.slot <= slots);
    }

    pub(crate) fn is_input(&self, slot: usize) -> bool {
        self.inputs.binary_search(&slot).is_ok()
    }

    /// A buffer with anything in it. The tape gets its memory back when it is dropped.
    ///
    /// # Panics
    ///
    /// When the allocator has no memory.
    #[must_use]
    #[track_caller]
    pub fn buffer(&mut self, length: usize) -> NewArray<V> {
        self.pool.get_or_insert_default().array(length)
    }

    /// Writes arrays to this file until the others fit into memory.
    pub(crate) fn make_room(&mut self, file: Option<&Arc<ArrayFile>>) -> Result<(), StorageError> {
        let Self { pool, held, .. } = self;
        held_in(held, file).map_or(Ok(()), |held| held.make_room(pool.as_ref()))
    }

    /// Lets the arrays of a launch leave memory for this file.
    pub(crate) fn hold(&mut self, launch: &mut LaunchSlot<V>, file: Option<&Arc<ArrayFile>>) {
        if let Some(held) = held_in(&mut self.held, file) {
            launch.get_mut().hold(&mut |version| held.hold(version));
        }
    }
}

/// The versions that may go to this file.
fn held_in<'v, V: Number>(
    held: &'v mut Option<Box<HeldVersions<V>>>,
    file: Option<&Arc<ArrayFile>>,
) -> Option<&'v mut HeldVersions<V>> {
    if held.is_none() {
        *held = file.map(|file| Box::new(HeldVersions::new(Arc::clone(file))));
    }
    held.as_deref_mut()
}
