//! An allocator that counts, for programs that say so:
//!
//! ```
//! use tapewright_test_support::counting::{Counting, allocations};
//!
//! #[global_allocator]
//! static COUNTING: Counting = Counting;
//!
//! assert_eq!(allocations(|| vec![1_u8; 10].len()), (10, 1));
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts the allocations of each thread and the bytes that are live in them, now and at most.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

thread_local! {
    /// Bytes that are live in this thread.
    pub static LIVE: Cell<isize> = const { Cell::new(0) };
    /// Allocations of this thread.
    pub static CALLS: Cell<usize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

#[allow(clippy::cast_possible_wrap, reason = "layouts are at most isize::MAX bytes")]
fn count(more: usize, less: usize) {
    LIVE.set(LIVE.get() + more as isize - less as isize);
    PEAK.set(PEAK.get().max(LIVE.get()));
    CALLS.set(CALLS.get() + usize::from(more > 0));
}

// SAFETY: everything is forwarded to the system's allocator; counting touches thread-local cells without destructors
// only.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: as promised by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.realloc(at, layout, size) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Runs `f` and counts its allocations.
pub fn allocations<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = CALLS.get();
    let result = f();
    (result, CALLS.get() - before)
}

/// Bytes that are live now and were not at `before`.
///
/// # Panics
///
/// If fewer are.
#[must_use]
pub fn live_since(before: isize) -> usize {
    usize::try_from(LIVE.get() - before).expect("nothing older has been freed")
}

/// Runs `f`: the most bytes that were live in it and were not before.
///
/// # Panics
///
/// Never: the most is at least what there was before.
pub fn peak<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let before = LIVE.get();
    PEAK.set(before);
    let result = f();
    (result, usize::try_from(PEAK.get() - before).expect("it is above what was there"))
}
