//! Eigenvalues that coincide.

use nalgebra::DMatrix;
use tapewright::linalg::{symmetric_eigen, symmetric_eigenvalues, symmetric_function};
use tapewright::prelude::*;
use tapewright::{Closed, Error, Float, SweepError, Unary};
use tapewright_linalg_tests::assert_close;

/// The lower triangle of a matrix with the eigenvalues 2, 2 and 5, and its turned twin with vectors that are not axes.
const DIAGONAL: [f64; 9] = [2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 5.0];
const TURNED: [f64; 9] = [3.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 3.0];

fn matrix<S: Taping>(x: &[Real<S>]) -> DMatrix<Closed<S>> {
    DMatrix::from_column_slice(3, 3, Closed::wrap_slice(x))
}

fn eigenvalues<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Closed<S>> {
    symmetric_eigenvalues(&matrix(x)).expect("finite")
}

#[test]
fn functions_that_treat_them_alike_have_a_derivative() {
    let sum_of_cubes = |x: &[Real<Jacobian>]| eigenvalues(x).iter().map(|v| v.powi(3)).sum::<Closed<_>>().open();
    for at in [DIAGONAL, TURNED] {
        // The derivative of tr A³ is 3·A², of the lower triangle twice that below the diagonal.
        let a = DMatrix::from_column_slice(3, 3, &at);
        let square = 3.0 * &a * &a;
        let expected: Vec<f64> = (0..9)
            .map(|k| square[k] * [2.0, 1.0, 0.0][usize::from(k % 3 <= k / 3) + usize::from(k % 3 < k / 3)])
            .collect();
        assert_close("tr A³", &gradient(sum_of_cubes, &at), &expected, 1e-13);
    }
}

#[test]
fn one_of_them_alone_is_refused_with_its_number() {
    for at in [DIAGONAL, TURNED] {
        let mut tape = Tape::<Jacobian>::new();
        let values = tape.record(|scope| eigenvalues(&scope.inputs(&at)));
        let error = tape.sweep(&[(values[1].as_real(), 1.0)]).expect_err("it has no derivative");
        assert!(matches!(&error, Error::Sweep(SweepError::Rule { .. })), "{error}");
        assert!(error.to_string().contains("the eigenvalues 0 and 1 coincide (2"), "{error}");
        assert!(tape.sweep(&[(values[2].as_real(), 1.0)]).is_ok(), "the third one is alone");
    }
}

#[test]
fn forward_sweeps_refuse_directions_along_which_they_part() -> Result<(), Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (inputs, values) = tape.record(|scope| {
        let inputs = scope.inputs(&DIAGONAL);
        let values = eigenvalues(&inputs);
        (inputs, values)
    });
    let along = |direction: [f64; 9]| -> Vec<(&Real<Jacobian>, f64)> { inputs.iter().zip(direction).collect() };
    // Both move by 1, and the third one by 4.
    let together = [1.0, 0.0, 7.0, 0.0, 1.0, 8.0, 0.0, 0.0, 4.0];
    let outputs: Vec<&Real<Jacobian>> = values.iter().map(Closed::as_real).collect();
    let found = tape.jvp(&along(together), &outputs)?;
    assert_close("slopes", &found, &[1.0, 1.0, 4.0], 1e-14);
    for apart in [[1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]] {
        let error = tape.jvp(&along(apart), &outputs).expect_err("they part");
        assert!(error.to_string().contains("part along this direction"), "{error}");
    }
    Ok(())
}

/// 1 at the eigenvalues 2, and 0 at 5.
struct Low;

impl Unary for Low {
    fn value<V: Float>(x: V) -> V {
        if x < V::from_f64(3.0) { V::ONE } else { V::ZERO }
    }
    fn derivative<V: Float>(_: V, _: V) -> V {
        V::ZERO
    }
}

#[test]
fn eigenvectors_are_refused_where_values_coincide() -> Result<(), Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (inputs, chosen, projection, third) = tape.record(|scope| {
        let inputs = scope.inputs(&TURNED);
        let (_, v) = symmetric_eigen(&matrix(&inputs)).expect("finite");
        // The projection to the space of both eigenvectors is 1 − u·uᵀ with the third one.
        let projection = v[(0, 0)] * v[(1, 0)] + v[(0, 1)] * v[(1, 1)];
        (inputs, v[(0, 0)], projection, -v[(0, 2)] * v[(1, 2)])
    });
    for y in [chosen, projection] {
        let error = tape.sweep(&[(y.as_real(), 1.0)]).expect_err("any basis would do");
        assert!(error.to_string().contains("see linalg::symmetric_function"), "{error}");
    }
    let found = gradient::<Jacobian>(
        |x| symmetric_function::<Low, _>(&matrix(x)).expect("smooth at 2 and 5")[(1, 0)].open(),
        &TURNED,
    );
    assert_close("projection", &found, &tape.sweep(&[(third.as_real(), 1.0)])?.of_all(&inputs)?, 1e-14);
    Ok(())
}

/// V·exp(Λ)·Vᵀ: its derivative by the entry (1, 0) below the diagonal is exp\[λ, μ\].
#[test]
fn functions_by_eigenvectors_are_refused_or_right() {
    let composed = |gap: f64| {
        let mut tape = Tape::<Jacobian>::new();
        let (inputs, y) = tape.record(|scope| {
            let inputs = scope.inputs(&[1.0, 0.0, 0.0, 0.0, 1.0 + gap, 0.0, 0.0, 0.0, 3.0]);
            let (values, v) = symmetric_eigen(&matrix(&inputs)).expect("finite");
            let terms = values.iter().enumerate().map(|(k, value)| value.exp() * v[(0, k)] * v[(1, k)]);
            (inputs, terms.sum::<Closed<_>>())
        });
        Ok::<f64, Error>(tape.sweep(&[(y.as_real(), 1.0)])?.of_all(&inputs)?[1])
    };
    for gap in [0.0, 1e-300, 1e-15, 1e-12, 1e-10, 1e-9] {
        let error = composed(gap).expect_err("too close");
        assert!(error.to_string().contains("see linalg::symmetric_function"), "{error}");
    }
    for gap in [1e-7, 1e-5, 1e-2] {
        let found = composed(gap).expect("they are apart");
        let expected = 1.0_f64.exp() * gap.exp_m1() / gap;
        assert!((found / expected - 1.0).abs() < 4.0 * f64::EPSILON.sqrt(), "{gap}: {found} {expected}");
    }
}
