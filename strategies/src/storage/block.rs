//! Page-aligned memory that is written to a file and read back as a whole.

use crate::storage::spill::Charge;
use bumpalo::Bump;
use core::alloc::Layout;
use core::ptr::NonNull;
use core::slice;

/// Memory of fixed size at a page-aligned address, owned through a `Bump` of its own.
///
/// The alignment is what files that bypass the page cache ask of a buffer. Bytes are zero at first, so that all of them
/// may be read whatever has been written; a recycled block holds what its last user wrote.
pub(crate) struct Block {
    start: NonNull<u8>,
    bytes: usize,
    reserved: usize,
    /// Frees the memory. It is not used otherwise.
    _owner: Bump<8>,
    /// Who counts these bytes until they are freed.
    charge: Option<Charge>,
}

// SAFETY: the block alone owns its memory, as a `Vec<u8>` does, and `Bump` is `Send`.
unsafe impl Send for Block {}
// SAFETY: `Bump` is not `Sync` because its cells change when it allocates, through `&Bump`. A block never touches its
// `Bump` after construction, except to drop it. What is left are plain bytes: safe code writes them through `&mut
// Block` only, and whoever writes through `start()` answers for it, as with any raw pointer.
unsafe impl Sync for Block {}

impl Block {
    /// Addresses and lengths of blocks are multiples of this.
    pub(crate) const ALIGN: usize = 4096;

    /// A block of `bytes` rounded up to a multiple of [`ALIGN`](Self::ALIGN), all zero; `None` when the allocator has
    /// none.
    pub(crate) fn zeroed(bytes: usize) -> Option<Self> {
        let bytes = bytes.max(1).checked_next_multiple_of(Self::ALIGN)?;
        let layout = Layout::from_size_align(bytes, Self::ALIGN).ok()?;
        let owner = Bump::<8>::with_min_align();
        let start = owner.try_alloc_layout(layout).ok()?;
        // SAFETY: the allocation has `bytes` bytes, and nobody else knows of it.
        unsafe { start.as_ptr().write_bytes(0, bytes) }
        let reserved = owner.allocated_bytes_including_metadata();
        debug_assert!(reserved <= Self::at_most_reserved(bytes), "{bytes} bytes took {reserved}");
        Some(Self { start, bytes, reserved, _owner: owner, charge: None })
    }

    /// Whether the allocator has so many bytes in one piece. They are not touched.
    pub(crate) fn can_be_had(bytes: usize) -> bool {
        let layout = Layout::from_size_align(bytes, Self::ALIGN);
        layout.is_ok_and(|layout| Bump::<8>::with_min_align().try_alloc_layout(layout).is_ok())
    }

    /// A bound of [`reserved`](Self::reserved) for blocks of `bytes`, a multiple of [`ALIGN`](Self::ALIGN): the
    /// allocator's part takes less than one more page.
    pub(crate) const fn at_most_reserved(bytes: usize) -> usize {
        bytes.saturating_add(Self::ALIGN)
    }

    /// The first byte. The pointer stays valid when the block is moved, until it is dropped.
    pub(crate) const fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) const fn len(&self) -> usize {
        self.bytes
    }

    /// Bytes obtained from the allocator, bumpalo's own included.
    pub(crate) const fn reserved(&self) -> usize {
        self.reserved
    }

    pub(crate) const fn bytes(&self) -> &[u8] {
        // SAFETY: the block owns `bytes` bytes from `start`, which have been initialised and stay allocated as long as
        // the block lives; nobody writes them while the block is borrowed.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub(crate) const fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; and `&mut self` says that nobody else reads or writes them.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    pub(crate) const fn charge(&self) -> Option<&Charge> {
        self.charge.as_ref()
    }

    /// Who counts this block from now on. The charge before this one ends.
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
        // SAFETY: as above; the block has moved, its memory has not.
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
