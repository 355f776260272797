//! Storage of records and of the public containers: pieces of memory from bumpalo that belong to one thread, are
//! shared, or are spilled to files.

mod layers;
mod line;
mod meter;
mod segment;
mod shared_stack;
pub mod slab_stack;
pub(crate) mod spill;
mod spilled;
mod spilled_stack;

pub use crate::error::{StorageError, catch_storage_errors, uses_devices};
pub use layers::{InMemory, Layer, LayerOf, Shared};
pub(crate) use layers::{Reader, Segments};
pub(crate) use line::{LINE, Line};
pub(crate) use meter::Charge;
pub use meter::SpillUsage;
pub(crate) use segment::{Block, Segment};
pub use shared_stack::{Locked, Locking, SharedStack, Unlocked};
#[doc(inline)]
pub use slab_stack::SlabStack;
pub use spill::{ArrayFile, ScratchFile, SpillOptions, SpillStore};
pub(crate) use spilled::Slabs;
pub use spilled::{SpillDefaults, Spilled, SystemDefaults};
pub use spilled_stack::{SpilledReader, SpilledStack};
