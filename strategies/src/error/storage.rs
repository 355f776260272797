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
    ///
    /// A limit for the size of files is among the causes only where the signal `SIGXFSZ` is ignored, see
    /// [`SpillOptions`](crate::SpillOptions#where-the-size-of-files-is-limited).
    #[non_exhaustive]
    Io {
        /// What was tried: `"create the file"`, `"open the store"`, `"write a slab"` or `"read a slab"`.
        operation: &'static str,
        /// The directory in which the file is. The file itself has no name. Empty for a
        /// [`SpillStore`](crate::SpillStore).
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
    /// What was read back is not what was written: a fault of the disk, of the way to it or of memory, or somebody else
    /// has written to the file.
    #[non_exhaustive]
    Corrupt {
        /// The directory in which the file is.
        path: PathBuf,
        /// What was read: `"slab 3"`, counted from the oldest, or in words which snapshot it was.
        what: String,
        /// Where in the file it begins, in bytes.
        offset: u64,
        /// Its length in bytes.
        bytes: u64,
    },
    /// The file, together with that for arrays or records if there is one, would become larger than
    /// [`SpillOptions::disk`](crate::SpillOptions::disk) allows.
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
            Self::OutOfMemory { bytes } => write!(
                f,
                "out of memory: the allocator has no {bytes} bytes for a slab; lower `SpillOptions::memory` so that slabs \
                 go to disk earlier"
            ),
        }
    }
}

/// The operating system, or a store, refused an operation of which this many bytes had been done.
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

/// These bytes are not those that were written.
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

/// Where a file is; if it is in no directory, it is a store.
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
