//! Fixed pieces of memory that never move.

use crate::refusal::out_of_memory;
use bumpalo::Bump;
use core::alloc::Layout;
use core::ptr::NonNull;

/// A piece of memory of fixed size, owned through a `Bump` of exactly that capacity.
///
/// One `Bump` for each segment, because a tape must be able to reuse every segment after a reset, and `Bump::reset`
/// keeps only the last chunk.
pub(crate) struct Segment {
    start: NonNull<u8>,
    bytes: usize,
    owner: Bump<8>,
}

// SAFETY: the segment owns its memory, and no reference to its `Bump` is given away.
unsafe impl Send for Segment {}
// SAFETY: through a shared reference a segment only tells where it lies and how large it is.
unsafe impl Sync for Segment {}

impl Segment {
    /// The first segment of a tape, so that small tapes are small. (In the interpreter, which is slow, all are
    /// smaller.)
    pub(crate) const FIRST: usize = if cfg!(miri) { 4 << 10 } else { 64 << 10 };
    /// All others.
    pub(crate) const BYTES: usize = 16 * Self::FIRST;

    /// # Panics
    ///
    /// When the allocator has no such piece of memory.
    pub(crate) fn new(bytes: usize) -> Self {
        Self::get(bytes).unwrap_or_else(|| out_of_memory(bytes, "a segment of the tape"))
    }

    fn get(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, 8).ok()?;
        let owner = Bump::<8>::try_with_min_align_and_capacity(bytes).ok()?;
        let start = owner.try_alloc_layout(layout).ok()?;
        Some(Self { start, bytes, owner })
    }

    pub(crate) const fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes obtained from the allocator, bumpalo's own included.
    pub(crate) fn reserved(&self) -> usize {
        self.owner.allocated_bytes_including_metadata()
    }

    /// Writes to every page, so that recording meets no page fault.
    pub(crate) fn touch(&mut self) {
        // SAFETY: the segment owns these bytes, and `&mut self` says that nobody reads or writes them meanwhile.
        unsafe { self.start.as_ptr().write_bytes(0, self.bytes) }
    }
}
