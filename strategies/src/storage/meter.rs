//! Counters of bytes in memory and on disk.

use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;

/// Maximum number of slabs being written at once, each by a thread.
pub(crate) const WRITES_IN_FLIGHT: usize = 2;
/// Maximum number of slabs that a reader has read ahead, each by a thread.
pub(crate) const READS_AHEAD: usize = 2;

/// Bytes used by a spilled storage.
///
/// At every moment `resident` is at most the memory budget, plus one slab for each open reader, plus `in_flight_limit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpillUsage {
    /// Bytes of slabs currently in memory: full ones, the one being filled, spare ones, those being written, and those
    /// of readers.
    pub resident: usize,
    /// Maximum of `resident` so far.
    pub peak_resident: usize,
    /// Bytes that buffers on the way to and from the file may take in addition to the memory budget: two slabs being
    /// written, and two read ahead for each of the readers that were open at once.
    pub in_flight_limit: usize,
    /// Bytes of full slabs that are in the file, or on their way to it.
    pub on_disk: u64,
    /// Bytes of arrays currently in memory that launches of kernels keep, each counted once, including those shared
    /// with views.
    pub arrays_resident: usize,
    /// Maximum of `arrays_resident` so far.
    pub peak_arrays_resident: usize,
    /// Bytes of arrays in a file.
    pub arrays_on_disk: u64,
    /// Size of the files in bytes, including free space: one file is for slabs, the other for arrays.
    pub file_bytes: u64,
    /// Bytes written to the files so far.
    pub written: u64,
    /// Bytes read from the files so far.
    pub read: u64,
}

/// Counter of bytes of arrays in memory.
#[derive(Default)]
pub(crate) struct InMemory {
    resident: AtomicUsize,
    peak: AtomicUsize,
}

impl InMemory {
    pub(crate) fn enter(&self, bytes: usize) {
        let resident = self.resident.fetch_add(bytes, Relaxed) + bytes;
        self.peak.fetch_max(resident, Relaxed);
    }

    pub(crate) fn leave(&self, bytes: usize) {
        self.resident.fetch_sub(bytes, Relaxed);
    }

    pub(crate) fn resident(&self) -> usize {
        self.resident.load(Relaxed)
    }
}

/// Sizes of the files that share one disk budget. Changed only by the thread that records.
#[derive(Default)]
pub(crate) struct Files {
    slabs: AtomicU64,
    arrays: AtomicU64,
    /// Bytes in use of the file for arrays.
    of_arrays: AtomicU64,
}

impl Files {
    pub(crate) fn slabs(&self) -> u64 {
        self.slabs.load(Relaxed)
    }

    pub(crate) fn set_slabs(&self, size: u64) {
        self.slabs.store(size, Relaxed);
    }

    pub(crate) fn arrays(&self) -> u64 {
        self.arrays.load(Relaxed)
    }

    pub(crate) fn set_arrays(&self, size: u64, taken: u64) {
        self.arrays.store(size, Relaxed);
        self.of_arrays.store(taken, Relaxed);
    }
}

/// Counters of one storage.
#[derive(Default)]
pub(crate) struct Meter {
    resident: AtomicUsize,
    of_stack: AtomicUsize,
    peak: AtomicUsize,
    largest: AtomicUsize,
    readers: AtomicUsize,
    most_readers: AtomicUsize,
    pub(crate) arrays: InMemory,
    pub(crate) files: Files,
    pub(crate) written: AtomicU64,
    pub(crate) read: AtomicU64,
}

/// Holder of a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    Stack,
    Reader,
}

/// Counts one block in a meter until dropped; owned by the block.
pub(crate) struct Charge {
    meter: Arc<Meter>,
    holder: Holder,
    bytes: usize,
}

impl Charge {
    pub(crate) fn new(meter: &Arc<Meter>, holder: Holder, bytes: usize) -> Self {
        if holder == Holder::Stack {
            meter.of_stack.fetch_add(bytes, Relaxed);
        }
        let resident = meter.resident.fetch_add(bytes, Relaxed) + bytes;
        meter.peak.fetch_max(resident, Relaxed);
        meter.largest.fetch_max(bytes, Relaxed);
        Self { meter: Arc::clone(meter), holder, bytes }
    }

    /// Returns true if the charge belongs to this meter and this holder.
    pub(crate) fn is(&self, meter: &Arc<Meter>, holder: Holder) -> bool {
        Arc::ptr_eq(&self.meter, meter) && self.holder == holder
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        if self.holder == Holder::Stack {
            self.meter.of_stack.fetch_sub(self.bytes, Relaxed);
        }
        self.meter.resident.fetch_sub(self.bytes, Relaxed);
    }
}

impl Meter {
    /// Bytes of blocks held by the stack, its writer or its user.
    pub(crate) fn of_stack(&self) -> usize {
        self.of_stack.load(Relaxed)
    }

    pub(crate) fn reader_opened(&self) {
        let readers = self.readers.fetch_add(1, Relaxed) + 1;
        self.most_readers.fetch_max(readers, Relaxed);
    }

    pub(crate) fn reader_closed(&self) {
        self.readers.fetch_sub(1, Relaxed);
    }

    /// Returns the counters. A slab is counted with at least `slab` bytes.
    pub(crate) fn usage(&self, slab: usize, on_disk: u64) -> SpillUsage {
        let in_flight = WRITES_IN_FLIGHT + READS_AHEAD * self.most_readers.load(Relaxed).max(1);
        SpillUsage {
            resident: self.resident.load(Relaxed),
            peak_resident: self.peak.load(Relaxed),
            in_flight_limit: self.largest.load(Relaxed).max(slab).saturating_mul(in_flight),
            on_disk,
            arrays_resident: self.arrays.resident(),
            peak_arrays_resident: self.arrays.peak.load(Relaxed),
            arrays_on_disk: self.files.of_arrays.load(Relaxed),
            file_bytes: self.files.slabs().saturating_add(self.files.arrays()),
            written: self.written.load(Relaxed),
            read: self.read.load(Relaxed),
        }
    }
}
