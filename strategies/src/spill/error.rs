//! What can go wrong between memory and disk.

use core::error::Error;
use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Storage on disk, or its budget, has failed. Everything that was stored before can still be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorageError {
    /// The operating system refused an operation on the file.
    #[non_exhaustive]
    Io {
        /// What was tried: `"create the file"`, `"write a slab"` or `"read a slab"`.
        operation: &'static str,
        /// The directory in which the file is. The file itself has no name.
        path: PathBuf,
        /// Bytes that the operation was to transfer.
        bytes: u64,
        /// Bytes of them that had been transferred before it failed.
        done: u64,
        /// The cause, portable.
        kind: io::ErrorKind,
        /// The cause, as the operating system numbers it.
        code: Option<i32>,
        /// The cause in words.
        text: String,
    },
    /// The file ends before the slab that was to be read: somebody else has truncated it.
    #[non_exhaustive]
    ShortRead {
        /// The directory in which the file is.
        path: PathBuf,
        /// Where in the file the slab begins, in bytes.
        offset: u64,
        /// Bytes that were to be read.
        bytes: u64,
        /// Bytes that were there.
        done: u64,
    },
    /// The file would become larger than [`SpillOptions::disk`](crate::SpillOptions::disk) allows.
    #[non_exhaustive]
    DiskBudget {
        /// The directory in which the file is.
        path: PathBuf,
        /// The largest size allowed, in bytes.
        budget: u64,
        /// The size that was needed, in bytes.
        needed: u64,
    },
    /// More memory was needed than [`SpillOptions::memory`](crate::SpillOptions::memory) allows.
    #[non_exhaustive]
    MemoryBudget {
        /// The bytes allowed.
        budget: usize,
        /// The bytes needed at the same time.
        needed: usize,
    },
    /// The allocator has no memory left for a slab, though the budget would allow it.
    #[non_exhaustive]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
}

impl StorageError {
    pub(crate) fn io(operation: &'static str, path: &Path, bytes: u64, done: u64, error: &io::Error) -> Self {
        let (kind, code) = (error.kind(), error.raw_os_error());
        Self::Io { operation, path: path.to_path_buf(), bytes, done, kind, code, text: error.to_string() }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { operation, path, bytes, done, text, .. } => {
                write!(f, "cannot {operation} in the directory {}", path.display())?;
                if *bytes > 0 {
                    write!(f, " ({bytes} bytes, {done} of them done)")?;
                }
                write!(f, ": {text}; make room there, or choose another directory with `SpillOptions::directory`")
            }
            Self::ShortRead { path, offset, bytes, done } => write!(
                f,
                "cannot read a slab in the directory {}: of {bytes} bytes at offset {offset} the file holds only {done}, so it \
                 was truncated by somebody else; the slab is lost unless the file is restored",
                path.display()
            ),
            Self::DiskBudget { path, budget, needed } => write!(
                f,
                "cannot write a slab in the directory {}: the file would need {needed} bytes, and `SpillOptions::disk` \
                 allows {budget}; raise it, or record less",
                path.display()
            ),
            Self::MemoryBudget { budget, needed } => write!(
                f,
                "the memory budget of {budget} bytes is too small: {needed} are needed at the same time; raise it with \
                 `SpillOptions::memory`, or make slabs smaller with `SpillOptions::slab`"
            ),
            Self::OutOfMemory { bytes } => write!(
                f,
                "out of memory: the allocator has no {bytes} bytes for a slab; lower `SpillOptions::memory` so that slabs \
                 go to disk earlier"
            ),
        }
    }
}

impl Error for StorageError {}
