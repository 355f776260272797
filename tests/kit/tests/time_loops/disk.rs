//! Snapshots in real files, and disks that refuse them.

use crate::everywhere::close;
use crate::files::Directory;
#[cfg(target_os = "linux")]
use crate::files::open_files;
use crate::plans::{Plan, START, by_loop, inputs, reference, weigh};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tapewright::Error;
use tapewright::checkpoint::TimeLoop;
use tapewright::prelude::*;
use tapewright::schedule::{Multistage, Revolve};
use tapewright::storage::{SpillOptions, StorageError};

const STEPS: usize = 30;

fn looped(memory: usize, disk: usize, options: SpillOptions) -> TimeLoop<Jacobian> {
    TimeLoop::new(Plan::Multistage(Multistage::new(STEPS, memory, disk))).named("the loop").disk(options)
}

type Recorded = (Tape<Jacobian>, Vec<Real<Jacobian>>, Real<Jacobian>);

fn record(looped: TimeLoop<Jacobian>) -> Result<Recorded, Error> {
    let mut tape = Tape::new();
    let recorded = tape.record(|scope| {
        let x = scope.inputs(&inputs());
        by_loop(looped, STEPS, &x).map(|end| (x, weigh(&end)))
    });
    recorded.map(|(x, y)| (tape, x, y))
}

fn assert_right((mut tape, x, y): Recorded) {
    let (_, gradient) = reference::<Jacobian>(STEPS);
    for _ in 0..2 {
        let found = tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of_all(&x)).expect("readable");
        found.iter().zip(&gradient).for_each(|(found, expected)| close(*found, *expected, 500));
    }
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

/// A file in place of the directory, and one in which nobody can make files.
#[test]
fn a_directory_that_cannot_be_written_is_an_error_that_names_it() {
    let directory = Directory::new("writable");
    let file = directory.0.join("file");
    std::fs::write(&file, "no directory").expect("a file");
    let mut places = vec![file.clone()];
    if cfg!(target_os = "linux") {
        places.push(PathBuf::from("/proc"));
    }
    for place in places {
        let options = SpillOptions::default().directory(&place);
        let error = record(looped(2, 3, options.clone())).expect_err("not writable");
        assert!(error.to_string().contains(&place.display().to_string()), "{error}");
        assert_right(record(looped(2, 3, options).give_way(true)).expect("two snapshots in memory"));
    }
    std::fs::remove_file(file).expect("the only one there");
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
    gradient[1] += crate::plans::K;
    let found = tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of_all(&x)).expect("its own");
    found.iter().zip(&gradient).for_each(|(found, expected)| close(*found, *expected, 500));
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
    let (mut tape, x, y) = record(looped(0, 4, options)).expect("room on disk");
    let files = open_files(std::process::id(), &directory.0);
    let file = std::fs::File::options().write(true).open(&files[0]).expect("the same file");
    file.set_len(10).expect("a shorter file");
    let error = tape.sweep(&[(&y, 1.0)]).map(|_| ()).expect_err("a snapshot is missing");
    let Error::Storage(StorageError::ShortRead { path, .. }) = &error else { panic!("{error:?}") };
    assert_eq!(path, &directory.0);
    assert_right((tape, x, y));
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
        let (mut tape, x, y) = record(looped(0, 4, options).checked(checked)).expect("room on disk");
        let files = open_files(std::process::id(), &directory.0);
        let file = std::fs::File::options().read(true).write(true).open(&files[0]).expect("the same file");
        for slot in 0..4 {
            let mut bytes = vec![0; 8 * START.len()];
            file.read_exact_at(&mut bytes, slot * 4096).expect("a snapshot");
            fault(&mut bytes);
            file.write_all_at(&bytes, slot * 4096).expect("as many bytes");
        }
        let error = tape.sweep(&[(&y, 1.0)]).map(|_| ()).expect_err("a snapshot changed");
        let Error::Storage(StorageError::Corrupt { path, what, offset, bytes, .. }) = &error else {
            panic!("{error:?}")
        };
        assert_eq!((path, *bytes), (&directory.0, 8 * START.len() as u64));
        assert_eq!(what, &format!("the snapshot in slot {} of the loop", offset / 4096));
        assert!(error.to_string().contains("SpillOptions::directory"), "{error}");
        assert_right((tape, x, y));
    }
}

/// This program once more, with a limit for the size of files; the signal for it ignored, so that it becomes an error.
#[cfg(target_os = "linux")]
#[test]
fn a_file_size_limit_is_an_error_and_can_be_given_way_to() {
    let directory = Directory::new("limit");
    let mut child = std::process::Command::new("bash");
    let limited = "trap '' XFSZ; ulimit -S -f 8; exec \"$0\" --exact disk::scenario_of_a_child --nocapture";
    child.args(["-c", limited]).arg(std::env::current_exe().expect("this program"));
    let output = child.env("TAPEWRIGHT_LOOP_DIRECTORY", &directory.0).output().expect("bash");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("scenario passed"), "{}: {text}", output.status);
}

/// What the child does; nothing when it is called as a test.
#[cfg(target_os = "linux")]
#[test]
fn scenario_of_a_child() {
    let Some(directory) = std::env::var_os("TAPEWRIGHT_LOOP_DIRECTORY") else { return };
    let options = SpillOptions::default().directory(&directory);
    // Two pages: the third slot is beyond them.
    let error = record(looped(0, 4, options.clone())).expect_err("too large a file");
    assert!(error.to_string().contains(&Path::new(&directory).display().to_string()), "{error}");
    let Error::Storage(StorageError::Io { kind, .. }) = error else { panic!("{error:?}") };
    assert_eq!(kind, ErrorKind::FileTooLarge);
    assert_right(record(looped(0, 4, options).give_way(true)).expect("two snapshots"));
    println!("scenario passed");
}

#[cfg(not(target_os = "linux"))]
#[test]
fn what_needs_linux_is_not_tested() {
    crate::skipped::skipped("truncated snapshots and full disks, which need /proc and limits of the system");
}
