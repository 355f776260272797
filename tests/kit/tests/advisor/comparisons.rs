//! Comparisons find what is wrong, and print what fits a terminal.
#![allow(clippy::cast_precision_loss, reason = "bytes are far below 2^53")]

use std::cell::Cell;
use tapewright::advisor::{Comparison, Contest, Entrant, Program, Work, compare, forecast};
use tapewright::prelude::*;
use tapewright::tape::{MemoryReport, MemoryUsage};
use tapewright::{Checked, Error, Spilled, program};

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
    assert!(!text.contains("Take "), "no advice on what is wrong:\n{text}");
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
        .with::<Checked<Continuation>>()
        .with_reusing::<Checked<PrimalValue<f64, Reuse, Spilled<tapewright_kit_tests::FewPages>>>>()
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

/// An entrant that says how long it takes, and how many bytes it has behind a sweep and behind a recording.
struct Said {
    seconds: f64,
    swept: usize,
    recorded: usize,
    latest: Work,
}

impl Entrant for Said {
    fn found(&mut self) -> Result<(f64, Vec<f64>), Error> {
        self.latest = Work::Gradient;
        Ok((3.0, vec![1.0]))
    }
    fn memory(&self) -> MemoryReport {
        let used = if self.latest == Work::Record { self.recorded } else { self.swept };
        MemoryReport::new(0, 0).stream("records", MemoryUsage { used, reserved: used })
    }
    fn pass(&mut self, work: Work, count: usize) -> Result<f64, Error> {
        self.latest = work;
        let seconds = count as f64 * self.seconds;
        Ok(if work == Work::Record { 0.25 * seconds } else { seconds })
    }
}

/// A comparison of entrants that say so many seconds and bytes, named by their order. Behind a sweep the first has one
/// byte less, as stages that have used up their snapshots, and all others have one byte less behind a recording, as
/// kernels without the adjoints of arrays.
fn said(entrants: &[(f64, usize)]) -> Comparison {
    let program = program!(fickle);
    let mut contest = Contest::new(&program, &[3.0]);
    for (name, &(seconds, bytes)) in ["a", "b", "c"].iter().zip(entrants) {
        let (swept, recorded) = if *name == "a" { (bytes - 1, bytes) } else { (bytes, bytes - 1) };
        let start = move || {
            let entrant = Said { seconds, swept, recorded, latest: Work::Gradient };
            Ok(Some(Box::new(entrant) as Box<dyn Entrant>))
        };
        contest = contest.enter(*name, start);
    }
    contest.rounds(7).run().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn bytes_are_the_larger_of_those_behind_a_recording_and_behind_a_sweep() {
    let comparison = said(&[(1.0, 900), (2.0, 800)]);
    assert_eq!(comparison.rows.iter().map(tapewright::advisor::Row::bytes).collect::<Vec<_>>(), [900, 800]);
}

#[test]
fn of_what_is_equally_fast_the_smaller_is_the_best() {
    let best = |entrants: &[(f64, usize)]| said(entrants).best().map(|row| row.strategy.clone());
    assert_eq!(best(&[]), None);
    assert_eq!(best(&[(1.0, 900), (1.02, 800), (2.0, 100)]).as_deref(), Some("b"));
    assert_eq!(best(&[(1.0, 900), (1.05, 800), (2.0, 100)]).as_deref(), Some("a"));
}

#[test]
fn advice_is_a_sentence_about_the_best_and_the_smallest() {
    let advice = |entrants: &[(f64, usize)]| said(entrants).advice();
    assert_eq!(advice(&[(1.0, 900)]), "");
    assert_eq!(advice(&[(1.0, 900), (2.0, 900)]), "Take a: none is faster by more than 3 %, and none is smaller.");
    assert_eq!(advice(&[(1.0, 1000), (1.02, 990), (1.4, 860)]), "Take b, or c with 13 % less memory, 37 % more time.");
    assert_eq!(advice(&[(1.0, 1000), (2.5, 10)]), "Take a, or b with 99.0 % less memory, 2.5 × the time.");
    let all = said(&[(1.0, 900), (2.0, 800)]);
    assert!(all.to_string().ends_with(&format!("{}\n", all.advice())), "{all}");
}

#[test]
fn ratios_and_sweeps_are_those_of_the_rounds() {
    let comparison = said(&[(1.0, 900), (3.0, 800)]);
    let [a, b] = &comparison.rows[..] else { panic!("{comparison}") };
    assert_eq!((a.rounds(), b.rounds()), (7, 7));
    let ratio = b.against(a);
    assert!([ratio.low, ratio.median, ratio.high].iter().all(|ratio| (ratio - 3.0).abs() < 1e-12), "{ratio:?}");
    assert_eq!((a.least, b.least), (1.0, 3.0));
    // The function itself takes as long as it takes.
    assert!((b.sweep().median / b.total - 0.75).abs() < 1e-12 && b.multiple().low <= b.multiple().high);
    assert!((b.multiple().median * comparison.plain / b.total - 1.0).abs() < 1e-12);
}

/// Σ k·x² for k below 5, in as many evaluations, at the inputs x + k.
struct Terms(Cell<usize>);

impl Program for Terms {
    fn run<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> Real<S> {
        (self.0.get() as f64 * x[0] * x[0]).into()
    }
    fn evaluations(&self) -> usize {
        5
    }
    fn prepare(&self, k: usize, x: &mut Vec<f64>) {
        self.0.set(k);
        x[0] = 2.0 + k as f64;
    }
}

#[test]
fn programs_of_several_evaluations_are_summed() {
    let program = Terms(Cell::new(0));
    let contest = Contest::new(&program, &[2.0]).with::<Jacobian>().with_forward::<Tangent>();
    let comparison = contest.on_tape("again", || Ok(Tape::<Hybrid>::new()), |x| program.run(x)).rounds(4).run();
    let comparison = comparison.unwrap_or_else(|error| panic!("{error}"));
    let terms = (0..5).map(|k| (f64::from(k), 2.0 + f64::from(k)));
    let value: f64 = terms.clone().map(|(k, x)| k * x * x).sum();
    assert_eq!((comparison.value, &comparison.gradient[..]), (value, &[terms.map(|(k, x)| 2.0 * k * x).sum()][..]));
    assert!(comparison.wrong().next().is_none() && comparison.rows.len() == 3, "{comparison}");
    // The bytes are those of one evaluation.
    assert_eq!(comparison.rows[0].memory.statements, 1);
}
