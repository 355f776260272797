//! Cases that the public stack cannot show: blocks of unusual size, blocks that are kept, threads that fail.

use super::file::extents::Extent;
use super::file::stored::SpillFile;
use super::slabs::worker::Worker;
use super::{SlabFile, SlabReader, SpillOptions};
use crate::error::StorageError;
use crate::storage::Block;
use std::sync::Arc;

const SLAB: usize = 8192;
const RESERVED: usize = SLAB + 4096;

fn stack(blocks_in_memory: usize) -> SlabFile {
    SlabFile::new(SpillOptions::default().slab(SLAB).memory(blocks_in_memory * RESERVED))
}

fn push(stack: &mut SlabFile, least: usize, byte: u8) {
    let mut block = stack.block(least).expect("room");
    assert!(block.len() >= least.max(SLAB));
    block.bytes_mut().fill(byte);
    stack.push(block).expect("room on disk");
}

fn pop(stack: &mut SlabFile, byte: u8) -> usize {
    let block = stack.pop().expect("readable").expect("not empty");
    assert!(block.bytes().iter().all(|b| *b == byte), "slab {byte}");
    let len = block.len();
    stack.give_back(block);
    len
}

fn check(reader: &mut SlabReader<'_>, index: usize, byte: u8, len: usize) {
    let bytes = reader.get(index).expect("readable");
    assert!(bytes.len() == len && bytes.iter().all(|b| *b == byte), "slab {index}");
}

const fn both<T: Send + Sync>() {}

#[test]
fn slab_files_are_send_and_sync() {
    both::<SlabFile>();
    both::<Block>();
    both::<SlabReader<'_>>();
}

#[test]
#[cfg_attr(miri, ignore = "takes minutes in the interpreter")]
fn c12_larger_blocks_take_the_room_of_several() {
    let mut stack = stack(6);
    let least = |i: u8| if i.is_multiple_of(3) { 3 * SLAB + 1 } else { 0 };
    let len = |i: u8| if i.is_multiple_of(3) { 3 * SLAB + 4096 } else { SLAB };
    for round in 0..3 {
        (0..40).for_each(|i| push(&mut stack, least(i), i));
        assert!(stack.usage().on_disk > 0);
        {
            let mut reader = stack.reader();
            let jumps = [5, 4, 3, 2, 9, 30, 0, 39, 3, 2, 1];
            for i in (0..40).rev().chain(0..40).chain(jumps) {
                check(&mut reader, usize::from(i), i, len(i));
            }
        }
        let usage = stack.usage();
        let largest = 3 * SLAB + 2 * 4096;
        assert_eq!(usage.in_flight_limit.div_ceil(largest), 4, "{usage:?}");
        assert!(usage.peak_resident <= 6 * RESERVED + largest + usage.in_flight_limit, "{usage:?}");
        if round == 1 {
            stack.clear();
            assert_eq!((stack.len(), stack.usage().on_disk), (0, 0));
        } else {
            (0..40).rev().for_each(|i| assert_eq!(pop(&mut stack, i), len(i)));
        }
    }
    assert!(stack.pop().expect("empty").is_none());
    assert!(stack.usage().file_bytes <= 40 * 2 * SLAB as u64 + 12 * SLAB as u64, "{:?}", stack.usage());
}

#[test]
fn c12_a_block_counts_until_it_is_dropped() {
    let mut stack = stack(4);
    let blocks: Vec<Block> = (0..4).map(|_| stack.block(0).expect("within the budget")).collect();
    let reserved: usize = blocks.iter().map(Block::reserved).sum();
    assert_eq!(stack.usage().resident, reserved);
    let Err(StorageError::MemoryBudget { budget, needed, .. }) = stack.block(0) else { panic!("a fifth block") };
    assert_eq!((budget, needed), (4 * RESERVED, reserved + RESERVED));
    drop(blocks);
    assert_eq!(stack.usage().resident, 0);
    // Blocks from elsewhere are counted once they are pushed.
    let block = Block::zeroed(SLAB).expect("a small block");
    assert_eq!(stack.usage().resident, 0);
    let reserved = block.reserved();
    stack.push(block).expect("room");
    assert_eq!(stack.usage().resident, reserved);
    drop(stack.pop());
    assert_eq!(stack.usage().resident, 0);
}

#[test]
fn c12_who_keeps_all_blocks_cannot_pop_another() {
    let mut stack = stack(4);
    (0..20).for_each(|i| push(&mut stack, 0, i));
    let mut kept = Vec::new();
    let error = loop {
        match stack.pop() {
            Ok(block) => kept.push(block.expect("not empty")),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StorageError::MemoryBudget { .. }), "{error:?}");
    assert_eq!((kept.len(), stack.len()), (4, 16));
    kept.into_iter().rev().for_each(|block| stack.push(block).expect("room on disk"));
    (0..20).rev().for_each(|i| assert_eq!(pop(&mut stack, i), SLAB));
}

#[test]
fn c19_slabs_are_popped_while_they_are_being_written() {
    let mut stack = stack(2);
    for round in 0..if cfg!(miri) { 3 } else { 200_u8 } {
        (0..5).for_each(|i| push(&mut stack, 0, i ^ round));
        (2..5).rev().for_each(|i| assert_eq!(pop(&mut stack, i ^ round), SLAB));
        if round % 3 == 0 {
            stack.clear();
        } else {
            (0..2).rev().for_each(|i| assert_eq!(pop(&mut stack, i ^ round), SLAB));
        }
    }
    let usage = stack.usage();
    assert_eq!(usage.on_disk, 0);
    assert!(usage.file_bytes <= 5 * SLAB as u64, "{usage:?}");
}

#[test]
fn c19_slabs_that_are_still_in_memory_are_not_read() {
    let mut stack = stack(3);
    let mut to_read = 0;
    for _ in 0..20 {
        // The budget holds three slabs, including the one being filled. The other two are being written, or have been;
        // a written slab leaves memory when its memory is needed, or at the next push.
        (0..4).for_each(|i| push(&mut stack, 0, i));
        to_read += (0..4).filter(|i| stack.look_up(*i).is_err()).count();
        (0..4).rev().for_each(|i| assert_eq!(pop(&mut stack, i), SLAB));
    }
    let usage = stack.usage();
    assert_eq!((usage.on_disk, usage.read), (0, (to_read * SLAB) as u64), "{usage:?}");
    assert!(usage.written > 0, "{usage:?}");
    assert!(usage.file_bytes <= 3 * SLAB as u64, "{usage:?}");
}

#[test]
fn c19_through_the_page_cache_where_direct_transfers_are_refused() {
    let meter = Arc::default();
    let file = SpillFile::create(&SpillOptions::default(), &meter).expect("a file");
    let mut block = Block::zeroed(2 * SLAB).expect("a small block");
    block.bytes_mut().iter_mut().zip(0_u8..251).for_each(|(byte, i)| *byte = i);
    let at = |offset| Extent { offset, bytes: SLAB as u64 };
    file.write(&block.bytes()[..SLAB], at(0)).expect("aligned");
    // A transfer that is not aligned cannot bypass the page cache.
    file.write(&block.bytes()[1..=SLAB], at(SLAB as u64 + 7)).expect("not aligned");
    let mut back = vec![0; SLAB + 1];
    for (offset, from) in [(0, 0), (SLAB as u64 + 7, 1)] {
        file.read(&mut back[1..], at(offset)).expect("not aligned");
        assert_eq!(back[1..], block.bytes()[from..][..SLAB]);
    }
    let error = file.read(&mut back[1..], at(2 * SLAB as u64)).expect_err("the file ends there");
    let StorageError::ShortRead { offset, bytes, done, .. } = error else { panic!("{error:?}") };
    assert_eq!((offset, bytes, done), (2 * SLAB as u64, SLAB as u64, 7));
    assert!(error.to_string().contains("of 8192 bytes at offset 16384 the file holds only 7"), "{error}");
}

#[test]
fn c19_whoever_waits_for_a_thread_that_panicked_learns_of_it() {
    let mut worker = Worker::start("tapewright-test", 1, |job: u32| {
        assert!(job < 2, "job {job}");
        job + 10
    })
    .expect("a thread");
    (0..3).for_each(|job| assert!(worker.send(job)));
    assert_eq!((worker.wait(), worker.wait(), worker.wait()), (Some(10), Some(11), None));
    assert!(!worker.send(0));
    assert_eq!((worker.try_result(), worker.wait()), (None, None));
}

#[test]
fn c19_one_of_two_threads_that_panicked_is_noticed_too() {
    for waits in [true, false] {
        let work = |job: u32| {
            assert!(job != 1, "job {job}");
            job + 10
        };
        let mut worker = Worker::start("tapewright-test", 2, work).expect("a thread");
        (0..6).for_each(|job| assert!(worker.send(job)));
        let mut found = Vec::new();
        // The other thread continues until the panic is noticed. After that no result is returned, though there may be
        // more.
        while let Some(result) = if waits { None } else { worker.try_result() }.or_else(|| worker.wait()) {
            assert!([10, 12, 13, 14, 15].contains(&result) && !found.contains(&result), "{result} and {found:?}");
            found.push(result);
        }
        assert!(!worker.send(0));
        assert_eq!((worker.try_result(), worker.wait()), (None, None));
    }
}
