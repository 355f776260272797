//! The book as mdBook builds it is complete by itself: pages load nothing from elsewhere, formulas included.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tapewright_book_tests::root;

/// Builds the book in a folder of its own; `None` where mdBook is missing.
fn built() -> Option<PathBuf> {
    if Command::new("mdbook").arg("--version").output().is_err() {
        tapewright_test_support::skipped("there is no mdbook");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("tapewright-book-{}", std::process::id()));
    let book = Command::new("mdbook").arg("build").arg(root().join("book")).arg("--dest-dir").arg(&folder).output();
    let book = book.expect("mdbook runs");
    assert!(book.status.success(), "{}", String::from_utf8_lossy(&book.stderr));
    Some(folder)
}

/// The files below a folder with one of these extensions, and their texts.
fn files(folder: &Path, extensions: &[&str]) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("its entries can be read").path();
        if path.is_dir() {
            found.extend(files(&path, extensions));
        } else if path.extension().is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted)) {
            let text = fs::read_to_string(&path).expect("the file is text");
            found.push((path, text));
        }
    }
    found
}

/// What a page, a style sheet or a drawing names from elsewhere: everything behind these words that begins with a
/// scheme or with `//`.
fn external(text: &str) -> Vec<String> {
    let words = ["src=\"", "href=\"", "srcset=\"", "action=\"", "data=\"", "url(", "@import \"", "@import '"];
    let behind = words.iter().flat_map(|word| text.split(word).skip(1));
    let targets = behind.map(|rest| rest.trim_start_matches(['"', '\'']));
    let is_external = |target: &&str| ["http:", "https:", "//"].iter().any(|start| target.starts_with(start));
    targets.filter(is_external).map(|target| target.chars().take(60).collect()).collect()
}

#[test]
fn the_built_book_names_no_external_address_and_has_mathml() {
    let Some(folder) = built() else { return };
    let pages = files(&folder, &["html", "css", "svg"]);
    assert!(pages.len() > 40, "only {} files", pages.len());
    for (path, text) in &pages {
        assert_eq!(external(text), Vec::<String>::new(), "{} names other sites", path.display());
    }
    let page = |name: &str| fs::read_to_string(folder.join(name)).expect("the page is there");
    assert!(page("choosing.html").contains("<math>") && page("heston.html").contains("<math display=\"block\">"));
    assert!(!page("heston.html").contains("$$"));
    fs::remove_dir_all(folder).expect("the folder can be removed");
}

#[test]
fn external_addresses_are_found() {
    let text =
        "<a href=\"https://a.org\"> <img src=\"b.svg\"> url('//c.org/d') @import \"http://e.org\" href=\"f.html\"";
    assert_eq!(external(text).len(), 3);
}
