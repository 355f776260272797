//! The chapters for contributors name files, notes, tests and rows that are there.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use tapewright_book_tests::root;

const ARCHITECTURE: &str = "book/src/architecture.md";
const ROWS: &str = "book/src/rows.md";
/// Has commands and features with slashes, too: only its sources are looked at.
const CONTRIBUTING: &str = "CONTRIBUTING.md";

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files and folders below this one, relative to the root of the repository, except what builds leave.
fn below(folder: &str, found: &mut Vec<String>) {
    let entries = fs::read_dir(root().join(folder)).expect("the folder can be read");
    for entry in entries {
        let name = entry.expect("the folder can be read").file_name();
        let name = name.to_str().expect("names are text");
        if ["target", ".git"].contains(&name) {
            continue;
        }
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        if root().join(&path).is_dir() {
            below(&path, found);
        }
        found.push(path);
    }
}

fn repository() -> Vec<String> {
    let mut found = Vec::new();
    below("", &mut found);
    assert!(found.len() > 500, "the repository is there");
    found
}

/// The spans of code of a text, outside fences.
fn spans(text: &str) -> Vec<&str> {
    let outside = text.split("```").step_by(2);
    outside.flat_map(|part| part.split('`').skip(1).step_by(2)).collect()
}

/// The words of the drawings of a text.
fn drawn(text: &str) -> Vec<&str> {
    text.split("```").skip(1).step_by(2).flat_map(str::split_whitespace).collect()
}

/// A path of a file or folder, or its last parts.
fn is_path(word: &str) -> bool {
    let is_file = |end: &&str| Path::new(word).extension().is_some_and(|extension| extension == *end);
    let plain = word.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
    plain && word.len() > 1 && (word.contains('/') || ["rs", "md", "sh", "txt"].iter().any(is_file))
}

#[test]
fn chapters_for_contributors_name_files_that_are_there() {
    let all = repository();
    let is_there = |path: &str| {
        let (path, end) = (path.trim_end_matches('/'), format!("/{}", path.trim_end_matches('/')));
        all.iter().any(|known| known == path || known.ends_with(&end))
    };
    for chapter in [ARCHITECTURE, ROWS, CONTRIBUTING] {
        let text = read(chapter);
        let words = spans(&text).into_iter().chain(drawn(&text));
        let is_named = |word: &str| {
            is_path(word) && (chapter != CONTRIBUTING || Path::new(word).extension().is_some_and(|end| end == "rs"))
        };
        let paths: Vec<&str> =
            words.map(|word| word.trim_matches(|c| "(),:".contains(c))).filter(|w| is_named(w)).collect();
        assert!(paths.len() > 10, "{chapter} names files");
        for path in paths {
            assert!(is_there(path), "{chapter} names {path}, which is not there");
        }
    }
}

#[test]
fn decisions_that_the_architecture_names_are_there() {
    let text = read(ARCHITECTURE);
    let notes: Vec<&str> = spans(&text).into_iter().filter(|span| span.starts_with("2026-")).collect();
    assert!(notes.len() > 20, "the chapter names notes");
    for note in notes {
        assert!(root().join(format!("book/decisions/{note}.md")).exists(), "there is no note {note}");
    }
}

/// The words of all sources in which tests may be, among them the names of tests.
fn names_in_sources() -> HashSet<String> {
    let mut names = HashSet::new();
    for path in repository().iter().filter(|path| Path::new(path).extension().is_some_and(|end| end == "rs")) {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        names.extend(read(path).split(|c| !is_name(c)).filter(|word| word.contains('_')).map(str::to_owned));
    }
    names
}

/// The rows that a test is named after: `c7_c8_what_is_forgotten` is about C7 and C8.
fn rows_of(name: &str) -> Vec<String> {
    let is_row = |part: &&str| {
        let number = part.strip_prefix(['t', 'x', 'c', 'k', 's']);
        number
            .is_some_and(|number| !number.is_empty() && number.len() <= 2 && number.bytes().all(|b| b.is_ascii_digit()))
    };
    name.split('_').take_while(is_row).map(str::to_uppercase).collect()
}

#[test]
fn rows_name_tests_that_are_there_and_tests_name_rows_that_are_there() {
    let (text, names) = (read(ROWS), names_in_sources());
    let rows: HashSet<&str> = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next()).collect();
    let counts =
        ["T", "X", "C", "K", "S"].map(|letter| (1..=99).filter(|k| rows.contains(&*format!("{letter}{k}"))).count());
    assert_eq!(counts, [19, 21, 19, 18, 17], "rows T, X, C, K and S");
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let Some((row, _)) = line.trim_start_matches("| ").split_once(" | ") else { continue };
        for span in spans(line).into_iter().filter(|span| span.contains('_') && !is_path(span)) {
            assert!(names.contains(span), "row {row} names {span}, which is in no source");
            let about = rows_of(span);
            assert!(about.is_empty() || about.iter().any(|about| about == row), "{span} is not about row {row}");
        }
    }
    // Parts of names count, too: modules may be called by rows.
    let tests = names.iter().filter(|name| name.matches('_').count() > 2);
    for (name, row) in tests.flat_map(|name| rows_of(name).into_iter().map(move |row| (name, row))) {
        assert!(rows.contains(&*row), "{name} is about row {row}, which {ROWS} does not have");
    }
}
