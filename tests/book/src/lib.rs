//! Compiles and runs the snippets of the book and the README, and generates the tables that show results.
//!
//! The snippets are the doctests of this crate. Chapters, links and tables are checked by `tests/book.rs`.
#![forbid(unsafe_code)]

mod figures;
mod gain;
pub mod guide;
pub mod links;
mod results;
mod spill;
mod table;
mod tables;

pub use figures::{Figure, figures, unsupported};
pub use gain::{beside_table, levers_table};
pub use results::{COLUMNS, Results, Row, Strategy};
pub use spill::{SPILL_COLUMNS, spill_table};
pub use table::table;
pub use tables::{choice_table, full_table, launch_table, memory_table};

use std::path::PathBuf;

/// Lists the files with snippets. The row `statements "book/src/statements.md"` becomes an entry of [`CHAPTERS`] and,
/// when doctests are collected, `#[doc = include_str!("../../../book/src/statements.md")] mod statements {}`.
macro_rules! chapters {
    ($($name:ident $path:literal;)*) => {
        /// The files whose snippets are compiled and run, relative to the root of the repository.
        pub const CHAPTERS: &[&str] = &[$($path),*];
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../", $path))]
            mod $name {}
        )*
    };
}

/// Files whose snippets are compiled by other packages, which have what these need: `tapewright-mpi`,
/// `tapewright-ecosystem` and `tapewright-third-party`.
pub const COMPILED_ELSEWHERE: &[&str] =
    &["book/src/across-machines.md", "book/src/ecosystem.md", "book/src/devices.md"];

chapters! {
    readme "README.md";
    introduction "book/src/introduction.md";
    why_not "book/src/why-not.md";
    tape_in_60_lines "book/src/tape-in-60-lines.md";
    statements "book/src/statements.md";
    messages "book/src/messages.md";
    choosing "book/src/choosing.md";
    nan "book/src/nan.md";
    tracing "book/src/tracing.md";
    tapes "book/src/tapes.md";
    sweeps "book/src/sweeps.md";
    forward "book/src/forward.md";
    second "book/src/second.md";
    sparse "book/src/sparse.md";
    packs "book/src/packs.md";
    programs "book/src/programs.md";
    residuals "book/src/residuals.md";
    index_management "book/src/index-management.md";
    storage "book/src/storage.md";
    containers "book/src/containers.md";
    checkpointing "book/src/checkpointing.md";
    external "book/src/external.md";
    equations "book/src/equations.md";
    matrices "book/src/matrices.md";
    kernels "book/src/kernels.md";
    views "book/src/views.md";
    launches "book/src/launches.md";
    kernel_recipes "book/src/kernel-recipes.md";
    parallel "book/src/parallel.md";
    continuation "book/src/continuations.md";
    closed "book/src/closed.md";
    own_strategy "book/src/own-strategy.md";
    heston "book/src/heston.md";
    pendulums "book/src/pendulums.md";
    poses "book/src/poses.md";
    functions "book/src/functions.md";
    conventions "book/src/conventions.md";
    from_other_tools "book/src/from-other-tools.md";
    architecture "book/src/architecture.md";
    rows "book/src/rows.md";
}

/// The root of the repository: the one in which cargo runs, which with a shared target folder need not be the one in
/// which this was compiled.
///
/// # Panics
///
/// When it was not cargo that started the program.
#[must_use]
pub fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    PathBuf::from(here).join("../..")
}

/// The lines around the generated part of this name.
fn markers(name: &str) -> (String, String) {
    (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->"))
}

/// `text` with `generated` as the part of this name.
///
/// # Errors
///
/// When one of the lines around the part is missing.
pub fn with_part(text: &str, name: &str, generated: &str) -> Result<String, String> {
    let (begin, end) = markers(name);
    let missing = || format!("no {begin:?} … {end:?}");
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}{generated}{end}{after}"))
}
