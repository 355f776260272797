//! Reads slabs in any order, and ahead of a sweep that goes backwards.

use super::worker::Worker;
use crate::error::StorageError;
use crate::storage::Block;
use crate::storage::meter::Meter;
use crate::storage::meter::READS_AHEAD;
use crate::storage::spill::SlabFile;
use crate::storage::spill::file::stored::{SpillFile, Stored};
use core::mem;
use std::sync::Arc;

/// Reader of the slabs of a stack, which must not change meanwhile.
pub(crate) struct SlabReader<'a> {
    stack: &'a SlabFile,
    loader: Loader,
}

impl SlabFile {
    /// Returns a reader of the slabs. Several can be open at once; each has a slab of memory of its own.
    pub(crate) fn reader(&self) -> SlabReader<'_> {
        SlabReader::new(self)
    }
}

impl<'a> SlabReader<'a> {
    pub(crate) fn new(stack: &'a SlabFile) -> Self {
        Self { stack, loader: Loader::new(stack) }
    }

    /// Returns the bytes of a slab: in place if it is in memory, else loaded into this reader's own slab. The one after
    /// the last is the slab that is being filled.
    ///
    /// # Errors
    ///
    /// When the slab cannot be read from the file or is not the one that was written, or there is no memory for it.
    ///
    /// # Panics
    ///
    /// When there is no slab with this index.
    pub(crate) fn get(&mut self, index: usize) -> Result<&[u8], StorageError> {
        match self.stack.current() {
            Some(current) if index == self.stack.len() => Ok(current.bytes()),
            _ => self.loader.get(self.stack, index),
        }
    }
}

impl Drop for SlabReader<'_> {
    fn drop(&mut self) {
        self.loader.blocks().for_each(|block| self.stack.keep_reader_block(block));
    }
}

/// Memory of a reader: one slab for random access, and those read ahead. Always to be used with the same stack.
pub(crate) struct Loader {
    meter: Arc<Meter>,
    own: Option<Block>,
    /// Index of the slab in `own`.
    loaded: Option<usize>,
    /// Index that was requested last.
    last: Option<usize>,
    /// Slabs that are read ahead; together with the idle blocks at most [`READS_AHEAD`].
    ahead: Vec<Ahead>,
    idle: Vec<Block>,
    worker: Option<Worker<Job, Done>>,
    without_thread: bool,
    /// True if the loader has had a block, and so counts as a reader.
    counted: bool,
}

struct Ahead {
    index: usize,
    /// The block; `None` while a thread has it.
    block: Option<Block>,
}

struct Job {
    index: usize,
    block: Block,
    stored: Stored,
}

/// A slab that was read ahead.
struct Done {
    index: usize,
    block: Block,
    /// True if reading succeeded.
    read: bool,
}

impl Loader {
    pub(crate) fn new(stack: &SlabFile) -> Self {
        Self {
            meter: Arc::clone(stack.meter()),
            own: None,
            loaded: None,
            last: None,
            ahead: Vec::with_capacity(READS_AHEAD),
            idle: Vec::with_capacity(READS_AHEAD),
            worker: None,
            without_thread: false,
            counted: false,
        }
    }

    /// Returns the bytes of a slab; see [`SlabReader::get`].
    pub(crate) fn get<'s>(&'s mut self, stack: &'s SlabFile, index: usize) -> Result<&'s [u8], StorageError> {
        let backwards = self.last.replace(index) == Some(index + 1);
        self.receive();
        self.take_ahead(index);
        if backwards {
            self.read_ahead(stack, index);
        }
        match stack.look_up(index) {
            Ok(bytes) => Ok(bytes),
            Err(stored) => self.load(stack, index, stored),
        }
    }

    /// Forgets slabs from this index on, which have been taken off the stack: new slabs may get their indices.
    pub(crate) fn forget(&mut self, from: usize) {
        self.loaded = self.loaded.filter(|index| *index < from);
        while self.ahead.iter().any(|ahead| ahead.index >= from && ahead.block.is_none()) {
            self.wait();
        }
        self.retire(|index| index < from);
    }

    fn load(&mut self, stack: &SlabFile, index: usize, stored: Stored) -> Result<&[u8], StorageError> {
        let bytes = usize::try_from(stored.extent.bytes).expect("a slab has been in memory");
        if self.loaded != Some(index) {
            self.loaded = None;
            let mut block = match self.own.take().filter(|own| own.len() >= bytes) {
                Some(own) => own,
                None => self.new_block(stack, bytes)?,
            };
            let result = stack.file().map_or(Ok(()), |file| read(file, &mut block, index, stored));
            self.own = Some(block);
            result?;
            self.loaded = Some(index);
        }
        Ok(self.own.as_ref().map_or(&[], |own| &own.bytes()[..bytes]))
    }

    fn new_block(&mut self, stack: &SlabFile, bytes: usize) -> Result<Block, StorageError> {
        if !mem::replace(&mut self.counted, true) {
            self.meter.reader_opened();
        }
        stack.reader_block(bytes)
    }

    /// Makes a slab that was read ahead the loaded one, and waits for it if necessary.
    fn take_ahead(&mut self, index: usize) {
        while self.ahead.iter().any(|ahead| ahead.index == index && ahead.block.is_none()) {
            self.wait();
        }
        if let Some(at) = self.ahead.iter().position(|ahead| ahead.index == index) {
            let block = self.ahead.swap_remove(at).block;
            self.idle.extend(mem::replace(&mut self.own, block));
            self.loaded = Some(index);
        }
    }

    /// Starts reading the slabs below `index`, as far as there are blocks for them.
    fn read_ahead(&mut self, stack: &SlabFile, index: usize) {
        let below = index.saturating_sub(READS_AHEAD)..index;
        self.retire(|index| below.contains(&index));
        for index in below.rev() {
            let Err(stored) = stack.look_up(index) else { continue };
            if self.loaded == Some(index) || self.ahead.iter().any(|ahead| ahead.index == index) {
                continue;
            }
            let Some(block) = self.block_for(stack, stored.extent.bytes) else { return };
            if !self.start(stack) || !self.worker.as_ref().is_some_and(|w| w.send(Job { index, block, stored })) {
                return;
            }
            self.ahead.push(Ahead { index, block: None });
        }
    }

    /// Returns a block to read ahead into; `None` if all are in use, or too small for this unusually large slab.
    fn block_for(&mut self, stack: &SlabFile, bytes: u64) -> Option<Block> {
        if bytes > stack.slab_bytes() as u64 {
            return None;
        }
        let none_left = self.ahead.len() >= READS_AHEAD;
        self.idle.pop().or_else(|| if none_left { None } else { self.new_block(stack, 0).ok() })
    }

    /// Starts the threads that read ahead, if necessary. Returns false if there are none.
    fn start(&mut self, stack: &SlabFile) -> bool {
        if self.worker.is_none() && !self.without_thread {
            self.worker = stack.file().map(Arc::clone).and_then(|file| {
                Worker::start("tapewright-read", READS_AHEAD, move |Job { index, mut block, stored }| {
                    // The cause of a failure is reported when the slab is requested and read again.
                    let read = read(&file, &mut block, index, stored).is_ok();
                    Done { index, block, read }
                })
            });
            self.without_thread = self.worker.is_none();
        }
        self.worker.is_some()
    }

    /// Makes the blocks idle that hold none of the slabs `wanted`.
    fn retire(&mut self, wanted: impl Fn(usize) -> bool) {
        let retired = self.ahead.extract_if(.., |ahead| !wanted(ahead.index) && ahead.block.is_some());
        self.idle.extend(retired.filter_map(|ahead| ahead.block));
    }

    fn receive(&mut self) {
        while let Some(done) = self.worker.as_mut().and_then(Worker::try_result) {
            self.note(done);
        }
    }

    /// Waits for one slab that is being read ahead.
    fn wait(&mut self) {
        if let Some(done) = self.worker.as_mut().and_then(Worker::wait) {
            self.note(done);
            return;
        }
        self.ahead.retain(|ahead| ahead.block.is_some());
        self.worker = None;
        self.without_thread = true;
    }

    fn note(&mut self, Done { index, block, read }: Done) {
        let Some(at) = self.ahead.iter().position(|ahead| ahead.index == index) else { return };
        if read {
            self.ahead[at].block = Some(block);
        } else {
            self.ahead.swap_remove(at);
            self.idle.push(block);
        }
    }

    /// Takes the blocks that no thread uses, and forgets all slabs.
    fn blocks(&mut self) -> impl Iterator<Item = Block> {
        self.receive();
        self.loaded = None;
        let ahead = self.ahead.drain(..).filter_map(|ahead| ahead.block);
        self.own.take().into_iter().chain(self.idle.drain(..)).chain(ahead)
    }
}

/// Reads slab `index` into a block that is large enough.
fn read(file: &SpillFile, block: &mut Block, index: usize, stored: Stored) -> Result<(), StorageError> {
    let bytes = usize::try_from(stored.extent.bytes).expect("a slab has been in memory");
    file.load(&mut block.bytes_mut()[..bytes], stored, || format!("slab {index}"))
}

impl Drop for Loader {
    fn drop(&mut self) {
        // Blocks that threads hold must be freed before the meter counts one reader less.
        self.worker = None;
        if self.counted {
            self.meter.reader_closed();
        }
    }
}
