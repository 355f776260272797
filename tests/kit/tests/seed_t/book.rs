//! Rows about figures that depend on the program: what literals cost (T13), which strategy needs less (T16), and that
//! figures name their index scheme (T18). They are in the book, and here they are compared with it.

use super::records::recorded;
use std::fs;
use std::path::{Path, PathBuf};
use tapewright::prelude::*;
use tapewright_problems::{Laplacian, Libor, Problem};

/// The root of the repository: cargo says where this package is when it runs tests.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    Path::new(&here).join("../..")
}

fn read(file: impl AsRef<Path>) -> String {
    let path = root().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The formula in the row of the table of bytes that begins with this name.
fn formula_in_the_book(strategy: &str) -> String {
    let chapter = read("book/src/choosing.md");
    let row = chapter.lines().find(|line| line.starts_with(&format!("| `{strategy}` | $"))).expect("the table has it");
    row.trim_end_matches([' ', '|']).rsplit('|').next().expect("rows have cells").trim().to_owned()
}

/// Bytes that a statement takes.
fn cost<S: Reverse<Value = f64>>(f: fn(&[Real<S>]) -> Real<S>) -> usize {
    let bytes = |statement: bool| {
        let mut tape = Tape::<S>::new();
        let kept = tape.record(|scope| {
            let x = scope.inputs(&[1.5]);
            statement.then(|| f(&x))
        });
        let report = tape.memory();
        drop(kept);
        // With reused identifiers the values are those of the variables alive, and not of statements.
        let values = if core::mem::needs_drop::<S::Id>() { report.usage("values").used } else { 0 };
        recorded(&report) - values
    };
    bytes(true) - bytes(false)
}

/// Bytes of the same statement with no literal, one, two and three.
fn with_literals<S: Reverse<Value = f64>>() -> [usize; 4] {
    [
        cost::<S>(|x| (&x[0] * &x[0]).into()),
        cost::<S>(|x| (2.0 * &x[0] * &x[0]).into()),
        cost::<S>(|x| (2.0 * &x[0] * &x[0] + 1.0).into()),
        cost::<S>(|x| (2.0 * &x[0] * &x[0] / 3.0 + 1.0).into()),
    ]
}

/// Literals are numbers in the record. They could be part of the statement's type, which would cost nothing; such
/// literals do not exist, so the row's second half, what they would save, is what is measured here: all of these bytes.
#[test]
fn t13_each_literal_costs_a_record_of_values_8_bytes_and_the_book_says_so() {
    assert_eq!(with_literals::<PrimalValue>(), [17, 25, 33, 41]);
    assert_eq!(with_literals::<PrimalValue<f64, Linear<u64>>>(), [25, 33, 41, 49]);
    assert_eq!(with_literals::<PrimalValue<f64, Reuse>>(), [21, 29, 37, 45]);
    assert!(formula_in_the_book("PrimalValue").contains("+ 8c"), "8 bytes for each of c literals");
    // The statement has two partials: with two literals or more, they are the smaller record.
    assert_eq!(with_literals::<Hybrid>(), [17, 25, 33, 33]);
    assert_eq!(with_literals::<Hybrid<f64, Reuse>>(), [21, 29, 37, 37]);
    assert!(formula_in_the_book("Hybrid").contains("8 \\min(d, c)"));
    // Where partials are kept, literals cost nothing.
    assert_eq!(with_literals::<Jacobian>(), [25; 4]);
    assert_eq!(with_literals::<Jacobian<f64, Reuse>>(), [29; 4]);
    assert_eq!(with_literals::<Continuation>(), [8 + 24; 4]);
    assert_eq!(with_literals::<Continuation<f64, Reuse>>(), [8 + 28; 4]);
    assert!(["Jacobian", "Continuation"].iter().all(|strategy| !formula_in_the_book(strategy).contains('c')));
    assert!(read("book/src/choosing.md").contains("* $c$ literals,"), "and the book says what c is");
}

/// Bytes of a workload on the tape: of its last evaluation if it has several.
fn tape_bytes<S: Reverse<Value = f64>>(problem: &impl Problem) -> usize {
    let last = problem.evaluations() - 1;
    let mut tape = Tape::<S>::new();
    tape.record(|scope| {
        let x = scope.inputs(&problem.inputs(last));
        problem.eval(last, &x)
    });
    recorded(&tape.memory())
}

/// The column `tape_bytes` of the committed results, in memory and for linear indices.
fn committed(workload: &str, strategy: &str) -> usize {
    let csv = read("benches/results/compare.csv");
    let mut lines = csv.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("there is a header");
    let of = |row: &[&str], column: &str| row[header.iter().position(|c| *c == column).expect("a column")].to_owned();
    let wanted = [("workload", workload), ("strategy", strategy), ("indices", "linear"), ("layer", "in_memory")];
    let row = lines.find(|row| wanted.iter().all(|(column, cell)| of(row, column) == *cell)).expect("a row");
    of(&row, "tape_bytes").parse().expect("a number of bytes")
}

#[test]
fn t16_each_strategy_needs_less_memory_on_one_of_two_workloads() {
    let stencil = Laplacian::default();
    let (partials, values) = (tape_bytes::<Jacobian>(&stencil), tape_bytes::<PrimalValue>(&stencil));
    assert_eq!((partials, values), (8_199_986, 12_999_982), "partials win where they are few: {}", stencil.name());
    assert_eq!((partials, values), (committed("laplacian1d", "jacobian"), committed("laplacian1d", "primal_value")));
    let rates = Libor::default();
    let (partials, values) = (tape_bytes::<Jacobian>(&rates), tape_bytes::<PrimalValue>(&rates));
    assert_eq!((partials, values), (364_265, 232_485), "values win in products and quotients: {}", rates.name());
    assert_eq!((partials, values), (committed("libor", "jacobian"), committed("libor", "primal_value")));
}

/// The Markdown files below a folder.
fn chapters(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder can be read");
    let files = entries.map(|entry| folder.join(entry.expect("the folder can be read").file_name()));
    files.filter(|file| file.extension().is_some_and(|extension| extension == "md")).collect()
}

/// The lines of documentation in a source file.
fn documentation(source: &str) -> String {
    let lines = source.lines().map(str::trim_start);
    lines.filter(|line| line.starts_with("///") || line.starts_with("//!")).collect::<Vec<_>>().join("\n")
}

/// Whether a text says how many bytes a statement with `a` arguments takes.
fn has_a_formula(text: &str) -> bool {
    ["+ 4a", "+ 4(a", "+ 12a", "+ 12(a", "+ 8d"].iter().any(|formula| text.contains(formula))
}

/// The notes on decisions are about the time when they were written, and are not edited.
#[test]
fn t18_every_text_with_bytes_of_a_statement_names_the_index_schemes() {
    let strategies =
        ["strategies/continuation", "strategies/hybrid", "strategies/jacobian", "lib", "strategies/primal_value"];
    let sources = strategies.map(|name| PathBuf::from(format!("strategies/src/{name}.rs")));
    let mut texts: Vec<(PathBuf, String)> =
        sources.into_iter().map(|file| (file.clone(), documentation(&read(file)))).collect();
    texts.extend(chapters(Path::new("book/src")).into_iter().map(|file| (file.clone(), read(file))));
    texts.push((PathBuf::from("README.md"), read("README.md")));
    let with_formulas: Vec<_> = texts.iter().filter(|(_, text)| has_a_formula(text)).collect();
    assert!(with_formulas.len() >= 8, "formulas are found: {}", with_formulas.len());
    for (file, text) in with_formulas {
        let text = text.to_lowercase();
        assert!(text.contains("linear") && text.contains("reuse"), "{} names no index scheme", file.display());
    }
}
