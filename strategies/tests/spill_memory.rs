//! The bytes that a spilled stack says it has in memory, against the allocator's own count.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use tapewright_strategies::storage::{SpillOptions, SpilledStack};

/// Counts what is aligned to a page: slabs, and nothing else in this program.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on unchanged to `System`.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == 4096 {
            PEAK.fetch_max(NOW.fetch_add(layout.size(), SeqCst) + layout.size(), SeqCst);
            CALLS.fetch_add(1, SeqCst);
        }
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.align() == 4096 {
            NOW.fetch_sub(layout.size(), SeqCst);
        }
        // SAFETY: the caller's obligations are those of `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const SLAB: usize = 32 << 10;
const BUDGET: usize = 10 * SLAB;
const ELEMENTS: u64 = 500 * SLAB as u64 / 8;

// One test: the counters are those of the process.
#[test]
fn c12_resident_bytes_are_what_the_allocator_gave() {
    let mut stack = SpilledStack::<u64>::new(SpillOptions::default().slab(SLAB).memory(BUDGET));
    let exact = |stack: &SpilledStack<u64>, when: &str| {
        let usage = stack.usage();
        assert_eq!((usage.resident, usage.peak_resident), (NOW.load(SeqCst), PEAK.load(SeqCst)), "{when}: {usage:?}");
        let bound = BUDGET + SLAB + 4096 + usage.in_flight_limit;
        assert!(usage.peak_resident <= bound, "{when}: {} of {bound}", usage.peak_resident);
        assert!(usage.in_flight_limit <= 4 * (SLAB + 4096), "{when}: {usage:?}");
    };
    for round in 0..3 {
        for i in 0..ELEMENTS {
            stack.push(i).expect("room on disk");
            if i % 1000 == 0 {
                exact(&stack, "pushing");
            }
        }
        let mut sum = 0;
        stack.for_each_slab_backwards(|slab| sum += slab.iter().sum::<u64>()).expect("readable");
        assert_eq!(sum, ELEMENTS * (ELEMENTS - 1) / 2);
        exact(&stack, "sweeping");
        let calls = CALLS.load(SeqCst);
        stack.for_each_slab_backwards(|slab| sum -= slab.iter().sum::<u64>()).expect("readable");
        assert_eq!((sum, CALLS.load(SeqCst)), (0, calls), "the second sweep takes the slabs of the first");
        if round == 1 {
            stack.clear();
            exact(&stack, "cleared");
        } else {
            (0..ELEMENTS).rev().for_each(|i| assert_eq!(stack.pop().expect("readable"), Some(i)));
            exact(&stack, "popped");
        }
        let settled = BUDGET + 3 * (SLAB + 4096);
        assert!(stack.usage().resident <= settled, "between recordings: {:?} of {settled}", stack.usage());
    }

    (0..ELEMENTS).for_each(|i| stack.push(i).expect("room on disk"));
    // Short runs backwards, so that what was read ahead is seldom what is asked for next.
    let per_slab = SLAB / 8;
    for slab in (0..400).map(|i| 10 + i * 37 % 480) {
        for slab in [slab, slab - 1] {
            let i = slab * per_slab;
            assert_eq!(stack.get(i).expect("readable"), Some(i as u64));
        }
    }
    exact(&stack, "jumping");
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let read = stack.for_each_slab_backwards(|slab| assert!(slab[0] < ELEMENTS));
                read.expect("readable");
            });
        }
    });
    let usage = stack.usage();
    // Four readers, and the stack's own, which has jumped.
    let bound = BUDGET + 5 * (SLAB + 4096) + usage.in_flight_limit;
    assert!(PEAK.load(SeqCst) <= bound && usage.in_flight_limit <= 12 * (SLAB + 4096), "{usage:?} of {bound}");
    assert_eq!(usage.resident, NOW.load(SeqCst));

    drop(stack);
    assert_eq!(NOW.load(SeqCst), 0, "all memory has been given back");
}
