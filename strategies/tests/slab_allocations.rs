//! What the slab stack takes from the allocator, counted there: how often, how many bytes, and when.

#[macro_use]
#[path = "common/slabs.rs"]
mod slabs;

use slabs::scaled;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use tapewright_strategies::storage::{SharedStack, SlabStack, Unlocked};

/// The system's allocator; counts what this thread asks of it.
struct Counting;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    /// Calls that give memory, reallocations included.
    calls: usize,
    /// Calls that take memory back, reallocations not included.
    frees: usize,
    /// Bytes in use.
    live: isize,
    /// Bytes that reallocations may have had to move.
    moved: usize,
}

thread_local!(static COUNTS: Cell<Counts> = const { Cell::new(Counts { calls: 0, frees: 0, live: 0, moved: 0 }) });

fn count(change: impl FnOnce(&mut Counts)) {
    let mut counts = COUNTS.get();
    change(&mut counts);
    COUNTS.set(counts);
}

// SAFETY: `System`, with counters beside it that neither allocate nor need a destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(|c| {
            c.calls += 1;
            c.live += layout.size().cast_signed();
        });
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(|c| {
            c.frees += 1;
            c.live -= layout.size().cast_signed();
        });
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(|c| {
            c.calls += 1;
            c.live += bytes.cast_signed() - layout.size().cast_signed();
            c.moved += layout.size();
        });
        // SAFETY: as the caller promises.
        unsafe { System.realloc(place, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What `operation` changes.
fn counted<R>(operation: impl FnOnce() -> R) -> (R, Counts) {
    let before = COUNTS.get();
    let result = operation();
    let after = COUNTS.get();
    let calls = after.calls - before.calls;
    let frees = after.frees - before.frees;
    (result, Counts { calls, frees, live: after.live - before.live, moved: after.moved - before.moved })
}

#[test]
fn c3_sixty_four_pushes_allocate_nothing() {
    let (mut stack, counts) = counted(|| {
        let mut stack: SlabStack<[f64; 3]> = SlabStack::new();
        (0..64).for_each(|k| stack.push([f64::from(k); 3]));
        stack
    });
    assert_eq!(counts, Counts::default());
    let ((), counts) = counted(|| stack.push([0.0; 3]));
    // The slab, and the two tables that find it.
    assert_eq!((counts.calls, counts.frees), (3, 0));
}

#[test]
fn c8_popped_slabs_are_used_again() {
    fn check<const I: usize, const S: usize>() {
        let mut stack = SlabStack::<u64, I, S>::new();
        let n = scaled(100_000, 300) as u64;
        let fill = |stack: &mut SlabStack<u64, I, S>| counted(|| (0..n).for_each(|k| stack.push(k))).1;
        let first = fill(&mut stack);
        assert!(first.calls > 0);
        let emptied = counted(|| (0..n).for_each(|_| assert!(stack.pop().is_some()))).1;
        assert_eq!((emptied, stack.pop()), (Counts::default(), None));
        assert_eq!(fill(&mut stack), Counts::default());
        assert_eq!(counted(|| stack.clear()).1, Counts::default());
        assert_eq!(counted(|| stack.extend_from_slice(&[7; 300])).1, Counts::default());
        assert_eq!(fill(&mut stack).frees, 0);
    }
    for_sizes!(check);
}

/// C1, C2, C6, C7: no operation does more than a constant number of allocations, and what is moved is only the
/// table of slabs, 8 bytes for each.
fn pushes_and_pops<const I: usize, const S: usize>(n: usize) {
    let mut stack = SlabStack::<u64, I, S>::new();
    let (mut total, mut worst) = (Counts::default(), 0);
    for k in 0..n {
        let ((), counts) = counted(|| stack.push(k as u64));
        worst = worst.max(counts.calls);
        total.calls += counts.calls;
        total.moved += counts.moved;
    }
    let slabs = n.div_ceil(S);
    // Groups of 1, 1, 2, 4, … slabs until they have 1 MiB, and two tables that double.
    let groups = 20 + n * 8 / (1 << 19);
    assert!(worst <= 3 && total.calls <= groups + 64, "{total:?}, {worst} at most for one push of {n}");
    assert!(total.moved <= 2 * 8 * slabs + 128 * groups, "{total:?} for {slabs} slabs, {n} elements");
    let (popped, counts) = counted(|| (0..n).rev().all(|k| stack.pop() == Some(k as u64)));
    assert!(popped && counts == Counts::default());
}

#[test]
fn c6_c7_an_operation_costs_the_same_at_every_size() {
    fn check<const I: usize, const S: usize>() {
        (0..=scaled(22, 8)).for_each(|exponent| pushes_and_pops::<I, S>(1 << exponent));
    }
    for_sizes!(check);
}

#[test]
fn c6_c7_an_operation_costs_the_same_for_a_hundred_million() {
    if std::env::var_os("TAPEWRIGHT_BIG").is_some() {
        pushes_and_pops::<64, 1024>(100_000_000);
    } else {
        tapewright_test_support::skipped("takes 0.8 GB; set TAPEWRIGHT_BIG=1 to run it");
    }
}

#[test]
fn reserved_bytes_are_those_the_allocator_gave() {
    fn check<const I: usize, const S: usize>() {
        let mut stack = SlabStack::<u32, I, S>::new();
        let mut live = 0;
        let mut change = |operation: &mut dyn FnMut(&mut SlabStack<u32, I, S>)| {
            live += counted(|| operation(&mut stack)).1.live;
            let memory = stack.memory();
            assert_eq!(memory.used, stack.len() * 4);
            assert_eq!(memory.reserved.cast_signed(), size_of_val(&stack).cast_signed() + live);
            assert!(memory.used <= memory.reserved);
        };
        change(&mut |_| ());
        (0..scaled(100, 5)).for_each(|_| change(&mut |s| s.extend(0..777)));
        change(&mut |s| s.reserve(scaled(100_000, 500)));
        change(&mut |s| s.truncate(s.len() / 3));
        change(&mut |s| s.shrink_to_fit());
        change(&mut |s| s.reserve(10));
        change(&mut SlabStack::clear);
        change(&mut |s| s.shrink_to_fit());
        assert_eq!(live, 0);
        assert_eq!(stack.capacity(), I);
    }
    for_sizes!(check);
}

#[test]
fn reserved_room_is_there() {
    fn check<const I: usize, const S: usize>() {
        let mut stack = SlabStack::<u64, I, S>::new();
        stack.extend(0..10);
        let n = scaled(50_000, 300);
        stack.reserve(n);
        assert!(stack.capacity() >= 10 + n);
        assert_eq!(counted(|| (0..n).for_each(|k| stack.push(k as u64))).1, Counts::default());
        assert_eq!(counted(|| stack.reserve(0)).1, Counts::default());
    }
    for_sizes!(check);
}

#[test]
fn all_memory_goes_back() {
    fn check<const I: usize, const S: usize>() {
        let ((), counts) = counted(|| {
            let mut stack = SlabStack::<Box<u8>, I, S>::new();
            (0..scaled(5000, 200)).for_each(|_| stack.push(Box::new(1)));
            (0..scaled(700, 30)).for_each(|_| drop(stack.pop()));
            let copy = stack.clone();
            stack.shrink_to_fit();
            drop((copy, stack));
        });
        assert_eq!(counts.live, 0);
    }
    for_sizes!(check);
}

#[test]
fn c11_c19_a_stack_without_a_lock_is_only_a_stack() {
    assert_eq!(size_of::<SharedStack<u64, Unlocked>>(), size_of::<SlabStack<u64>>());
    assert_eq!(size_of::<SharedStack<u8, Unlocked, 3, 7>>(), size_of::<SlabStack<u8, 3, 7>>());
    let mut shared = SharedStack::<u64, Unlocked, 3, 7>::new();
    let mut own = SlabStack::<u64, 3, 7>::new();
    for k in 0..1000 {
        assert_eq!(counted(|| shared.push(k)).1, counted(|| own.push(k)).1);
    }
    assert_eq!((shared.memory(), shared.len()), (own.memory(), own.len()));
}
