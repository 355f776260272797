//! The book's table of what works names these tests, all of them and no others.

use super::NAMES;
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_book_has_a_row_for_each() {
    let chapter = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/equations.md");
    let chapter = std::fs::read_to_string(chapter).expect("the chapter can be read");
    let start = chapter.find("| algorithms of nalgebra |").expect("the table is there");
    let rows = chapter[start..].lines().take_while(|line| line.starts_with('|')).skip(2);
    let last = |row: &str| row.trim_end_matches('|').rsplit('|').next().unwrap_or_default().to_owned();
    let named: Vec<String> =
        rows.flat_map(|row| last(row).split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect();
    let found: BTreeSet<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(found.len(), named.len(), "each test is named once");
    assert_eq!(found, NAMES.iter().copied().collect());
}
