//! Mutations that tests catch: changes of one line, listed in `mutations.txt` with the tests that fail then.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

/// Time after which a test that hangs counts as failed.
const PATIENCE: Duration = Duration::from_mins(10);

/// A change of one line of the library.
struct Mutation<'a> {
    /// The sentence that is false after the change.
    claim: &'a str,
    file: &'a str,
    is: &'a str,
    becomes: &'a str,
    /// Arguments of `cargo test` that select the tests that fail after the change.
    tests: &'a str,
}

impl<'a> Mutation<'a> {
    fn all(list: &'a str) -> Vec<Self> {
        let entries = list.split("\n\n").skip(1);
        let read = |entry: &'a str| {
            let mut lines = entry.lines();
            let mut field = |name: &str| {
                let line = lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(": "));
                line.unwrap_or_else(|| panic!("this entry of mutations.txt has no `{name}` in its place:\n{entry}"))
            };
            Self {
                claim: field("claim"),
                file: field("file"),
                is: field("is"),
                becomes: field("becomes"),
                tests: field("tests"),
            }
        };
        entries.map(read).collect()
    }

    /// Returns the file before and after the change.
    fn apply(&self, root: &Path) -> (String, String) {
        let before = fs::read_to_string(root.join(self.file)).expect(self.file);
        let found = before.matches(self.is).count();
        assert!(found == 1, "{} has {found} lines `{}`, not one: change mutations.txt, too", self.file, self.is);
        let after = before.replace(self.is, self.becomes);
        (before, after)
    }
}

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn root() -> PathBuf {
    here().join("../..")
}

fn list() -> String {
    fs::read_to_string(here().join("tests/house/mutations.txt")).expect("the list")
}

#[test]
fn the_lines_of_all_mutations_are_there() {
    let list = list();
    let all = Mutation::all(&list);
    assert!(!all.is_empty(), "no entry");
    for mutation in all {
        let (before, after) = mutation.apply(&root());
        assert!(before != after, "this changes nothing: {}", mutation.claim);
    }
}

/// Runs `cargo test` in a copy of the repository; `None` if it does not end.
fn test(root: &Path, arguments: &[&str]) -> Option<ExitStatus> {
    let mut command = Command::new(env!("CARGO"));
    command
        .arg("test")
        .arg("-q")
        .args(arguments)
        .current_dir(root)
        .env("CARGO_TARGET_DIR", root.with_extension("build"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("cargo can be run");
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("cargo has been started") {
            return Some(status);
        }
        thread::sleep(Duration::from_millis(100));
    }
    child.kill().and_then(|()| child.wait()).expect("cargo has been started");
    None
}

#[test]
#[ignore = "compiles the library once for each mutation; TAPEWRIGHT_MUTATION chooses by file or claim"]
fn every_mutation_is_caught() {
    let copy = root().join("target/mutations");
    let git = |arguments: &[&str]| {
        let status = Command::new("git").args(arguments).current_dir(root()).status();
        assert!(status.expect("git can be run").success(), "git {arguments:?} has failed");
    };
    let place = copy.to_str().expect("a path in UTF-8");
    if copy.exists() {
        git(&["worktree", "remove", "--force", place]);
    }
    git(&["worktree", "add", "--force", "--detach", place, "HEAD"]);
    let (list, chosen) = (list(), env::var("TAPEWRIGHT_MUTATION").unwrap_or_default());
    let (mut sound, mut survivors) = (Vec::new(), Vec::new());
    for mutation in Mutation::all(&list) {
        if !mutation.file.contains(&chosen) && !mutation.claim.contains(&chosen) {
            continue;
        }
        let tests: Vec<&str> = mutation.tests.split(' ').collect();
        if !sound.contains(&mutation.tests) {
            assert!(test(&copy, &tests).is_some_and(|status| status.success()), "{} fail anyway", mutation.tests);
            sound.push(mutation.tests);
        }
        let (before, after) = mutation.apply(&copy);
        fs::write(copy.join(mutation.file), after).expect(mutation.file);
        let compiled = test(&copy, &[&tests[..], &["--no-run"]].concat());
        assert!(compiled.is_some_and(|status| status.success()), "does not compile: {}", mutation.becomes);
        let caught = !test(&copy, &tests).is_some_and(|status| status.success());
        println!("{}: {}", if caught { "caught" } else { "NOT CAUGHT" }, mutation.claim);
        if !caught {
            survivors.push(mutation.claim);
        }
        fs::write(copy.join(mutation.file), before).expect(mutation.file);
    }
    git(&["worktree", "remove", "--force", place]);
    assert!(survivors.is_empty(), "no test fails although it is no longer true that {survivors:#?}");
}
