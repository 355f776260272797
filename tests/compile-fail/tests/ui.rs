//! Programs that must not compile are refused with the errors that are committed beside them, each short enough to be
//! read.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The compiler that the committed errors come from; others word them differently.
const COMPILER: &str = "rustc 1.95.";
/// Lines that fit a screen.
const SCREEN: usize = 40;

fn compiler() -> String {
    let output = Command::new("rustc").arg("-V").output().expect("rustc runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn mistakes_are_refused_with_the_committed_errors() {
    if std::env::var_os("TAPEWRIGHT_BIG").is_none() {
        tapewright_test_support::skipped("compiles the library once more; set TAPEWRIGHT_BIG=1 to run it");
        return;
    }
    let compiler = compiler();
    if !compiler.starts_with(COMPILER) {
        tapewright_test_support::skipped(&format!("the errors were recorded with {COMPILER}x, and this is {compiler}"));
        return;
    }
    let cases = trybuild::TestCases::new();
    cases.pass("ui/pass/*.rs");
    cases.compile_fail("ui/*.rs");
}

#[test]
fn every_error_fits_a_screen() {
    let mut errors = 0;
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
    for entry in fs::read_dir(directory).expect("the directory of the programs can be read") {
        let path = entry.expect("its entries can be read").path();
        if path.extension().is_some_and(|extension| extension == "stderr") {
            let lines = fs::read_to_string(&path).expect("an error can be read").lines().count();
            assert!(lines <= SCREEN, "{} has {lines} lines, more than {SCREEN}", path.display());
            errors += 1;
        }
    }
    assert!(errors >= 10, "only {errors} errors are committed");
}

/// The fences of the book's chapter on messages: each has lines of errors with one answer.
fn messages_of_the_book() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/messages.md");
    let text = fs::read_to_string(path).expect("the chapter can be read");
    text.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

#[test]
fn messages_in_the_book_are_those_of_the_compiler() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("ui");
    let entries = fs::read_dir(directory).expect("the directory of the programs can be read");
    let paths = entries.map(|entry| entry.expect("its entries can be read").path());
    let errors = paths.filter(|path| path.extension().is_some_and(|extension| extension == "stderr"));
    let errors: Vec<String> = errors.map(|path| fs::read_to_string(path).expect("an error can be read")).collect();
    let messages = messages_of_the_book();
    assert!(messages.len() >= 40, "only {} messages are in the book", messages.len());
    for message in messages {
        let is_in = |error: &&String| message.lines().all(|line| error.contains(line));
        assert!(errors.iter().any(|error| is_in(&error)), "no committed error says:\n{message}");
    }
}
