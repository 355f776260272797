//! Tests that do not run where something is missing say so.

use std::io::Write as _;

/// Writes to the standard error, past the harness, which shows no output of tests that pass, why this test does not
/// run.
pub(crate) fn skipped(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let _ = std::io::stderr().write_all(format!("skipped: {test}: {reason}\n").as_bytes());
}
