//! Options of storage on disk.

use super::store::Opener;
use crate::error::StorageError;
use crate::storage::Block;
use crate::storage::spill::SpillStore;
use core::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Target of slabs and arrays that leave memory, and the budgets of memory and disk.
///
/// ```
/// use tapewright_strategies::storage::SpillOptions;
/// let options = SpillOptions::default().memory(256 << 20).disk(20 << 30).directory("/scratch");
/// assert_eq!(options, options.clone().slab(1 << 20));
/// ```
///
/// # Records and arrays
///
/// A tape writes two kinds of data to disk: slabs with its records, and arrays that launches of kernels keep. They
/// share the budgets.
///
/// * Memory: slabs come first. Arrays may take the part of the budget that the slabs in memory leave when a launch is
///   about to run; then the oldest arrays are written until the others fit. Not counted against the budget are arrays
///   that views of the program keep in memory anyway, arrays of the latest launch, and for each sweep the arrays of two
///   launches. Slabs that are filled after the latest launch take their part of the budget regardless.
/// * Disk: slabs and arrays have one file each; together they are at most as large as the budget.
///
/// # What is protected
///
/// A checksum of everything that is written is kept in memory, and data read back are used only if they have the same
/// checksum. So bytes changed by a fault of the disk, and writes that were misdirected or lost, are a
/// [`StorageError::Corrupt`], and never a wrong number. Faults are detected, not repaired. Bytes in memory are not
/// protected, and the checksum does not stop anybody who changes the file on purpose: processes of the same user can
/// reach the file below `/proc`. The bytes on disk are not encrypted.
///
/// A [store](Self::store) of the program is code, and could choose bytes with the same checksum. So for stores the
/// checksum is `SipHash` with a random key, which the store does not know.
///
/// # Where the size of files is limited
///
/// On Unix, a write beyond the limit of `ulimit -f` (`RLIMIT_FSIZE`) raises the signal `SIGXFSZ`, which ends the
/// process. If the signal is ignored, the write is an ordinary [`StorageError::Io`] that loses nothing. A library must
/// not change the handling of signals, so the program has to, by this line in `main` (crate `libc`):
///
/// ```text
/// unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
/// ```
///
/// In a shell, `trap '' XFSZ` does the same for programs started afterwards.
#[derive(Clone)]
#[must_use]
pub struct SpillOptions {
    directory: PathBuf,
    memory: usize,
    disk: u64,
    slab: usize,
    store: Option<Opener>,
}

impl Default for SpillOptions {
    /// Returns options with the system's directory for temporary files, 64 MiB of memory, no limit on disk, and slabs
    /// of 1 MiB.
    ///
    /// On many systems the directory for temporary files is itself in memory (tmpfs); choose another one there.
    fn default() -> Self {
        Self { directory: std::env::temp_dir(), memory: 64 << 20, disk: u64::MAX, slab: 1 << 20, store: None }
    }
}

impl SpillOptions {
    /// Sets the directory in which files are created. It must exist and be writable when something has to be written.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = directory.into();
        self
    }

    /// Sets the bytes of memory for slabs: the one being filled, full ones not yet on disk, and spare ones.
    ///
    /// The budget must be at least two slabs. It includes the allocator's overhead, at most 4096 bytes per slab. In
    /// addition to the budget, two slabs may be on the way to the file, and each reader may have one slab and two that
    /// are read ahead. Arrays take what slabs leave, see [records and arrays](Self#records-and-arrays).
    pub const fn memory(mut self, bytes: usize) -> Self {
        self.memory = bytes;
        self
    }

    /// Sets the maximum size of the file in bytes; of both files together if there is one for arrays.
    pub const fn disk(mut self, bytes: u64) -> Self {
        self.disk = bytes;
        self
    }

    /// Sets the bytes of a slab, rounded up to a multiple of 4096. Slabs are written and read as one piece.
    pub const fn slab(mut self, bytes: usize) -> Self {
        let pages = if bytes == 0 { 1 } else { bytes.div_ceil(Block::ALIGN) };
        self.slab = pages.saturating_mul(Block::ALIGN);
        self
    }

    /// Sends slabs and arrays to stores of the program instead of files; the directory is not used then.
    ///
    /// `open` is called once instead of creating each file: once for the records of a tape, and once for its arrays.
    /// Each call must return a store of its own, to which nobody else writes.
    ///
    /// ```
    /// # use std::io;
    /// # #[derive(Default)]
    /// # struct Device(std::sync::Mutex<std::collections::BTreeMap<u64, Vec<u8>>>);
    /// use tapewright_strategies::storage::{SpillOptions, SpillStore, SpilledStack};
    ///
    /// impl SpillStore for Device {
    ///     fn write(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
    /// #       self.0.lock().unwrap().insert(offset, bytes.to_vec());
    /// #       Ok(())
    ///         // …
    ///     }
    ///     fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    /// #       bytes.copy_from_slice(&self.0.lock().unwrap()[&offset]);
    /// #       Ok(())
    ///         // …
    ///     }
    /// }
    ///
    /// let options = SpillOptions::default().slab(4096).memory(8 * 8192).store(|| Ok(Device::default()));
    /// let mut stack = SpilledStack::open(options)?;
    /// (0..50_000_u64).try_for_each(|x| stack.push(x))?;
    /// assert_eq!(stack.get(11)?, Some(11));
    /// # Ok::<(), tapewright_strategies::storage::StorageError>(())
    /// ```
    pub fn store<S: SpillStore>(mut self, open: impl Fn() -> io::Result<S> + Send + Sync + 'static) -> Self {
        self.store = Some(Opener::new(open));
        self
    }

    /// Directory of the files; empty for stores.
    pub(crate) fn path(&self) -> &Path {
        if self.store.is_some() { Path::new("") } else { &self.directory }
    }

    pub(crate) const fn opener(&self) -> Option<&Opener> {
        self.store.as_ref()
    }

    pub(crate) const fn memory_bytes(&self) -> usize {
        self.memory
    }

    pub(crate) const fn disk_bytes(&self) -> u64 {
        self.disk
    }

    pub(crate) const fn slab_bytes(&self) -> usize {
        self.slab
    }

    /// Returns the error for a file that would need `needed` bytes, in addition to another file of `beside` bytes.
    pub(crate) fn beyond_disk(&self, needed: u64, beside: u64) -> StorageError {
        let (path, needed) = (self.path().to_path_buf(), needed.saturating_add(beside));
        StorageError::DiskBudget { path, budget: self.disk, needed }
    }

    /// Checks that the memory budget has room for the slab being filled and one more.
    pub(crate) const fn check(&self) -> Result<(), StorageError> {
        let needed = self.slab.saturating_mul(2);
        if self.memory < needed {
            return Err(StorageError::MemoryBudget { budget: self.memory, needed });
        }
        Ok(())
    }
}

/// Options with stores are equal if they share one opener, i.e. if one is a clone of the other.
impl PartialEq for SpillOptions {
    fn eq(&self, other: &Self) -> bool {
        let parts = |options: &Self| (options.memory, options.disk, options.slab);
        let stores = match (&self.store, &other.store) {
            (Some(one), Some(other)) => one.is(other),
            (None, None) => self.directory == other.directory,
            _ => false,
        };
        stores && parts(self) == parts(other)
    }
}
impl Eq for SpillOptions {}

impl fmt::Debug for SpillOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = f.debug_struct("SpillOptions");
        match &self.store {
            Some(_) => parts.field("store", &"of the program"),
            None => parts.field("directory", &self.directory),
        };
        parts.field("memory", &self.memory).field("disk", &self.disk).field("slab", &self.slab).finish()
    }
}
