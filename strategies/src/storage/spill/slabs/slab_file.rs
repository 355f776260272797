//! A stack of full slabs, the last few in memory and the others in a file.

use super::slab::{Slab, Write};
use super::writer::Writer;
use crate::error::StorageError;
use crate::storage::Block;
use crate::storage::SpillUsage;
use crate::storage::meter::{Charge, Holder, Meter};
use crate::storage::meter::{READS_AHEAD, WRITES_IN_FLIGHT};
use crate::storage::spill::SpillOptions;
use crate::storage::spill::file::extents::Extents;
use crate::storage::spill::file::stored::{SpillFile, Stored};
use core::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// Stack of sealed blocks within a memory budget, and the block that is being filled. Index 0 is the oldest.
///
/// [`advance`](Self::advance) seals the block that is being filled and begins another, and [`truncate`](Self::truncate)
/// goes back. Blocks circulate: [`block`](Self::block) gives one to be filled, [`push`](Self::push) seals it,
/// [`pop`](Self::pop) gives it out again, [`give_back`](Self::give_back) ends its use. A block that has been given out
/// counts against the budget until it is returned or dropped.
pub(crate) struct SlabFile {
    options: SpillOptions,
    slabs: Vec<Slab>,
    /// The block that is being filled.
    current: Option<Block>,
    /// Index of the first slab in memory; slabs below are in the file or leaving for it.
    first_in_memory: usize,
    /// Indices of the slabs that are being written: at most [`WRITES_IN_FLIGHT`].
    leaving: Vec<usize>,
    spares: Vec<Block>,
    space: Extents,
    writer: Option<Writer>,
    meter: Arc<Meter>,
    /// Blocks of closed readers, for the next ones.
    reader_blocks: Mutex<Vec<Block>>,
}

impl SlabFile {
    /// Returns an empty stack that touches no disk before the budget is used up.
    pub(crate) fn new(options: SpillOptions) -> Self {
        Self {
            options,
            slabs: Vec::new(),
            current: None,
            first_in_memory: 0,
            leaving: Vec::new(),
            spares: Vec::new(),
            space: Extents::default(),
            writer: None,
            meter: Arc::default(),
            reader_blocks: Mutex::default(),
        }
    }

    /// Returns an empty stack whose file exists.
    ///
    /// # Errors
    ///
    /// When the memory budget is below two slabs, or the file cannot be created.
    pub(crate) fn open(options: SpillOptions) -> Result<Self, StorageError> {
        options.check()?;
        let mut stack = Self::new(options);
        stack.writer()?;
        Ok(stack)
    }

    /// Length of a block in bytes, except for blocks that had to be larger.
    pub(crate) const fn slab_bytes(&self) -> usize {
        self.options.slab_bytes()
    }

    /// Number of sealed blocks.
    pub(crate) const fn len(&self) -> usize {
        self.slabs.len()
    }

    /// Returns the block that is being filled.
    pub(crate) const fn current(&self) -> Option<&Block> {
        self.current.as_ref()
    }

    /// Returns the block that is being filled, to fill it.
    pub(crate) const fn current_mut(&mut self) -> Option<&mut Block> {
        self.current.as_mut()
    }

    /// Seals the block that is being filled, and begins another, of slab size, or larger if it has to hold `least`
    /// bytes.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push) and [`block`](Self::block). No block is being filled then.
    pub(crate) fn advance(&mut self, least: usize) -> Result<&mut Block, StorageError> {
        if let Some(full) = self.current.take() {
            self.push(full)?;
        }
        let block = self.block(least)?;
        Ok(self.current.insert(block))
    }

    /// Forgets all blocks but the first `count`, and continues to fill the last of these, which is returned.
    ///
    /// # Errors
    ///
    /// Those of [`pop`](Self::pop). No block is being filled then.
    pub(crate) fn truncate(&mut self, count: usize) -> Result<Option<&mut Block>, StorageError> {
        while self.len() + usize::from(self.current.is_some()) > count {
            match self.current.take() {
                Some(block) => self.give_back(block),
                None => self.discard(),
            }
        }
        if self.current.is_none() {
            self.current = self.pop()?;
        }
        Ok(self.current.as_mut())
    }

    /// Returns a block to fill, of slab size, or larger if it has to hold `least` bytes. It may contain old bytes.
    ///
    /// # Errors
    ///
    /// When the budget is used up and no slab can be written to free memory, or the allocator has no memory.
    pub(crate) fn block(&mut self, least: usize) -> Result<Block, StorageError> {
        self.options.check()?;
        let least = least.checked_next_multiple_of(Block::ALIGN);
        let bytes = least.ok_or(StorageError::OutOfMemory { bytes: usize::MAX })?.max(self.slab_bytes());
        // Reserved now, so that `push` allocates nothing.
        let listed = self.slabs.try_reserve(1);
        listed.map_err(|_| StorageError::OutOfMemory { bytes: 2 * self.slabs.len() * size_of::<Slab>() })?;
        self.collect();
        self.make_room(bytes)?;
        self.spare_or_new(bytes)
    }

    /// Seals a block.
    ///
    /// # Errors
    ///
    /// When an older slab, or this one, could not be written to free memory for the next block. The block is on the
    /// stack nevertheless, and everything on the stack can be read. The next call tries again.
    pub(crate) fn push(&mut self, mut block: Block) -> Result<(), StorageError> {
        self.charge(&mut block);
        self.slabs.push(Slab::Memory(block));
        self.collect();
        self.retry()?;
        self.make_room(self.slab_bytes())
    }

    /// Takes the newest block off the stack.
    ///
    /// # Errors
    ///
    /// When the block cannot be read from the file or is not what was written there, or its user holds so many blocks
    /// that there is no memory for it. It stays on the stack then.
    pub(crate) fn pop(&mut self) -> Result<Option<Block>, StorageError> {
        let Some(last) = self.slabs.len().checked_sub(1) else { return Ok(None) };
        while matches!(self.slabs[last], Slab::Leaving(.., Write::Busy)) {
            self.wait();
        }
        let block = match &self.slabs[last] {
            Slab::Memory(_) => self.slabs.pop().and_then(Slab::into_block),
            &Slab::Leaving(ref block, extent, _) => {
                self.fit(block.reserved())?;
                self.space.give_back(extent);
                self.leaving.retain(|index| *index != last);
                self.slabs.pop().and_then(Slab::into_block)
            }
            &Slab::File(stored) => {
                let block = self.read_newest(stored)?;
                self.slabs.pop();
                self.space.give_back(stored.extent);
                Some(block)
            }
        };
        self.first_in_memory = self.first_in_memory.min(last);
        Ok(block)
    }

    /// Forgets the newest slab, without reading it.
    pub(crate) fn discard(&mut self) {
        let Some(last) = self.slabs.len().checked_sub(1) else { return };
        while matches!(self.slabs[last], Slab::Leaving(.., Write::Busy)) {
            self.wait();
        }
        if let &(Slab::Leaving(_, extent, _) | Slab::File(Stored { extent, .. })) = &self.slabs[last] {
            self.space.give_back(extent);
        }
        self.leaving.retain(|index| *index != last);
        self.first_in_memory = self.first_in_memory.min(last);
        if let Some(block) = self.slabs.pop().and_then(Slab::into_block) {
            self.give_back(block);
        }
    }

    /// Takes back a block that is no longer used, to give it out again.
    pub(crate) fn give_back(&mut self, mut block: Block) {
        self.charge(&mut block);
        self.spares.push(block);
        while self.charged() > self.options.memory_bytes() && self.spares.pop().is_some() {}
    }

    /// Forgets all slabs, and the one that is being filled. Their blocks and their space in the file are reused.
    pub(crate) fn clear(&mut self) {
        while self.leaving.iter().any(|index| matches!(self.slabs[*index], Slab::Leaving(.., Write::Busy))) {
            self.wait();
        }
        self.leaving.clear();
        self.first_in_memory = 0;
        self.space.clear();
        while let Some(slab) = self.slabs.pop() {
            if let Some(block) = slab.into_block() {
                self.give_back(block);
            }
        }
        if let Some(block) = self.current.take() {
            self.give_back(block);
        }
    }

    /// Bytes in memory and on disk.
    pub(crate) fn usage(&self) -> SpillUsage {
        self.meter.usage(Block::at_most_reserved(self.slab_bytes()), self.space.taken())
    }

    /// Returns the contents of a slab that is in memory, else its location in the file.
    pub(crate) fn look_up(&self, index: usize) -> Result<&[u8], Stored> {
        match &self.slabs[index] {
            Slab::Memory(block) => Ok(block.bytes()),
            Slab::Leaving(block, ..) => Ok(block.bytes()),
            Slab::File(stored) => Err(*stored),
        }
    }

    /// Returns the file, once something has been written to it.
    pub(crate) fn file(&self) -> Option<&Arc<SpillFile>> {
        self.writer.as_ref().map(Writer::file)
    }

    pub(crate) const fn options(&self) -> &SpillOptions {
        &self.options
    }

    pub(crate) const fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Returns a block for a reader, of slab size or of `bytes`, whichever is larger.
    pub(crate) fn reader_block(&self, bytes: usize) -> Result<Block, StorageError> {
        let bytes = bytes.max(self.slab_bytes());
        let kept = self.reader_blocks.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // One that is too small is dropped, so that a reader never has more blocks than it may.
        if let Some(block) = kept.filter(|block| block.len() == bytes) {
            return Ok(block);
        }
        let mut block = Block::zeroed(bytes).ok_or(StorageError::OutOfMemory { bytes })?;
        block.set_charge(Charge::new(&self.meter, Holder::Reader, block.reserved()));
        Ok(block)
    }

    /// Keeps the block of a closed reader, up to as many blocks as one reader needs.
    pub(crate) fn keep_reader_block(&self, block: Block) {
        let mut kept = self.reader_blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if block.len() == self.slab_bytes() && kept.len() < 1 + READS_AHEAD {
            kept.push(block);
        }
    }

    /// Bytes that count against the memory budget.
    fn charged(&self) -> usize {
        let leaving = self.leaving.iter().map(|index| match &self.slabs[*index] {
            Slab::Leaving(block, ..) => block.reserved(),
            Slab::Memory(_) | Slab::File(_) => 0,
        });
        self.meter.of_stack() - leaving.sum::<usize>()
    }

    /// Counts a block in the meter, if it is not counted yet.
    fn charge(&self, block: &mut Block) {
        if !block.charge().is_some_and(|charge| charge.is(&self.meter, Holder::Stack)) {
            block.set_charge(Charge::new(&self.meter, Holder::Stack, block.reserved()));
        }
    }

    /// Returns the writer, and creates it and the file first if necessary.
    fn writer(&mut self) -> Result<&mut Writer, StorageError> {
        if self.writer.is_none() {
            let file = SpillFile::create(&self.options, &self.meter)?;
            self.writer = Some(Writer::new(Arc::new(file)));
        }
        Ok(self.writer.as_mut().expect("it has just been made"))
    }

    /// Frees memory for a block of `bytes`: first spare blocks, then the oldest slabs in memory.
    fn make_room(&mut self, bytes: usize) -> Result<(), StorageError> {
        // Each pass frees a spare block or spills a slab, so the loop ends.
        loop {
            let spare = self.spares.iter().position(|spare| spare.len() == bytes);
            let new = if spare.is_some() { 0 } else { Block::at_most_reserved(bytes) };
            let needed = self.charged().saturating_add(new);
            if needed <= self.options.memory_bytes() {
                return Ok(());
            }
            if let Some(other) = (0..self.spares.len()).find(|i| Some(*i) != spare) {
                drop(self.spares.swap_remove(other));
            } else if self.first_in_memory < self.slabs.len() {
                self.retry()?;
                self.spill_oldest()?;
            } else if self.spares.pop().is_none() {
                return Err(StorageError::MemoryBudget { budget: self.options.memory_bytes(), needed });
            }
        }
    }

    fn spare_or_new(&mut self, bytes: usize) -> Result<Block, StorageError> {
        if let Some(spare) = self.spares.iter().position(|spare| spare.len() == bytes) {
            return Ok(self.spares.swap_remove(spare));
        }
        let mut block = Block::zeroed(bytes).ok_or(StorageError::OutOfMemory { bytes })?;
        self.charge(&mut block);
        Ok(block)
    }

    /// Frees spare blocks until `bytes` that are in memory already can be charged to the budget.
    fn fit(&mut self, bytes: usize) -> Result<(), StorageError> {
        loop {
            let needed = self.charged().saturating_add(bytes);
            if needed <= self.options.memory_bytes() {
                return Ok(());
            }
            if self.spares.pop().is_none() {
                return Err(StorageError::MemoryBudget { budget: self.options.memory_bytes(), needed });
            }
        }
    }

    fn read_newest(&mut self, stored: Stored) -> Result<Block, StorageError> {
        let bytes = usize::try_from(stored.extent.bytes).expect("a slab has been in memory");
        self.make_room(bytes)?;
        let mut block = self.spare_or_new(bytes)?;
        let what = || format!("slab {}", self.slabs.len() - 1);
        match self.file().map_or(Ok(()), |file| file.load(block.bytes_mut(), stored, what)) {
            Ok(()) => Ok(block),
            Err(error) => {
                self.give_back(block);
                Err(error)
            }
        }
    }

    /// Passes the oldest slab in memory to the writer, as soon as fewer than [`WRITES_IN_FLIGHT`] are being written.
    fn spill_oldest(&mut self) -> Result<(), StorageError> {
        while self.leaving.len() >= WRITES_IN_FLIGHT {
            self.wait();
            self.settle();
            self.retry()?;
        }
        self.writer()?;
        let index = self.first_in_memory;
        let Slab::Memory(block) = &self.slabs[index] else { unreachable!("slabs from here on are in memory") };
        let (bytes, elsewhere) = (block.len() as u64, self.meter.files.arrays());
        let limit = self.options.disk_bytes().saturating_sub(elsewhere);
        let extent = self.space.take(bytes, limit).map_err(|needed| self.options.beyond_disk(needed, elsewhere))?;
        self.meter.files.set_slabs(self.space.largest_end());
        let meanwhile = Slab::File(Stored { extent, checksum: 0 });
        let Slab::Memory(block) = mem::replace(&mut self.slabs[index], meanwhile) else { unreachable!() };
        let block = Arc::new(block);
        self.slabs[index] = Slab::Leaving(Arc::clone(&block), extent, Write::Busy);
        self.leaving.push(index);
        self.first_in_memory += 1;
        if let Some(result) = self.writer()?.write(index, &block, extent) {
            drop(block);
            self.note(index, result.as_ref().ok().copied());
            self.settle();
            result?;
        }
        Ok(())
    }

    /// Retries failed writes on this thread, so that the caller gets the current error: the cause may have gone since.
    fn retry(&mut self) -> Result<(), StorageError> {
        for index in self.leaving_and(Write::Failed) {
            if let (Slab::Leaving(block, extent, _), Some(file)) = (&self.slabs[index], self.file()) {
                let stored = file.store(block.bytes(), *extent)?;
                self.note(index, Some(stored));
            }
        }
        self.settle();
        Ok(())
    }

    /// Records the results of writes that have ended.
    fn collect(&mut self) {
        while let Some((index, stored)) = self.writer.as_mut().and_then(Writer::try_result) {
            self.note(index, stored);
        }
        self.settle();
    }

    /// Waits until a write has ended. If a thread is gone, all writes have ended, and count as failed.
    fn wait(&mut self) {
        if let Some((index, stored)) = self.writer.as_mut().and_then(Writer::wait) {
            self.note(index, stored);
            return;
        }
        for index in self.leaving_and(Write::Busy) {
            self.note(index, None);
        }
    }

    fn note(&mut self, index: usize, stored: Option<Stored>) {
        if let Slab::Leaving(_, _, write) = &mut self.slabs[index] {
            *write = stored.map_or(Write::Failed, Write::Done);
        }
    }

    /// Moves written slabs to the file, and makes their blocks spare ones.
    fn settle(&mut self) {
        self.leaving.retain(|index| {
            let Slab::Leaving(.., Write::Done(stored)) = self.slabs[*index] else { return true };
            self.spares.extend(mem::replace(&mut self.slabs[*index], Slab::File(stored)).into_block());
            false
        });
    }

    fn leaving_and(&self, wanted: Write) -> Vec<usize> {
        let is = |index: &usize| matches!(self.slabs[*index], Slab::Leaving(_, _, write) if write == wanted);
        self.leaving.iter().copied().filter(is).collect()
    }
}
