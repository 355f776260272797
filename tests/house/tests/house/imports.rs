//! Files import from files below them, and rooms from rooms below them: there is no circle.
//!
//! A *room* is a folder. Two entries of a folder, files or rooms, may not import from each other, directly or by way
//! of others, whatever is inside them.

use crate::source::{Source, below, is_test};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

/// Path of an item from the root of its crate.
type Path = Vec<String>;

/// Collects the paths that a file names, from the root of the crate; the tests in it left out.
struct Paths<'a> {
    module: &'a [String],
    /// Names that the file has imported → where they come from.
    imported: BTreeMap<String, Path>,
    /// Paths that name modules or items of the crate.
    found: Vec<Path>,
}

impl<'a> Paths<'a> {
    fn new(module: &'a [String]) -> Self {
        Self { module, imported: BTreeMap::new(), found: Vec::new() }
    }

    /// The path from the root of the crate; `None` if it does not begin with `crate`, `super` or `self`.
    fn absolute(&self, path: &[String]) -> Option<Path> {
        let mut from_root = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("super" | "self") => self.module.to_vec(),
            _ => return None,
        };
        for segment in path {
            match segment.as_str() {
                "super" => _ = from_root.pop(),
                "crate" | "self" => {}
                _ => from_root.push(segment.clone()),
            }
        }
        Some(from_root)
    }

    /// Collects a path of a `use` item, which brings a name into the file.
    fn import(&mut self, path: &[String], name: &syn::Ident) {
        if let Some(path) = self.absolute(path) {
            self.imported.insert(name.to_string(), path.clone());
            self.found.push(path);
        }
    }

    fn import_tree(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.import_tree(&path.tree, &with(&path.ident)),
            syn::UseTree::Name(name) if name.ident == "self" => {
                let last = before.last().expect("a name before `self`");
                self.import(before, &syn::Ident::new(last, name.ident.span()));
            }
            syn::UseTree::Name(name) => self.import(&with(&name.ident), &name.ident),
            syn::UseTree::Rename(name) => self.import(&with(&name.ident), &name.rename),
            syn::UseTree::Glob(_) => self.found.extend(self.absolute(before)),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.import_tree(tree, before)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    /// What a file passes on it does not use itself.
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if matches!(item.vis, syn::Visibility::Inherited) {
            self.import_tree(&item.tree, &[]);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Path = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let Some(from_root) = self.absolute(&segments) {
            self.found.push(from_root);
        } else if let Some(module) = self.imported.get(&segments[0]).filter(|_| segments.len() > 1) {
            self.found.push([module.as_slice(), &segments[1..]].concat());
        }
        syn::visit::visit_path(self, path);
    }
}

/// The files of a crate by module, and the names that facades pass on with where they come from.
struct Crate<'a> {
    files: BTreeMap<&'a [String], &'a Source>,
    passed_on: BTreeMap<Path, Path>,
}

impl<'a> Crate<'a> {
    fn new(sources: &'a [Source]) -> Self {
        let files: BTreeMap<_, _> = sources.iter().map(|source| (source.module.as_slice(), source)).collect();
        let mut passed_on = BTreeMap::new();
        for source in sources.iter().filter(|source| source.is_facade()) {
            let modules: BTreeSet<String> = source.modules().map(ToString::to_string).collect();
            for item in &source.syntax().items {
                let syn::Item::Use(item) = item else { continue };
                let here = ["self".to_owned()];
                let mut paths = Paths::new(&source.module);
                let begins_with_module = |tree: &syn::UseTree| match tree {
                    syn::UseTree::Path(path) => modules.contains(&path.ident.to_string()),
                    _ => false,
                };
                paths.import_tree(&item.tree, if begins_with_module(&item.tree) { &here } else { &[] });
                for (name, path) in paths.imported {
                    passed_on.insert([source.module.as_slice(), &[name]].concat(), path);
                }
            }
        }
        Self { files, passed_on }
    }

    /// The file in which the item with this path is defined; `None` for a module, and for what comes from elsewhere.
    fn file_of(&self, path: &[String]) -> Option<&'a Source> {
        let mut path = path.to_vec();
        for _ in 0..10 {
            let known = (0..=path.len()).rev().find(|n| self.files.contains_key(&path[..*n]))?;
            // Where a name and a module are equal, a path that ends there means the name.
            let named = path.len().min(known + 1);
            match self.passed_on.get(&path[..named]) {
                Some(elsewhere) if path[..named] != **elsewhere => {
                    path = [elsewhere, &path[named..]].concat();
                }
                _ => {
                    let file = self.files[&path[..known]];
                    let defined = path.get(known).is_some_and(|name| file.defines(name));
                    return (defined || !file.is_facade()).then_some(file);
                }
            }
        }
        panic!("{path:?} is passed on in a circle")
    }
}

/// Two traits need each other: a number says in which registers it is computed, and registers which numbers they hold.
const EXCEPTION: (&str, &str) = ("strategies/src/number/traits.rs", "strategies/src/number/simd/dispatch.rs");

/// File → the files that it imports from. What a facade passes on does not count for it, what its own code uses does.
fn imports(sources: &[Source]) -> BTreeMap<&str, BTreeSet<&str>> {
    let all = Crate::new(sources);
    let tests: BTreeSet<Path> = sources.iter().flat_map(Source::test_modules).collect();
    let mut imports = BTreeMap::new();
    for source in sources.iter().filter(|source| !tests.contains(&source.module)) {
        let mut paths = Paths::new(&source.module);
        paths.visit_file(source.syntax());
        let files = paths.found.iter().filter_map(|path| all.file_of(path)).map(|file| file.path.as_str());
        let others = files.filter(|file| *file != source.path && (source.path.as_str(), *file) != EXCEPTION);
        imports.insert(source.path.as_str(), others.collect());
    }
    imports
}

/// Entries of folders, with imports between entries of the same folder.
fn between_entries<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    let mut entries: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in imports {
        entries.entry(from).or_default();
        for to in to {
            let common = from.bytes().zip(to.bytes()).take_while(|(a, b)| a == b).count();
            let folder = from[..common].rfind('/').map_or(0, |slash| slash + 1);
            let entry = |path: &'a str| &path[..path[folder..].find('/').map_or(path.len(), |end| folder + end)];
            entries.entry(entry(to)).or_default();
            entries.entry(entry(from)).or_default().insert(entry(to));
        }
    }
    entries
}

/// What is left when files that import from no file that is left are taken away, again and again: circles, and what
/// needs them.
fn circles<'a>(mut imports: BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
    loop {
        let without: BTreeSet<&str> = imports.iter().filter(|(_, to)| to.is_empty()).map(|(file, _)| *file).collect();
        let before = imports.len();
        imports.retain(|file, _| !without.contains(file));
        imports.values_mut().for_each(|to| to.retain(|file| !without.contains(file)));
        if imports.len() == before {
            return imports;
        }
    }
}

/// The same for files that no file that is left imports from: what remains lies on circles, or between two.
fn tightened(mut circles: BTreeMap<&str, BTreeSet<&str>>) -> String {
    loop {
        let needed: BTreeSet<&str> = circles.values().flatten().copied().collect();
        let before = circles.len();
        circles.retain(|file, _| needed.contains(file));
        if circles.len() == before {
            let line = |(file, to): (&&str, _)| format!("{file} imports from {to:?}");
            return circles.iter().map(line).collect::<Vec<_>>().join("\n");
        }
    }
}

#[test]
fn there_is_no_circle_among_files_nor_among_rooms() {
    for folder in ["strategies/src", "src", "mpi/src"] {
        let sources = below(folder);
        let imports = imports(&sources);
        let rooms = between_entries(&imports);
        let found = tightened(circles(imports));
        assert!(found.is_empty(), "files import from each other in circles:\n{found}");
        let found = tightened(circles(rooms));
        assert!(found.is_empty(), "rooms import from each other in circles:\n{found}");
    }
}

fn lines_of_circles(pairs: &[(&'static str, &'static str)]) -> usize {
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (from, to) in pairs {
        files.entry(from).or_default().insert(to);
        files.entry(to).or_default();
    }
    tightened(circles(between_entries(&files))).lines().count()
}

#[test]
fn a_circle_is_found() {
    assert_eq!(lines_of_circles(&[("a", "b"), ("b", "c"), ("a", "c")]), 0);
    assert_eq!(lines_of_circles(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]), 2);
    // Two rooms that import from each other, by files that do not.
    assert_eq!(lines_of_circles(&[("room/a", "hall/b"), ("hall/c", "room/d")]), 2);
    assert_eq!(lines_of_circles(&[("room/a", "hall/b"), ("hall/c", "hall/d"), ("room/d", "hall/c")]), 0);
}

#[test]
fn imports_are_found() {
    let sources = below("strategies/src");
    let imports = imports(&sources);
    let of = |file: &str, to: &str| {
        let (file, to) = (format!("strategies/src/{file}"), format!("strategies/src/{to}"));
        imports[file.as_str()].contains(to.as_str())
    };
    assert!(of("tape/sweep/single.rs", "tape/read/cursor.rs"));
    assert!(of("tape/store/recording.rs", "error/refusal.rs"));
    // By the root of the crate, which passes the name on.
    assert!(of("tape/store/recording.rs", "number/traits.rs"));
    // By a path in the code, through the folder's file, which passes the name on.
    assert!(of("strategies/jacobian.rs", "tape/store/recording.rs"));
    // By a module that was imported.
    assert!(of("tape/write/fast.rs", "recording/current/list.rs"));
}
