//! Files import from files below them: there is no circle.

use crate::source::{Source, below};
use std::collections::{BTreeMap, BTreeSet};
use syn::visit::Visit;

/// The paths that a file names, from the root of the crate; the tests in it left out.
struct Paths<'a> {
    module: &'a [String],
    found: Vec<Vec<String>>,
}

impl Paths<'_> {
    /// Notes a path that begins with `crate`, `super` or `self`.
    fn note(&mut self, path: &[String]) {
        let mut from_root = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("super" | "self") => self.module.to_vec(),
            _ => return,
        };
        for segment in path {
            match segment.as_str() {
                "super" => _ = from_root.pop(),
                "crate" | "self" => {}
                _ => from_root.push(segment.clone()),
            }
        }
        self.found.push(from_root);
    }

    fn note_tree(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.note_tree(&path.tree, &with(&path.ident)),
            syn::UseTree::Name(name) => self.note(&with(&name.ident)),
            syn::UseTree::Rename(name) => self.note(&with(&name.ident)),
            syn::UseTree::Glob(_) => self.note(before),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_tree(tree, before)),
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| a.path().is_ident("cfg") && a.parse_args::<syn::Ident>().is_ok_and(|i| i == "test"))
}

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !is_test(&module.attrs) {
            syn::visit::visit_item_mod(self, module);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.note_tree(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.note(&path.segments.iter().map(|segment| segment.ident.to_string()).collect::<Vec<_>>());
        syn::visit::visit_path(self, path);
    }
}

/// The files of a crate by module, and the names that facades pass on with where they come from.
struct Crate<'a> {
    files: BTreeMap<&'a [String], &'a Source>,
    passed_on: BTreeMap<Vec<String>, Vec<String>>,
}

impl<'a> Crate<'a> {
    fn new(sources: &'a [Source]) -> Self {
        let files: BTreeMap<_, _> = sources.iter().map(|source| (source.module.as_slice(), source)).collect();
        let mut passed_on = BTreeMap::new();
        for source in sources.iter().filter(|source| source.is_facade()) {
            for item in &source.syntax.items {
                let syn::Item::Use(item) = item else { continue };
                let mut paths = Paths { module: &source.module, found: Vec::new() };
                let here = vec!["self".to_owned()];
                let local = |tree: &syn::UseTree, paths: &mut Paths<'_>| match tree {
                    syn::UseTree::Path(path) if ["crate", "super", "self"].iter().any(|word| path.ident == word) => {
                        paths.note_tree(tree, &[]);
                    }
                    _ => paths.note_tree(tree, &here),
                };
                local(&item.tree, &mut paths);
                for path in paths.found {
                    let name = path.last().expect("a name").clone();
                    passed_on.insert([source.module.as_slice(), &[name]].concat(), path);
                }
            }
        }
        Self { files, passed_on }
    }

    /// The file in which the thing with this path is defined.
    fn file_of(&self, path: &[String]) -> Option<&'a Source> {
        let mut path = path.to_vec();
        for _ in 0..10 {
            let known = (0..=path.len()).rev().find(|n| self.files.contains_key(&path[..*n]))?;
            match self.passed_on.get(path.get(..=known).unwrap_or(&path)) {
                Some(elsewhere) if *elsewhere != path => {
                    path = [elsewhere.as_slice(), path.get(known + 1..).unwrap_or(&[])].concat();
                }
                _ => return self.files.get(&path[..known]).copied(),
            }
        }
        panic!("{path:?} is passed on in a circle")
    }
}

/// Numbers say which registers hold them, and registers which numbers they hold.
const EXCEPTION: (&str, &str) = ("strategies/src/numbers/number.rs", "strategies/src/lanes/level.rs");

/// File → the files that it imports from, but for one exception. Facades pass names on; what they import counts for
/// nobody.
fn imports(sources: &[Source]) -> BTreeMap<&str, BTreeSet<&str>> {
    let all = Crate::new(sources);
    let mut imports = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_facade()) {
        let mut paths = Paths { module: &source.module, found: Vec::new() };
        paths.visit_file(&source.syntax);
        let files = paths.found.iter().filter_map(|path| all.file_of(path));
        let others = files.filter(|file| file.path != source.path && !file.is_facade()).map(|file| file.path.as_str());
        let counted = others.filter(|other| (source.path.as_str(), *other) != EXCEPTION);
        imports.insert(source.path.as_str(), counted.collect());
    }
    imports
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
fn there_is_no_circle_among_the_files_of_strategies() {
    let sources = below("strategies/src");
    let found = tightened(circles(imports(&sources)));
    assert!(found.is_empty(), "files import from each other in circles:\n{found}");
}

#[test]
fn a_circle_is_found() {
    let files = |pairs: &[(&'static str, &'static str)]| {
        let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (from, to) in pairs {
            files.entry(from).or_default().insert(to);
            files.entry(to).or_default();
        }
        tightened(circles(files))
    };
    assert_eq!(files(&[("a", "b"), ("b", "c"), ("a", "c")]), "");
    assert_eq!(files(&[("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")]).lines().count(), 2);
}

#[test]
fn imports_are_found() {
    let sources = below("strategies/src");
    let imports = imports(&sources);
    let of = |file: &str| &imports[format!("strategies/src/{file}").as_str()];
    assert!(of("tape/sweep.rs").contains("strategies/src/tape/read.rs"));
    assert!(of("tape/records.rs").contains("strategies/src/refusal.rs"));
    // By the root of the crate, which passes the name on.
    assert!(of("tape/records.rs").contains("strategies/src/numbers/number.rs"));
    // By a path in the code, through the folder's file, which passes the name on.
    assert!(of("strategies/jacobian.rs").contains("strategies/src/tape/records.rs"));
}
