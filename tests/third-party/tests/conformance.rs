//! What tapewright expects of a strategy, and the matrix of a small function.

use tapewright::kernels::{View, parallel_sum};
use tapewright::prelude::*;
use tapewright_third_party::CompressedRows;

mod with_f64 {
    tapewright::conformance!(tapewright_third_party::CompressedRows);
}

mod with_f32 {
    tapewright::conformance!(tapewright_third_party::CompressedRows<f32>);
}

/// It keeps no track of places and has no forward sweep, so that these scenarios do not apply, and say so.
#[test]
fn what_the_strategy_does_without_is_reported_as_skipped() {
    let report = tapewright::conformance::run::<CompressedRows>();
    assert_eq!(report.failures, []);
    let skipped: Vec<&str> = report.skips.iter().map(|(scenario, _)| *scenario).collect();
    let expected = [
        "forward_sweep_gives_the_tangents",
        "sweeps_between_positions_are_the_whole",
        "external_function",
        "callbacks_in_order",
        "checkpointed_stages",
        "nested_recording_in_a_rule",
        "reversed_loop",
        "rules_are_dropped_once",
    ];
    assert_eq!(skipped, expected);
    let text = report.to_string();
    assert!(text.contains("skipped: reversed_loop: tapewright_third_party::CompressedRows"), "{text}");
    assert!(text.contains("cannot be swept forward"), "{text}");
}

fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let t: Real<S> = (x[0].exp() * x[1]).into();
    (t * x[1]).into()
}

#[test]
fn gradient_equals_that_of_the_other_strategies() {
    let x = [5.2, -3.9];
    let gradient = gradient::<CompressedRows>(f, &x);
    assert_eq!(gradient, tapewright::gradient::<Jacobian>(f, &x));
    assert_eq!(gradient, tapewright::gradient::<PrimalValue>(f, &x));
}

#[test]
fn statement_takes_as_many_bytes_as_documented() {
    let mut tape = Tape::<CompressedRows>::new();
    tape.record(|scope| {
        let x = scope.inputs(&[5.2, -3.9]);
        f(&x)
    });
    let (inputs, statements, arguments) = (2, 2, 4);
    let report = tape.memory();
    assert_eq!((report.statements, report.arguments), (statements, arguments));
    let records = report.total().used - report.usage("adjoints").used;
    assert_eq!(records, 8 * (inputs + statements) + 12 * arguments);
}

#[test]
fn rows_are_the_partials_of_the_statements() {
    let mut tape = Tape::<CompressedRows>::new();
    tape.record(|scope| {
        let x = scope.inputs(&[2.0, 3.0]);
        let t = (x[0] * x[1]).eval();
        (t - x[0]).eval()
    });
    let rows = tape.tape_mut();
    assert_eq!(rows.row(1).count(), 0);
    assert_eq!(rows.row(3).collect::<Vec<_>>(), [(1, 3.0), (2, 2.0)]);
    assert_eq!(rows.row(4).collect::<Vec<_>>(), [(3, 1.0), (1, -1.0)]);
}

/// A sum over an array of variables: the strategy has no arrays, and a derivative of 0 would be wrong.
#[test]
#[should_panic(expected = "CompressedRows has no arrays")]
fn a_kernel_over_variables_is_refused() {
    let sum = |x: &[Real<CompressedRows>]| {
        let u = View::of_variables([2], x);
        parallel_sum(u.all(), &u, |u| u.at::<0>().square())
    };
    assert_eq!(gradient::<CompressedRows>(sum, &[1.0, 2.0]), [2.0, 4.0]);
}
