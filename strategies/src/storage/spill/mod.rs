//! Slabs of memory of which only the last few stay in memory, and the others are in a file.
//!
//! # How it works
//!
//! A recording fills one *slab* after the other and never writes a slab again once it is full. `SlabFile` is the stack
//! of full slabs. When the next slab to fill would exceed the memory budget, the *oldest* slab in memory is passed to
//! background threads that write it (*write-behind*); sweeps go from the newest to the oldest, so what they need first
//! is still in memory. A reader loads slabs of the file into one slab of its own. When it goes backwards, other threads
//! read the next slabs meanwhile (*read-ahead*).
//!
//! # Memory
//!
//! Memory is counted as the bytes that the allocator gave for slabs, including its overhead (at most 4096 bytes each).
//! At every moment they are at most the memory budget, plus `WRITES_IN_FLIGHT` slabs on their way to the file, plus for
//! each open reader its slab and `READS_AHEAD` more. Slabs are reused; their memory returns to the allocator when the
//! storage is dropped.
//!
//! # Errors
//!
//! Nothing is lost when a write fails: the memory of a slab is released only after the file has all of the slab. A slab
//! whose write failed stays in memory. The next call that seals a slab retries the write, and reports a second failure.
//! As long as writes fail, no slab is given out beyond the budget, so that the budget holds.
//!
//! # Checksums
//!
//! A checksum of each written slab is kept in memory. A slab read back is used only if it has the same checksum, so
//! that nobody decodes what a faulty disk, or somebody else, has left in its place. The threads that write and read
//! ahead compute the checksums; there is one thread for each slab on its way, so that one computes while another waits
//! for the disk.
//!
//! # Arrays
//!
//! The arrays of a tape go to a file of their own, [`ArrayFile`], which shares the budgets and the counters of the
//! slabs. Arrays have any length, are written by the thread that records, and are read by the sweeps that need them.
//!
//! # The file
//!
//! The target is a store of the program, by [`SpillOptions::store`], or a file on disk. The file has no name from the
//! start (Linux) or from right after its creation, so that nothing is left on disk after a drop, a panic or the death
//! of the process. Space of slabs that were popped is reused.

pub(crate) mod file;
pub(crate) mod slabs;

mod arrays;

#[cfg(test)]
mod tests;

pub use arrays::ArrayFile;
pub use file::options::SpillOptions;
pub use file::scratch::ScratchFile;
pub use file::store::SpillStore;
pub(crate) use file::stored::Stored;
pub(crate) use slabs::reader::{Loader, SlabReader};
pub(crate) use slabs::slab_file::SlabFile;
