//! Documentation names the thing first.

use crate::source::{Source, below};

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
