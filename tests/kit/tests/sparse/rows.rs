//! Jacobian matrices whose rows are found one after the other, each by the records that it depends on.

use super::record;
use tapewright::prelude::*;
use tapewright::sparse::{Pattern, SparseJacobian};
use tapewright::{Error, linear_combination};
use tapewright_kit_tests::everywhere;

/// A function of small functions.
type Function<'a, S> = &'a dyn Fn(&[Real<S>]) -> Vec<Real<S>>;

/// Evaluates the matrix several times, and compares each row with a sweep from its output, bit for bit
/// where rows are found one after the other.
fn agrees<S: Reverse<Value = f64>>(x: &[f64], f: Function<S>) {
    let mut tape = Tape::<S>::new();
    let (x, y) = record(&mut tape, f, x);
    let mut jacobian = SparseJacobian::new(&tape, &x, &y).expect("there is a pattern");
    // Where identifiers are reused, colors are swept, which may be those of columns.
    let by_colors = core::any::type_name::<S>().contains("Reuse");
    for _ in 0..3 {
        let matrix = jacobian.evaluate(&mut tape, &x, &y).expect("the pattern is right").clone();
        for (row, y) in y.iter().enumerate() {
            let expected = tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(&x)).expect("of it");
            for (column, expected) in expected.iter().enumerate() {
                let found = matrix.get(row, column).unwrap_or(0.0);
                let near = (found - expected).abs() <= 1e-13 * expected.abs();
                let same = found.to_bits() == expected.to_bits() || by_colors && near;
                assert!(same, "({row}, {column}): {found}, not {expected}");
            }
        }
    }
}

/// Blocks of two outputs that share statements, in any order, over parameters that all of them read.
fn blocks<S: Reverse<Value = f64>>() {
    let x: Vec<f64> = (0..40).map(|k| 0.3 + 0.05 * f64::from(k)).collect();
    agrees::<S>(&x, &|x| {
        let mut outputs = Vec::new();
        for own in &x[3..] {
            let r: Real<S> = (&x[0] * own + x[1].sin()).into();
            let s: Real<S> = (&r * &r + own * &x[2]).into();
            outputs.push((&s * &r).into());
            outputs.push((s.exp() - &r).into());
        }
        outputs.swap(3, 50);
        outputs.reverse();
        outputs
    });
}

/// More outputs at once than there are lanes, twice the same, one that others are made of, inputs and constants, and
/// statements of more than 32 arguments.
fn outputs_of_all_kinds<S: Reverse<Value = f64>>() {
    agrees::<S>(&[0.5, -1.25, 0.0, 2.0], &|x| {
        let weights: Vec<f64> = (0..40).map(f64::from).collect();
        let many: Vec<_> = (0..40).map(|k| x[k % 4].clone()).collect();
        let shared: Real<S> = linear_combination(&weights, &many);
        let mut outputs: Vec<Real<S>> = (0..21).map(|k| (&shared * weights[k] + &x[k % 4] * &shared).into()).collect();
        outputs.insert(7, outputs[3].clone());
        outputs.insert(0, outputs[5].clone());
        outputs.push(shared);
        outputs.extend([x[1].clone(), Real::constant(3.0), x[1].clone(), x[2].sqrt().into()]);
        outputs.push((x[2].sqrt() * &x[2] + x[0].ln()).into());
        outputs
    });
}

/// Records in many segments, and outputs far apart.
fn long_recordings<S: Reverse<Value = f64>>() {
    agrees::<S>(&[0.5, 0.25, 0.75], &|x| {
        let mut outputs = Vec::new();
        for k in 0..60 {
            let mut y = x[k % 3].clone();
            for _ in 0..100 {
                y = (y.sin() * 0.75 + &x[1] * 0.25).into();
            }
            outputs.push(y);
        }
        outputs
    });
}

everywhere!(blocks, outputs_of_all_kinds, long_recordings);

/// The adjoints of other inputs are neither read nor left to the next row; inputs among statements are found, too.
#[test]
fn inputs_that_nobody_asks_for() {
    fn holds<S: Reverse<Value = f64>>() {
        let mut tape = Tape::<S>::new();
        let (x, late, y) = tape.record(|scope| {
            let x = scope.inputs(&[2.0, 3.0, 5.0]);
            let first = (&x[0] * &x[1]).eval();
            let late = scope.inputs(&[7.0, 11.0]);
            let y = vec![first.clone(), (&first * &late[1] * &x[2]).eval(), late[0].clone(), (&late[0] * &x[0]).eval()];
            (x, late, y)
        });
        for inputs in
            [vec![x[1].clone()], vec![x[2].clone(), x[0].clone(), x[0].clone()], vec![late[1].clone(), x[0].clone()]]
        {
            let mut jacobian = SparseJacobian::new(&tape, &inputs, &y).expect("there is a pattern");
            for _ in 0..2 {
                let matrix = jacobian.evaluate(&mut tape, &inputs, &y).expect("the pattern is right").to_dense();
                for (row, y) in matrix.iter().zip(&y) {
                    let expected = tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.of_all(&inputs));
                    assert_eq!(Ok(row), expected.as_ref());
                }
            }
        }
    }
    holds::<Jacobian>();
    holds::<Jacobian<f64, Reuse>>();
    holds::<Hybrid>();
}

/// However small an entry is, and where entries of other rows would cancel it.
#[test]
fn an_entry_that_the_pattern_lacks_is_found() {
    let f = |x: &[Real<Jacobian>], small: f64| -> Vec<Real<Jacobian>> {
        let at = |k: usize| {
            if k == 3 || k == 5 {
                (x[k] * 1e9 + x[7] * (small * (4.0 - if k == 3 { 3.0 } else { 5.0 }))).into()
            } else {
                (x[k] * 2.0).into()
            }
        };
        (0..7).map(at).collect()
    };
    let pattern = Pattern::from_rows(8, (0..7).map(|k| [k]));
    let mut jacobian = SparseJacobian::with_pattern(pattern);
    let mut tape = Tape::new();
    let (x, y) = record(&mut tape, |x| f(x, 1e-200), &[1.0; 8]);
    let found = jacobian.evaluate(&mut tape, &x, &y).map(|_| ());
    assert_eq!(found, Err(Error::PatternChanged { row: Some(3), column: Some(7) }));
    // A dependence without a slope is no entry.
    let (x, y) = record(&mut tape, |x| f(x, 0.0), &[1.0; 8]);
    assert_eq!(
        jacobian.evaluate(&mut tape, &x, &y).map(|matrix| matrix.values().to_vec()),
        Ok(vec![2.0, 2.0, 2.0, 1e9, 2.0, 1e9, 2.0])
    );
}

/// Where rows share most records, colors are swept instead, with the same numbers.
#[test]
fn rows_that_depend_on_everything_are_swept_in_colors() {
    agrees::<Jacobian>(&[0.5, 0.25], &|x| {
        let mut y = x[0];
        for _ in 0..3000 {
            y = (y.sin() + 0.5).into();
        }
        (0..200_u16).map(|k| (y * f64::from(k) + x[1]).into()).collect::<Vec<Real<Jacobian>>>()[..4].to_vec()
    });
}
