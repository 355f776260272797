//! Table of the slabs of a stack, and their memory.

use crate::storage::Segment;
use core::alloc::Layout;
use core::ptr::NonNull;

/// Maximum bytes of a group of slabs. Groups double in size up to here, so that small slabs do not cost one allocation
/// each, and the memory waiting for elements stays bounded.
const GROUP_BYTES: usize = 1 << 20;

/// Slabs by index. They do not move; only this table of pointers is ever reallocated.
pub(super) struct Table<T, const SLAB: usize> {
    slabs: Vec<NonNull<[T; SLAB]>>,
    groups: Vec<Group>,
}

/// Slabs that were allocated together.
struct Group {
    /// Number of slabs in the groups before this one.
    before: usize,
    memory: Segment,
}

impl<T, const SLAB: usize> Table<T, SLAB> {
    const SLAB_BYTES: usize = SLAB.checked_mul(size_of::<T>()).expect("a slab has more bytes than the address space");

    pub(super) const fn new() -> Self {
        Self { slabs: Vec::new(), groups: Vec::new() }
    }

    /// Number of slabs.
    pub(super) const fn len(&self) -> usize {
        self.slabs.len()
    }

    /// Address of the first element of a slab.
    #[inline]
    pub(super) fn slab(&self, number: usize) -> NonNull<T> {
        self.slabs[number].cast()
    }

    /// Returns the first `count` slabs.
    pub(super) fn first(&self, count: usize) -> &[NonNull<[T; SLAB]>] {
        &self.slabs[..count]
    }

    /// Returns the first `count` slabs, to change their elements.
    pub(super) fn first_mut(&mut self, count: usize) -> &mut [NonNull<[T; SLAB]>] {
        &mut self.slabs[..count]
    }

    /// Bytes obtained from the allocator.
    pub(super) fn reserved(&self) -> usize {
        let tables = self.slabs.capacity() * size_of::<NonNull<T>>() + self.groups.capacity() * size_of::<Group>();
        tables + self.groups.iter().map(|group| group.memory.reserved()).sum::<usize>()
    }

    /// Adds at least `count` slabs, up to doubling their number, so that the number of allocations is logarithmic.
    pub(super) fn grow(&mut self, count: usize) {
        let doubled = count.max(self.len().min(GROUP_BYTES / Self::SLAB_BYTES));
        if !self.take(doubled) && !self.take(count) {
            let bytes = count as u128 * Self::SLAB_BYTES as u128;
            panic!("out of memory: the allocator has no {bytes} bytes for {count} slabs of {SLAB} elements of a stack")
        }
    }

    /// Adds a group of at least `count` slabs, as many as fit into the memory obtained. Returns false if there is no
    /// memory.
    pub(super) fn take(&mut self, count: usize) -> bool {
        // Everything that can fail comes first, so that a failure changes nothing.
        let unit = Layout::new::<[T; SLAB]>();
        let Some(memory) = Segment::of_units(unit, count) else { return false };
        let (before, count) = (self.len(), memory.bytes() / unit.size());
        if self.slabs.try_reserve(count).is_err() || self.groups.try_reserve(1).is_err() {
            return false;
        }
        let first = memory.start().cast::<[T; SLAB]>();
        self.slabs.extend((0..count).filter_map(|k| NonNull::new(first.wrapping_add(k))));
        self.groups.push(Group { before, memory });
        true
    }

    /// Frees the groups that lie completely after the first `used` slabs.
    pub(super) fn shrink(&mut self, used: usize) {
        while let Some(group) = self.groups.pop_if(|group| group.before >= used) {
            self.slabs.truncate(group.before);
        }
        self.slabs.shrink_to_fit();
        self.groups.shrink_to_fit();
    }
}
