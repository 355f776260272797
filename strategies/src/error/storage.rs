//! Errors of storage, on disk and in memory.

use core::error::Error;
use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Failure of storage on disk, of its budget, or of a device. Everything that was stored before can still be read, but
/// for arrays whose latest elements are on a device that has gone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StorageError {
    /// The operating system refused an operation on the file.
    ///
    /// An exceeded limit on the size of files is reported here only if the signal `SIGXFSZ` is ignored, see
    /// [`SpillOptions`](crate::storage::SpillOptions#where-the-size-of-files-is-limited).
    #[non_exhaustive]
    Io {
        /// Operation that failed: `"create the file"`, `"open the store"`, `"write a slab"` or `"read a slab"`.
        operation: &'static str,
        /// Directory of the file, which has no name itself. Empty for a [`SpillStore`](crate::storage::SpillStore).
        path: PathBuf,
        /// Bytes that the operation was to transfer.
        bytes: u64,
        /// Bytes that had been transferred before the failure.
        done: u64,
        /// Cause, portable.
        kind: io::ErrorKind,
        /// Cause, as an error number of the operating system.
        code: Option<i32>,
        /// Cause in words.
        text: String,
    },
    /// The file ends before the slab to be read: somebody else has truncated it.
    #[non_exhaustive]
    ShortRead {
        /// Directory of the file.
        path: PathBuf,
        /// Start of the slab in the file, in bytes.
        offset: u64,
        /// Bytes that were to be read.
        bytes: u64,
        /// Bytes that the file holds.
        done: u64,
    },
    /// The bytes read back are not those written: a fault of the disk, of the transfer or of memory, or somebody else
    /// has written to the file.
    #[non_exhaustive]
    Corrupt {
        /// Directory of the file.
        path: PathBuf,
        /// Name of the corrupt data: `"slab 3"`, counted from the oldest, or a description of the snapshot.
        what: String,
        /// Start of the data in the file, in bytes.
        offset: u64,
        /// Length of the data in bytes.
        bytes: u64,
    },
    /// The file, together with that for arrays or records if there is one, would exceed
    /// [`SpillOptions::disk`](crate::storage::SpillOptions::disk).
    #[non_exhaustive]
    DiskBudget {
        /// Directory of the file.
        path: PathBuf,
        /// Maximum size in bytes.
        budget: u64,
        /// Size in bytes that was needed.
        needed: u64,
    },
    /// More memory was needed than [`SpillOptions::memory`](crate::storage::SpillOptions::memory) allows.
    #[non_exhaustive]
    MemoryBudget {
        /// Maximum number of bytes.
        budget: usize,
        /// Bytes needed at the same time.
        needed: usize,
    },
    /// A device, such as a graphics processor, has no memory for an array, or has failed.
    #[non_exhaustive]
    Device {
        /// Device, what happened, and what to do.
        reason: String,
    },
    /// The allocator has no memory for a slab, though the budget would allow it.
    #[non_exhaustive]
    OutOfMemory {
        /// Bytes requested.
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
            Self::Io { operation, path, bytes, done, kind, text, .. } => {
                refused(f, (operation, path), (*bytes, *done), *kind, text)
            }
            Self::ShortRead { path, offset, bytes, done } => write!(
                f,
                "cannot read a slab in the directory {}: of {bytes} bytes at offset {offset} the file holds only {done}, so it \
                 was truncated by somebody else; the slab is lost unless the file is restored",
                path.display()
            ),
            Self::Corrupt { path, what, offset, bytes } => corrupt(f, what, path, *offset, *bytes),
            Self::DiskBudget { path, budget, needed } => write!(
                f,
                "cannot write a slab in {}: the file would need {needed} bytes, and `SpillOptions::disk` allows {budget}; \
                 raise it, or record less",
                Place(path)
            ),
            Self::MemoryBudget { budget, needed } => write!(
                f,
                "the memory budget of {budget} bytes is too small: {needed} are needed at the same time; raise it with \
                 `SpillOptions::memory`, or make slabs smaller with `SpillOptions::slab`"
            ),
            Self::Device { reason } => f.write_str(reason),
            Self::OutOfMemory { bytes } => write!(
                f,
                "out of memory: the allocator has no {bytes} bytes for a slab; lower `SpillOptions::memory` so that slabs \
                 go to disk earlier"
            ),
        }
    }
}

/// Describes an operation that the operating system, or a store, refused after this many bytes.
fn refused(
    f: &mut fmt::Formatter<'_>,
    (operation, path): (&str, &Path),
    (bytes, done): (u64, u64),
    kind: io::ErrorKind,
    text: &str,
) -> fmt::Result {
    if path.as_os_str().is_empty() {
        if bytes == 0 {
            return write!(f, "cannot open the store of the program: {text}");
        }
        return write!(f, "cannot {operation} in the store of the program ({bytes} bytes): {text}");
    }
    write!(f, "cannot {operation} in the directory {}", path.display())?;
    if bytes > 0 {
        write!(f, " ({bytes} bytes, {done} of them done)")?;
    }
    let advice = match kind {
        io::ErrorKind::FileTooLarge => {
            "raise the limit for the size of files (`ulimit -f`), or let `SpillOptions::directory` name a file \
             system that allows larger ones"
        }
        _ => "make room there, or choose another directory with `SpillOptions::directory`",
    };
    write!(f, ": {text}; {advice}")
}

/// Describes bytes that are not those that were written.
fn corrupt(f: &mut fmt::Formatter<'_>, what: &str, path: &Path, offset: u64, bytes: u64) -> fmt::Result {
    if path.as_os_str().is_empty() {
        return write!(
            f,
            "{what} is corrupt: the {bytes} bytes that the store of the program returned from offset {offset} are \
             not those that were written there; it is lost, and none of it was used: record again, with a store \
             that keeps what it is given"
        );
    }
    write!(
        f,
        "{what} in the directory {} is corrupt: its {bytes} bytes at offset {offset} of the file are not those \
         that were written, by a fault of the disk or because somebody else has written to the file; it is \
         lost, and none of it was used: record again, and if that happens again, choose another disk with \
         `SpillOptions::directory`",
        path.display()
    )
}

/// Location of a file, for messages; an empty path stands for a store.
struct Place<'a>(&'a Path);
impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.as_os_str().is_empty() {
            return f.write_str("the store of the program");
        }
        write!(f, "the directory {}", self.0.display())
    }
}

impl Error for StorageError {}
