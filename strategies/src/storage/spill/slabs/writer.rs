//! Writing slabs behind the recording.

use super::worker::Worker;
use crate::StorageError;
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

/// The index of a slab, and what of it is in the file; `None` if not all is. Why not, the stack finds out when it tries
/// again.
pub(crate) type Written = (usize, Option<Stored>);

/// The file, and the threads that write to it. Without a thread, writes are done at once.
pub(crate) struct Writer {
    file: Arc<SpillFile>,
    worker: Option<Worker<Job, Written>>,
}

impl Writer {
    pub(crate) fn new(file: Arc<SpillFile>) -> Self {
        let to = Arc::clone(&file);
        let worker = Worker::start("tapewright-write", WRITES_IN_FLIGHT, move |Job { index, block, extent }| {
            let stored = to.store(block.bytes(), extent).ok();
            // Before the result is known, so that the stack then holds the only reference.
            drop(block);
            (index, stored)
        });
        Self { file, worker }
    }

    pub(crate) const fn file(&self) -> &Arc<SpillFile> {
        &self.file
    }

    /// Begins to write `block`; the result when there is one already.
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

    /// A result that is there already.
    pub(crate) fn try_result(&mut self) -> Option<Written> {
        self.worker.as_mut()?.try_result()
    }

    /// Waits for the next result; `None` when there will be none because a thread is gone.
    pub(crate) fn wait(&mut self) -> Option<Written> {
        self.worker.as_mut()?.wait()
    }
}
