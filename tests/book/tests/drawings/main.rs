//! The drawings of the book are what this test draws. `TAPEWRIGHT_BLESS=1 cargo test -p tapewright-book-tests` writes
//! them anew.
#![allow(clippy::cast_precision_loss, reason = "some tens of shapes")]

mod canvas;
mod gather;
mod memory;
mod records;
mod schedule;
mod shared;

use std::fs;
use tapewright_book_tests::root;

type Draw = fn() -> String;

/// Each file, and what draws it.
const DRAWINGS: [(&str, Draw); 8] = [
    ("expression.svg", records::expression),
    ("sweep.svg", records::sweep),
    ("indices.svg", memory::indices),
    ("slabs.svg", memory::slabs),
    ("revolve.svg", schedule::revolve),
    ("gather.svg", gather::gather),
    ("packs.svg", shared::packs),
    ("launch.svg", shared::launch),
];

#[test]
fn drawings_in_the_book_are_those_of_this_program() {
    for (name, draw) in DRAWINGS {
        let (path, drawn) = (root().join("book/src").join(name), draw());
        if std::env::var_os("TAPEWRIGHT_BLESS").is_some_and(|value| value == "1") {
            fs::write(&path, &drawn).expect("the drawing can be written");
        }
        assert!(fs::read_to_string(&path).unwrap_or_default() == drawn, "{name} is out of date");
    }
}

#[test]
fn every_drawing_is_shown_in_a_chapter() {
    let folder = root().join("book/src");
    let chapters = fs::read_dir(&folder).expect("the folder can be read").flatten().map(|entry| entry.path());
    let chapters = chapters.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let text: String = chapters.map(|path| fs::read_to_string(path).expect("a chapter can be read")).collect();
    for (name, _) in DRAWINGS {
        assert!(text.contains(&format!("]({name})")), "no chapter shows {name}");
    }
}
