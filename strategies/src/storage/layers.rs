//! Storage layers: where the segments of a recording are kept.

use super::segment::Segment;
use crate::Number;
use crate::error::StorageError;
use crate::storage::{ArrayFile, SharedStack, SlabStack};
use std::sync::Arc;

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
impl<V: Number, const BUFFER: usize, const SLAB: usize> LayerOf<V> for InMemory<BUFFER, SLAB> {}
impl<V: Number, const BUFFER: usize, const SLAB: usize> LayerOf<V> for Shared<BUFFER, SLAB> {}

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
///
/// Records lie in slabs, which never move. The first has `BUFFER` bytes, or as many as 64 statements may need, and a
/// tape has it before it records: the small buffer that spares small recordings the allocator. Further slabs have
/// `SLAB` bytes each, and a record that is longer than a slab gets a slab of its own. A `SLAB` of 0 does not compile.
///
/// ```
/// use tapewright_strategies::{InMemory, Jacobian, Linear};
///
/// /// Tapes that grow by 64 MiB at a time.
/// type Large = Jacobian<f64, Linear, InMemory<4096, { 64 << 20 }>>;
/// # fn reverse<S: tapewright_strategies::Reverse>() {}
/// # reverse::<Large>();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InMemory<const BUFFER: usize = 65_536, const SLAB: usize = 1_048_576>(());
impl<const BUFFER: usize, const SLAB: usize> sealed::Sealed for InMemory<BUFFER, SLAB> {}
impl<const BUFFER: usize, const SLAB: usize> Layer for InMemory<BUFFER, SLAB> {
    type Segments = Kept<false, BUFFER, SLAB>;
}

/// Layer that keeps records in memory shared by the tapes of all threads.
///
/// The first slab belongs to the tape, so that small recordings take no lock. Further slabs come from one pool of the
/// process, and return to it when the tape starts another recording or is dropped. Many tapes that are large at
/// different times then take as much memory as the largest one. The parameters are those of [`InMemory`].
#[derive(Clone, Copy, Debug)]
pub struct Shared<const BUFFER: usize = 65_536, const SLAB: usize = 1_048_576>(());
impl<const BUFFER: usize, const SLAB: usize> sealed::Sealed for Shared<BUFFER, SLAB> {}
impl<const BUFFER: usize, const SLAB: usize> Layer for Shared<BUFFER, SLAB> {
    type Segments = Kept<true, BUFFER, SLAB>;
}

/// Slabs that no tape uses, of all lengths.
static IDLE: SharedStack<Segment> = SharedStack::locked();

impl Shared {
    /// Bytes that no tape uses at the moment.
    #[must_use]
    pub fn idle_bytes() -> usize {
        IDLE.with(|idle| idle.iter().map(Segment::reserved).sum())
    }

    /// Returns the memory that no tape uses to the allocator.
    pub fn release_idle() {
        // Freed outside the lock.
        drop(IDLE.with(core::mem::take));
    }
}

/// Slabs of one tape, and the number of them that the current recording uses. If `SHARED`, all but the first come from
/// the pool and return to it.
#[derive(Default)]
pub struct Kept<const SHARED: bool, const BUFFER: usize, const SLAB: usize> {
    /// The first is in the tape, so that a small tape has no list.
    slabs: SlabStack<Segment, 1, 16>,
    used: usize,
}

impl<const SHARED: bool, const BUFFER: usize, const SLAB: usize> Kept<SHARED, BUFFER, SLAB> {
    /// Under miri, which is slow, slabs are shorter.
    const SHORTER: usize = if cfg!(miri) { 16 } else { 1 };
    const FIRST: usize = BUFFER / Self::SHORTER;
    const FURTHER: usize = SLAB.div_ceil(Self::SHORTER);

    /// Length of slab `at`, unless a record is longer.
    fn standard(&self, at: usize) -> usize {
        const { assert!(SLAB > 0, "a slab must have room for at least one byte: SLAB is 0") };
        // A tape that begins with less, since little was reserved, grows by the same steps.
        let before = at.checked_sub(1).map_or(0, |before| self.slabs[before].bytes());
        if before < Self::FIRST.min(Self::FURTHER) { Self::FIRST } else { Self::FURTHER }
    }

    /// Returns an idle slab, or else a new one.
    fn take(bytes: usize) -> Segment {
        let idle = IDLE.with(|idle| {
            let at = (0..idle.len()).rev().find(|at| idle[*at].bytes() == bytes)?;
            let last = idle.pop()?;
            Some(if at == idle.len() { last } else { core::mem::replace(&mut idle[at], last) })
        });
        // The lock is free while a new slab is allocated.
        idle.unwrap_or_else(|| Segment::new(bytes))
    }

    fn give_back(&mut self) {
        if !SHARED || self.slabs.len() < 2 {
            return;
        }
        IDLE.with(|idle| {
            while self.slabs.len() > 1
                && let Some(slab) = self.slabs.pop()
            {
                // If there is no memory for the list, the slab returns to the allocator.
                if slab.bytes() == Self::FURTHER && idle.make_room() {
                    idle.push(slab);
                }
            }
        });
    }
}

impl<const SHARED: bool, const BUFFER: usize, const SLAB: usize> Segments for Kept<SHARED, BUFFER, SLAB> {
    const COUNTS_AT_ONCE: bool = false;
    type Reader<'a> = InPlace<'a>;

    fn advance(&mut self, least: usize) -> Result<(*mut u8, usize), StorageError> {
        let at = self.used;
        if self.slabs.get(at).is_none_or(|slab| slab.bytes() < least) {
            let bytes = least.max(self.standard(at));
            let slab = if SHARED && bytes == Self::FURTHER { Self::take(bytes) } else { Segment::new(bytes) };
            match self.slabs.get_mut(at) {
                None => self.slabs.push(slab),
                Some(short) => {
                    // One that is too short waits at the end.
                    let short = core::mem::replace(short, slab);
                    self.slabs.push(short);
                }
            }
        }
        self.used += 1;
        Ok((self.slabs[at].start(), self.slabs[at].bytes()))
    }

    fn rewind(&mut self) {
        self.used = 0;
        self.give_back();
    }

    fn truncate(&mut self, count: usize) -> Result<*mut u8, StorageError> {
        self.used = count;
        Ok(self.slabs[count - 1].start())
    }

    fn reserve(&mut self, bytes: usize) {
        let mut have: usize = self.slabs.iter().map(Segment::bytes).sum();
        if SHARED {
            let idle =
                IDLE.with(|idle| idle.iter().filter(|slab| slab.bytes() == Self::FURTHER).count()) * Self::FURTHER;
            if let Some(missing @ 1..) = bytes.checked_sub(have).and_then(|more| more.checked_sub(idle)) {
                // Allocated in one piece first: piece by piece, the system may promise more than it has.
                drop(Segment::new(missing));
            }
            while have < bytes {
                let slab = Self::take(self.standard(self.slabs.len()));
                have += slab.bytes();
                self.slabs.push(slab);
            }
        } else if bytes > have {
            // A record does not straddle slabs, so the end of each may stay empty.
            let slack = 4096 * (self.slabs.len() + 1);
            self.slabs.push(Segment::new(bytes - have + slack));
        }
        self.slabs.iter_mut().skip(self.used).for_each(Segment::zero);
    }

    fn reader(&self) -> InPlace<'_> {
        InPlace(&self.slabs)
    }

    fn reserved(&self) -> usize {
        self.slabs.iter().map(Segment::reserved).sum()
    }
}

impl<const SHARED: bool, const BUFFER: usize, const SLAB: usize> Drop for Kept<SHARED, BUFFER, SLAB> {
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Reader of segments that are in memory.
pub(crate) struct InPlace<'a>(&'a SlabStack<Segment, 1, 16>);
impl Reader for InPlace<'_> {
    fn segment(&mut self, at: usize) -> Result<*const u8, StorageError> {
        Ok(self.0[at].start().cast_const())
    }
}
