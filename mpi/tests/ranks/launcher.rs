//! Starts programs under `mpirun`.

use crate::AS_RANK;
use crate::misuse;
use std::process::{Command, Output};
use std::time::Instant;

fn mpirun(ranks: usize, program: &str) -> std::io::Result<Output> {
    let this = std::env::current_exe()?;
    let mut command = Command::new("mpirun");
    // A program that hangs is ended by force, and not with the words that are expected.
    command.args(["--allow-run-as-root", "--oversubscribe", "--timeout", "300", "-n", &ranks.to_string()]);
    command.arg(this).args([AS_RANK, program]).output()
}

fn words(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Checks everything on so many ranks; returns what the program says.
fn checks(ranks: usize) -> String {
    let since = Instant::now();
    let output = mpirun(ranks, "checks").expect("mpirun can be run");
    assert!(output.status.success(), "{ranks} ranks have failed:\n{}", words(&output));
    let found = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    println!("{found}, in {:.1} s", since.elapsed().as_secs_f64());
    found
}

/// All programs. Fails with what they have said.
pub(crate) fn run_all() {
    if let Err(error) = Command::new("mpirun").arg("--version").output() {
        println!("SKIPPED: the tests of messages between ranks need mpirun, which cannot be run here ({error})");
        return;
    }
    let said: Vec<String> = (1..=4).map(checks).collect();
    assert_eq!(checks(4), said[3], "another run gives other bits");
    for misuse in misuse::PROGRAMS {
        let output = mpirun(misuse.ranks, misuse.name).expect("mpirun can be run");
        let words = words(&output);
        assert!(!output.status.success(), "{} must fail, and has passed:\n{words}", misuse.name);
        for expected in misuse.says {
            assert!(words.contains(expected), "{} does not say {expected:?}:\n{words}", misuse.name);
        }
    }
    println!("{} programs that go wrong have ended as they should", misuse::PROGRAMS.len());
}
