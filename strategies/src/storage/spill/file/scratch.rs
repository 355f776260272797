//! A scratch file, for callers that manage its space themselves.

use super::extents::Extent;
use super::stored::{SpillFile, Stored};
use crate::error::StorageError;
use crate::storage::spill::SpillOptions;
use std::sync::Arc;

/// A file without a name, or a [store](SpillOptions::store). It is deleted when it is dropped, on panic, and when the
/// process dies.
///
/// The file grows as it is written to. Several threads can use it at once.
///
/// ```
/// use tapewright_strategies::storage::{ScratchFile, SpillOptions};
///
/// let file = ScratchFile::create(&SpillOptions::default())?;
/// file.write_at(&[1, 2, 3], 4096)?;
/// let mut back = [0; 2];
/// file.read_at(&mut back, 4097)?;
/// assert_eq!(back, [2, 3]);
/// # Ok::<(), tapewright_strategies::storage::StorageError>(())
/// ```
pub struct ScratchFile {
    file: SpillFile,
    options: SpillOptions,
}

impl ScratchFile {
    /// Creates a file in the directory of these options. Their disk budget limits its size.
    ///
    /// # Errors
    ///
    /// When the file cannot be created.
    pub fn create(options: &SpillOptions) -> Result<Self, StorageError> {
        Ok(Self { file: SpillFile::create(options, &Arc::default())?, options: options.clone() })
    }

    /// Writes all bytes at this offset.
    ///
    /// # Errors
    ///
    /// When the disk is full, the file would exceed its budget, or the operating system refuses the write. The contents
    /// of this range of the file are unspecified then; all other bytes are unchanged.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<(), StorageError> {
        let (budget, needed) = (self.options.disk_bytes(), offset.saturating_add(bytes.len() as u64));
        if needed > budget {
            let path = self.options.path().to_path_buf();
            return Err(StorageError::DiskBudget { path, budget, needed });
        }
        self.file.write(bytes, Extent { offset, bytes: bytes.len() as u64 })
    }

    /// Writes all bytes at this offset, like [`write_at`](Self::write_at), and returns their checksum, by which
    /// [`read_checked`](Self::read_checked) detects changes.
    ///
    /// # Errors
    ///
    /// The errors of [`write_at`](Self::write_at).
    pub fn write_checked(&self, bytes: &[u8], offset: u64) -> Result<u64, StorageError> {
        self.write_at(bytes, offset)?;
        Ok(self.file.checksum(bytes))
    }

    /// Fills the complete buffer with bytes from this offset on.
    ///
    /// # Errors
    ///
    /// When the file ends earlier, or the operating system refuses the read.
    pub fn read_at(&self, bytes: &mut [u8], offset: u64) -> Result<(), StorageError> {
        let extent = Extent { offset, bytes: bytes.len() as u64 };
        self.file.read(bytes, extent)
    }

    /// Reads all bytes that one call of [`write_checked`](Self::write_checked) wrote at this offset, and verifies their
    /// checksum. `what` names them in the error.
    ///
    /// The checksum detects faults; it does not protect against deliberate changes of the file.
    ///
    /// # Errors
    ///
    /// [`StorageError::Corrupt`] when the bytes have another checksum, and the errors of [`read_at`](Self::read_at).
    /// The contents of the buffer must not be used then.
    ///
    /// ```
    /// use tapewright_strategies::storage::{ScratchFile, SpillOptions, StorageError};
    ///
    /// let file = ScratchFile::create(&SpillOptions::default())?;
    /// let checksum = file.write_checked(&[1, 2, 3], 0)?;
    /// let mut back = [0; 3];
    /// file.read_checked(&mut back, 0, checksum, "the only state")?;
    /// file.write_at(&[4], 1)?; // or a fault
    /// let error = file.read_checked(&mut back, 0, checksum, "the only state").unwrap_err();
    /// assert!(matches!(&error, StorageError::Corrupt { what, offset: 0, bytes: 3, .. } if what == "the only state"));
    /// # Ok::<(), StorageError>(())
    /// ```
    pub fn read_checked(&self, bytes: &mut [u8], offset: u64, checksum: u64, what: &str) -> Result<(), StorageError> {
        let extent = Extent { offset, bytes: bytes.len() as u64 };
        self.file.load(bytes, Stored { extent, checksum }, || what.to_owned())
    }
}

impl core::fmt::Debug for ScratchFile {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "ScratchFile in {}", self.options.path().display())
    }
}
