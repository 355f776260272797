//! Pivots are chosen by values, and recordings that keep guards know it.

use nalgebra::{DMatrix, DVector};
use tapewright::prelude::*;
use tapewright::{Closed, Error, SweepError};

/// x₀ of A·x = b, with row exchanges.
fn solved<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let x = Closed::wrap_slice(x);
    let matrix = DMatrix::from_column_slice(2, 2, &x[..4]);
    matrix.lu().solve(&DVector::from_column_slice(&x[4..])).expect("regular")[0].clone().open()
}

/// ∂x₀/∂(A, b) by hand.
fn expected(x: &[f64]) -> Vec<f64> {
    let [a, c, b, d, p, q] = x[..] else { panic!("six inputs") };
    let det = a * d - b * c;
    let top = p * d - b * q;
    let by = |dtop: f64, ddet: f64| (dtop * det - top * ddet) / (det * det);
    vec![by(0.0, d), by(0.0, -b), by(-q, -c), by(p, a), by(d, 0.0), by(-b, 0.0)]
}

#[test]
fn either_pivot_gives_the_same_derivative() {
    for x in [[0.1, 2.0, 3.0, 0.4, 5.0, 6.0], [2.0, 0.1, 0.4, 3.0, 5.0, 6.0]] {
        let found = gradient::<PrimalValue>(solved, &x);
        tapewright_linalg_tests::assert_close("solve", &found, &expected(&x), 1e-13);
    }
}

/// Inputs with new values.
fn pair<'a, S: Taping<Value = f64>>(inputs: &'a [Real<S>], values: &[f64]) -> Vec<(&'a Real<S>, f64)> {
    inputs.iter().zip(values.iter().copied()).collect()
}

#[test]
fn a_replay_with_another_pivot_is_refused_and_names_nalgebra() -> Result<(), Error> {
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let at = [0.1, 2.0, 3.0, 0.4, 5.0, 6.0];
    let (inputs, y) = tape.record(|scope| {
        let inputs = scope.inputs(&at);
        let y = solved(&inputs);
        (inputs, y)
    });
    let near = [0.2, 2.5, 3.0, 0.5, 5.0, 6.0];
    tape.replay(&pair(&inputs, &near))?;
    let found = tape.sweep(&[(&y, 1.0)])?.of_all(&inputs)?;
    tapewright_linalg_tests::assert_close("replayed", &found, &expected(&near), 1e-13);
    let other = [2.0, 0.1, 3.0, 0.5, 5.0, 6.0];
    let refused = tape.replay(&pair(&inputs, &other)).err();
    assert!(matches!(&refused, Some(Error::Sweep(SweepError::BranchChanged { .. }))), "{refused:?}");
    Ok(())
}
