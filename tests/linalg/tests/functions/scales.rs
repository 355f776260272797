//! Matrices of huge and tiny numbers: nothing over- or underflows on the way where the result does not.

use super::{off, results};
use tapewright::linalg::Element;
use tapewright::prelude::*;
use tapewright::{Dual, hvp};

/// The operation, how its results grow with the matrix, the number of columns and the matrix.
type Scaled = (&'static str, f64, usize, &'static [f64]);

const TALL: &[f64] = &[1.0, 2.0, -0.5, 0.25, 1.5, 3.0];
const FULL: &[f64] = &[4.0, 1.0, -0.5, 2.0, 3.0, 0.25, -1.5, 0.75, 2.0];
const DIAGONAL: &[f64] = &[1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0];
const DEFINITE: &[f64] = &[4.0, 1.0, -0.5, 1.0, 3.0, 0.25, -0.5, 0.25, 2.0];

/// Four points, and four others.
const POINTS: &[f64] = &[
    1.0, 2.0, 0.5, -1.0, 0.25, 2.0, 0.0, -1.5, 1.0, 2.0, 1.0, -0.5, -2.0, 1.25, 0.75, 0.5, -0.75, 1.5, 2.0, 0.25, 1.0,
    -1.0, 2.0, -0.25,
];

const ROWS: &[Scaled] = &[
    ("aligned", 1.0, 8, POINTS),
    ("moved", 1.0, 8, POINTS),
    ("aligned with fixed ones", 1.0, 4, POINTS.split_at(12).0),
    ("pseudo_inverse", -1.0, 2, TALL),
    ("pseudo_inverse", -1.0, 3, TALL),
    ("pseudo_inverse", -1.0, 3, FULL),
    ("pseudo_inverse", -1.0, 3, DIAGONAL),
    ("nearest_orthogonal", 0.0, 2, TALL),
    ("nearest_orthogonal", 0.0, 3, FULL),
    ("nearest_rotation", 0.0, 3, DIAGONAL),
    ("singular_values", 1.0, 2, TALL),
    ("singular_values", 1.0, 3, FULL),
    ("eigenvalues", 1.0, 3, FULL),
    ("symmetric_sqrt", 0.5, 3, DEFINITE),
    ("symmetric_inverse_sqrt", -0.5, 3, DEFINITE),
];

/// A sum of the results over sᵖ at s times the matrix, which does not depend on s.
fn sum<S: Strategy<Value: Element>>((operation, power, columns, _): Scaled, exponent: i32, x: &[Real<S>]) -> Real<S> {
    let scale = |power: f64| (power * f64::from(exponent)).exp2();
    let x: Vec<Real<S>> = x.iter().map(|x| (*x * scale(1.0)).eval()).collect();
    let found = results::<S>(operation, (x.len() / columns, columns), &x);
    let weighed = found.iter().zip(1_i32..).map(|(y, k)| (y.open() * scale(-power) * f64::from(k).sqrt()).eval());
    weighed.fold(Real::from(0.0), |sum, y| (sum + y).eval())
}

/// Value, gradient, and the product of the Hessian matrix.
fn derivatives(row: Scaled, exponent: i32) -> Vec<f64> {
    let direction: Vec<f64> = (0..row.3.len()).map(super::rows::direction).collect();
    let (value, gradient, product) = hvp::<Jacobian<Dual<f64, 1>>>(|x| sum(row, exponent, x), row.3, &direction);
    let along: f64 = gradient.iter().zip(&direction).map(|(slope, direction)| slope * direction).sum();
    let moving = |t: &[Real<Tangent<1>>]| {
        let x: Vec<Real<_>> = row.3.iter().zip(&direction).map(|(x, v)| (t[0] * *v + *x).eval()).collect();
        vec![sum(row, exponent, &x)]
    };
    let forward = jacobian_forward::<Tangent<1>>(moving, &[0.0]).1[0][0];
    assert!((forward - along).abs() <= 1e-12 * (1.0 + along.abs()), "{row:?} {exponent}: {forward}, {along}");
    [vec![value], gradient, product].concat()
}

#[test]
fn scale_does_not_matter() {
    for row in ROWS {
        let right = derivatives(*row, 0);
        // The second derivative of 1/√x overflows earlier.
        let limit = if row.0.starts_with("symmetric") { 300 } else { 1000 };
        for exponent in [-1000, -700, -300, 300, 700, 1000_i32].into_iter().filter(|e| e.abs() <= limit) {
            let found = derivatives(*row, exponent);
            assert!(off(&found, &right) < 1e-11, "{row:?} times 2^{exponent}: {found:?}, right {right:?}");
        }
    }
}

#[test]
fn determinants_of_rows_of_very_different_size() {
    let det = |x: &[f64]| {
        gradient::<Jacobian>(
            |x| {
                let matrix = nalgebra::DMatrix::from_row_slice(4, 4, tapewright::Closed::wrap_slice(x));
                tapewright::linalg::determinant(&matrix).expect("finite").open()
            },
            x,
        )
    };
    let mut x = [0.0; 16];
    for (k, pivot) in [1e200, 1e-200, 1e200, 1e-200].into_iter().enumerate() {
        x[5 * k] = pivot;
    }
    let slopes = det(&x);
    for k in 0..4 {
        assert!((slopes[5 * k] * x[5 * k] - 1.0).abs() < 1e-14, "{slopes:?}");
    }
}
