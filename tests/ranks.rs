//! Runs the tests of `tapewright-mpi`, which is no default member of the workspace, where there is MPI and
//! `TAPEWRIGHT_RANKS` is set: the library is compiled once more for them.

use std::env;
use std::process::{Command, Output};

/// What building and running them takes, and the command that shows whether it is there.
const NEEDS: [(&str, &[&str]); 3] =
    [("mpicc", &["mpicc", "--version"]), ("mpirun", &["mpirun", "--version"]), ("libclang", &["ldconfig", "-p"])];

fn output(command: &[&str]) -> Option<Output> {
    let directories = format!("{}:/sbin:/usr/sbin", env::var("PATH").unwrap_or_default());
    let output = Command::new(command[0]).args(&command[1..]).env("PATH", directories).output().ok()?;
    output.status.success().then_some(output)
}

fn is_there((what, command): (&str, &[&str])) -> bool {
    let listed = |output: Output| what != "libclang" || String::from_utf8_lossy(&output.stdout).contains(what);
    output(command).is_some_and(listed) || what == "libclang" && env::var_os("LIBCLANG_PATH").is_some()
}

/// Whether the arguments, which are those of other tests, too, leave this one out.
fn is_left_out() -> bool {
    let arguments: Vec<String> = env::args().collect();
    let (mut filters, mut left_out) = (Vec::new(), false);
    for pair in arguments.windows(2) {
        let is_this = "ranks".contains(&pair[1]);
        match pair[0].as_str() {
            "--skip" => left_out |= is_this,
            _ if !pair[1].starts_with('-') => filters.push(is_this),
            _ => left_out |= pair[1] == "--list",
        }
    }
    left_out || !filters.is_empty() && !filters.contains(&true)
}

fn main() {
    if is_left_out() {
        return;
    }
    if env::var_os("TAPEWRIGHT_RANKS").is_none() {
        println!("SKIPPED: the tests of tapewright-mpi, which run with TAPEWRIGHT_RANKS=1 where there is MPI");
        return;
    }
    if let Some((missing, _)) = NEEDS.into_iter().find(|need| !is_there(*need)) {
        println!("SKIPPED: the tests of tapewright-mpi, because there is no {missing} on this machine");
        println!("(on Debian: apt-get install libopenmpi-dev openmpi-bin libclang-dev)");
        return;
    }
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let status = command.args(["test", "-p", "tapewright-mpi"]).current_dir(env!("CARGO_MANIFEST_DIR")).status();
    assert!(status.expect("cargo can be run").success(), "the tests of tapewright-mpi have failed");
}
