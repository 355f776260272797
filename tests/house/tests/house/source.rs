//! The files of a crate, parsed.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

/// One file of a crate.
pub(crate) struct Source {
    /// Its path below the root of the repository, with slashes.
    pub(crate) path: String,
    /// The path of its module, from the root of the crate.
    pub(crate) module: Vec<String>,
    pub(crate) text: String,
    syntax: OnceCell<syn::File>,
}

impl Source {
    /// The parsed text.
    pub(crate) fn syntax(&self) -> &syn::File {
        let parse = || syn::parse_file(&self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path));
        self.syntax.get_or_init(parse)
    }

    /// The modules of its own folder that the file declares.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &syn::Ident> {
        self.syntax().items.iter().filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() => Some(&module.ident),
            _ => None,
        })
    }

    /// The paths of modules of its own folder that are compiled for tests only.
    pub(crate) fn test_modules(&self) -> impl Iterator<Item = Vec<String>> {
        self.syntax().items.iter().filter_map(|item| match item {
            syn::Item::Mod(module) if module.content.is_none() && is_test(&module.attrs) => {
                Some([self.module.as_slice(), &[module.ident.to_string()]].concat())
            }
            _ => None,
        })
    }

    /// True if the file has an item of this name of its own.
    pub(crate) fn defines(&self, name: &str) -> bool {
        self.syntax().items.iter().any(|item| {
            let ident = match item {
                syn::Item::Const(item) => &item.ident,
                syn::Item::Enum(item) => &item.ident,
                syn::Item::Fn(item) => &item.sig.ident,
                syn::Item::Macro(item) => return item.ident.as_ref().is_some_and(|ident| ident == name),
                syn::Item::Static(item) => &item.ident,
                syn::Item::Struct(item) => &item.ident,
                syn::Item::Trait(item) => &item.ident,
                syn::Item::Type(item) => &item.ident,
                _ => return false,
            };
            ident == name
        })
    }

    /// True if the file declares modules of its own folder.
    pub(crate) fn is_facade(&self) -> bool {
        self.modules().next().is_some()
    }
}

/// True under `#[cfg(test)]`.
pub(crate) fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| a.path().is_ident("cfg") && a.parse_args::<syn::Ident>().is_ok_and(|i| i == "test"))
}

/// The root of the repository: cargo says where this package is when it runs tests.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    Path::new(&here).join("../..")
}

/// All files below a folder of the repository.
pub(crate) fn below(folder: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    read(&root(), folder, folder, &mut sources);
    assert!(sources.len() > 5, "{folder} has more files than that");
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    sources
}

fn read(root: &Path, folder: &str, below: &str, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(root.join(below)).expect("the folder can be read") {
        let name = entry.expect("the folder can be read").file_name().into_string().expect("plain names");
        let path = format!("{below}/{name}");
        if root.join(&path).is_dir() {
            read(root, folder, &path, sources);
        } else if let Some(module) = path.strip_prefix(folder).and_then(|path| path.strip_suffix(".rs")) {
            let text = fs::read_to_string(root.join(&path)).expect("the file can be read");
            let mut module: Vec<String> = module.split('/').skip(1).map(str::to_owned).collect();
            if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
                module.pop();
            }
            sources.push(Source { path, module, text, syntax: OnceCell::new() });
        }
    }
}
