//! Segments of which only the last few stay in memory.

use super::Block;
use super::layers::{Layer, Reader, Segments, sealed};
use crate::spill::{SlabFile, SlabReader};
use crate::{SpillOptions, SpillUsage, StorageError};

/// The last records live in memory and the others in a file.
///
/// A sweep needs the last records first, so what it begins with is in memory, and the rest is read back while it works.
/// How much memory, how much disk and which directory, [`SpillOptions`] say. Only records are spilled: with
/// [`Linear`](crate::Linear) indices the adjoint vector, and under strategies that keep values the values, stay in memory, 8 bytes each
/// for each statement; with [`Reuse`](crate::Reuse) they are short.
#[derive(Clone, Copy, Debug)]
pub struct Spilled(());
impl sealed::Sealed for Spilled {}
impl Layer for Spilled {
    type Segments = Slabs;
    const SPILLS: bool = true;
}

/// The full segments, and the one that is being written.
pub struct Slabs {
    full: SlabFile,
    current: Option<Block>,
    options: SpillOptions,
}

impl Default for Slabs {
    fn default() -> Self {
        let options = SpillOptions::default();
        Self { full: SlabFile::new(options.clone()), current: None, options }
    }
}

impl Slabs {
    /// Storage with these options, whose file exists.
    pub(super) fn open(options: SpillOptions) -> Result<Self, StorageError> {
        Ok(Self { full: SlabFile::open(options.clone())?, current: None, options })
    }

    pub(super) fn usage(&self) -> SpillUsage {
        self.full.usage()
    }
}

impl Segments for Slabs {
    const COUNTS_AT_ONCE: bool = true;
    type Reader<'a> = Loaded<'a>;

    fn advance(&mut self, least: usize) -> Result<(*mut u8, usize), StorageError> {
        if let Some(full) = self.current.take() {
            self.full.push(full)?;
        }
        let block = self.current.insert(self.full.block(least)?);
        Ok((block.start(), block.len()))
    }

    fn rewind(&mut self) {
        self.full.clear();
        if let Some(block) = self.current.take() {
            self.full.give_back(block);
        }
    }

    /// As much of it as the budget allows.
    fn reserve(&mut self, bytes: usize) {
        let slabs = bytes.min(self.options.memory_bytes()) / self.full.slab_bytes();
        let blocks: Vec<Block> = (0..slabs).map_while(|_| self.full.block(0).ok()).collect();
        blocks.into_iter().for_each(|block| self.full.give_back(block));
    }

    fn reader(&self) -> Loaded<'_> {
        Loaded { full: self.full.reader(), sealed: self.full.len(), current: self.current.as_ref() }
    }

    fn reserved(&self) -> usize {
        self.full.usage().resident
    }

    fn on_disk(&self) -> usize {
        usize::try_from(self.full.usage().on_disk).unwrap_or(usize::MAX)
    }
}

/// Segments, loaded as they are asked for.
pub(crate) struct Loaded<'a> {
    full: SlabReader<'a>,
    sealed: usize,
    current: Option<&'a Block>,
}

impl Reader for Loaded<'_> {
    fn segment(&mut self, at: usize) -> Result<*const u8, StorageError> {
        if at < self.sealed {
            return Ok(self.full.get(at)?.as_ptr());
        }
        let current = self.current.expect("a segment that is not full is the one being written");
        Ok(current.start().cast_const())
    }
}
