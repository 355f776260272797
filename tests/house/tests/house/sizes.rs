//! Files and folders have a size that a reader can hold, lines fit a screen, and unsafe code is where it is allowed.
//! Functions are measured by clippy (`clippy.toml`).

use crate::source::{Source, below};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

const FILE: usize = 800;
const LINE: usize = 120;
const FOLDER: usize = 12;

fn all() -> Vec<Source> {
    ["src", "strategies/src", "mpi/src"].into_iter().flat_map(below).collect()
}

#[test]
fn files_have_at_most_800_lines() {
    let all = all();
    let long = all.iter().filter(|source| source.text.lines().count() > FILE).map(|source| source.path.as_str());
    assert_eq!(long.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn lines_have_at_most_120_columns() {
    let long = |source: &Source| {
        // Rows of tables, texts in quotes and what examples hide cannot be wrapped, or need not be.
        let text = |line: &str| line.trim_start_matches([' ', '/', '!']).starts_with(['|', '#']);
        let wraps = |line: &str| !line.contains('"') && !text(line);
        let lines = source.text.lines().enumerate().filter(|(_, line)| line.chars().count() > LINE && wraps(line));
        lines.map(|(k, _)| format!("{}:{}", source.path, k + 1)).collect::<Vec<_>>()
    };
    let found: Vec<String> = all().iter().flat_map(long).collect();
    assert!(found.is_empty(), "a line has at most 120 columns: {found:#?}");
}

/// Unsafe blocks, functions and implementations.
struct Unsafe(usize);

impl<'ast> Visit<'ast> for Unsafe {
    fn visit_expr_unsafe(&mut self, block: &'ast syn::ExprUnsafe) {
        self.0 += 1;
        syn::visit::visit_expr_unsafe(self, block);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.0 += usize::from(item.unsafety.is_some());
        syn::visit::visit_item_impl(self, item);
    }
}

/// Folders that may have unsafe code.
const UNSAFE_FOLDERS: [&str; 4] =
    ["strategies/src/tape/", "strategies/src/storage/", "strategies/src/recording/", "strategies/src/program/"];

/// The engine of kernels: loops that read without checks, and registers.
const ENGINE: [&str; 4] = [
    "strategies/src/kernel/",
    "strategies/src/number/simd/",
    "strategies/src/compound/pack_registers.rs",
    "strategies/src/compound/register.rs",
];

#[test]
fn unsafe_code_is_in_tapes_storage_recordings_and_the_engine_of_kernels() {
    let mut files = BTreeSet::new();
    for source in all() {
        let mut found = Unsafe(0);
        found.visit_file(source.syntax());
        let is_in = |places: &[&str]| places.iter().any(|place| source.path.starts_with(place));
        let engine = is_in(&ENGINE);
        let allowed =
            engine || is_in(&UNSAFE_FOLDERS) || is_in(&["mpi/src/flight.rs", "strategies/src/nested/bytes.rs"]);
        assert!(found.0 == 0 || allowed, "{} has {} unsafe blocks", source.path, found.0);
        if found.0 > 0 && !engine {
            files.insert(source.path);
        }
    }
    assert!(files.len() <= UNSAFE_FILES, "{} files outside of kernels have unsafe code: {files:#?}", files.len());
    assert!(files.len() == UNSAFE_FILES, "fewer files have unsafe code: set UNSAFE_FILES to {}", files.len());
}

/// Files outside of the engine of kernels that may have unsafe code. It may only become less.
const UNSAFE_FILES: usize = 14;

#[test]
fn folders_have_at_most_12_files() {
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for source in all() {
        let (folder, _) = source.path.rsplit_once('/').expect("files lie in folders");
        *folders.entry(folder.to_owned()).or_default() += 1;
    }
    folders.retain(|_, files| *files > FOLDER);
    assert!(folders.is_empty(), "a folder has at most {FOLDER} files: {folders:#?}");
}
