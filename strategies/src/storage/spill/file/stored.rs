//! Target of slabs and arrays: a file without a name, or a store of the program.

use super::checksum::checksum;
use super::disk::Disk;
use super::extents::Extent;
use super::store::OpenStore;
use crate::error::StorageError;
use crate::storage::meter::Meter;
use crate::storage::spill::SpillOptions;
use core::sync::atomic::Ordering::Relaxed;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes outside the memory of the tape. They are deleted when the value is dropped.
pub(crate) struct SpillFile {
    medium: Medium,
    /// Directory of the file; empty for a store of the program.
    directory: PathBuf,
    meter: Arc<Meter>,
}

enum Medium {
    Disk(Disk),
    Store(OpenStore),
}

/// Range of the file that holds a slab or an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) extent: Extent,
    /// Checksum of the bytes as they were before writing. Kept in memory, out of reach of faults of the disk.
    pub(crate) checksum: u64,
}

impl SpillFile {
    pub(crate) fn create(options: &SpillOptions, meter: &Arc<Meter>) -> Result<Self, StorageError> {
        let (operation, medium) = match options.opener() {
            Some(opener) => ("open the store", opener.open().map(Medium::Store)),
            None => ("create the file", Disk::create(options.path()).map(Medium::Disk)),
        };
        let medium = medium.map_err(|error| StorageError::io(operation, options.path(), 0, 0, &error))?;
        Ok(Self { medium, directory: options.path().to_path_buf(), meter: Arc::clone(meter) })
    }

    /// Makes all transfers go through the page cache, for data that are not aligned to pages.
    pub(crate) fn through_cache(mut self) -> Self {
        if let Medium::Disk(disk) = &mut self.medium {
            disk.use_cache();
        }
        self
    }

    /// Computes the checksum by which bytes are verified when they are read back.
    pub(crate) fn checksum(&self, bytes: &[u8]) -> u64 {
        match &self.medium {
            Medium::Disk(_) => checksum(bytes),
            Medium::Store(store) => store.checksum(bytes),
        }
    }

    /// Writes a slab, to be read by [`load`](Self::load).
    pub(crate) fn store(&self, slab: &[u8], extent: Extent) -> Result<Stored, StorageError> {
        let checksum = self.checksum(slab);
        self.write(slab, extent)?;
        Ok(Stored { extent, checksum })
    }

    /// Reads a slab back and verifies its checksum; `what` names the slab in the error.
    pub(crate) fn load(
        &self,
        slab: &mut [u8],
        stored: Stored,
        what: impl FnOnce() -> String,
    ) -> Result<(), StorageError> {
        self.read(slab, stored.extent)?;
        if self.checksum(slab) == stored.checksum {
            return Ok(());
        }
        let Extent { offset, bytes } = stored.extent;
        Err(StorageError::Corrupt { path: self.directory.clone(), what: what(), offset, bytes })
    }

    pub(crate) fn write(&self, slab: &[u8], extent: Extent) -> Result<(), StorageError> {
        let transferred = match &self.medium {
            Medium::Disk(disk) => disk.write(slab, extent.offset),
            Medium::Store(store) => store.write(slab, extent.offset).map_err(|error| (0, Some(error))),
        };
        transferred.map_err(|(done, error)| {
            let error = error.unwrap_or_else(|| io::ErrorKind::WriteZero.into());
            StorageError::io("write a slab", &self.directory, slab.len() as u64, done as u64, &error)
        })?;
        self.meter.written.fetch_add(slab.len() as u64, Relaxed);
        Ok(())
    }

    pub(crate) fn read(&self, slab: &mut [u8], extent: Extent) -> Result<(), StorageError> {
        let bytes = slab.len() as u64;
        let transferred = match &self.medium {
            Medium::Disk(disk) => disk.read(slab, extent.offset),
            Medium::Store(store) => store.read(slab, extent.offset).map_err(|error| (0, Some(error))),
        };
        transferred.map_err(|(done, error)| match error {
            Some(error) => StorageError::io("read a slab", &self.directory, bytes, done as u64, &error),
            None => StorageError::ShortRead {
                path: self.directory.clone(),
                offset: extent.offset,
                bytes,
                done: done as u64,
            },
        })?;
        self.meter.read.fetch_add(bytes, Relaxed);
        Ok(())
    }
}
