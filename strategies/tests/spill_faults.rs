//! Disks that fill up, files that somebody truncates, processes that die: the real thing, in child processes where
//! needed.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, ErrorKind};
use std::os::unix::process::ExitStatusExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tapewright_strategies::storage::{SpillOptions, SpilledStack, StorageError};
use tapewright_test_support::files::{Directory, open_files};

const SLAB: usize = 64 << 10;
const PER_SLAB: usize = SLAB / 8;
const MEMORY: usize = 6 * (SLAB + 4096);

const fn value(i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn stack_in(directory: &Path) -> SpilledStack<u64> {
    SpilledStack::new(SpillOptions::default().slab(SLAB).memory(MEMORY).directory(directory))
}

/// Pushes until that fails: the number of elements, and the error.
fn fill(stack: &mut SpilledStack<u64>) -> (usize, StorageError) {
    for i in stack.len()..100_000_000 {
        if let Err(error) = stack.push(value(i)) {
            assert_eq!(stack.len(), i, "the element is not on the stack, all others are");
            return (i, error);
        }
    }
    panic!("100 million elements found room");
}

fn assert_all_readable(stack: &mut SpilledStack<u64>) {
    let mut next = stack.len();
    let backwards = stack.for_each_slab_backwards(|slab| {
        next -= slab.len();
        assert!(slab.iter().enumerate().all(|(i, x)| *x == value(next + i)), "at {next}");
    });
    backwards.expect("readable");
    assert_eq!(next, 0);
    for i in (0..stack.len()).step_by(1009) {
        assert_eq!(stack.get(i).expect("readable"), Some(value(i)));
    }
    let usage = stack.usage();
    assert!(usage.peak_resident <= MEMORY + 2 * (SLAB + 4096) + usage.in_flight_limit, "{usage:?}");
}

fn assert_pops_all(stack: &mut SpilledStack<u64>) {
    for i in (0..stack.len()).rev() {
        assert_eq!(stack.pop().expect("readable"), Some(value(i)));
    }
    assert_eq!(stack.pop().expect("empty"), None);
}

/// This program once more, to run `scenario` in `directory`; started by a shell that runs `before` first.
fn child(before: &str, scenario: &str, directory: &Path) -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("{before} exec \"$0\" --exact scenario_of_a_child --nocapture --test-threads=1")]);
    command.arg(std::env::current_exe().expect("this program"));
    command.env("TAPEWRIGHT_SPILL_SCENARIO", scenario).env("TAPEWRIGHT_SPILL_DIRECTORY", directory);
    command
}

/// Runs a child to its end: its output.
fn run(command: &mut Command) -> String {
    let output = command.output().expect("bash");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", output.status);
    text
}

/// What the children do; nothing when it is called as a test.
#[test]
fn scenario_of_a_child() {
    let Ok(scenario) = std::env::var("TAPEWRIGHT_SPILL_SCENARIO") else { return };
    let directory = PathBuf::from(std::env::var_os("TAPEWRIGHT_SPILL_DIRECTORY").expect("set with the scenario"));
    match scenario.as_str() {
        "file size limit" => file_size_limit(&directory),
        "file size limit, the signal ignored here" => {
            const SIGXFSZ: i32 = 25;
            const SIG_IGN: usize = 1;
            // SAFETY: no other thread of this process does anything with signals.
            unsafe { signal(SIGXFSZ, SIG_IGN) };
            file_size_limit(&directory);
        }
        "full disk" => full_disk(&directory),
        "killed" => {
            let mut stack = stack_in(&directory);
            (0..40 * PER_SLAB).for_each(|i| stack.push(value(i)).expect("room on disk"));
            println!("ready");
            std::thread::sleep(std::time::Duration::from_mins(10));
            unreachable!("the parent kills this process, {}", stack.len());
        }
        "panic" => {
            let mut stack = stack_in(&directory);
            (0..40 * PER_SLAB).for_each(|i| stack.push(value(i)).expect("room on disk"));
            assert_eq!(open_files(std::process::id(), &directory).is_empty(), stack.usage().on_disk == 0);
            panic!("a scenario with {} elements", stack.len());
        }
        "no threads" => no_threads(&directory),
        "no memory" => no_memory(&directory),
        other => panic!("no scenario {other}"),
    }
}

#[test]
fn c19_a_file_size_limit_is_an_error_that_loses_nothing() {
    let directory = Directory::new("limit");
    // In units of 1024 bytes: 20 slabs and a half. Ignored, the signal becomes an error.
    let before = format!("trap '' XFSZ; ulimit -S -f {};", 41 * SLAB / 2 / 1024);
    let text = run(&mut child(&before, "file size limit", &directory.0));
    assert!(text.contains("scenario passed"), "{text}");
}

unsafe extern "C" {
    fn signal(number: i32, handler: usize) -> usize;
}

/// The line that the documentation has for `main`.
#[test]
fn c19_a_program_that_ignores_the_signal_itself_gets_the_error() {
    let directory = Directory::new("ignored");
    let before = format!("ulimit -S -f {};", 41 * SLAB / 2 / 1024);
    let text = run(&mut child(&before, "file size limit, the signal ignored here", &directory.0));
    assert!(text.contains("scenario passed"), "{text}");
}

#[test]
fn c19_a_program_that_does_not_ignore_the_signal_is_ended_by_it_and_its_file_is_gone() {
    let directory = Directory::new("signal");
    let before = format!("ulimit -c 0; ulimit -S -f {};", 41 * SLAB / 2 / 1024);
    let output = child(&before, "file size limit", &directory.0).output().expect("bash");
    assert_eq!(output.status.signal(), Some(25), "{output:?}");
    assert_eq!(directory.entries(), 0);
}

fn file_size_limit(directory: &Path) {
    let mut stack = stack_in(directory);
    let (pushed, error) = fill(&mut stack);
    let StorageError::Io { operation: "write a slab", path, bytes, done, kind, code: Some(27), text, .. } = &error
    else {
        panic!("{error:?}")
    };
    assert_eq!((path.as_path(), *bytes, *kind), (directory, SLAB as u64, ErrorKind::FileTooLarge));
    assert!(*done < SLAB as u64 && text.contains("too large"), "{error:?}");
    let shown = error.to_string();
    assert!(shown.contains("65536 bytes") && shown.contains(&directory.display().to_string()), "{shown}");
    assert!(shown.contains("too large") && shown.contains("SpillOptions::directory"), "{shown}");
    assert!(shown.contains("`ulimit -f`"), "{shown}");

    // Twenty slabs in the file, two that could not be written, and what the budget allows, less the slab to fill.
    assert!((20..=29).contains(&(pushed / PER_SLAB)), "{pushed}");
    for _ in 0..3 {
        assert!(matches!(stack.push(0), Err(StorageError::Io { .. })), "it is tried again, and fails again");
    }
    assert_all_readable(&mut stack);
    let usage = stack.usage();
    assert!(usage.peak_resident <= MEMORY + 2 * (SLAB + 4096) + usage.in_flight_limit, "{usage:?}");

    // Once the limit is raised, the same stack goes on.
    let raised = Command::new("prlimit").args(["--pid", &std::process::id().to_string(), "--fsize=unlimited"]).status();
    if raised.is_ok_and(|status| status.success()) {
        (pushed..2 * pushed).for_each(|i| stack.push(value(i)).expect("the limit is gone"));
        assert_eq!(stack.len(), 2 * pushed);
        assert_all_readable(&mut stack);
    } else {
        println!("the limit cannot be raised: no prlimit here");
    }
    assert_pops_all(&mut stack);
    println!("scenario passed");
}

#[test]
fn c19_a_full_disk_is_an_error_that_loses_nothing() {
    let directory = Directory::new("full");
    let mount = format!("mount -t tmpfs -o size={} tapewright '{}'", 32 * SLAB, directory.0.display());
    let unshare = ["unshare -m", "unshare -r -m"].into_iter().find(|unshare| {
        let status = Command::new("bash").args(["-c", &format!("{unshare} {mount}")]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    });
    let Some(unshare) = unshare else {
        tapewright_test_support::skipped("this user cannot mount a file system of limited size");
        return;
    };
    let inner = format!("{mount} && exec \"$0\" --exact scenario_of_a_child --nocapture --test-threads=1");
    let before = format!("exec {unshare} bash -c '{}' \"$0\";", inner.replace('\'', "'\\''"));
    let text = run(&mut child(&before, "full disk", &directory.0));
    assert!(text.contains("scenario passed"), "{text}");
}

fn full_disk(directory: &Path) {
    let ballast = directory.join("ballast");
    fs::write(&ballast, vec![1; 12 * SLAB]).expect("room for somebody else's file");
    let mut stack = stack_in(directory);
    let (pushed, error) = fill(&mut stack);
    let StorageError::Io { operation: "write a slab", kind: ErrorKind::StorageFull, code: Some(28), .. } = &error
    else {
        panic!("{error:?}")
    };
    assert!(error.to_string().contains("No space left on device"), "{error}");
    assert!(pushed / PER_SLAB >= 20, "{pushed}");
    assert!(stack.push(0).is_err());
    assert_all_readable(&mut stack);

    // A slab that could not be written is tried with every slab that is sealed, though there would be room for that.
    let left = pushed - 3 * PER_SLAB;
    (left..pushed).rev().for_each(|i| assert_eq!(stack.pop().expect("readable"), Some(value(i))));
    let (pushed, error) = fill(&mut stack);
    assert!(pushed <= left + PER_SLAB && matches!(error, StorageError::Io { .. }), "{pushed} {error}");

    // Without the slabs that could not be written, the stack goes on, though the disk is still full.
    let left = pushed - 8 * PER_SLAB;
    (left..pushed).rev().for_each(|i| assert_eq!(stack.pop().expect("readable"), Some(value(i))));
    (left..left + 3 * PER_SLAB).for_each(|i| stack.push(value(i)).expect("there is room"));
    let (again, error) = fill(&mut stack);
    assert!(again >= pushed - 2 * PER_SLAB && matches!(error, StorageError::Io { .. }), "{again} {error}");
    assert_all_readable(&mut stack);

    // Somebody else makes room: the same stack goes on.
    fs::remove_file(&ballast).expect("somebody else's file");
    (again..again + 8 * PER_SLAB).for_each(|i| stack.push(value(i)).expect("the disk has room again"));
    assert_all_readable(&mut stack);
    assert_pops_all(&mut stack);

    (0..40 * PER_SLAB).map_while(|i| stack.push(value(i)).ok()).for_each(drop);
    assert!(free_bytes(directory) < 8 * SLAB, "the file takes the disk");
    drop(stack);
    assert_eq!(free_bytes(directory), 32 * SLAB, "and nothing once the stack is dropped");
    println!("scenario passed");
}

fn free_bytes(directory: &Path) -> usize {
    let output = Command::new("stat").args(["-f", "-c", "%f %S"]).arg(directory).output().expect("stat");
    let text = String::from_utf8(output.stdout).expect("numbers");
    text.split_whitespace().map(|n| n.parse::<usize>().expect("a number")).product()
}

#[test]
fn c19_a_truncated_file_is_a_short_read() {
    let directory = Directory::new("truncated");
    let mut stack = stack_in(&directory.0);
    (0..31 * PER_SLAB).for_each(|i| stack.push(value(i)).expect("room on disk"));
    while stack.usage().written < stack.usage().on_disk {
        std::thread::yield_now();
    }
    // The stack lets go of what has been written when it seals a slab, here one for which there is room.
    let elements = 30 * PER_SLAB - 1;
    (elements..31 * PER_SLAB).rev().for_each(|i| assert_eq!(stack.pop().expect("readable"), Some(value(i))));
    (elements..elements + 2).for_each(|i| stack.push(value(i)).expect("room"));
    (elements..elements + 2).rev().for_each(|i| assert_eq!(stack.pop().expect("readable"), Some(value(i))));
    assert_all_readable(&mut stack);
    let on_disk = usize::try_from(stack.usage().on_disk).expect("small") / SLAB;

    let files = open_files(std::process::id(), &directory.0);
    let file = File::options().write(true).open(files.first().expect("the file is open")).expect("the same file");
    let left = 10 * SLAB + 1000;
    file.set_len(left as u64).expect("a shorter file");

    for slab in 0..30 {
        let got = stack.get(slab * PER_SLAB + 3);
        if (10..on_disk).contains(&slab) {
            let Err(StorageError::ShortRead { path, offset, bytes, done, .. }) = got else { panic!("{slab}: {got:?}") };
            let there = if slab == 10 { 1000 } else { 0 };
            assert_eq!(
                (path.as_path(), offset, bytes, done),
                (&*directory.0, (slab * SLAB) as u64, SLAB as u64, there)
            );
        } else {
            assert_eq!(got.expect("still there"), Some(value(slab * PER_SLAB + 3)), "slab {slab}");
        }
    }
    let mut seen = 30;
    let error = stack.for_each_slab_backwards(|_| seen -= 1).expect_err("slabs are missing");
    assert_eq!(seen, on_disk, "those after it have been seen");
    assert!(error.to_string().contains("truncated by somebody else"), "{error}");

    // Popping stops where the slab is missing, as often as it is tried.
    for i in (on_disk * PER_SLAB..elements).rev() {
        assert_eq!(stack.pop().expect("in memory"), Some(value(i)));
    }
    for _ in 0..3 {
        assert_eq!(stack.pop(), Err(error.clone()));
        assert_eq!(stack.len(), on_disk * PER_SLAB);
    }
    // What is pushed on top is safe, and so is everything after a new start.
    stack.push(5).expect("room");
    assert_eq!(stack.pop().expect("in memory"), Some(5));
    stack.clear();
    (0..elements).for_each(|i| stack.push(value(i)).expect("room on disk"));
    assert_all_readable(&mut stack);
    assert_pops_all(&mut stack);
}

#[test]
fn c19_the_file_is_gone_after_drop_and_panic() {
    let directory = Directory::new("gone");
    let files = || open_files(std::process::id(), &directory.0);
    let spill = || {
        let mut stack = stack_in(&directory.0);
        (0..40 * PER_SLAB).for_each(|i| stack.push(value(i)).expect("room on disk"));
        assert!(stack.usage().on_disk > 0);
        assert_eq!((files().is_empty(), directory.entries()), (false, 0), "open, and without a name");
        stack
    };
    drop(spill());
    assert!(files().is_empty());
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let stack = spill();
        panic!("with {} elements", stack.len());
    }));
    assert!(panicked.is_err());
    assert_eq!((files().len(), directory.entries()), (0, 0));

    let output = child("", "panic", &directory.0).output().expect("bash");
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("a scenario with 327680 elements"), "{text}");
    assert_eq!(directory.entries(), 0);
}

#[test]
fn c19_the_file_is_gone_after_the_process_was_killed() {
    let directory = Directory::new("killed");
    let mut child = child("", "killed", &directory.0).stdout(Stdio::piped()).spawn().expect("bash");
    let output = BufReader::new(child.stdout.take().expect("piped"));
    assert!(output.lines().any(|line| line.expect("text").contains("ready")), "the child ended early");
    let open = open_files(child.id(), &directory.0);
    let bytes: u64 = open.iter().map(|path| fs::metadata(path).expect("open in the child").len()).sum();
    assert!(bytes >= 30 * SLAB as u64, "{bytes} bytes in {open:?}");
    assert_eq!(directory.entries(), 0, "without a name");
    child.kill().expect("SIGKILL");
    child.wait().expect("killed");
    assert_eq!((open_files(child.id(), &directory.0).len(), directory.entries()), (0, 0));
}

#[test]
fn c19_without_threads_everything_is_done_at_once() {
    let directory = Directory::new("threads");
    // No thread can have a stack of this size.
    let before = format!("export RUST_MIN_STACK={};", 1_u64 << 46);
    let text = run(&mut child(&before, "no threads", &directory.0));
    assert!(text.contains("scenario passed"), "{text}");
}

fn no_threads(directory: &Path) {
    let threads = || fs::read_dir("/proc/self/task").expect("on Linux").count();
    let before = threads();
    assert!(std::thread::Builder::new().spawn(|| ()).is_err(), "the scenario is that there are no threads");
    let mut stack = stack_in(directory);
    (0..40 * PER_SLAB).for_each(|i| stack.push(value(i)).expect("room on disk"));
    assert_all_readable(&mut stack);
    assert_eq!(threads(), before);
    assert_pops_all(&mut stack);
    println!("scenario passed");
}

#[test]
fn c19_missing_memory_is_an_error_that_loses_nothing() {
    if std::env::var_os("TSAN_OPTIONS").is_some() {
        tapewright_test_support::skipped("the thread sanitizer needs more addresses than the limit allows");
        return;
    }
    let directory = Directory::new("memory");
    // In KiB, of which the program itself takes a part.
    let text = run(&mut child("ulimit -v 200000;", "no memory", &directory.0));
    assert!(text.contains("scenario passed"), "{text}");
}

fn no_memory(directory: &Path) {
    let mut taken = Vec::<u8>::new();
    taken.try_reserve_exact(100 << 20).expect("within the limit");
    let mut stack = SpilledStack::new(SpillOptions::default().slab(SLAB).memory(1 << 40).directory(directory));
    let (pushed, error) = fill(&mut stack);
    assert!(matches!(error, StorageError::OutOfMemory { bytes: SLAB, .. }), "{error:?}");
    assert!(error.to_string().contains("lower `SpillOptions::memory`"), "{error}");
    for _ in 0..3 {
        assert_eq!(stack.push(0), Err(error.clone()), "it is tried again");
    }
    assert_eq!(stack.get(pushed / 2), Ok(Some(value(pushed / 2))));
    drop(taken);
    (pushed..pushed + 3 * PER_SLAB).for_each(|i| stack.push(value(i)).expect("there is memory again"));
    (0..stack.len()).rev().for_each(|i| assert_eq!(stack.pop(), Ok(Some(value(i)))));
    println!("scenario passed");
}
