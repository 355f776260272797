//! Lists of statements in the order in which they were recorded, for replays of tapes, and programs of width 1.

use super::lengths::Extent;
use crate::identifier::IndexType;
use crate::tape::format::entry_points::Functions;
use crate::{MemoryUsage, Number};

/// A statement, in place.
#[derive(Clone, Copy)]
pub(crate) struct Step<V: Number, I: IndexType> {
    pub(crate) functions: &'static Functions<V>,
    /// The end of the identifiers of its arguments, in bytes from the start of the memory that has its record.
    pub(crate) ids_end: usize,
    /// Number of arguments.
    pub(crate) arguments: u32,
    /// The identifier of its result.
    pub(crate) result: I,
}

/// A place between steps, where a replay does something else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stop {
    /// Checks the guard with this index.
    Guard(usize),
    /// Calls back for the external function or launch with this index.
    External(usize),
}

/// The steps of a recording, listed when it is first replayed, and used by later replays until the recording changes.
pub(crate) struct Steps<V: Number, I: IndexType> {
    pub(crate) list: Vec<Step<V, I>>,
    /// Stops, and how many steps there are in front of each.
    pub(crate) stops: Vec<(usize, Stop)>,
    /// How many steps and stops there are up to the end of each span.
    pub(crate) ends: Vec<(usize, usize)>,
    /// What they belong to; `None` while they are being listed.
    pub(crate) of: Option<Extent>,
}

impl<V: Number, I: IndexType> Default for Steps<V, I> {
    fn default() -> Self {
        Self { list: Vec::new(), stops: Vec::new(), ends: Vec::new(), of: None }
    }
}

impl<V: Number, I: IndexType> Steps<V, I> {
    /// Forgets the steps, and keeps their memory.
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.stops.clear();
        self.ends.clear();
        self.of = None;
    }

    /// Bytes in use for this part of the recording, and bytes that the allocator gave.
    pub(crate) fn memory(&self, extent: Extent) -> MemoryUsage {
        let usages =
            [MemoryUsage::of_vec(&self.list), MemoryUsage::of_vec(&self.stops), MemoryUsage::of_vec(&self.ends)];
        let MemoryUsage { used, reserved } = usages.into_iter().sum();
        MemoryUsage { used: if self.of == Some(extent) { used } else { 0 }, reserved }
    }
}
