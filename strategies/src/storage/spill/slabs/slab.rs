//! State of a full slab: in memory, on its way, or in the file.

use crate::storage::Block;
use crate::storage::spill::file::extents::Extent;
use crate::storage::spill::file::stored::Stored;
use std::sync::Arc;

/// Where a full slab is.
pub(crate) enum Slab {
    Memory(Block),
    /// In memory, and not charged to the budget.
    Leaving(Arc<Block>, Extent, Write),
    File(Stored),
}

/// How far the write of a leaving slab is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// The writer has a reference to the block.
    Busy,
    Failed,
    /// The file has all of it. The block can go when a slab is needed, and is at hand if its slab is popped first.
    Done(Stored),
}

impl Slab {
    /// The block of a slab in memory that nobody else uses.
    pub(crate) fn into_block(self) -> Option<Block> {
        match self {
            Self::Memory(block) => Some(block),
            Self::Leaving(block, ..) => Arc::into_inner(block),
            Self::File(_) => None,
        }
    }
}
