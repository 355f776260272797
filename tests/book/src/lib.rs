//! Compiles and runs the snippets of the book and the README, and generates the tables that show results.
//!
//! The snippets are the doctests of this crate. Chapters, links and tables are checked by `tests/book.rs`.
#![forbid(unsafe_code)]

pub mod links;
mod table;

pub use table::table;

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

chapters! {
    readme "README.md";
    introduction "book/src/introduction.md";
    tape_in_60_lines "book/src/tape-in-60-lines.md";
    statements "book/src/statements.md";
    choosing "book/src/choosing.md";
    tapes "book/src/tapes.md";
    closed "book/src/closed.md";
    own_strategy "book/src/own-strategy.md";
    conventions "book/src/conventions.md";
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
    continuations "book/src/decisions/2026-11-21-continuations.md";
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

/// The columns of the results file, one line for each workload and strategy. `tape_bytes` is without the adjoint
/// vector; times are in milliseconds; `ratio` is that of recording and sweep together to the primal.
pub const COLUMNS: [&str; 11] = [
    "workload",
    "strategy",
    "statements",
    "arguments",
    "tape_bytes",
    "bytes_per_statement",
    "adjoint_bytes",
    "record_ms",
    "reverse_ms",
    "primal_ms",
    "ratio",
];

/// One workload under one strategy.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The workload, as tables show it.
    pub workload: String,
    /// The strategy, by the name of its type.
    pub strategy: String,
    numbers: [f64; COLUMNS.len() - 2],
}

impl Row {
    /// The number in this column.
    ///
    /// # Panics
    ///
    /// When there is no such column of numbers.
    #[must_use]
    pub fn number(&self, column: &str) -> f64 {
        let at = COLUMNS.iter().position(|name| *name == column).and_then(|at| at.checked_sub(2));
        self.numbers[at.unwrap_or_else(|| panic!("{column} is no column of numbers"))]
    }
}

/// What a results file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The comment lines, such as date and processor, without their `#`.
    pub notes: Vec<String>,
    /// The lines of numbers, in the order of the file.
    pub rows: Vec<Row>,
}

impl Results {
    /// Reads comma-separated lines under a header, which is [`COLUMNS`]. Lines that begin with `#` are notes.
    ///
    /// # Errors
    ///
    /// The number of the line that is wrong, and why.
    pub fn from_csv(text: &str) -> Result<Self, String> {
        let (notes, lines): (Vec<_>, Vec<_>) = text
            .lines()
            .zip(1..)
            .filter(|(line, _)| !line.trim().is_empty())
            .partition(|(line, _)| line.starts_with('#'));
        let mut lines = lines.into_iter();
        let header = lines.next().map_or("", |(line, _)| line).trim();
        if header != COLUMNS.join(",") {
            return Err(format!("the header is {header:?}, expected {:?}", COLUMNS.join(",")));
        }
        let rows = lines.map(|(line, number)| row(line).map_err(|why| format!("line {number}: {why}")));
        let notes = notes.into_iter().map(|(note, _)| note.trim_start_matches('#').trim().to_owned());
        Ok(Self { rows: rows.collect::<Result<_, _>>()?, notes: notes.collect() })
    }

    /// The strategies, in the order in which they first occur.
    #[must_use]
    pub fn strategies(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|row| row.strategy.as_str()))
    }

    /// The workloads, in the order in which they first occur.
    #[must_use]
    pub fn workloads(&self) -> Vec<&str> {
        distinct(self.rows.iter().map(|row| row.workload.as_str()))
    }

    /// The line for this workload and strategy.
    #[must_use]
    pub fn get(&self, workload: &str, strategy: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.workload == workload && row.strategy == strategy)
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

fn row(line: &str) -> Result<Row, String> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let [workload, strategy, numbers @ ..] = &cells[..] else {
        return Err(format!("only {} cells", cells.len()));
    };
    let numbers: Vec<f64> = numbers
        .iter()
        .map(|cell| cell.parse().map_err(|_| format!("{cell:?} is no number")))
        .collect::<Result<_, _>>()?;
    let found = cells.len();
    let numbers = numbers.try_into().map_err(|_| format!("{found} cells, expected {}", COLUMNS.len()))?;
    Ok(Row { workload: (*workload).to_owned(), strategy: type_name(strategy), numbers })
}

/// `primal_value`, as on the command line, becomes `PrimalValue`.
fn type_name(name: &str) -> String {
    name.split('_')
        .flat_map(|word| word.chars().take(1).flat_map(char::to_uppercase).chain(word.chars().skip(1)))
        .collect()
}

/// The chapter's table: everything that was measured, workload by workload, and below it where and when.
#[must_use]
pub fn full_table(results: &Results) -> String {
    let header = [
        "workload",
        "strategy",
        "statements",
        "arguments",
        "tape",
        "bytes a statement",
        "adjoints",
        "record",
        "sweep",
        "ratio",
    ];
    let lines = results.rows.iter().map(|row| {
        let number = |column| row.number(column);
        vec![
            row.workload.clone(),
            format!("`{}`", row.strategy),
            thousands(number("statements")),
            thousands(number("arguments")),
            bytes(number("tape_bytes")),
            format!("{:.1}", number("bytes_per_statement")),
            bytes(number("adjoint_bytes")),
            milliseconds(number("record_ms")),
            milliseconds(number("reverse_ms")),
            format!("{:.1}", number("ratio")),
        ]
    });
    let notes = results.notes.iter().map(|note| format!("\n{note}\n"));
    table(&header, 2, lines) + &notes.collect::<String>()
}

/// The README's table: bytes on the tape for each workload and strategy, below the formulas.
#[must_use]
pub fn memory_table(results: &Results) -> String {
    let strategies = results.strategies();
    let header: Vec<String> = strategies.iter().map(|strategy| format!("`{strategy}`")).collect();
    let header: Vec<&str> =
        [""].into_iter().chain(header.iter().map(String::as_str)).chain(["adjoints, either"]).collect();
    let formulas = ["a statement, by formula"].into_iter().chain(strategies.iter().map(|s| formula(s))).chain(["8 B"]);
    let workloads = results.workloads().into_iter().map(|workload| {
        let of = |strategy: &&str| results.get(workload, strategy);
        let cell = |row: Option<&Row>, column| row.map_or_else(String::new, |row| bytes(row.number(column)));
        let tapes = strategies.iter().map(|strategy| cell(of(strategy), "tape_bytes"));
        let adjoints = cell(strategies.iter().find_map(of), "adjoint_bytes");
        [workload.to_owned()].into_iter().chain(tapes).chain([adjoints]).collect()
    });
    table(&header, 1, [formulas.map(str::to_owned).collect()].into_iter().chain(workloads))
}

/// The bytes of a statement, as the strategies' documentation states and the tests of the library assert.
fn formula(strategy: &str) -> &'static str {
    match strategy {
        "Jacobian" => "1 + 8d + 4a B",
        "PrimalValue" => "9 + 4a + 8c + 8p B",
        "Continuation" => "8 + 8d + 8⌈(a + 1)/2⌉ B",
        _ => "",
    }
}

/// 1234567 as `1,234,567`.
fn thousands(count: f64) -> String {
    let digits = format!("{count:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| core::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}

/// Bytes with three or more digits, in the largest decimal unit that leaves them.
fn bytes(count: f64) -> String {
    match count {
        ..1e3 => format!("{count:.0} B"),
        1e3..1e5 => format!("{:.1} kB", count / 1e3),
        1e5..1e8 => format!("{:.2} MB", count / 1e6),
        _ => format!("{:.1} MB", count / 1e6),
    }
}

/// Milliseconds with three digits or so, as ns, µs or ms.
fn milliseconds(time: f64) -> String {
    match time {
        ..1e-3 => format!("{:.1} ns", time * 1e6),
        1e-3..1.0 => format!("{:.1} µs", time * 1e3),
        _ => format!("{time:.1} ms"),
    }
}

/// The lines around a generated table.
pub const MARKERS: (&str, &str) = ("<!-- results:begin -->\n", "<!-- results:end -->");

/// `text` with `generated` between the [`MARKERS`].
///
/// # Errors
///
/// When a marker is missing.
pub fn with_table(text: &str, generated: &str) -> Result<String, String> {
    let missing = || format!("no {:?} … {:?}", MARKERS.0, MARKERS.1);
    let (before, rest) = text.split_once(MARKERS.0).ok_or_else(missing)?;
    let (_, after) = rest.split_once(MARKERS.1).ok_or_else(missing)?;
    Ok(format!("{before}{}{generated}{}{after}", MARKERS.0, MARKERS.1))
}
