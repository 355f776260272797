//! Slabs of memory of which only the last few stay in memory, and the rest lie in a file.
//!
//! # How it works
//!
//! A recording fills one *slab* after the other and never writes a slab again once it is full. `SlabFile` is the stack
//! of full slabs. When the next slab to fill would break the memory budget, the *oldest* slab in memory is handed to
//! background threads that write it (*write-behind*); sweeps go from the newest to the oldest, so what they need first
//! is what is still in memory. A reader loads slabs of the file into one slab of its own. When it goes backwards, other
//! threads read the next ones meanwhile (*read-ahead*).
//!
//! # Memory
//!
//! Counted are the bytes that the allocator gave for slabs, its own overhead included (at most 4096 bytes each). At
//! every moment they are at most the memory budget, plus `WRITES_IN_FLIGHT` slabs on their way to the file, plus for
//! each reader open at once its slab and `READS_AHEAD` more. Memory returns to the allocator when the storage is
//! dropped, and slabs are reused before that.
//!
//! # Errors
//!
//! Nothing is lost when a write fails: a slab's memory is given up only after the file has all of it. A failed write
//! keeps the slab in memory. The next call that seals a slab tries it again, and reports it when it fails again. While
//! it keeps failing, no slab is handed out beyond the budget, so that the budget holds then, too.
//!
//! # Checksums
//!
//! Of each slab that is written, a checksum is kept in memory. What is read back is used only if it has the same one,
//! so that nobody decodes what a faulty disk, or somebody else, has left in its place. The threads that write and read
//! ahead compute them; there is one for each slab on its way, so that one computes while another waits for the disk.
//!
//! # Arrays
//!
//! A tape's arrays go to a file of their own, [`ArrayFile`], which shares the budgets and the books of the slabs. They
//! have any length, are written by the thread that records, and are read by the sweeps that need them.
//!
//! # The file
//!
//! It is a store of the program, by [`SpillOptions::store`], or a file on disk. That has no name from the start (Linux)
//! or from right after its creation, so that nothing is left on disk after a drop, a panic or the death of the process.
//! Space of slabs that were popped is used again.

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
