//! Storage layers: where the segments of a recording are kept.

use super::segment::Segment;
use crate::Number;
use crate::error::{StorageError, room_for_one};
use crate::storage::ArrayFile;
use std::sync::{Arc, Mutex};

/// Storage of a tape's records: [`InMemory`], [`Shared`] or [`Spilled`](crate::Spilled).
///
/// The trait is sealed, because unsafe code reads the memory that layers return. For a storage of your own use
/// `Spilled<D>`, where the type `D` names the [store](crate::storage::SpillStore) that full slabs are written to.
pub trait Layer: sealed::Sealed + 'static {
    #[doc(hidden)]
    #[allow(private_bounds, reason = "layers are this crate's")]
    type Segments: Segments;
    /// True if records may leave memory.
    const SPILLS: bool = false;
}

/// A [`Layer`] that can keep records of numbers of type `V`: memory takes all numbers, a file only
/// [`Plain`](crate::Plain) ones.
#[diagnostic::on_unimplemented(
    message = "records of `{V}` cannot live under `{Self}`",
    label = "a layer in memory is needed here",
    note = "numbers that are variables of a recording mean nothing in a file: use `InMemory` or `Shared`, and `Dual` for \
            second derivatives of recordings that are spilled; code that is generic over numbers asks for `V: Plain`"
)]
pub trait LayerOf<V>: Layer {}
impl<V: Number> LayerOf<V> for InMemory {}
impl<V: Number> LayerOf<V> for Shared {}

pub(super) mod sealed {
    pub trait Sealed {}
}

/// Segments of one recording, in order; the last one is being written.
pub(crate) trait Segments: Default + Send + Sync + 'static {
    /// True if segments are so slow to read back that records must be counted before their segment leaves memory.
    const COUNTS_AT_ONCE: bool;
    /// Type that reads segments back.
    type Reader<'a>: Reader;

    /// Ends the current segment and starts the next one, of at least `least` bytes. Returns its address and length.
    ///
    /// # Errors
    ///
    /// When there is no room for the segment. All segments are unchanged, but none is being written.
    fn advance(&mut self, least: usize) -> Result<(*mut u8, usize), StorageError>;

    /// Forgets all segments and keeps their memory.
    fn rewind(&mut self);

    /// Forgets all segments but the first `count`, at least one, and continues to write the last of these. Returns its
    /// address.
    ///
    /// # Errors
    ///
    /// When that segment cannot be read back. No segment is being written then.
    fn truncate(&mut self, count: usize) -> Result<*mut u8, StorageError>;

    /// Allocates memory for a recording of this many bytes, and touches it.
    ///
    /// # Panics
    ///
    /// When the allocator does not have the memory. There may be more segments than before then.
    fn reserve(&mut self, bytes: usize);

    /// Returns a reader of the segments. Several can be open at once.
    fn reader(&self) -> Self::Reader<'_>;

    /// Bytes obtained from the allocator.
    fn reserved(&self) -> usize;

    /// Bytes of the file that holds what is not in memory.
    fn on_disk(&self) -> usize {
        0
    }

    /// File for arrays that leave memory, if the layer has one.
    fn array_file(&self) -> Option<&Arc<ArrayFile>> {
        None
    }
}

/// Reads the segments of a recording; fastest from the last to the first.
pub(crate) trait Reader {
    /// Returns the start of segment `at`, valid until the next call.
    fn segment(&mut self, at: usize) -> Result<*const u8, StorageError>;
}

/// Layer that keeps records in memory of the tape, reused by its next recording.
#[derive(Clone, Copy, Debug)]
pub struct InMemory(());
impl sealed::Sealed for InMemory {}
impl Layer for InMemory {
    type Segments = Kept;
}

/// Segments of one tape, and the number of them that the current recording uses.
#[derive(Default)]
pub struct Kept {
    segments: Vec<Segment>,
    used: usize,
}

impl Kept {
    /// Ensures that segment `at` exists and has this many bytes.
    fn provide(&mut self, at: usize, bytes: usize, make: impl FnOnce(usize) -> Segment) {
        // A tape that begins with less, since little was reserved, grows by the same steps.
        let before = at.checked_sub(1).map_or(0, |before| self.segments[before].bytes());
        let standard = if before < Segment::FIRST { Segment::FIRST } else { Segment::BYTES };
        if self.segments.get(at).is_none_or(|segment| segment.bytes() < bytes) {
            room_for_one(&mut self.segments, "the list of segments of the tape");
            self.segments.insert(at, make(bytes.max(standard)));
        }
    }

    #[inline]
    fn enter(&mut self) -> (*mut u8, usize) {
        self.used += 1;
        let segment = &self.segments[self.used - 1];
        (segment.start(), segment.bytes())
    }
}

impl Segments for Kept {
    const COUNTS_AT_ONCE: bool = false;
    type Reader<'a> = InPlace<'a>;

    fn advance(&mut self, least: usize) -> Result<(*mut u8, usize), StorageError> {
        self.provide(self.used, least, Segment::new);
        Ok(self.enter())
    }

    fn rewind(&mut self) {
        self.used = 0;
    }

    fn truncate(&mut self, count: usize) -> Result<*mut u8, StorageError> {
        self.used = count;
        Ok(self.segments[count - 1].start())
    }

    fn reserve(&mut self, bytes: usize) {
        let have: usize = self.segments.iter().map(Segment::bytes).sum();
        if bytes > have {
            // A record does not straddle segments, so the end of each may stay empty.
            let slack = 4096 * (self.segments.len() + 1);
            room_for_one(&mut self.segments, "the list of segments of the tape");
            self.segments.push(Segment::new(bytes - have + slack));
        }
        self.segments.iter_mut().skip(self.used).for_each(Segment::zero);
    }

    fn reader(&self) -> InPlace<'_> {
        InPlace(&self.segments)
    }

    fn reserved(&self) -> usize {
        self.segments.iter().map(Segment::reserved).sum()
    }
}

/// Reader of segments that are in memory.
pub(crate) struct InPlace<'a>(&'a [Segment]);
impl Reader for InPlace<'_> {
    fn segment(&mut self, at: usize) -> Result<*const u8, StorageError> {
        Ok(self.0[at].start().cast_const())
    }
}

/// Layer that keeps records in memory shared by the tapes of all threads.
///
/// The first 64 KiB belong to the tape, so that small recordings take no lock. Further segments of 1 MiB come from one
/// pool of the process, and return to it when the tape starts another recording or is dropped. Many tapes that are
/// large at different times then take as much memory as the largest one.
#[derive(Clone, Copy, Debug)]
pub struct Shared(());
impl sealed::Sealed for Shared {}
impl Layer for Shared {
    type Segments = Borrowed;
}

/// Segments that no tape uses.
static IDLE: Mutex<Vec<Segment>> = Mutex::new(Vec::new());

/// Locks the list of idle segments. No operation under the lock panics half-way, so a poisoned list is consistent.
fn idle() -> std::sync::MutexGuard<'static, Vec<Segment>> {
    IDLE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Shared {
    /// Bytes that no tape uses at the moment.
    #[must_use]
    pub fn idle_bytes() -> usize {
        idle().iter().map(Segment::reserved).sum()
    }

    /// Returns the memory that no tape uses to the allocator.
    pub fn release_idle() {
        let segments = core::mem::take(&mut *idle());
        drop(segments);
    }
}

/// Segments of one tape, of which all but the first return to the pool.
#[derive(Default)]
pub struct Borrowed(Kept);

impl Borrowed {
    fn take(bytes: usize) -> Segment {
        let standard = bytes == Segment::BYTES;
        // A separate statement, so that the lock is free while a new segment is allocated.
        let kept = if standard { idle().pop() } else { None };
        kept.unwrap_or_else(|| Segment::new(bytes))
    }

    fn give_back(&mut self) {
        if self.0.segments.len() > 1 {
            let standard = |segment: &Segment| segment.bytes() == Segment::BYTES;
            let mut idle = idle();
            // If there is no memory for the list, the segments return to the allocator.
            let room = idle.try_reserve(self.0.segments.len()).is_ok();
            idle.extend(self.0.segments.drain(1..).filter(standard).filter(|_| room));
        }
    }
}

impl Segments for Borrowed {
    const COUNTS_AT_ONCE: bool = false;
    type Reader<'a> = InPlace<'a>;

    fn advance(&mut self, least: usize) -> Result<(*mut u8, usize), StorageError> {
        self.0.provide(self.0.used, least, Self::take);
        Ok(self.0.enter())
    }

    fn rewind(&mut self) {
        self.0.rewind();
        self.give_back();
    }

    fn truncate(&mut self, count: usize) -> Result<*mut u8, StorageError> {
        self.0.truncate(count)
    }

    fn reserve(&mut self, bytes: usize) {
        let mut have: usize = self.0.segments.iter().map(Segment::bytes).sum();
        let idle = idle().len() * Segment::BYTES;
        if let Some(missing @ 1..) = bytes.checked_sub(have).and_then(|more| more.checked_sub(idle)) {
            // Allocated in one piece first: piece by piece, the system may promise more than it has.
            drop(Segment::new(missing));
        }
        while have < bytes {
            room_for_one(&mut self.0.segments, "the list of segments of the tape");
            let segment = Self::take(if have == 0 { Segment::FIRST } else { Segment::BYTES });
            have += segment.bytes();
            self.0.segments.push(segment);
        }
        self.0.segments.iter_mut().skip(self.0.used).for_each(Segment::zero);
    }

    fn reader(&self) -> InPlace<'_> {
        self.0.reader()
    }

    fn reserved(&self) -> usize {
        self.0.reserved()
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        self.give_back();
    }
}
