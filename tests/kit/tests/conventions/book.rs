//! The list of all rows in the book is made of them.

use std::fmt::Write as _;

use super::{Row, distributions, elementary, limits, special, statements};

/// A number with six digits.
fn number(x: f64) -> String {
    let x: f64 = format!("{x:.5e}").parse().expect("a number");
    let text = if x == 0.0 || (1e-4..1e6).contains(&x.abs()) { format!("{x}") } else { format!("{x:e}") };
    text.replace('-', "−").replace("inf", "∞")
}

fn numbers(x: &[f64]) -> String {
    x.iter().map(|x| number(*x)).collect::<Vec<_>>().join(", ")
}

/// A function as it is written, with letters for the elements of `x`.
fn written(function: &str) -> String {
    let text = function.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.strip_prefix("{ ").and_then(|text| text.strip_suffix(" }")).unwrap_or(&text).replace('|', "\\|");
    [("x[0]", "x"), ("x[1]", "y"), ("x[2]", "z")].iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// A line for each point.
fn lines(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let mut function = format!("`{}`", written(row.function));
        for point in &row.points {
            let (subgradient, checked) = match point.policies.first() {
                None => Default::default(),
                Some((slopes, None)) => (numbers(slopes), String::new()),
                Some((slopes, Some(function))) => (numbers(slopes), format!("`{function}`")),
            };
            let (x, value, slopes) = (numbers(&point.x), number(point.value), numbers(&point.slopes));
            let _ = writeln!(text, "| {function} | {x} | {value} | {slopes} | {subgradient} | {checked} |");
            function.clear();
        }
    }
    text
}

#[test]
fn the_book_lists_all_rows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../book/src/conventions.md");
    let book = std::fs::read_to_string(path).expect("the chapter");
    let (before, rest) = book.split_once("<!-- rows:begin -->\n").expect("where the list begins");
    let (_, after) = rest.split_once("<!-- rows:end -->\n").expect("where it ends");
    let tables = [elementary::rows(), special::rows(), distributions::rows(), limits::rows(), statements::rows()];
    let rows: String = tables.iter().map(|rows| lines(rows)).collect();
    let head =
        "| function | at | value | slopes | under `Subgradient` | `Checked` names |\n|---|---|---|---|---|---|\n";
    let expected = format!("{before}<!-- rows:begin -->\n{head}{rows}<!-- rows:end -->\n{after}");
    if std::env::var_os("TAPEWRIGHT_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, &expected).expect("the chapter can be written");
        return;
    }
    assert!(
        book == expected,
        "the list is out of date: `TAPEWRIGHT_BLESS=1 cargo test -p tapewright-kit-tests --test conventions` rewrites it"
    );
}
