//! Snapshots in real files, and disks that refuse them. More ways in which files fail are in `spill_faults.rs`.

use crate::plans::{self, Plan, Recorded, START, by_loop, inputs, reference, weigh};
use std::io::ErrorKind;
use tapewright::Error;
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::{Multistage, Revolve};
use tapewright::storage::{SpillOptions, StorageError};
use tapewright_kit_tests::all_close;
use tapewright_test_support::files::Directory;
#[cfg(target_os = "linux")]
use tapewright_test_support::files::open_files;

const STEPS: usize = 30;

fn looped(memory: usize, disk: usize, options: SpillOptions) -> TimeLoop<Jacobian> {
    TimeLoop::new(Plan::Multistage(Multistage::new(STEPS, memory, disk))).named("the loop").disk(options)
}

fn record(looped: TimeLoop<Jacobian>) -> Result<Recorded<Jacobian>, Error> {
    plans::record(looped, STEPS)
}

fn assert_right(mut recorded: Recorded<Jacobian>) {
    recorded.assert_right(STEPS);
}

#[test]
fn snapshots_go_to_a_file_that_has_no_name() {
    let directory = Directory::new("file");
    let recorded = record(looped(1, 4, SpillOptions::default().directory(&directory.0))).expect("room on disk");
    assert_eq!(std::fs::read_dir(&directory.0).expect("a directory").count(), 0, "no name");
    #[cfg(target_os = "linux")]
    assert!(!open_files(std::process::id(), &directory.0).is_empty(), "it is open");
    assert_right(recorded);
    #[cfg(target_os = "linux")]
    assert_eq!(open_files(std::process::id(), &directory.0).len(), 0, "gone with the tape");
}

#[test]
fn a_directory_that_does_not_exist_is_an_error_that_names_it() {
    let missing = std::env::temp_dir().join("tapewright-no-such-directory");
    let options = SpillOptions::default().directory(&missing);
    let error = record(looped(1, 3, options.clone())).expect_err("no directory");
    assert!(error.to_string().contains("tapewright-no-such-directory"), "{error}");
    let Error::Storage(StorageError::Io { operation: "create the file", path, kind, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!((path, kind), (missing, ErrorKind::NotFound));
    // With fewer snapshots it can be done, if there is one at least.
    assert_right(record(looped(1, 3, options.clone()).give_way(true)).expect("one snapshot in memory"));
    let error = record(looped(0, 3, options).give_way(true)).expect_err("no snapshot at all");
    assert!(matches!(error, Error::Storage(StorageError::Io { .. })), "{error:?}");
}

#[test]
fn an_error_leaves_the_recording_as_it_was() {
    let missing = SpillOptions::default().directory("/tapewright/no/such/directory");
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&inputs());
        let before = (x[0] * x[1]).eval();
        by_loop(looped(0, 2, missing), STEPS, &x).expect_err("no directory");
        let end = by_loop(TimeLoop::new(Revolve::new(STEPS, 2)), STEPS, &x).expect("no disk");
        (x, (weigh(&end) + before).eval())
    });
    let (_, mut gradient) = reference::<Jacobian>(STEPS);
    gradient[0] += START[0];
    gradient[1] += plans::K;
    let found = tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of_all(&x)).expect("its own");
    all_close(&found, &gradient, 500);
}

#[test]
fn the_disk_budget_is_kept() {
    let directory = Directory::new("budget");
    // A slot takes a page. The budget has room for the first two.
    let options = SpillOptions::default().directory(&directory.0).disk(2 * 4096);
    let error = record(looped(1, 4, options.clone())).expect_err("too small a budget");
    let Error::Storage(StorageError::DiskBudget { budget, needed, .. }) = error else { panic!("{error:?}") };
    assert_eq!((budget, needed), (2 * 4096, 2 * 4096 + 8 * START.len() as u64));
    assert_right(record(looped(1, 4, options.clone()).give_way(true)).expect("three snapshots"));
    assert!(record(looped(0, 4, options.clone())).is_err());
    assert_right(record(looped(0, 4, options).give_way(true)).expect("two snapshots"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_snapshot_that_somebody_truncates_is_an_error_and_a_later_sweep_is_right() {
    let directory = Directory::new("truncated");
    let options = SpillOptions::default().directory(&directory.0);
    let mut recorded = record(looped(0, 4, options)).expect("room on disk");
    let files = open_files(std::process::id(), &directory.0);
    let file = std::fs::File::options().write(true).open(&files[0]).expect("the same file");
    file.set_len(10).expect("a shorter file");
    let error = recorded.swept(1.0).expect_err("a snapshot is missing");
    let Error::Storage(StorageError::ShortRead { path, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(path, &directory.0);
    assert_right(recorded);
}

/// A bit, all numbers or the whole file changes, the length does not: the loop checks nothing here, so the file has to.
#[cfg(target_os = "linux")]
#[test]
fn a_snapshot_that_changed_on_disk_is_an_error_that_names_the_loop_and_a_later_sweep_is_right() {
    use std::os::unix::fs::FileExt as _;
    /// What happens to the bytes of a slot.
    type Fault = fn(&mut [u8]);
    let faults: [Fault; 3] = [
        |slot| slot[5] ^= 0x20,
        |slot| slot.fill(0),
        |slot| slot.iter_mut().zip(1_u8..).for_each(|(byte, k)| *byte = k.wrapping_mul(113)),
    ];
    let directory = Directory::new("changed");
    for (fault, checked) in faults.into_iter().flat_map(|fault| [(fault, false), (fault, true)]) {
        let options = SpillOptions::default().directory(&directory.0);
        let mut recorded = record(looped(0, 4, options).checked(checked)).expect("room on disk");
        let files = open_files(std::process::id(), &directory.0);
        let file = std::fs::File::options().read(true).write(true).open(&files[0]).expect("the same file");
        for slot in 0..4 {
            let mut bytes = vec![0; 8 * START.len()];
            file.read_exact_at(&mut bytes, slot * 4096).expect("a snapshot");
            fault(&mut bytes);
            file.write_all_at(&bytes, slot * 4096).expect("as many bytes");
        }
        let error = recorded.swept(1.0).expect_err("a snapshot changed");
        let Error::Storage(StorageError::Corrupt { path, what, offset, bytes, .. }) = &error else {
            panic!("{error:?}")
        };
        assert_eq!((path, *bytes), (&directory.0, 8 * START.len() as u64));
        assert_eq!(what, &format!("the snapshot in slot {} of the loop", offset / 4096));
        assert!(error.to_string().contains("SpillOptions::directory"), "{error}");
        assert_right(recorded);
    }
}

#[cfg(not(target_os = "linux"))]
#[test]
fn what_needs_linux_is_not_tested() {
    tapewright_test_support::skipped("truncated snapshots and full disks, which need /proc and limits of the system");
}
