//! Storage of which only the last slabs are in memory: bounds, contents, reading, reuse.

#[path = "common/spilled.rs"]
mod spilled;

use spilled::{RESERVED, SLAB, assert_within, filled, options, value};
use std::thread;
use std::time::{Duration, Instant};
use tapewright_strategies::storage::{SpillOptions, SpilledStack, StorageError};

/// Elements below this index are in the file, the others in memory, once no write is under way.
fn first_in_memory(stack: &SpilledStack<u64>) -> usize {
    usize::try_from(stack.usage().on_disk).expect("small") / size_of::<u64>()
}

/// Waits until each of these slabs has been read from the file: a write may end after many that began later, and until
/// then its slab is read in memory.
fn until_in_file(stack: &mut SpilledStack<u64>, slabs: impl IntoIterator<Item = usize>) {
    let (begun, top) = (Instant::now(), stack.len());
    for slab in slabs {
        let read = stack.usage().read;
        while stack.get(slab * SLAB / 8).expect("readable").is_some() && stack.usage().read == read {
            assert!(begun.elapsed() < Duration::from_mins(1), "slab {slab} is not written");
            // The stack learns which writes have ended when it begins a slab.
            stack.push(value(top)).expect("room on disk");
            assert_eq!(stack.pop().expect("in memory"), Some(value(top)));
        }
    }
}

/// Pushes, reads in all ways, and pops `bytes` of elements.
fn c12(slab: usize, budget: usize, bytes: usize) {
    let mut stack = SpilledStack::<u64>::open(SpillOptions::default().slab(slab).memory(budget)).expect("a file");
    let elements = bytes / size_of::<u64>();
    for i in 0..elements {
        stack.push(value(i)).expect("room on disk");
    }
    assert_eq!(stack.len(), elements);
    assert_within(stack.usage(), budget, slab, 0);
    assert!(stack.usage().on_disk + budget as u64 >= bytes as u64, "most is on disk: {:?}", stack.usage());

    let mut next = elements;
    let backwards = stack.for_each_slab_backwards(|slab| {
        next -= slab.len();
        assert!(slab.iter().enumerate().all(|(i, x)| *x == value(next + i)));
    });
    backwards.expect("readable");
    assert_eq!(next, 0);
    assert_within(stack.usage(), budget, slab, 1);

    for i in (0..elements).rev() {
        assert_eq!(stack.pop().expect("readable"), Some(value(i)));
    }
    assert_eq!(stack.pop().expect("empty"), None);
    assert_within(stack.usage(), budget, slab, 1);
    assert_eq!(stack.usage().on_disk, 0);
}

#[test]
fn c12_resident_bytes_stay_within_the_budget_at_every_moment() {
    c12(64 << 10, 1 << 20, 64_000_000);
    // As little as is allowed: the slab being filled, and hardly another.
    c12(SLAB, 2 * SLAB, 4_000_000);
    c12(4096, 2 * 4096, 400_000);
    c12(SLAB, 3 * SLAB - 1, 4_000_000);
}

#[test]
fn c12_contents_of_a_billion_bytes() {
    if std::env::var_os("TAPEWRIGHT_BIG").is_none() {
        tapewright_test_support::skipped("writes 1 GB to disk; set TAPEWRIGHT_BIG=1");
        return;
    }
    c12(1 << 20, 64 << 20, 1_000_000_000);
}

#[test]
fn c12_nothing_is_written_while_the_budget_lasts() {
    let stack = filled(options(4), 3 * SLAB / 8);
    let usage = stack.usage();
    assert_eq!((usage.on_disk, usage.file_bytes, usage.written), (0, 0, 0));
    assert!(usage.resident <= 4 * RESERVED);
}

#[test]
fn c13_the_last_slabs_stay_in_memory_under_random_reads() {
    let (elements, per_slab) = (40 * SLAB / 8, SLAB / 8);
    let mut stack = filled(options(6), elements);
    let in_memory = first_in_memory(&stack);
    assert_eq!(elements - in_memory, 6 * per_slab, "the budget is used");

    let read_of = |stack: &mut SpilledStack<u64>, i: usize| {
        let before = stack.usage().read;
        assert_eq!(stack.get(i).expect("readable"), Some(value(i)));
        stack.usage().read - before
    };
    for i in (0..500).map(|i| i * 7919) {
        // One slab is loaded at most, and only for what is not in memory.
        assert!(read_of(&mut stack, i % in_memory) <= 3 * SLAB as u64);
        assert_eq!(read_of(&mut stack, in_memory + i % (elements - in_memory)), 0);
    }
    assert_within(stack.usage(), 6 * RESERVED, SLAB, 1);
    let begun = Instant::now();
    while stack.usage().written < stack.usage().on_disk {
        assert!(begun.elapsed() < Duration::from_mins(1), "a slab is not written");
        thread::yield_now();
    }
    assert_eq!(stack.usage().written, stack.usage().on_disk, "nothing was written twice");
    assert_eq!(stack.get(elements).expect("above the top"), None);
    assert_eq!(stack.get(usize::MAX).expect("above the top"), None);
}

#[test]
fn c13_a_slab_is_loaded_once_for_all_its_elements() {
    let mut stack = filled(options(3), 20 * SLAB / 8);
    let per_slab = SLAB / 8;
    until_in_file(&mut stack, [5, 8]);
    let before = stack.usage().read;
    for i in 5 * per_slab..6 * per_slab {
        assert_eq!(stack.get(i).expect("readable"), Some(value(i)));
    }
    assert_eq!(stack.usage().read - before, SLAB as u64);
}

#[test]
fn c13_going_backwards_reads_ahead() {
    let per_slab = SLAB / 8;
    let mut stack = filled(options(3), 20 * per_slab);
    until_in_file(&mut stack, 2..10);
    let before = stack.usage().read;
    let read = || usize::try_from(stack.usage().read - before).expect("small") / SLAB;
    let mut reader = stack.reader();
    for slab in [3, 4, 5, 9] {
        assert_eq!(reader.slab(slab).expect("readable")[0], value(slab * per_slab));
    }
    assert_eq!(read(), 4, "forwards, slabs are read when they are asked for");
    assert_eq!(reader.slab(8).expect("readable")[0], value(8 * per_slab));
    let begun = Instant::now();
    while read() < 7 {
        assert!(begun.elapsed() < Duration::from_mins(1), "slabs 7 and 6 are not read ahead");
        thread::yield_now();
    }
    for slab in [7, 6] {
        assert_eq!(reader.slab(slab).expect("readable")[0], value(slab * per_slab));
    }
    drop(reader);
    assert!(read() <= 9, "slabs 5 and 4 were read ahead, none twice: {}", read());
}

#[test]
fn c13_what_was_loaded_is_forgotten_when_it_is_popped() {
    let per_slab = SLAB / 8;
    let mut stack = filled(options(3), 20 * per_slab);
    for round in 1..4 {
        // Slabs 12, 11, 10, … are loaded and read ahead, …
        for slab in (8..13).rev() {
            assert!(stack.get(slab * per_slab).expect("readable").is_some());
        }
        // … popped, and replaced by others.
        while stack.len() > 6 * per_slab + 100 {
            stack.pop().expect("readable");
        }
        for i in stack.len()..20 * per_slab {
            stack.push(value(i) + round).expect("room");
        }
        for i in (8 * per_slab..9 * per_slab).chain((0..20 * per_slab).rev()) {
            let added = if i < 6 * per_slab + 100 { 0 } else { round };
            assert_eq!(stack.get(i).expect("readable"), Some(value(i) + added), "{i} in round {round}");
        }
    }
}

#[test]
fn c13_readers_on_several_threads_see_the_same() {
    let elements = 60 * SLAB / 8 + 5;
    let stack = filled(options(4), elements);
    thread::scope(|scope| {
        for reader in 0..6 {
            let stack = &stack;
            scope.spawn(move || {
                if reader % 2 == 0 {
                    let mut next = elements;
                    let read = stack.for_each_slab_backwards(|slab| {
                        next -= slab.len();
                        assert!(slab.iter().enumerate().all(|(i, x)| *x == value(next + i)));
                    });
                    read.expect("readable");
                    assert_eq!(next, 0);
                } else {
                    let mut own = stack.reader();
                    for i in (0..2000).map(|i| (i * 7919 + reader * 31) % elements) {
                        assert_eq!(own.get(i).expect("readable"), Some(value(i)));
                    }
                    assert_eq!(own.get(elements).expect("above the top"), None);
                }
            });
        }
    });
    assert_within(stack.usage(), 4 * RESERVED, SLAB, 6);
    let after = stack.usage();
    assert!(after.resident <= 4 * RESERVED + 5 * RESERVED, "closed readers keep the memory of one: {after:?}");
}

#[test]
fn c13_forward_and_backward_over_every_slab() {
    let stack = filled(options(4), 30 * SLAB / 8 + 1);
    let mut reader = stack.reader();
    assert_eq!(reader.slabs(), 31);
    for slab in (0..31).chain((0..31).rev()).chain([3, 2, 9, 8, 7, 30, 7, 6, 6, 5, 20]) {
        let elements = reader.slab(slab).expect("readable");
        assert_eq!(elements.len(), if slab == 30 { 1 } else { SLAB / 8 });
        assert!(elements.iter().enumerate().all(|(i, x)| *x == value(slab * SLAB / 8 + i)), "slab {slab}");
    }
}

#[test]
#[should_panic(expected = "there is no slab 2, the stack has 2")]
fn a_slab_that_is_not_there() {
    let stack = filled(options(4), SLAB / 8 + 1);
    drop(stack.reader().slab(2));
}

#[test]
fn a_stack_is_a_stack() {
    let mut random = 1_u64;
    let mut below = |n: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(random >> 33).expect("31 bits") % n
    };
    for slabs in [2, 3, 5] {
        let mut stack = SpilledStack::<[u32; 3]>::new(SpillOptions::default().slab(4096).memory(slabs * 4096));
        let mut model = Vec::new();
        for round in 0..300 {
            match below(8) {
                0 if round % 50 == 0 => {
                    stack.clear();
                    model.clear();
                }
                0..4 => {
                    for i in 0..u32::try_from(below(3000)).expect("small") {
                        stack.push([round, i, 7]).expect("room");
                        model.push([round, i, 7]);
                    }
                }
                4..7 => {
                    for _ in 0..below(3000) {
                        assert_eq!(stack.pop().expect("readable"), model.pop());
                    }
                }
                _ => {
                    for _ in 0..20 {
                        let i = below(model.len() + 3);
                        assert_eq!(stack.get(i).expect("readable"), model.get(i).copied());
                    }
                }
            }
            assert_eq!((stack.len(), stack.is_empty()), (model.len(), model.is_empty()));
        }
        let mut all = Vec::new();
        stack.for_each_slab_backwards(|slab| all.extend(slab.iter().rev().copied())).expect("readable");
        all.reverse();
        assert_eq!(all, model);
    }
}

#[test]
fn elements_larger_than_a_slab() {
    let budget = 4 * (8192 + 4096);
    let mut stack = SpilledStack::<[u64; 1024]>::new(SpillOptions::default().slab(4096).memory(budget));
    (0..20).for_each(|i| stack.push([i; 1024]).expect("room"));
    assert!(stack.usage().on_disk > 0);
    assert_within(stack.usage(), budget, 8192, 0);
    for i in [3, 2, 1, 0, 19, 5] {
        assert_eq!(stack.get(i).expect("readable").map(|x| x[1023]), Some(i as u64));
    }
    (0..20).rev().for_each(|i| assert_eq!(stack.pop().expect("readable"), Some([i; 1024])));
}

#[test]
fn c19_the_file_is_as_large_as_the_longest_recording() {
    let mut stack = filled(options(3), 50 * SLAB / 8);
    let file_bytes = stack.usage().file_bytes;
    assert_eq!(file_bytes, stack.usage().on_disk);
    for cycle in 0..20 {
        if cycle % 2 == 0 {
            stack.clear();
            assert_eq!(stack.usage().on_disk, 0);
        } else {
            let left = cycle * SLAB / 8 + 77;
            while stack.len() > left {
                stack.pop().expect("readable");
            }
        }
        for i in stack.len()..50 * SLAB / 8 {
            stack.push(value(i)).expect("room");
        }
        assert!(stack.usage().file_bytes <= file_bytes + 2 * SLAB as u64, "{:?} after cycle {cycle}", stack.usage());
    }
    (0..50 * SLAB / 8).rev().for_each(|i| assert_eq!(stack.pop().expect("readable"), Some(value(i))));
}

#[test]
fn c19_a_second_recording_of_the_same_length_takes_no_more_memory() {
    let mut stack = filled(options(5), 50 * SLAB / 8);
    let peak = |stack: &SpilledStack<u64>| stack.usage().peak_resident;
    // How far the writer lags differs from run to run; the limit does not.
    assert!(peak(&stack) <= 5 * RESERVED + 2 * RESERVED);
    for _ in 0..5 {
        stack.clear();
        (0..50 * SLAB / 8).for_each(|i| stack.push(value(i)).expect("room"));
    }
    assert!(peak(&stack) <= 5 * RESERVED + 2 * RESERVED);
}

#[test]
fn stacks_move_between_threads() {
    const fn both<T: Send + Sync>() {}
    both::<SpilledStack<u64>>();
    both::<StorageError>();
    let mut stack = filled(options(3), 20 * SLAB / 8);
    let moved = thread::spawn(move || {
        assert_eq!(stack.get(7).expect("readable"), Some(value(7)));
        (stack.pop().expect("readable"), stack)
    });
    let (popped, mut stack) = moved.join().expect("no panic");
    assert_eq!(popped, Some(value(20 * SLAB / 8 - 1)));
    assert_eq!(stack.get(8).expect("readable"), Some(value(8)));
    assert!(format!("{stack:?}").contains("len: 40959"), "{stack:?}");
}

#[cfg(not(target_os = "linux"))]
#[test]
fn what_needs_linux_is_not_tested() {
    tapewright_test_support::skipped(
        "spill_faults.rs and spill_checksums.rs, which need /proc and limits of the system",
    );
}
