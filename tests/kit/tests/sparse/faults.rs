//! What cannot be right is refused.

use super::record;
use tapewright::checkpoint::closure_stage;
use tapewright::exchange::Exchange;
use tapewright::kernels::View;
use tapewright::prelude::*;
use tapewright::sparse::{Pattern, SparseHessian, SparseJacobian};
use tapewright::{Dual, Error, External, PrimalValue, SweepError};

/// Each output reads its neighbor to the right or, below 0, to the left.
fn branching<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let n = x.len();
    (0..n).map(|k| (x[k] * x[if x[k].value() > 0.0 { (k + 1) % n } else { (k + n - 1) % n }]).into()).collect()
}

#[test]
fn a_branch_that_reads_other_variables_is_noticed() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = record(&mut tape, branching, &[1.0; 20]);
    let mut jacobian = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    assert!(jacobian.evaluate(&mut tape, &x, &y).is_ok());
    for changed in 0..20 {
        let mut point = [1.0; 20];
        point[changed] = -2.0;
        let (x, y) = record(&mut tape, branching, &point);
        let outcome = jacobian.evaluate(&mut tape, &x, &y).map(|_| ());
        let (row, column) = (Some(changed), Some((changed + 19) % 20));
        assert_eq!(outcome, Err(Error::PatternChanged { row, column }));
        let text = outcome.unwrap_err().to_string();
        let place = format!("an entry in row {changed}, column {} that is not in its pattern: ", (changed + 19) % 20);
        assert!(text.contains(&place) && text.ends_with("find the pattern again"), "{text}");
    }
    let (x, y) = record(&mut tape, branching, &[3.0; 20]);
    assert_eq!(jacobian.evaluate(&mut tape, &x, &y).expect("it is as it was").get(3, 4), Some(3.0));
}

#[test]
fn a_branch_is_noticed_by_forward_sweeps() {
    let f = |x: &[Real<Jacobian>]| -> Vec<Real<Jacobian>> {
        let other = if x[0].value() > 0.0 { x[1] } else { x[2] };
        (0..40).map(|k| if k < 20 { (x[0] * other).into() } else { (x[1] + x[2]).into() }).collect()
    };
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = record(&mut tape, f, &[1.0, 2.0, 3.0]);
    let mut jacobian = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    assert_eq!(jacobian.coloring().colors().len(), 3, "columns");
    assert!(jacobian.evaluate(&mut tape, &x, &y).is_ok());
    let (x, y) = record(&mut tape, f, &[-1.0, 2.0, 3.0]);
    assert!(matches!(jacobian.evaluate(&mut tape, &x, &y), Err(Error::PatternChanged { .. })));
}

#[test]
fn a_branch_of_a_hessian_is_noticed() {
    type S = PrimalValue<Dual<f64, 2>>;
    let f = |x: &[Real<S>]| -> Real<S> {
        if x[0].value().value > 0.0 { (x[0] * x[1] + x[2] * x[2]).into() } else { (x[0] * x[2] + x[2] * x[2]).into() }
    };
    let mut tape = Tape::<S>::new();
    let mut hessian = SparseHessian::new(&mut tape, f, &[1.0, 2.0, 3.0]).expect("there is a pattern");
    let mut gradient = [0.0; 3];
    assert!(hessian.evaluate(&mut tape, f, &[2.0, 2.0, 3.0], &mut gradient).is_ok());
    let outcome = hessian.evaluate(&mut tape, f, &[-1.0, 2.0, 3.0], &mut gradient);
    assert!(matches!(outcome, Err(Error::PatternChanged { .. })), "{outcome:?}");
    assert!(matches!(outcome, Err(Error::PatternChanged { row: Some(0), column: Some(2) })), "{outcome:?}");
}

#[test]
fn lengths_and_recordings_are_checked() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = record(&mut tape, branching, &[1.0; 5]);
    let mut jacobian = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    assert!(matches!(jacobian.evaluate(&mut tape, &x[1..], &y), Err(Error::LengthMismatch { .. })));
    assert!(matches!(jacobian.evaluate(&mut tape, &x, &y[1..]), Err(Error::LengthMismatch { .. })));
    let mut other = Tape::<Jacobian>::new();
    assert!(matches!(jacobian.evaluate(&mut other, &x, &y), Err(Error::ForeignVariable { .. })));
    assert!(matches!(other.jacobian_pattern(&x, &y), Err(Error::ForeignVariable { .. })));
    assert!(matches!(other.hessian_pattern(&x, &y[0]), Err(Error::ForeignVariable { .. })));
}

/// What is sent comes back.
struct Mirror;
impl External<f64> for Mirror {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        inputs.copy_from_slice(outputs);
        Ok(())
    }
    fn forward(&self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
        outputs.copy_from_slice(inputs);
        Ok(())
    }
}

/// Sends a number to itself, which tells no pattern.
fn send(x: &Real<Jacobian>) -> Real<Jacobian> {
    let sent = [*x];
    let exchange = Exchange::of(&sent);
    let values = exchange.values();
    exchange.finish(&sent, &values, Mirror)[0]
}

#[test]
fn messages_tell_no_pattern() {
    fn in_a_stage(x: &[Real<Jacobian>]) -> Real<Jacobian> {
        let x = View::of_variables([x.len()], x);
        closure_stage(|x: &View<Jacobian, 1>| send(&x.variable([0])), &x)
    }
    for (what, is_staged) in [("messages", false), ("a stage", true)] {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = record(&mut tape, |x| if is_staged { in_a_stage(x) } else { send(&x[0]) }, &[2.0]);
        let outcome = tape.jacobian_pattern(&x, &[y]);
        let Err(Error::Sweep(SweepError::Unsupported { what: text })) = &outcome else { panic!("{outcome:?}") };
        assert!(text.contains(what) && text.contains("messages"), "{text}");
    }
}

/// Only the sums are known then: of columns, or of rows where sweeps go forward.
#[test]
fn entries_of_recordings_that_tell_no_pattern_are_found_by_their_sums() {
    let mut tape = Tape::<Jacobian>::new();
    let mut outcome = |pattern: Pattern, outputs: usize| {
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&[2.0, 3.0]);
            send(&x[0]);
            let y: Vec<Real<Jacobian>> =
                (0..outputs).map(|k| if k == outputs.min(6) - 1 { (x[0] * x[1]).into() } else { x[0] }).collect();
            (x, y)
        });
        SparseJacobian::with_pattern(pattern).evaluate(&mut tape, &x, &y).map(|_| ()).unwrap_err()
    };
    let by_rows = outcome(Pattern::from_rows(2, (0..5).map(|_| [0])), 5);
    assert_eq!(by_rows, Error::PatternChanged { row: None, column: Some(1) });
    assert!(by_rows.to_string().contains("do not add up in column 1: "), "{by_rows}");
    let by_columns = outcome(Pattern::from_rows(2, (0..20).map(|_| [0])), 20);
    assert_eq!(by_columns, Error::PatternChanged { row: Some(5), column: None });
    assert!(by_columns.to_string().contains("do not add up in row 5: "), "{by_columns}");
}

/// Infinite and undefined entries are entries.
#[test]
fn entries_need_not_be_finite() {
    let f = |x: &[Real<Jacobian>]| -> Vec<Real<Jacobian>> { vec![x[0].sqrt().into(), (x[1] * x[2]).into()] };
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = record(&mut tape, f, &[0.0, f64::NAN, 2.0]);
    let mut jacobian = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    let matrix = jacobian.evaluate(&mut tape, &x, &y).expect("they are entries");
    assert_eq!((matrix.get(0, 0), matrix.get(1, 1)), (Some(f64::INFINITY), Some(2.0)));
    assert!(matrix.get(1, 2).is_some_and(f64::is_nan));
}

#[test]
#[should_panic(expected = "beyond column 3")]
fn a_pattern_has_no_entries_outside() {
    let _ = Pattern::from_rows(3, [vec![0, 3]]);
}

#[test]
#[should_panic(expected = "symmetric")]
fn a_hessian_is_symmetric() {
    let _ = SparseHessian::<f64, 1>::with_pattern(Pattern::from_rows(2, [vec![1], vec![]]));
}
