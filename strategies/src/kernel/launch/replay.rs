//! Replays of launches: current values of views, and results to keep for later sweeps.

use crate::kernel::ir::grid::Grid;
use crate::kernel::memory::buffer::Arena;
use crate::kernel::memory::shared::{NewArray, SharedArray};
use crate::kernel::targets::operands::KeptOperand;
use crate::{Number, SweepError};
use smallvec::SmallVec;
use std::sync::Arc;

/// Current values of views during a replay, by slot.
pub struct ReplayState<V> {
    list: Vec<Option<SharedArray<V>>>,
    pool: Arc<Arena<V>>,
}

impl<V: Number> ReplayState<V> {
    pub(crate) fn new(pool: Arc<Arena<V>>) -> Self {
        Self { list: Vec::new(), pool }
    }

    /// Returns the current values of the view in this slot.
    ///
    /// # Panics
    ///
    /// When the slot has no values. The check before a replay ensures that slots are written before they are read.
    #[must_use]
    #[track_caller]
    pub fn get(&self, slot: usize) -> SharedArray<V> {
        let found = self.list.get(slot).and_then(Option::as_ref);
        found.expect("a view is written, or an input, before it is read").clone()
    }

    /// Replaces the values of the view in this slot.
    pub fn put(&mut self, slot: usize, values: SharedArray<V>) {
        if slot >= self.list.len() {
            self.list.resize_with(slot + 1, || None);
        }
        self.list[slot] = Some(values);
    }

    /// Drops the values of the view in this slot.
    pub(crate) fn forget(&mut self, slot: usize) {
        self.list.get_mut(slot).into_iter().for_each(|values| *values = None);
    }

    /// Allocates a buffer with unspecified contents.
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

/// Results of a replay that a launch keeps for sweeps.
#[derive(Debug)]
pub struct ReplayResult<V> {
    /// Operands of a kernel.
    pub(crate) operands: SmallVec<[KeptOperand<V>; 2]>,
    /// Arrays of another launch.
    pub(crate) arrays: [Option<SharedArray<V>>; 2],
    /// Point found by the search for an extremum.
    pub(crate) found: Option<Grid>,
}

impl<V> Default for ReplayResult<V> {
    /// Returns a result with nothing to keep.
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

/// Returns the error for a launch whose recording has not kept what replays need.
pub(crate) fn not_kept() -> SweepError {
    SweepError::Unsupported {
        what: "a recording with launches of kernels can be replayed only if it keeps what they read: call \
               `set_guards(true)` before it is recorded"
            .into(),
    }
}
