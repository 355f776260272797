//! Comparisons that a replay must find as they were.

use crate::tape::format::layout::Layout;
use crate::{Comparison, MemoryUsage, Number};
use core::panic::Location;
use smallvec::SmallVec;

/// The guards of one recording, in the order of the comparisons.
pub(crate) struct Guards<V: Number> {
    pub(crate) list: Vec<Guard<V>>,
    /// What is compared: the data of records of statements.
    pub(crate) bytes: Vec<u8>,
}

/// One comparison.
pub(crate) struct Guard<V: Number> {
    /// The number of the first record behind it.
    pub(crate) number: u64,
    pub(crate) comparison: Comparison,
    /// How it came out, as [`Comparison::outcomes`] says.
    pub(crate) outcomes: SmallVec<[i8; 8]>,
    pub(crate) location: &'static Location<'static>,
    /// What is compared, and where the data of each begin and end.
    pub(crate) operands: [(&'static Layout<V>, usize, usize); 2],
}

impl<V: Number> Guards<V> {
    pub(crate) const fn new() -> Self {
        Self { list: Vec::new(), bytes: Vec::new() }
    }

    /// Forgets all guards but the first `kept`.
    pub(crate) fn truncate(&mut self, kept: usize) {
        if let Some(Guard { operands: [(_, start, _), _], .. }) = self.list.get(kept) {
            self.bytes.truncate(*start);
            self.list.truncate(kept);
        }
    }

    pub(crate) fn memory(&self) -> MemoryUsage {
        let (list, bytes) = (MemoryUsage::of_vec(&self.list), MemoryUsage::of_vec(&self.bytes));
        MemoryUsage { used: list.used + bytes.used, reserved: list.reserved + bytes.reserved }
    }
}
