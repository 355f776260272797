//! Replays of launches: the present values of views, and what later sweeps need of them.

use crate::kernel::exec::operands::KeptOperand;
use crate::kernel::ir::grid::Grid;
use crate::kernel::memory::buffer::{Arena, NewArray, SharedArray};
use crate::{Number, SweepError};
use smallvec::SmallVec;
use std::sync::Arc;

/// The values of views in the course of a replay, by slot.
pub struct ReplayState<V> {
    list: Vec<Option<SharedArray<V>>>,
    pool: Arc<Arena<V>>,
}

impl<V: Number> ReplayState<V> {
    pub(crate) fn new(pool: Arc<Arena<V>>) -> Self {
        Self { list: Vec::new(), pool }
    }

    /// The present values of the view in this slot.
    ///
    /// # Panics
    ///
    /// When it has none. Before a replay it is checked that it gets some before they are used.
    #[must_use]
    #[track_caller]
    pub fn get(&self, slot: usize) -> SharedArray<V> {
        let found = self.list.get(slot).and_then(Option::as_ref);
        found.expect("a view is written, or an input, before it is read").clone()
    }

    /// Gives the view in this slot other values.
    pub fn put(&mut self, slot: usize, values: SharedArray<V>) {
        if slot >= self.list.len() {
            self.list.resize_with(slot + 1, || None);
        }
        self.list[slot] = Some(values);
    }

    /// Forgets the values in this slot.
    pub(crate) fn forget(&mut self, slot: usize) {
        self.list.get_mut(slot).into_iter().for_each(|values| *values = None);
    }

    /// A buffer with anything in it.
    ///
    /// # Panics
    ///
    /// When the allocator has no memory.
    #[must_use]
    #[track_caller]
    pub fn buffer(&mut self, length: usize) -> NewArray<V> {
        self.pool.array(length)
    }
}

/// What a launch keeps of a replay.
#[derive(Debug)]
pub struct ReplayResult<V> {
    /// Of its operands, of a kernel.
    pub(crate) operands: SmallVec<[KeptOperand<V>; 2]>,
    /// Arrays, of anything else.
    pub(crate) arrays: [Option<SharedArray<V>>; 2],
    /// The point that was found, of an extremum.
    pub(crate) found: Option<Grid>,
}

impl<V> Default for ReplayResult<V> {
    /// Nothing.
    fn default() -> Self {
        Self { operands: SmallVec::new(), arrays: [None, None], found: None }
    }
}

impl<V> ReplayResult<V> {
    pub(crate) fn of_arrays(arrays: [Option<SharedArray<V>>; 2]) -> Self {
        Self { arrays, ..Self::default() }
    }

    pub(crate) fn into_arrays(self) -> [Option<SharedArray<V>>; 2] {
        self.arrays
    }
}

/// The error for a launch of a recording that does not keep what replays need.
pub(crate) fn not_kept() -> SweepError {
    SweepError::Unsupported {
        what: "a recording with launches of kernels can be replayed only if it keeps what they read: call \
               `set_guards(true)` before it is recorded"
            .into(),
    }
}
