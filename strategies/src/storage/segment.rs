//! Fixed pieces of memory that never move: for records, for slabs of stacks, for what goes to files.

use crate::refusal::out_of_memory;
use bumpalo::Bump;
use core::alloc::Layout;
use core::ptr::NonNull;

/// A piece of memory of fixed size, owned through a `Bump` that holds nothing else.
///
/// One `Bump` for each segment, because a tape must be able to reuse every segment after a reset, and `Bump::reset`
/// keeps only the last chunk.
pub(crate) struct Segment {
    start: NonNull<u8>,
    bytes: usize,
    /// Frees the memory.
    owner: Bump,
}

// SAFETY: the segment alone owns its memory, as a `Vec<u8>` does, and `Bump` is `Send`.
unsafe impl Send for Segment {}
// SAFETY: `Bump` is not `Sync` because its cells change when it allocates, through `&Bump`. A segment never allocates
// after construction. Through a shared reference it only tells where it lies and how large it is; whoever writes there
// answers for it, as with any raw pointer.
unsafe impl Sync for Segment {}

impl Segment {
    /// The first segment of a tape, so that small tapes are small. (In the interpreter, which is slow, all are
    /// smaller.)
    pub(crate) const FIRST: usize = if cfg!(miri) { 4 << 10 } else { 64 << 10 };
    /// All others.
    pub(crate) const BYTES: usize = 16 * Self::FIRST;

    /// A segment for records.
    ///
    /// # Panics
    ///
    /// When the allocator has no such piece of memory.
    pub(crate) fn new(bytes: usize) -> Self {
        Self::aligned(bytes, 8).unwrap_or_else(|| out_of_memory(bytes, "a segment of the tape"))
    }

    /// A segment of this many bytes with this alignment; `None` when the allocator has none.
    pub(crate) fn aligned(bytes: usize, align: usize) -> Option<Self> {
        let (owner, layout) = (Bump::new(), Layout::from_size_align(bytes, align).ok()?);
        let start = owner.try_alloc_layout(layout).ok()?;
        Some(Self { start, bytes, owner })
    }

    /// This many units of this layout, one behind the other, and any more that fit into the memory that they take;
    /// `None` when the allocator has none.
    pub(crate) fn of_units(unit: Layout, count: usize) -> Option<Self> {
        let mut segment = Self::aligned(unit.size().checked_mul(count)?, unit.align())?;
        let spare = segment.owner.chunk_capacity() / unit.size() * unit.size();
        let layout = Layout::from_size_align(spare, unit.align()).ok()?;
        // Pieces of a `Bump` lie one below the other.
        if spare > 0
            && let Ok(start) = segment.owner.try_alloc_layout(layout)
            && start.as_ptr().wrapping_add(spare) == segment.start()
        {
            (segment.start, segment.bytes) = (start, segment.bytes + spare);
        }
        Some(segment)
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

    /// Makes all bytes zero.
    pub(crate) fn zero(&mut self) {
        // SAFETY: the segment owns these bytes, and `&mut self` says that nobody reads or writes them meanwhile.
        unsafe { self.start.as_ptr().write_bytes(0, self.bytes) }
    }
}
