//! A file for whoever manages its space alone.

use super::extents::Extent;
use super::file::SpillFile;
use super::{SpillOptions, StorageError};
use std::sync::Arc;

/// A file without a name, which is gone from the disk when it is dropped, on panic, and when the process dies.
///
/// It grows as it is written to. Several threads can use it at once.
///
/// ```
/// use tapewright_strategies::{ScratchFile, SpillOptions};
///
/// let file = ScratchFile::create(&SpillOptions::default())?;
/// file.write_at(&[1, 2, 3], 4096)?;
/// let mut back = [0; 2];
/// file.read_at(&mut back, 4097)?;
/// assert_eq!(back, [2, 3]);
/// # Ok::<(), tapewright_strategies::StorageError>(())
/// ```
pub struct ScratchFile {
    file: SpillFile,
    options: SpillOptions,
}

impl ScratchFile {
    /// A file in the directory of these options, which may get as large as their disk budget allows.
    ///
    /// # Errors
    ///
    /// When it cannot be created.
    pub fn create(options: &SpillOptions) -> Result<Self, StorageError> {
        Ok(Self { file: SpillFile::create(options.path(), &Arc::default())?, options: options.clone() })
    }

    /// Writes all the bytes at this offset.
    ///
    /// # Errors
    ///
    /// When the disk is full, the file would exceed its budget, or the operating system refuses the write. What the bytes in the
    /// file are then is not known; all others are as they were.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StorageError> {
        let (budget, needed) = (self.options.disk_bytes(), offset + bytes.len() as u64);
        if needed > budget {
            let path = self.options.path().to_path_buf();
            return Err(StorageError::DiskBudget { path, budget, needed });
        }
        self.file.write(bytes, Extent { offset, bytes: bytes.len() as u64 })
    }

    /// Reads as many bytes as there is room for, from this offset on.
    ///
    /// # Errors
    ///
    /// When the file ends before, or the operating system refuses the read.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), StorageError> {
        let extent = Extent { offset, bytes: bytes.len() as u64 };
        self.file.read(bytes, extent)
    }
}

impl core::fmt::Debug for ScratchFile {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "ScratchFile in {}", self.options.path().display())
    }
}
