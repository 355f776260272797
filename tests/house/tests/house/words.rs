//! Documentation names the thing first, and is spelled as that of Rust.

use crate::source::{Source, below};
use std::fs;
use std::path::Path;

/// Words that begin a riddle: the reader has to find out what is meant before the sentence says anything.
const RIDDLES: [&str; 8] = ["What", "Whether", "Where", "That", "It", "As", "The same", "Those"];

/// The first lines of documentation comments, with their lines' numbers.
fn beginnings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let documentation = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(str::len)
    };
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(k, line)| {
        let begins = documentation(line).filter(|_| !inside);
        inside = documentation(line).is_some();
        begins.map(|length| (k + 1, line[line.len() - length..].trim_start()))
    })
}

fn is_a_riddle(beginning: &str) -> bool {
    RIDDLES.iter().any(|word| {
        let rest = beginning.strip_prefix(word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '\''))
    })
}

#[test]
fn documentation_names_the_thing_first() {
    let all: Vec<Source> = ["src", "strategies/src", "mpi/src"].into_iter().flat_map(below).collect();
    let (mut comments, mut riddles) = (0_usize, Vec::new());
    for source in &all {
        for (line, beginning) in beginnings(&source.text) {
            comments += 1;
            if is_a_riddle(beginning) {
                riddles.push(format!("{}:{line}: {beginning}", source.path));
            }
        }
    }
    assert!(comments > 4000, "there are more comments than {comments}");
    assert!(
        50 * riddles.len() <= comments,
        "{} of {comments} comments begin with one of {RIDDLES:?}, more than 2 %; name the thing first, with a noun or \
         a verb:\n{}",
        riddles.len(),
        riddles.join("\n")
    );
}

#[test]
fn beginnings_are_found() {
    let text =
        "//! What a file is.\n//! What more.\n\n/// Whether it is.\nfn f() {}\n    /// Whatever.\n    /// As it is.\n";
    let found: Vec<(usize, &str)> = beginnings(text).collect();
    assert_eq!(found, [(1, "What a file is."), (4, "Whether it is."), (6, "Whatever.")]);
    assert_eq!(found.iter().filter(|(_, beginning)| is_a_riddle(beginning)).count(), 2);
}

/// Stems of British spelling, in two parts, since a list must not find itself.
const BRITISH: [[&str; 2]; 14] = [
    ["neighb", "our"],
    ["behavi", "our"],
    ["fav", "our"],
    ["col", "our"],
    ["cent", "re"],
    ["gr", "ey "],
    ["licen", "ce"],
    ["anal", "yse "],
    ["optim", "ise"],
    ["initial", "ise"],
    ["normal", "ise"],
    ["factor", "is"],
    ["recogn", "ise"],
    ["minim", "ise"],
];

/// The lines of a text that are spelled as in Britain, with their numbers.
fn british(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let stems = BRITISH.map(|parts| parts.concat());
    let is_british = move |line: &str| {
        let line = line.to_lowercase();
        stems.iter().any(|stem| line.contains(stem.as_str()))
    };
    text.lines().zip(1..).filter(move |(line, _)| is_british(line)).map(|(line, number)| (number, line))
}

#[test]
fn code_and_book_are_spelled_as_rust_is() {
    let rooms = ["src", "strategies", "mpi", "tests", "benches", "examples", "book/src"];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<_> = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(|file| root.join(file)).into();
    let mut folders: Vec<_> = rooms.map(|room| root.join(room)).into();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder can be read") {
            let path = entry.expect("its entries can be read").path();
            let ends = |ending: &&str| path.extension().is_some_and(|found| found == *ending);
            if path.is_dir() {
                folders.push(path);
            } else if ["rs", "md", "toml"].iter().any(ends) {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 800, "only {} files", files.len());
    let found = |path: &std::path::PathBuf| {
        let text = fs::read_to_string(path).expect("a file can be read");
        british(&text).map(|(number, line)| format!("{}:{number}: {line}", path.display())).collect::<Vec<_>>()
    };
    let wrong: Vec<String> = files.iter().flat_map(found).collect();
    assert!(
        wrong.is_empty(),
        "{} lines are not spelled as Rust's documentation is:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn british_spelling_is_found() {
    let planted = ["behavi", "our of col", "ours"].concat();
    let text = format!("behavior of colors\n// {planted}\n");
    assert_eq!(british(&text).map(|(number, _)| number).collect::<Vec<_>>(), [2]);
}
