//! Comparisons find what is wrong, and print what fits a terminal.
#![allow(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]

use tapewright::advisor::{Comparison, Contest, Program, compare, forecast};
use tapewright::prelude::*;
use tapewright::{Checked, Spilled, program};

fn sines<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let mut y = x[0].clone();
    for _ in 0..100 {
        y = (y.sin() * &x[1]).into();
    }
    y
}

/// A function that is another one under one strategy.
fn fickle<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    let is_hybrid = std::any::type_name::<S>().contains("Hybrid");
    let factor = if is_hybrid { 2.0 } else { 1.0 };
    // The value is the same, the slope is not.
    (x[0] * factor - (factor - 1.0) * x[0].value()).into()
}

fn contest<P: Program>(program: &P) -> Comparison {
    let contest = Contest::new(program, &[0.7, 1.1]).usual().seconds(0.0);
    contest.run().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn gradients_that_differ_are_reported() {
    let comparison = contest(&program!(fickle));
    let wrong: Vec<&str> = comparison.wrong().map(|row| row.strategy.as_str()).collect();
    assert_eq!(wrong, ["Hybrid"]);
    assert_eq!(comparison.gradient, [1.0, 0.0]);
    assert_eq!(comparison.row("Hybrid").map(|row| row.difference), Some(1.0));
    let text = comparison.to_string();
    let line = "WRONG: Hybrid: value or gradient with a relative error of 1.0e0";
    assert_eq!(text.lines().rev().nth(1), Some(line), "{text}");
}

#[test]
fn gradients_of_nan_are_the_same_and_one_of_them_is_not() {
    fn nowhere<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        (x[0] * f64::NAN).into()
    }
    fn somewhere<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let is_hybrid = std::any::type_name::<S>().contains("Hybrid");
        (x[0] * if is_hybrid { f64::NAN } else { 1.0 }).into()
    }
    assert_eq!(contest(&program!(nowhere)).wrong().count(), 0);
    let wrong = contest(&program!(somewhere));
    assert_eq!(wrong.row("Hybrid").map(|row| row.difference), Some(f64::INFINITY));
}

#[test]
fn measured_bytes_are_those_predicted() {
    let program = program!(sines: Taping);
    let (comparison, forecast) = (contest(&program), forecast(&program, &[0.7, 1.1]));
    assert_eq!(comparison.rows.len(), 9);
    assert_eq!(comparison.wrong().count(), 0, "{comparison}");
    for (row, predicted) in comparison.rows.iter().zip(forecast.rows()) {
        assert_eq!((&row.strategy, row.tape, row.adjoints), (&predicted.strategy, predicted.tape, predicted.adjoints));
        assert!(row.reserved >= row.bytes() && (row.reserved > 0) == (row.strategy != "Tangent<4>"), "{row:?}");
        assert!(row.total >= 0.0 && predicted.seconds >= 0.0, "{row:?} {predicted:?}");
    }
    let least = |rows: Vec<usize>| rows.into_iter().filter(|bytes| *bytes > 0).min();
    let smallest = comparison.smallest().map(tapewright::advisor::Row::bytes);
    assert_eq!(smallest, least(comparison.rows.iter().map(tapewright::advisor::Row::bytes).collect()));
}

#[test]
fn functions_over_copies_run_with_linear_indices_only() {
    let comparison = contest(&program!(fickle));
    let strategies: Vec<&str> = comparison.rows.iter().map(|row| row.strategy.as_str()).collect();
    assert_eq!(strategies, ["Jacobian", "PrimalValue", "Hybrid", "Continuation", "Tangent<4>"]);
    assert!(forecast(&program!(fickle), &[1.0]).reusing().is_none());
}

#[test]
fn lines_have_at_most_100_columns() {
    let program = program!(sines: Taping);
    let long = Contest::new(&program, &[0.7, 1.1])
        .with::<Continuation<f64, Linear, Checked>>()
        .with_reusing::<PrimalValue<f64, Reuse, Spilled<tapewright_kit_tests::FewPages>, Checked>>()
        .on_other_layers()
        .seconds(0.0);
    let long = long.run().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(long.rows.len(), 7);
    for text in [long.to_string(), forecast(&program, &[0.7, 1.1]).to_string(), contest(&program!(fickle)).to_string()]
    {
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }
}

#[test]
fn csv_can_be_read_back() {
    let comparison = contest(&program!(sines: Taping));
    let csv = comparison.csv();
    let mut lines = csv.lines();
    let columns = lines.next().map(|line| line.split(',').count());
    assert_eq!(columns, Some(7));
    for (line, row) in lines.zip(&comparison.rows) {
        let (strategy, numbers) = line[1..].split_once("\",").expect("the name is in quotes");
        assert_eq!(strategy, row.strategy);
        let numbers: Vec<f64> = numbers.split(',').map(|number| number.parse().expect("a number")).collect();
        let bytes = [row.tape, row.adjoints, row.reserved].map(|bytes| bytes as f64);
        assert_eq!(numbers, [&bytes[..], &[row.record, row.total, row.difference]].concat());
    }
    assert_eq!(csv.lines().count(), 10);
}

#[test]
fn drawings_have_a_bar_for_each_number() {
    let svg = contest(&program!(sines: Taping)).svg();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert_eq!(svg.matches("<rect ").count(), 1 + 2 * 9);
    assert_eq!(svg.matches("<text ").count(), svg.matches("</text>").count());
    assert!(svg.contains(">PrimalValue&lt;f64, Reuse&gt;</text>"), "{svg}");
}

#[test]
fn a_comparison_of_a_function_is_one_call() {
    let comparison = compare(&program!(fickle), &[3.0]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((comparison.inputs, comparison.value), (1, 3.0));
}
