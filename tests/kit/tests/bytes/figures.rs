//! Row T18: figures of bytes in the documentation say which indices they are for, and formulas are those of tapes.

use super::recorded;
use std::fs;
use std::path::{Path, PathBuf};
use tapewright::prelude::*;

/// The root of the repository: cargo says where this package is when it runs tests.
fn root() -> PathBuf {
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    Path::new(&here).join("../..")
}

pub(super) fn read(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Files of a folder that end in this extension.
fn files(folder: &str, extension: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder can be read");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name in UTF-8"));
    names.filter(|name| name.ends_with(extension)).map(|name| format!("{folder}/{name}")).collect()
}

/// The documentation in a source file.
fn documentation(source: &str) -> String {
    let line = |line: &str| {
        let line = line.trim_start();
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        text.unwrap_or_default().trim_start().to_owned()
    };
    source.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The paragraphs and tables of a text, without marks of emphasis and formulas, and without code; tables together with
/// the paragraph before them that ends in a comma or a colon.
fn passages(text: &str) -> Vec<String> {
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    let mut passages: Vec<String> = Vec::new();
    for paragraph in prose.join("\n\n").split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty()) {
        let paragraph = paragraph.replace(['$', '*', '`', '\\'], "");
        match passages.last_mut().filter(|last| last.ends_with([',', ':']) && paragraph.starts_with('|')) {
            Some(last) => last.extend(["\n", &paragraph]),
            None => passages.push(paragraph),
        }
    }
    passages
}

/// True if a passage says how many bytes a statement takes: in a formula of its `a` arguments, or in a sentence. How
/// much more or less one takes than another may be the same for all indices, and estimates need not be exact.
fn has_a_figure(passage: &str) -> bool {
    let words = |sentence: &str| sentence.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let is_number = |word: &str| word.trim_start_matches('(').starts_with(|first: char| first.is_ascii_digit());
    let of_arguments = |word: &str| {
        let term = word.trim_start_matches('(').trim_start_matches(|digit: char| digit.is_ascii_digit());
        is_number(word) && term.starts_with('a') && !term[1..].starts_with(char::is_alphanumeric)
    };
    words(passage).iter().any(|word| of_arguments(word))
        || passage.split(". ").map(words).any(|sentence| {
            let bytes = sentence.windows(3).position(|words| {
                let is_unit = ["bytes", "byte", "B"].contains(&words[2].trim_matches([',', '.', ';', ':', ')']));
                is_unit && is_number(&words[1]) && !["some", "about"].contains(&words[0].as_str())
            });
            let difference = |at: usize| sentence[at..].iter().any(|word| ["more", "less"].contains(&word.as_str()));
            let of_statement = sentence.iter().any(|word| word.starts_with("statement"));
            of_statement && bytes.is_some_and(|at| !difference(at))
        })
}

#[test]
fn t18_every_figure_of_a_statement_s_bytes_says_which_indices_it_is_for() {
    // Forward mode, programs and the list of claims have no indices; notes on decisions are about their day.
    let other = ["book/src/forward.md", "book/src/programs.md", "book/src/rows.md"];
    let mut texts: Vec<(String, String)> = Vec::new();
    for file in files("book/src", ".md").into_iter().chain([String::from("README.md")]) {
        let text = read(&file);
        texts.push((file, text));
    }
    for file in files("strategies/src/strategies", ".rs").into_iter().chain([String::from("strategies/src/lib.rs")]) {
        let text = documentation(&read(&file));
        texts.push((file, text));
    }
    let (mut figures, mut silent) = (0, Vec::new());
    for (file, text) in texts.iter().filter(|(file, _)| !other.contains(&file.as_str())) {
        for passage in passages(text).iter().filter(|passage| has_a_figure(passage)) {
            figures += 1;
            let lower = passage.to_lowercase();
            if !["linear indices", "linear] indices", "reused indices", "reuse"].iter().any(|kind| lower.contains(kind))
            {
                silent.push(format!("{file}: {passage}"));
            }
        }
    }
    assert!(figures >= 20, "{figures} figures are found");
    assert!(silent.is_empty(), "these name no kind of index:\n\n{}", silent.join("\n\n"));
}

/// Bytes that a statement of four inputs takes.
fn cost<S: Reverse<Value = f64>>(f: impl Fn(&[Real<S>]) -> Real<S>) -> usize {
    let bytes = |statement: bool| {
        let mut tape = Tape::<S>::new();
        let kept = tape.record(|scope| {
            let x = scope.inputs(&[0.5, 0.6, 0.7, 0.8]);
            let y = statement.then(|| f(&x));
            (x, y)
        });
        let report = tape.memory();
        drop(kept);
        // With reused identifiers the values are those of the variables alive, and not of statements.
        let values = if core::mem::needs_drop::<S::Id>() { report.usage("values").used } else { 0 };
        recorded(&report) - values
    };
    bytes(true) - bytes(false)
}

/// The statements sin(x)·y + z·w, 2·x and 2·(x + y + z − w), with numbers of arguments, distinct partials and literals.
fn statements<S: Reverse<Value = f64>>() -> [([usize; 3], usize); 3] {
    [
        ([4, 4, 0], cost::<S>(|x| (x[0].sin() * &x[1] + &x[2] * &x[3]).into())),
        ([1, 1, 1], cost::<S>(|x| (2.0 * &x[0]).into())),
        ([4, 1, 1], cost::<S>(|x| (2.0 * (&x[0] + &x[1] + &x[2] - &x[3])).into())),
    ]
}

/// The value of a formula such as 9 + 4a + 8 min(d, c).
fn value(formula: &str, [a, d, c]: [usize; 3]) -> usize {
    let term = |term: &str| {
        let digits = term.find(|digit: char| !digit.is_ascii_digit()).unwrap_or(term.len());
        let factor: usize = term[..digits].parse().expect("a term begins with a number");
        factor
            * match term[digits..].trim() {
                "" => 1,
                "a" => a,
                "d" => d,
                "c" => c,
                "min(d, c)" => d.min(c),
                other => panic!("what is {other} in {formula}?"),
            }
    };
    formula.split(" + ").map(|text| term(text.trim())).sum()
}

/// The formula in the row of the table of bytes that begins with this name.
pub(super) fn formula_in_the_book(strategy: &str) -> String {
    let chapter = read("book/src/choosing.md");
    let row = chapter.lines().find(|line| line.starts_with(&format!("| `{strategy}` | $"))).expect("the table has it");
    row.trim_end_matches([' ', '|']).rsplit('|').next().expect("a cell").replace(['$', '\\'], "").trim().to_owned()
}

#[test]
fn t18_formulas_of_the_book_are_for_linear_indices_and_statements_take_4_bytes_more_with_reused_ones() {
    fn check<L: Reverse<Value = f64>, R: Reverse<Value = f64>>(strategy: &str) {
        let formula = formula_in_the_book(strategy);
        for ((counts, linear), (_, reused)) in statements::<L>().into_iter().zip(statements::<R>()) {
            let expected = value(&formula, counts);
            assert_eq!((linear, reused), (expected, expected + 4), "{strategy}: {formula} at {counts:?}");
        }
    }
    check::<Jacobian, Jacobian<f64, Reuse>>("Jacobian");
    check::<PrimalValue, PrimalValue<f64, Reuse>>("PrimalValue");
    check::<Hybrid, Hybrid<f64, Reuse>>("Hybrid");
    check::<Continuation, Continuation<f64, Reuse>>("Continuation");
}

#[test]
fn t18_the_book_says_which_indices_the_classic_figures_are_for_and_what_became_of_them() {
    let chapter = read("book/src/from-other-tools.md");
    let row = |name: &str| {
        let line = chapter.lines().find(|line| line.starts_with(&format!("| {name} |"))).expect("the table has it");
        line.split('|').skip(2).take(2).map(|cell| cell.replace('$', "").trim().to_owned()).collect::<Vec<_>>()
    };
    assert!(chapter.contains("| bytes of a statement | linear indices | reused indices |"));
    // A number of arguments, and the identifier of the result where that is not the record's number.
    assert_eq!(row("CoDiPack, partials"), ["1 + 12a", "5 + 12a"]);
    // A value, the identifier, a number of passive arguments, a handle; and in version 3 the length of the data.
    assert_eq!(row("CoDiPack, values, as its authors describe it"), ["", "21 + 4a"]);
    assert_eq!(row("CoDiPack 3, values"), ["19 + 4a", "23 + 4a"]);
    let reused = |name: &str| value(&row(name)[1], [0; 3]);
    assert_eq!(reused("CoDiPack 3, values"), reused("CoDiPack, values, as its authors describe it") + 2);
    assert!(chapter.contains("CoDiPack 3 needs 23 bytes, not 21"));
}
