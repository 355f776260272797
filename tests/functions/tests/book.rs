//! The chapter that lists the functions lists all of them.

use std::collections::BTreeSet;
use tapewright::strategies::rules::FUNCTIONS;

#[test]
fn the_chapter_of_functions_lists_those_of_the_table() {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    let chapter = std::path::PathBuf::from(folder).join("../../book/src/functions.md");
    let text = std::fs::read_to_string(chapter).expect("the chapter");
    let first_cells = text.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let listed: BTreeSet<&str> = first_cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    let missing: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).filter(|name| !listed.contains(name)).collect();
    assert!(missing.is_empty(), "book/src/functions.md has no rows for {missing:?}");
}
