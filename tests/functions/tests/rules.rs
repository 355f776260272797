//! Rules against the tables, at every point.

use std::collections::BTreeMap;
use tapewright::strategies::rules::FUNCTIONS;
use tapewright_function_tests::{Row, TOLERANCE, TOLERANCE_OF_SECOND, excess, function, rows};

/// The relative change of arguments by which the conditioning of a second derivative is measured.
const STEP: f64 = 1e-7;

/// Σ|xᵢ·∂ᵢg| for a second derivative g, by differences of the rule's own second derivatives. An error e of these
/// changes the sum by at most 2e/[`STEP`], and what is allowed by 2·10⁻⁴·e: it does not hide itself.
fn conditioning_of_second(row: &Row, i: usize, j: usize) -> f64 {
    let derivatives = function(&row.name).derivatives;
    let here = derivatives(&row.arguments).second[i][j];
    let change = |k: usize| {
        [1.0 + STEP, 1.0 - STEP].map(|factor| {
            let mut x = row.arguments.clone();
            x[k] *= factor;
            let change = (derivatives(&x).second[i][j] - here).abs() / STEP;
            if change.is_finite() { change } else { 0.0 }
        })
    };
    (0..row.arguments.len()).map(|k| change(k).into_iter().fold(0.0, f64::max)).sum()
}

/// The errors of value, first and second derivatives, in units of what is allowed.
fn excesses(row: &Row) -> [f64; 3] {
    let found = (function(&row.name).derivatives)(&row.arguments);
    let n = row.arguments.len();
    let value = |found| excess(found, row.value, row.conditioning(), TOLERANCE);
    let slope = |found: f64, j| excess(found, row.first[j], row.conditioning_of_first(j), TOLERANCE);
    let (by_duals, slopes, partials) = &found.by_duals;
    let first = (0..n).flat_map(|j| [slope(found.first[j], j), slope(slopes[j], j), slope(partials[j], j)]);
    let second = (0..n).flat_map(|i| (0..n).map(move |j| (i, j))).map(|(i, j)| {
        let expected = row.bend(i, j);
        let plain = excess(found.second[i][j], expected, 0.0, TOLERANCE_OF_SECOND);
        if plain <= 1.0 {
            return plain;
        }
        excess(found.second[i][j], expected, conditioning_of_second(row, i, j), TOLERANCE_OF_SECOND)
    });
    [value(found.value).max(value(*by_duals)), first.fold(0.0, f64::max), second.fold(0.0, f64::max)]
}

#[test]
fn rules_are_right_to_second_order() {
    let rows = rows();
    assert!(!rows.is_empty(), "there are no tables");
    let mut worst: BTreeMap<&str, [(f64, &str); 3]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for row in &rows {
        let found = excesses(row);
        let worst = worst.entry(&row.name).or_insert([(0.0, ""); 3]);
        for k in 0..3 {
            if found[k] >= worst[k].0 {
                worst[k] = (found[k], &row.place);
            }
        }
        if found.iter().any(|excess| *excess > 1.0) {
            wrong.push(format!("{found:?} of what is allowed at {}", row.place));
        }
    }
    for (name, errors) in &worst {
        let shown = errors.map(|(excess, place)| format!("{excess:8.1e} at {place:.60}")).join(", ");
        println!("{name:16} {shown}");
    }
    assert!(wrong.is_empty(), "{} of {} rows are wrong:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn every_function_that_floats_have_not_has_a_hundred_rows() {
    let rows = rows();
    for (name, arguments, _) in FUNCTIONS.iter().filter(|(_, _, floats)| ["special", "rule"].contains(floats)) {
        let of_function: Vec<&Row> = rows.iter().filter(|row| row.name == *name).collect();
        assert!(of_function.len() >= 100, "`{name}` has {} rows in `tests/functions/tables`", of_function.len());
        assert!(of_function.iter().all(|row| row.arguments.len() == *arguments), "`{name}` has {arguments} arguments");
    }
}
