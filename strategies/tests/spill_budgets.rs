//! Budgets of memory and disk, and directories, that do not suffice.

#[path = "common/spilled.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod spilled;

use spilled::{RESERVED, SLAB, assert_within, options, value};
use std::path::Path;
use tapewright_strategies::storage::{SpillOptions, SpilledStack, StorageError};

#[test]
fn c19_the_disk_budget_is_honoured_and_nothing_is_lost() {
    let disk = 10 * SLAB as u64;
    let mut stack = SpilledStack::new(options(4).disk(disk));
    let mut pushed = 0;
    let error = loop {
        match stack.push(value(pushed)) {
            Ok(()) => pushed += 1,
            Err(error) => break error,
        }
    };
    let StorageError::DiskBudget { budget, needed, .. } = &error else { panic!("{error:?}") };
    assert_eq!((*budget, *needed), (disk, disk + SLAB as u64));
    let text = error.to_string();
    assert!(text.contains("163840") && text.contains("180224") && text.contains("SpillOptions::disk"), "{text}");

    assert_eq!(pushed * 8 % SLAB, 0, "room was needed for another slab");
    assert!(pushed * 8 >= 10 * SLAB + 3 * SLAB, "memory and disk are full: {pushed}");
    for _ in 0..5 {
        assert_eq!(stack.push(0), Err(error.clone()), "as long as there is no room");
    }
    assert_eq!((stack.len(), stack.usage().file_bytes), (pushed, disk));
    assert_within(stack.usage(), 4 * RESERVED, SLAB, 0);
    for i in (0..pushed).step_by(97) {
        assert_eq!(stack.get(i).expect("readable"), Some(value(i)));
    }
    // What is popped makes room again.
    for i in (pushed - SLAB / 4..pushed).rev() {
        assert_eq!(stack.pop().expect("readable"), Some(value(i)));
    }
    for i in pushed - SLAB / 4..pushed {
        stack.push(value(i)).expect("there is room again");
    }
    (0..pushed).rev().for_each(|i| assert_eq!(stack.pop().expect("readable"), Some(value(i))));
    assert_eq!(stack.pop().expect("empty"), None);
}

#[test]
fn c19_a_memory_budget_below_two_slabs_is_an_error() {
    let small = SpillOptions::default().slab(SLAB).memory(2 * SLAB - 1);
    let error = SpilledStack::<u64>::open(small.clone()).expect_err("too little");
    assert_eq!(error.to_string().matches("32767").count(), 1, "{error}");
    assert!(error.to_string().contains("32768"), "{error}");
    assert!(matches!(error, StorageError::MemoryBudget { budget: 32_767, needed: 32_768, .. }), "{error:?}");
    let mut unopened = SpilledStack::new(small);
    assert_eq!(unopened.push(1), Err(error), "without `open`, the first push tells");
    assert_eq!((unopened.len(), unopened.usage().resident), (0, 0));
    // An element that alone is larger than the budget.
    let mut large = SpilledStack::<[u64; 1024]>::new(SpillOptions::default().slab(4096).memory(8193));
    assert!(matches!(large.push([0; 1024]), Err(StorageError::MemoryBudget { budget: 8193, .. })));
}

#[test]
fn c19_slabs_are_whole_pages() {
    for (asked, bytes) in [(0, 4096), (1, 4096), (4096, 4096), (5000, 8192)] {
        let mut stack = SpilledStack::<u8>::new(SpillOptions::default().slab(asked).memory(2 * bytes));
        (0..=bytes).for_each(|_| stack.push(1).expect("room"));
        assert_eq!(stack.reader().slab(0).expect("readable").len(), bytes);
    }
}

#[test]
fn c19_a_directory_that_cannot_be_written_is_named() {
    let file = std::env::current_exe().expect("this program");
    let below_a_file = file.join("below");
    for directory in [Path::new("/nowhere/at all"), Path::new("/proc"), &file, &below_a_file] {
        let options = options(3).directory(directory);
        let error = SpilledStack::<u64>::open(options.clone()).expect_err("not a directory to write to");
        let StorageError::Io { operation: "create the file", path, code: Some(_), .. } = &error else {
            panic!("{error:?}")
        };
        assert_eq!(path, directory);
        let text = error.to_string();
        assert!(text.contains("create the file") && text.contains("SpillOptions::directory"), "{text}");
        assert!(text.contains(&directory.display().to_string()), "{text}");

        // Without `open`, when the first slab has to leave memory; what is in memory stays.
        let mut stack = SpilledStack::new(options);
        let pushed = (0..1_000_000).take_while(|i| stack.push(value(*i)).is_ok()).count();
        assert_eq!((stack.push(0), stack.len()), (Err(error), pushed));
        assert!(pushed * 8 >= 2 * SLAB);
        (0..pushed).rev().for_each(|i| assert_eq!(stack.pop().expect("in memory"), Some(value(i))));
    }
}

#[test]
fn c12_options_that_nobody_can_have_are_errors() {
    let huge = SpillOptions::default().slab(usize::MAX);
    let mut stack = SpilledStack::<u64>::new(huge.clone());
    let error = stack.push(1).expect_err("two slabs are more than the budget");
    assert!(matches!(error, StorageError::MemoryBudget { needed: usize::MAX, .. }), "{error:?}");
    let mut stack = SpilledStack::<u64>::new(huge.memory(usize::MAX));
    let error = stack.push(1).expect_err("a slab of all memory");
    assert!(matches!(error, StorageError::OutOfMemory { bytes: usize::MAX, .. }), "{error:?}");
    assert_eq!((stack.len(), stack.usage().resident, stack.usage().in_flight_limit), (0, 0, usize::MAX));
    let mut stack = SpilledStack::<u64>::new(SpillOptions::default().memory(usize::MAX));
    stack.push(1).expect("a slab of 1 MiB");
    assert_eq!(stack.pop(), Ok(Some(1)));
}
