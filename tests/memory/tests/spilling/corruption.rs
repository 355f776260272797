//! Records that change on disk: an error that names the slab, and never a derivative.
#![cfg(target_os = "linux")]

use super::{AT, SLAB, Spilling, each, each_spilled, gradients, gradients_in_memory, options, recorded, steps};
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use tapewright::prelude::*;
use tapewright::storage::StorageError;
use tapewright::{Error, Spilled};
use tapewright_test_support::files::{Directory, open_files};

/// The one file that is open and was made there.
fn file(directory: &Directory) -> File {
    let files = open_files(std::process::id(), &directory.0);
    File::options().read(true).write(true).open(files.first().expect("it is open")).expect("the same file")
}

/// Statements of the recordings here.
const STATEMENTS: usize = 10_000;

/// A recording of which the first slabs are in the file for certain.
fn spilled<S: Spilling>(directory: &Path) -> (Tape<S>, Vec<Real<S>>, Vec<Real<S>>) {
    let mut tape = Tape::<S>::spilled(options().directory(directory)).expect("the directory is there");
    let (x, y) = recorded(&mut tape, STATEMENTS, 0);
    assert!(tape.spill_usage().on_disk > 12 * SLAB as u64, "{:?}", tape.spill_usage());
    // Two threads write, and one may be late. What it has written leaves memory with the next slabs.
    wait_for_writes(&tape);
    tape.resume(|scope| steps(&scope.renew_all(&x).expect("of this recording"), 1000, 0));
    (tape, x, y)
}

fn wait_for_writes<S: Spilling>(tape: &Tape<S>) {
    while tape.spill_usage().written < tape.spill_usage().on_disk {
        std::thread::yield_now();
    }
}

/// Bytes of no meaning.
fn junk(bytes: usize) -> Vec<u8> {
    (0..bytes as u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()[0]).collect()
}

/// What happens to the bytes of a slab.
type Fault = fn(&mut [u8]);

/// None of them changes the length.
const FAULTS: [(&str, Fault); 5] = [
    ("one bit of a record", |slab| slab[1001] ^= 0x04),
    ("one bit of a code", |slab| slab[SLAB - 3] ^= 0x01),
    ("zeros in place of half a slab", |slab| slab[..SLAB / 2].fill(0)),
    ("zeros", |slab| slab.fill(0)),
    ("junk", |slab| slab.copy_from_slice(&junk(slab.len()))),
];

/// Calls `change` with a slab of the file and writes it back. Returns what it was.
fn change(file: &File, slab: usize, change: Fault) -> Vec<u8> {
    let mut bytes = vec![0; SLAB];
    file.read_exact_at(&mut bytes, (slab * SLAB) as u64).expect("a slab");
    let before = bytes.clone();
    change(&mut bytes);
    assert_ne!(bytes, before, "a fault");
    file.write_all_at(&bytes, (slab * SLAB) as u64).expect("the slab again");
    before
}

#[track_caller]
fn assert_corrupt<T>(found: Result<T, Error>, directory: &Path, slab: usize, fault: &str) {
    let Err(error) = found else { panic!("{fault} in slab {slab} was not noticed") };
    let Error::Storage(StorageError::Corrupt { path, what, offset, bytes, .. }) = &error else {
        panic!("{fault}: {error:?}")
    };
    assert_eq!((path.as_path(), what), (directory, &format!("slab {slab}")), "{fault}");
    assert_eq!((*offset, *bytes), ((slab * SLAB) as u64, SLAB as u64), "{fault}");
    let text = error.to_string();
    assert!(text.contains(&directory.display().to_string()) && text.contains("record again"), "{text}");
}

fn noticed<M: Reverse<Value = f64>, S: Spilling>(directory: &Directory) {
    let expected = gradients_in_memory::<M>(STATEMENTS, 0);
    let (mut tape, x, y) = spilled::<S>(&directory.0);
    let file = file(directory);
    for (fault, at_fault) in FAULTS {
        for slab in [0, 5, 9] {
            let before = change(&file, slab, at_fault);
            for _ in 0..2 {
                assert_corrupt(tape.sweep(&[(&y[0], 1.0)]).map(|_| ()), &directory.0, slab, fault);
            }
            assert_corrupt(tape.sweep_lanes(&[(&y[0], [1.0, 2.0])]).map(|_| ()), &directory.0, slab, fault);
            assert_corrupt(tape.jvp(&[(&x[0], 1.0)], &[&y[0]]), &directory.0, slab, fault);
            file.write_all_at(&before, (slab * SLAB) as u64).expect("as it was");
        }
    }
    assert_eq!(gradients(&mut tape, &x, &y), expected, "once the bytes are back");
    change(&file, 3, |slab| slab.fill(0));
    assert_corrupt(tape.sweep(&[(&y[0], 1.0)]).map(|_| ()), &directory.0, 3, "zeros");
    let (x, y) = recorded(&mut tape, STATEMENTS, 0);
    assert_eq!(gradients(&mut tape, &x, &y), expected, "the next recording is safe");
}

#[test]
fn a_slab_that_changed_on_disk_is_an_error_of_every_sweep_and_the_next_recording_is_right() {
    let directory = Directory::new("sweeps");
    each!(noticed, &directory);
}

/// Junk in all of the file, once nothing is being written.
fn ruin<S: Spilling>(tape: &Tape<S>, file: &File) {
    wait_for_writes(tape);
    let bytes = usize::try_from(file.metadata().expect("a file").len()).expect("small");
    file.write_all_at(&junk(bytes), 0).expect("as many bytes");
}

#[test]
fn a_replay_over_junk_is_an_error() {
    let directory = Directory::new("replays");
    let (mut tape, x, y) = spilled::<PrimalValue<f64, Linear, Spilled>>(&directory.0);
    ruin(&tape, &file(&directory));
    let Err(Error::Storage(StorageError::Corrupt { .. })) = tape.replay(&[(&x[0], 0.4)]) else { panic!("replayed") };
    let Err(Error::Storage(StorageError::Corrupt { .. })) = tape.sweep(&[(&y[1], 1.0)]) else { panic!("swept") };
    let (x, y) = recorded(&mut tape, STATEMENTS, 0);
    tape.replay(&[(&x[0], AT[0])]).expect("readable");
    assert_eq!(gradients(&mut tape, &x, &y), gradients_in_memory::<PrimalValue>(STATEMENTS, 0));
}

fn noticed_when_records_are_forgotten<S: Spilling>(directory: &Directory) {
    let (mut tape, x, _) = spilled::<S>(&directory.0);
    let position = tape.position();
    tape.resume(|scope| steps(&scope.renew_all(&x).expect("of this recording"), STATEMENTS, 0));
    ruin(&tape, &file(directory));
    let Err(Error::Storage(StorageError::Corrupt { .. })) = tape.reset_to(&position) else { panic!("went on there") };
    let (x, y) = recorded(&mut tape, 200, 0);
    assert!(gradients(&mut tape, &x, &y).iter().flatten().any(|bits| f64::from_bits(*bits) != 0.0));
}

#[test]
fn a_tape_does_not_go_on_in_a_slab_that_changed() {
    let directory = Directory::new("positions");
    each_spilled!(noticed_when_records_are_forgotten, &directory);
}
