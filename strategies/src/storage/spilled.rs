//! Layer of segments of which only the last few stay in memory.

use super::Block;
use super::layers::{Layer, LayerOf, Reader, Segments, sealed};
use crate::Plain;
use crate::error::{StorageError, out_of_memory};
use crate::storage::spill::{SlabFile, SlabReader};
use crate::storage::{ArrayFile, SpillOptions, SpillUsage};
use core::marker::PhantomData;
use std::sync::Arc;

/// Layer that keeps the last records in memory and the others in a file.
///
/// A sweep needs the last records first, so it starts with records in memory, and the others are read back meanwhile.
/// [`SpillOptions`] set the budgets of memory and disk and the directory: the options that a tape is made with, or
/// those of the type `D` for tapes that are made by default, as functions such as `gradient` do. Records are spilled,
/// and arrays that launches of kernels keep. With [`Linear`](crate::Linear) indices the adjoint vector stays in memory,
/// and under strategies that keep values the values do, too, 8 bytes each for each statement; with
/// [`Reuse`](crate::Reuse) both are short.
///
/// The file may be replaced by a store of the program, a [`SpillStore`](crate::storage::SpillStore), such as the memory
/// of a device: `D` selects it by [`SpillOptions::store`].
///
/// Records read back from the file are checked before they are used, see [what is
/// protected](SpillOptions#what-is-protected). Where the size of files is limited, a program has to [ignore a
/// signal](SpillOptions#where-the-size-of-files-is-limited), or the signal ends it.
///
/// ```
/// use tapewright_strategies::{Jacobian, Reuse, Spilled, storage::{SpillDefaults, SpillOptions}};
///
/// /// Location of the records that do not fit into memory.
/// struct Scratch;
/// impl SpillDefaults for Scratch {
///     fn options() -> SpillOptions { SpillOptions::default().memory(1 << 30).directory("/scratch") }
/// }
/// type Large = Jacobian<f64, Reuse, Spilled<Scratch>>;
/// # fn reverse<S: tapewright_strategies::Reverse>() {}
/// # reverse::<Large>();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Spilled<D = SystemDefaults>(PhantomData<D>);
impl<D> sealed::Sealed for Spilled<D> {}
impl<D: SpillDefaults> Layer for Spilled<D> {
    type Segments = Slabs<D>;
    const SPILLS: bool = true;
}
#[diagnostic::do_not_recommend]
impl<V: Plain, D: SpillDefaults> LayerOf<V> for Spilled<D> {}

/// Options of tapes that are made by default.
pub trait SpillDefaults: 'static {
    /// Returns the options.
    fn options() -> SpillOptions;
}

/// [`SpillOptions::default`]: 64 MiB of memory, and the system's directory for temporary files.
#[derive(Clone, Copy, Debug)]
pub struct SystemDefaults;
impl SpillDefaults for SystemDefaults {
    fn options() -> SpillOptions {
        SpillOptions::default()
    }
}

/// Slabs of one tape, and the file for its arrays.
pub struct Slabs<D> {
    records: SlabFile,
    arrays: Arc<ArrayFile>,
    memory: usize,
    defaults: PhantomData<fn() -> D>,
}

impl<D: SpillDefaults> Default for Slabs<D> {
    fn default() -> Self {
        Self::over(SlabFile::new(D::options()))
    }
}

impl<D> Slabs<D> {
    /// Opens a storage with these options, whose file exists.
    pub(crate) fn open(options: SpillOptions) -> Result<Self, StorageError> {
        SlabFile::open(options).map(Self::over)
    }

    fn over(records: SlabFile) -> Self {
        let (arrays, memory) = (Arc::new(ArrayFile::beside(&records)), records.options().memory_bytes());
        Self { records, arrays, memory, defaults: PhantomData }
    }

    pub(crate) fn usage(&self) -> SpillUsage {
        self.records.usage()
    }
}

impl<D: SpillDefaults> Segments for Slabs<D> {
    const COUNTS_AT_ONCE: bool = true;
    type Reader<'a> = SlabReader<'a>;

    fn advance(&mut self, least: usize) -> Result<(*mut u8, usize), StorageError> {
        self.records.advance(least).map(|block| (block.start(), block.len()))
    }

    fn rewind(&mut self) {
        self.records.clear();
    }

    fn truncate(&mut self, count: usize) -> Result<*mut u8, StorageError> {
        let current = self.records.truncate(count)?;
        Ok(current.expect("there are as many segments as the recording has spans").start())
    }

    /// Allocates as many of the bytes as the budget allows.
    fn reserve(&mut self, bytes: usize) {
        let slabs = bytes.min(self.memory) / self.records.slab_bytes();
        let all = slabs.saturating_mul(self.records.slab_bytes());
        let mut blocks: Vec<Block> = Vec::new();
        // Checked in one piece first: piece by piece, the system may promise more than it has.
        if blocks.try_reserve(slabs).is_err() || !Block::can_be_had(all) {
            out_of_memory(all, "slabs of the tape within its memory budget");
        }
        let mut error = None;
        while blocks.len() < slabs && error.is_none() {
            match self.records.block(0) {
                Ok(block) => blocks.push(block),
                Err(refusal) => error = Some(refusal),
            }
        }
        blocks.into_iter().for_each(|block| self.records.give_back(block));
        if let Some(StorageError::OutOfMemory { bytes }) = error {
            out_of_memory(bytes, "a slab of the tape within its memory budget");
        }
    }

    fn reader(&self) -> SlabReader<'_> {
        self.records.reader()
    }

    fn reserved(&self) -> usize {
        self.records.usage().resident
    }

    fn on_disk(&self) -> usize {
        usize::try_from(self.records.usage().on_disk).unwrap_or(usize::MAX)
    }

    fn array_file(&self) -> Option<&Arc<ArrayFile>> {
        Some(&self.arrays)
    }
}

impl Reader for SlabReader<'_> {
    fn segment(&mut self, at: usize) -> Result<*const u8, StorageError> {
        Ok(self.get(at)?.as_ptr())
    }
}
