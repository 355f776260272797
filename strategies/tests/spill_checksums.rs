//! Bytes that change on disk: an error that names the slab, and never an element that was not pushed.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use tapewright_strategies::storage::{SpillOptions, SpilledStack, StorageError};
use tapewright_test_support::files::{Directory, open_files};

const SLAB: usize = 16 << 10;
const PER_SLAB: usize = SLAB / 8;
/// Slabs that are pushed, and of them those that are in the file for certain.
const SLABS: usize = 40;
const IN_FILE: usize = 30;

const fn value(i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn filled(directory: &Directory) -> SpilledStack<u64> {
    let options = SpillOptions::default().slab(SLAB).memory(6 * (SLAB + 4096)).directory(&directory.0);
    let mut stack = SpilledStack::new(options);
    push_all(&mut stack);
    stack
}

fn push_all(stack: &mut SpilledStack<u64>) {
    (0..SLABS * PER_SLAB).for_each(|i| stack.push(value(i)).expect("room on disk"));
    assert!(stack.usage().on_disk >= ((IN_FILE + 2) * SLAB) as u64, "two of them may be on their way");
}

fn file(directory: &Directory) -> File {
    let files = open_files(std::process::id(), &directory.0);
    File::options().read(true).write(true).open(files.first().expect("the file is open")).expect("the same file")
}

/// Calls `change` with the contents of a slab of the file, and writes them back. Returns what they were.
fn change(file: &File, slab: usize, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut bytes = vec![0; SLAB];
    file.read_exact_at(&mut bytes, (slab * SLAB) as u64).expect("a slab");
    let before = bytes.clone();
    change(&mut bytes);
    assert_ne!(bytes, before, "a fault");
    file.write_all_at(&bytes, (slab * SLAB) as u64).expect("the slab again");
    before
}

/// Bytes of no meaning.
fn junk(bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()[0]).collect()
}

/// What happens to the bytes of a slab.
type Fault = fn(&mut [u8]);

/// None of them changes the length.
const FAULTS: [(&str, Fault); 4] = [
    ("one bit", |slab| slab[SLAB / 2 + 5] ^= 0x10),
    ("zeros in place of a page", |slab| slab[8192..12_288].fill(0)),
    ("zeros", |slab| slab.fill(0)),
    ("junk", |slab| slab.copy_from_slice(&junk(slab.len()))),
];

#[track_caller]
fn assert_corrupt<T: std::fmt::Debug>(found: Result<T, StorageError>, directory: &Directory, slab: usize, fault: &str) {
    let Err(error) = found else { panic!("{fault} in slab {slab}: {found:?}") };
    let StorageError::Corrupt { path, what, offset, bytes, .. } = &error else { panic!("{fault}: {error:?}") };
    assert_eq!((path, what), (&directory.0, &format!("slab {slab}")), "{fault}");
    assert_eq!((*offset, *bytes), ((slab * SLAB) as u64, SLAB as u64), "{fault}");
    let text = error.to_string();
    assert!(text.contains(&format!("slab {slab} in the directory {} is corrupt", directory.0.display())), "{text}");
    assert!(text.contains("record again") && text.contains("SpillOptions::directory"), "{text}");
}

#[test]
fn c19_a_slab_that_changed_on_disk_is_an_error_for_every_way_of_reading() {
    let directory = Directory::new("changed");
    let mut stack = filled(&directory);
    let file = file(&directory);
    for (fault, at_fault) in FAULTS {
        for slab in [0, 1, 17, IN_FILE - 1] {
            let before = change(&file, slab, at_fault);
            let inside = slab * PER_SLAB + 3;
            for _ in 0..2 {
                assert_corrupt(stack.get(inside), &directory, slab, fault);
                assert_corrupt(stack.reader().get(inside), &directory, slab, fault);
                assert_corrupt(stack.reader().slab(slab).map(<[u64]>::to_vec), &directory, slab, fault);
            }
            // Backwards from the end, so that it is met by the thread that reads ahead. All before it are right.
            let mut seen = SLABS;
            let backwards = stack.for_each_slab_backwards(|elements| {
                seen -= 1;
                assert!(elements.iter().enumerate().all(|(i, x)| *x == value(seen * PER_SLAB + i)), "slab {seen}");
            });
            assert_corrupt(backwards, &directory, slab, fault);
            assert_eq!(seen, slab + 1);
            let mut reader = stack.reader();
            for i in (0..SLABS).rev().filter(|i| *i != slab).map(|i| i * PER_SLAB + 7) {
                assert_eq!(reader.get(i), Ok(Some(value(i))), "{fault} in slab {slab}");
            }
            drop(reader);
            file.write_all_at(&before, (slab * SLAB) as u64).expect("as it was");
            assert_eq!(stack.get(inside), Ok(Some(value(inside))), "once the bytes are back");
        }
    }
}

#[test]
fn c19_popping_stops_at_a_slab_that_changed_and_a_new_start_is_safe() {
    let directory = Directory::new("popped");
    let mut stack = filled(&directory);
    for (fault, at_fault) in FAULTS {
        let file = file(&directory);
        let before = change(&file, 11, at_fault);
        for i in (12 * PER_SLAB..SLABS * PER_SLAB).rev() {
            assert_eq!(stack.pop(), Ok(Some(value(i))), "{fault}");
        }
        for _ in 0..3 {
            assert_corrupt(stack.pop(), &directory, 11, fault);
            assert_eq!(stack.len(), 12 * PER_SLAB, "{fault}");
        }
        // What is pushed on top is safe.
        stack.push(5).expect("room");
        assert_eq!(stack.pop(), Ok(Some(5)));
        assert_corrupt(stack.pop(), &directory, 11, fault);
        if fault == "zeros" {
            // The bytes come back, and with them everything below.
            file.write_all_at(&before, 11 * SLAB as u64).expect("as it was");
            (0..12 * PER_SLAB).rev().for_each(|i| assert_eq!(stack.pop(), Ok(Some(value(i)))));
        }
        stack.clear();
        push_all(&mut stack);
    }
    (0..SLABS * PER_SLAB).rev().for_each(|i| assert_eq!(stack.pop(), Ok(Some(value(i)))));
    assert_eq!(stack.pop(), Ok(None));
}

/// As when a disk writes to the wrong place, or not at all: both slabs are whole, and neither is the one that belongs
/// there.
#[test]
fn c19_a_slab_in_the_place_of_another_is_an_error() {
    let directory = Directory::new("exchanged");
    let mut stack = filled(&directory);
    let file = file(&directory);
    let mut fifth = vec![0; SLAB];
    file.read_exact_at(&mut fifth, 5 * SLAB as u64).expect("a slab");
    let fourth = change(&file, 4, |slab| slab.copy_from_slice(&fifth));
    change(&file, 5, |slab| slab.copy_from_slice(&fourth));
    assert_corrupt(stack.get(4 * PER_SLAB), &directory, 4, "another slab");
    assert_corrupt(stack.get(5 * PER_SLAB), &directory, 5, "another slab");
    assert_eq!(stack.get(6 * PER_SLAB), Ok(Some(value(6 * PER_SLAB))));
}
