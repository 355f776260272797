//! Small stacks that spill, and the bound of their memory.

use tapewright_strategies::storage::{SpillOptions, SpillUsage, SpilledStack};

pub(crate) const SLAB: usize = 16 << 10;
/// What the allocator gives for a slab is at most a page more.
pub(crate) const RESERVED: usize = SLAB + 4096;

pub(crate) fn options(slabs_in_memory: usize) -> SpillOptions {
    SpillOptions::default().slab(SLAB).memory(slabs_in_memory * RESERVED)
}

/// Distinct and in no simple order, so that a slab in the wrong place is noticed.
pub(crate) const fn value(i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(17)
}

pub(crate) fn filled(options: SpillOptions, elements: usize) -> SpilledStack<u64> {
    let mut stack = SpilledStack::new(options);
    (0..elements).for_each(|i| stack.push(value(i)).expect("room on disk"));
    stack
}

pub(crate) fn assert_within(usage: SpillUsage, budget: usize, slab: usize, readers: usize) {
    let bound = budget + readers * (slab + 4096) + usage.in_flight_limit;
    assert!(usage.peak_resident <= bound, "{} of {bound} bytes: {usage:?}", usage.peak_resident);
    assert!(usage.resident <= usage.peak_resident && usage.on_disk <= usage.file_bytes, "{usage:?}");
    let buffers = usage.in_flight_limit / (slab + 4096);
    assert!(buffers <= 2 + 2 * readers.max(1), "{buffers} buffers in flight");
}
