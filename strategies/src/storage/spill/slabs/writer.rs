//! Writes slabs behind the recording.

use super::worker::Worker;
use crate::error::StorageError;
use crate::storage::Block;
use crate::storage::meter::WRITES_IN_FLIGHT;
use crate::storage::spill::file::extents::Extent;
use crate::storage::spill::file::stored::{SpillFile, Stored};
use std::sync::Arc;

/// A slab to write. The stack keeps the other reference, and with it the contents, until the write has succeeded.
struct Job {
    index: usize,
    block: Arc<Block>,
    extent: Extent,
}

/// Index of a slab, and its location in the file; `None` if writing failed. The stack gets the cause when it retries.
pub(crate) type Written = (usize, Option<Stored>);

/// The file, and the threads that write to it. Without a thread, writes are done inline.
pub(crate) struct Writer {
    file: Arc<SpillFile>,
    worker: Option<Worker<Job, Written>>,
}

impl Writer {
    pub(crate) fn new(file: Arc<SpillFile>) -> Self {
        let to = Arc::clone(&file);
        let worker = Worker::start("tapewright-write", WRITES_IN_FLIGHT, move |Job { index, block, extent }| {
            let stored = to.store(block.bytes(), extent).ok();
            // Dropped before the result is known, so that the stack then holds the only reference.
            drop(block);
            (index, stored)
        });
        Self { file, worker }
    }

    pub(crate) const fn file(&self) -> &Arc<SpillFile> {
        &self.file
    }

    /// Starts writing `block`. Returns the result if the write has been done inline.
    pub(crate) fn write(
        &self,
        index: usize,
        block: &Arc<Block>,
        extent: Extent,
    ) -> Option<Result<Stored, StorageError>> {
        let job = Job { index, block: Arc::clone(block), extent };
        match &self.worker {
            Some(worker) if worker.send(job) => None,
            _ => Some(self.file.store(block.bytes(), extent)),
        }
    }

    /// Returns a result if one is available.
    pub(crate) fn try_result(&mut self) -> Option<Written> {
        self.worker.as_mut()?.try_result()
    }

    /// Waits for the next result; `None` if a thread is gone.
    pub(crate) fn wait(&mut self) -> Option<Written> {
        self.worker.as_mut()?.wait()
    }
}
