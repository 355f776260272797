//! Fixed pieces of memory that never move: segments for records and for slabs of stacks, blocks for data written to
//! files.

use super::Charge;
use crate::error::out_of_memory;
use bumpalo::Bump;
use core::alloc::Layout;
use core::ptr::NonNull;
use core::slice;

/// Piece of memory of fixed size, owned through a `Bump` that holds nothing else.
///
/// One `Bump` for each segment, because a tape must be able to reuse every segment after a reset, and `Bump::reset`
/// keeps only the last chunk.
pub(crate) struct Segment {
    start: NonNull<u8>,
    bytes: usize,
    /// Owner of the memory, which frees it when dropped.
    owner: Bump,
}

// SAFETY: the segment is the only owner of its memory, like a `Vec<u8>`, and `Bump` is `Send`.
unsafe impl Send for Segment {}
// SAFETY: `Bump` is not `Sync` because allocating through `&Bump` changes its cells. A segment never allocates after
// construction. A shared reference only gives its address and length; whoever writes there is responsible, as with any
// raw pointer.
unsafe impl Sync for Segment {}

impl Segment {
    /// Allocates a segment for records.
    ///
    /// # Panics
    ///
    /// When the allocator has no memory of this size.
    pub(crate) fn new(bytes: usize) -> Self {
        Self::aligned(bytes, 8).unwrap_or_else(|| out_of_memory(bytes, "a segment of the tape"))
    }

    /// Allocates a segment of this size and alignment; `None` if the allocator has no memory.
    pub(crate) fn aligned(bytes: usize, align: usize) -> Option<Self> {
        let (owner, layout) = (Bump::new(), Layout::from_size_align(bytes, align).ok()?);
        let start = owner.try_alloc_layout(layout).ok()?;
        Some(Self { start, bytes, owner })
    }

    /// Allocates `count` contiguous units of this layout, and as many more as fit into the memory obtained; `None` if
    /// the allocator has no memory.
    pub(crate) fn of_units(unit: Layout, count: usize) -> Option<Self> {
        let mut segment = Self::aligned(unit.size().checked_mul(count)?, unit.align())?;
        let spare = segment.owner.chunk_capacity() / unit.size() * unit.size();
        let layout = Layout::from_size_align(spare, unit.align()).ok()?;
        // `Bump` allocates downwards, so the second piece ends where the first one starts.
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

    /// Bytes obtained from the allocator, including bumpalo's overhead.
    pub(crate) fn reserved(&self) -> usize {
        self.owner.allocated_bytes_including_metadata()
    }

    /// Sets all bytes to zero.
    pub(crate) fn zero(&mut self) {
        // SAFETY: the segment owns these bytes, and `&mut self` excludes concurrent access.
        unsafe { self.start.as_ptr().write_bytes(0, self.bytes) }
    }
}

/// Segment at a page-aligned address whose bytes are always initialized: they are zero at first, and a recycled block
/// holds what its last user wrote.
///
/// Files that bypass the page cache require this alignment of buffers.
pub(crate) struct Block {
    segment: Segment,
    /// Counter that includes these bytes until they are freed.
    charge: Option<Charge>,
}

impl Block {
    /// Alignment of the addresses and lengths of blocks.
    pub(crate) const ALIGN: usize = 4096;

    /// Allocates a block of `bytes` rounded up to a multiple of [`ALIGN`](Self::ALIGN), all zero; `None` if the
    /// allocator has no memory.
    pub(crate) fn zeroed(bytes: usize) -> Option<Self> {
        let bytes = bytes.max(1).checked_next_multiple_of(Self::ALIGN)?;
        let mut segment = Segment::aligned(bytes, Self::ALIGN)?;
        segment.zero();
        debug_assert!(segment.reserved() <= Self::at_most_reserved(bytes), "{bytes} bytes took {}", segment.reserved());
        Some(Self { segment, charge: None })
    }

    /// Returns true if the allocator has this many bytes in one piece. They are not touched.
    pub(crate) fn can_be_had(bytes: usize) -> bool {
        Segment::aligned(bytes, Self::ALIGN).is_some()
    }

    /// Upper bound of [`reserved`](Self::reserved) for blocks of `bytes`, a multiple of [`ALIGN`](Self::ALIGN): the
    /// allocator's overhead is less than one page.
    pub(crate) const fn at_most_reserved(bytes: usize) -> usize {
        bytes.saturating_add(Self::ALIGN)
    }

    /// Address of the first byte. It stays valid when the block is moved, until the block is dropped.
    pub(crate) const fn start(&self) -> *mut u8 {
        self.segment.start()
    }

    pub(crate) const fn len(&self) -> usize {
        self.segment.bytes()
    }

    /// Bytes obtained from the allocator, including bumpalo's overhead.
    pub(crate) fn reserved(&self) -> usize {
        self.segment.reserved()
    }

    pub(crate) const fn bytes(&self) -> &[u8] {
        // SAFETY: the segment's bytes have been initialized and stay allocated as long as the block lives; nobody
        // writes them while the block is borrowed.
        unsafe { slice::from_raw_parts(self.start(), self.len()) }
    }

    pub(crate) const fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; and `&mut self` excludes concurrent access.
        unsafe { slice::from_raw_parts_mut(self.start(), self.len()) }
    }

    pub(crate) const fn charge(&self) -> Option<&Charge> {
        self.charge.as_ref()
    }

    /// Sets the counter that includes this block, and ends the previous charge.
    pub(crate) fn set_charge(&mut self, charge: Charge) {
        self.charge = Some(charge);
    }
}

#[cfg(test)]
mod tests {
    use super::Block;

    #[test]
    fn aligned_zeroed_and_counted() {
        for (asked, got) in [(0, 4096), (1, 4096), (4096, 4096), (4097, 8192), (1 << 15, 1 << 15)] {
            let block = Block::zeroed(asked).expect("a small block");
            assert_eq!((block.start().addr() % 4096, block.len(), block.bytes().len()), (0, got, got));
            assert!(block.bytes().iter().all(|byte| *byte == 0));
            assert!((got..=Block::at_most_reserved(got)).contains(&block.reserved()), "{}", block.reserved());
        }
    }

    #[test]
    fn pointers_outlive_a_move_to_another_thread() {
        let mut block = Block::zeroed(5000).expect("a small block");
        block.bytes_mut()[4999] = 7;
        let start = block.start();
        // SAFETY: the block is alive and not borrowed.
        unsafe { start.add(3).write(5) };
        let boxed = Box::new(block);
        // SAFETY: the block is alive and not borrowed; the block has moved, its memory has not.
        unsafe { start.add(4).write(6) };
        let seen = std::thread::spawn(move || (boxed.bytes()[2..6].to_vec(), boxed.bytes()[4999]));
        assert_eq!(seen.join().expect("no panic"), (vec![0, 5, 6, 0], 7));
    }

    #[test]
    fn more_than_an_address_can_say() {
        assert!(Block::zeroed(usize::MAX).is_none());
        assert!(Block::zeroed(isize::MAX as usize).is_none());
    }

    #[test]
    #[cfg_attr(miri, ignore = "the interpreter ends the program when it has no memory")]
    fn more_than_there_is() {
        assert!(Block::zeroed(isize::MAX as usize - 8192).is_none());
    }
}
