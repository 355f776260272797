//! Storage layers: where the segments of a recording live.

use super::segment::Segment;
use crate::error::room_for_one;
use crate::{ArrayFile, Number, StorageError};
use std::sync::{Arc, Mutex};

/// Where the records of a tape live: [`InMemory`], [`Shared`] or [`Spilled`](crate::Spilled).
///
/// Layers are this crate's, because unsafe code reads what they return. A layer of one's own is `Spilled<D>`, where the
/// type `D` says [where](crate::SpillStore) slabs go that are full.
pub trait Layer: sealed::Sealed + 'static {
    #[doc(hidden)]
    #[allow(private_bounds, reason = "layers are this crate's")]
    type Segments: Segments;
    /// Whether records may leave memory.
    const SPILLS: bool = false;
}

/// A [`Layer`] on which records of numbers of type `V` can live: memory takes all of them, a file only
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

/// The segments of one recording, first to last, of which the last is being written.
pub(crate) trait Segments: Default + Send + Sync + 'static {
    /// Whether reading segments back is so slow that records are counted before they go.
    const COUNTS_AT_ONCE: bool;
    /// What reads segments back.
    type Reader<'a>: Reader;

    /// Ends the current segment and begins the next one, which has at least `least` bytes; returns its start and
    /// length.
    ///
    /// # Errors
    ///
    /// When there is no room for it. All segments are as they were, but none is being written.
    fn advance(&mut self, least: usize) -> Result<(*mut u8, usize), StorageError>;

    /// Forgets all segments and keeps their memory.
    fn rewind(&mut self);

    /// Forgets all segments but the first `count`, at least one, of which the last is being written again; returns its
    /// start.
    ///
    /// # Errors
    ///
    /// When it cannot be read back. No segment is being written then.
    fn truncate(&mut self, count: usize) -> Result<*mut u8, StorageError>;

    /// Gets memory for a recording of this many bytes, and touches it.
    ///
    /// # Panics
    ///
    /// When the allocator does not have it. There may be more segments than before then.
    fn reserve(&mut self, bytes: usize);

    /// Reads segments back; several may do so at once.
    fn reader(&self) -> Self::Reader<'_>;

    /// Bytes obtained from the allocator.
    fn reserved(&self) -> usize;

    /// Bytes of the file that holds what is not in memory.
    fn on_disk(&self) -> usize {
        0
    }

    /// Where arrays go that leave memory.
    fn array_file(&self) -> Option<&Arc<ArrayFile>> {
        None
    }
}

/// Reads the segments of a recording, best from the last to the first.
pub(crate) trait Reader {
    /// The start of segment `at`, valid until the next call.
    fn segment(&mut self, at: usize) -> Result<*const u8, StorageError>;
}

/// Records live in memory of their tape, which is kept from recording to recording.
#[derive(Clone, Copy, Debug)]
pub struct InMemory(());
impl sealed::Sealed for InMemory {}
impl Layer for InMemory {
    type Segments = Kept;
}

/// Segments that are kept, and how many of them the recording uses.
#[derive(Default)]
pub struct Kept {
    segments: Vec<Segment>,
    used: usize,
}

impl Kept {
    /// Makes sure that segment `at` exists and has this many bytes.
    fn provide(&mut self, at: usize, bytes: usize, make: impl FnOnce(usize) -> Segment) {
        let standard = if at == 0 { Segment::FIRST } else { Segment::BYTES };
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
            self.segments.push(Segment::new((bytes - have + slack).max(Segment::FIRST)));
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

/// Segments where they are.
pub(crate) struct InPlace<'a>(&'a [Segment]);
impl Reader for InPlace<'_> {
    fn segment(&mut self, at: usize) -> Result<*const u8, StorageError> {
        Ok(self.0[at].start().cast_const())
    }
}

/// Records live in memory that the tapes of all threads share.
///
/// The first 64 KiB of a tape are its own, so that small recordings take no lock; further segments of 1 MiB come from
/// one pool of the process, and return to it when the tape begins another recording or is dropped. Many tapes
/// that are large at different times then take as much memory as the largest at one time.
#[derive(Clone, Copy, Debug)]
pub struct Shared(());
impl sealed::Sealed for Shared {}
impl Layer for Shared {
    type Segments = Borrowed;
}

/// The segments that no tape uses.
static IDLE: Mutex<Vec<Segment>> = Mutex::new(Vec::new());

/// What happens to the list under the lock cannot panic half-way.
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

/// Segments of which all but the first return to the pool.
#[derive(Default)]
pub struct Borrowed(Kept);

impl Borrowed {
    fn take(bytes: usize) -> Segment {
        let standard = bytes == Segment::BYTES;
        // A statement of its own, so that the lock is free while a new segment is made.
        let kept = if standard { idle().pop() } else { None };
        kept.unwrap_or_else(|| Segment::new(bytes))
    }

    fn give_back(&mut self) {
        if self.0.segments.len() > 1 {
            let standard = |segment: &Segment| segment.bytes() == Segment::BYTES;
            let mut idle = idle();
            // Without memory for the list, they go back to the allocator.
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
            // Piece by piece, the system may promise more than it has.
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
