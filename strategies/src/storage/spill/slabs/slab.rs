//! Location of a full slab: in memory, on its way, or in the file.

use crate::storage::Block;
use crate::storage::spill::file::extents::Extent;
use crate::storage::spill::file::stored::Stored;
use std::sync::Arc;

/// Location of a full slab.
pub(crate) enum Slab {
    Memory(Block),
    /// In memory, being written, and not charged to the budget.
    Leaving(Arc<Block>, Extent, Write),
    File(Stored),
}

/// Progress of writing a slab.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Write {
    /// The writer has a reference to the block.
    Busy,
    Failed,
    /// The file has the complete slab. The block can be freed when memory is needed, and is used if the slab is popped
    /// first.
    Done(Stored),
}

impl Slab {
    /// Returns the block of a slab in memory that nobody else uses.
    pub(crate) fn into_block(self) -> Option<Block> {
        match self {
            Self::Memory(block) => Some(block),
            Self::Leaving(block, ..) => Arc::into_inner(block),
            Self::File(_) => None,
        }
    }
}
