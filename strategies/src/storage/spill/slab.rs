//! Where a full slab is.

use super::extents::Extent;
use super::file::Stored;
use crate::storage::Block;
use std::sync::Arc;

/// Where a full slab is.
pub(super) enum Slab {
    Memory(Block),
    /// In memory, and not charged to the budget.
    Leaving(Arc<Block>, Extent, Write),
    File(Stored),
}

/// How far the write of a leaving slab is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    /// The writer has a reference to the block.
    Busy,
    Failed,
    /// The file has all of it. The block can go when a slab is needed, and is at hand if its slab is popped first.
    Done(Stored),
}

impl Slab {
    /// The block of a slab in memory that nobody else uses.
    pub(super) fn into_block(self) -> Option<Block> {
        match self {
            Self::Memory(block) => Some(block),
            Self::Leaving(block, ..) => Arc::into_inner(block),
            Self::File(_) => None,
        }
    }
}
