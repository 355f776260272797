//! File for arrays that recordings keep.

use super::SpillOptions;
use super::file::extents::{Extent, Extents};
use super::file::stored::{SpillFile, Stored};
use super::slabs::slab_file::SlabFile;
use crate::error::StorageError;
use crate::storage::meter::Meter;
use core::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// File for arrays that leave memory: those that launches of kernels keep for sweeps.
///
/// The file is created with the first array. The thread that records writes arrays immediately, through the system's
/// page cache. They are checked when they are read back, like slabs.
pub struct ArrayFile {
    options: SpillOptions,
    meter: Arc<Meter>,
    file: OnceLock<SpillFile>,
    space: Mutex<Extents>,
}

impl ArrayFile {
    /// Returns a file for arrays with budgets of its own.
    #[must_use]
    pub fn new(options: SpillOptions) -> Self {
        Self::counted(options, Arc::default())
    }

    /// Returns a file for arrays that shares the budgets of these records.
    pub(crate) fn beside(records: &SlabFile) -> Self {
        Self::counted(records.options().clone(), Arc::clone(records.meter()))
    }

    fn counted(options: SpillOptions, meter: Arc<Meter>) -> Self {
        Self { options, meter, file: OnceLock::new(), space: Mutex::default() }
    }

    /// Bytes of memory that arrays may take at the moment: the part of the budget that slabs leave.
    pub(crate) fn memory(&self) -> usize {
        self.options.memory_bytes().saturating_sub(self.meter.of_stack())
    }

    /// Bytes of memory that arrays take.
    pub(crate) fn resident(&self) -> usize {
        self.meter.arrays.resident()
    }

    /// Counts an array in memory.
    pub(crate) fn enter(&self, bytes: usize) {
        self.meter.arrays.enter(bytes);
    }

    /// Uncounts an array that has left memory.
    pub(crate) fn leave(&self, bytes: usize) {
        self.meter.arrays.leave(bytes);
    }

    /// Writes an array.
    ///
    /// # Errors
    ///
    /// When the file cannot be created, would exceed the disk budget, or cannot be written. The file is unchanged then.
    pub(crate) fn store(&self, bytes: &[u8]) -> Result<Stored, StorageError> {
        let file = self.file()?;
        let extent = self.take(bytes.len() as u64)?;
        // On failure the space is free again.
        file.store(bytes, extent).inspect_err(|_| self.free(extent))
    }

    /// Reads an array back.
    ///
    /// # Errors
    ///
    /// When the array cannot be read, or is not what was written.
    pub(crate) fn load(&self, bytes: &mut [u8], stored: Stored) -> Result<(), StorageError> {
        let what = || "an array that a launch of a kernel keeps".to_owned();
        self.file()?.load(bytes, stored, what)
    }

    /// Frees the space of an array.
    pub(crate) fn forget(&self, stored: Stored) {
        self.free(stored.extent);
    }

    /// Returns the file, and creates it first if necessary.
    fn file(&self) -> Result<&SpillFile, StorageError> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = SpillFile::create(&self.options, &self.meter)?.through_cache();
        Ok(self.file.get_or_init(|| file))
    }

    fn take(&self, bytes: u64) -> Result<Extent, StorageError> {
        let (mut space, elsewhere) = (self.space(), self.meter.files.slabs());
        let limit = self.options.disk_bytes().saturating_sub(elsewhere);
        let extent = space.take(bytes, limit).map_err(|needed| self.options.beyond_disk(needed, elsewhere))?;
        self.meter.files.set_arrays(space.largest_end(), space.taken());
        Ok(extent)
    }

    fn free(&self, extent: Extent) {
        let mut space = self.space();
        space.give_back(extent);
        self.meter.files.set_arrays(space.largest_end(), space.taken());
    }

    fn space(&self) -> MutexGuard<'_, Extents> {
        // Nothing panics under the lock, so a poisoned state is consistent.
        self.space.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for ArrayFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ArrayFile in {}", self.options.path().display())
    }
}
