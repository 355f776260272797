//! Compiles and runs the snippets of the book and the README, and generates the tables that show results.
//!
//! The snippets are the doctests of this crate. Chapters, links and tables are checked by `tests/book.rs`.
#![forbid(unsafe_code)]

pub mod links;
mod results;
mod spill;
mod table;
mod tables;

pub use results::{COLUMNS, Results, Row, Strategy};
pub use spill::{SPILL_COLUMNS, spill_table};
pub use table::table;
pub use tables::{choice_table, full_table, memory_table};

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

/// Files whose snippets are compiled by other packages, which have what these need: `tapewright-mpi` and
/// `tapewright-ecosystem`.
pub const COMPILED_ELSEWHERE: &[&str] = &["book/src/across-machines.md", "book/src/ecosystem.md"];

chapters! {
    readme "README.md";
    introduction "book/src/introduction.md";
    tape_in_60_lines "book/src/tape-in-60-lines.md";
    statements "book/src/statements.md";
    choosing "book/src/choosing.md";
    nan "book/src/nan.md";
    tracing "book/src/tracing.md";
    tapes "book/src/tapes.md";
    sweeps "book/src/sweeps.md";
    forward "book/src/forward.md";
    second "book/src/second.md";
    sparse "book/src/sparse.md";
    packs "book/src/packs.md";
    index_management "book/src/index-management.md";
    storage "book/src/storage.md";
    containers "book/src/containers.md";
    checkpointing "book/src/checkpointing.md";
    external "book/src/external.md";
    equations "book/src/equations.md";
    kernels "book/src/kernels.md";
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
    decisions "book/src/decisions/index.md";
    factors "book/src/decisions/2026-11-21-factors.md";
    code_bytes "book/src/decisions/2026-11-21-code-bytes.md";
    call_sites "book/src/decisions/2026-11-21-call-sites.md";
    reverse_trait "book/src/decisions/2026-11-21-reverse-trait.md";
    contiguous_arrays "book/src/decisions/2026-11-21-contiguous-arrays.md";
    default_is_zero "book/src/decisions/2026-11-21-default-is-zero.md";
    companions "book/src/decisions/2026-11-21-companions.md";
    patterns "book/src/decisions/2026-11-21-patterns.md";
    rules_before_records "book/src/decisions/2026-11-21-rules-before-records.md";
    closed_arithmetic "book/src/decisions/2026-11-21-closed-arithmetic.md";
    reuse_indices "book/src/decisions/2026-11-21-reuse-indices.md";
    layers "book/src/decisions/2026-11-21-layers.md";
    hybrid "book/src/decisions/2026-11-21-hybrid.md";
    continuations "book/src/decisions/2026-11-21-continuations.md";
    external_functions "book/src/decisions/2026-11-21-external-functions.md";
    positions "book/src/decisions/2026-11-21-positions.md";
    time_loops "book/src/decisions/2026-11-21-time-loops.md";
    zero_times_anything "book/src/decisions/2026-11-22-zero-times-anything.md";
    levels "book/src/decisions/2026-11-22-levels.md";
    recording_numbers "book/src/decisions/2026-11-22-recording-numbers.md";
    wide_tests "book/src/decisions/2026-11-22-wide-tests.md";
    array_kernels "book/src/decisions/2026-11-22-array-kernels.md";
    one_look_up "book/src/decisions/2026-11-22-one-look-up.md";
    one_stream "book/src/decisions/2026-11-23-one-stream.md";
    external_records "book/src/decisions/2026-11-23-external-records.md";
    one_memory "book/src/decisions/2026-11-23-one-memory.md";
    stores "book/src/decisions/2026-11-23-stores.md";
    decision_numbers "book/src/decisions/2026-11-23-numbers.md";
    linear_algebra "book/src/decisions/2026-11-23-linear-algebra.md";
    lifted_factors "book/src/decisions/2026-11-23-lifted-factors.md";
    exchanges "book/src/decisions/2026-11-23-exchanges.md";
    decision_sparse "book/src/decisions/2026-11-23-sparse.md";
    tracing_is_a_policy "book/src/decisions/2026-11-23-tracing.md";
    one_walk "book/src/decisions/2026-11-23-one-walk.md";
    closed_numbers "book/src/decisions/2026-11-23-closed-numbers.md";
    the_advisor_counts_ratios "book/src/decisions/2026-11-23-advisor.md";
    duals_in_registers "book/src/decisions/2026-11-23-duals-in-registers.md";
    kinds_of_records "book/src/decisions/2026-11-25-kinds-of-records.md";
    one_function_a_record "book/src/decisions/2026-11-25-one-function-a-record.md";
    one_code_a_type "book/src/decisions/2026-11-25-one-code-a-type.md";
    assigned_in_place "book/src/decisions/2026-11-25-assigned-in-place.md";
    not_compiled "book/src/decisions/2026-11-25-not-compiled.md";
    predicted_calls "book/src/decisions/2026-11-25-predicted-calls.md";
    one_list_of_identifiers "book/src/decisions/2026-11-25-one-list-of-identifiers.md";
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
