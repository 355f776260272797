//! Eigenvalues over duals and packs: where they are distinct, and what is refused where they coincide.

#[cfg(feature = "faer")]
use super::ByFaer;
use super::{ByNalgebra, D1, Library, Row, agrees, elementary, matrix, reals, rows};
use nalgebra::DMatrix;
use tapewright::linalg::{Element, LinalgError, symmetric_eigen, symmetric_eigenvalues};
use tapewright::prelude::*;
use tapewright::{Closed, Dual, hvp};

/// The entries below the diagonal of a matrix whose eigenvalues are apart.
fn apart<S: Strategy>(n: usize, x: &[Real<S>]) -> Vec<Real<S>> {
    let entry = |k: usize| {
        if k.is_multiple_of(n + 1) { x[k] + Real::from([0.0, 2.5, 5.0, 7.5][k % n]) } else { x[k] + Real::from(0.0) }
    };
    (0..n * n).map(|k| entry(k).eval()).collect()
}

/// V·diag(λᵖ)·Vᵀ.
fn composed<S: Strategy>(n: usize, values: &[Real<S>], vectors: &[Real<S>], power: i32) -> Vec<Real<S>> {
    let scaled: Vec<Real<S>> = (0..n * n).map(|k| (vectors[k] * values[k / n].powi(power)).eval()).collect();
    let transposed: Vec<Real<S>> = (0..n * n).map(|k| vectors[k % n * n + k / n]).collect();
    elementary::product(n, &scaled, &transposed)
}

/// Eigenvalues and vectors of ⎡a b⎤ in closed form: the angle of the vectors is atan2(2·b, a − d)/2.
///                            ⎣b d⎦
fn of_two<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
    let (middle, half, b) = (((x[0] + x[3]) * 0.5).eval(), ((x[0] - x[3]) * 0.5).eval(), x[1]);
    let radius = (half * half + b * b).sqrt().eval();
    let angle = (b.atan2(half) * 0.5).eval();
    let (cos, sin) = (angle.cos().eval(), angle.sin().eval());
    vec![(middle - radius).eval(), (middle + radius).eval(), (cos * cos).eval(), (cos * sin).eval(), (sin * sin).eval()]
}

rows! {
    eigenvalues_of_two 4 |x, L| {
        let values = symmetric_eigenvalues(&matrix::<L::Matrix<S>>(2, &apart(2, x))).expect("finite");
        values.into_iter().map(Closed::open).collect()
    };
        of_two(&apart(2, x))[..2].to_vec();
    eigenvectors_of_two 4 |x, L| {
        let (values, vectors) = symmetric_eigen(&matrix::<L::Matrix<S>>(2, &apart(2, x))).expect("finite");
        let v = reals(vectors);
        let mut results: Vec<Real<S>> = values.into_iter().map(Closed::open).collect();
        results.extend([(v[2] * v[2]).eval(), (v[2] * v[3]).eval(), (v[3] * v[3]).eval()]);
        results
    };
        of_two(&apart(2, x));
    powers_of_eigenvalues 16 |x, L| {
        let values = symmetric_eigenvalues(&matrix::<L::Matrix<S>>(4, &apart(4, x))).expect("finite");
        let sum = |power: i32| values.iter().fold(Real::from(0.0), |sum, v| (sum + v.as_real().powi(power)).eval());
        vec![sum(2), sum(3)]
    };
    {
        let a = elementary::mirrored(4, &apart(4, x));
        let trace = |a: &[Real<S>]| (0..4).fold(Real::from(0.0), |sum, k| (sum + a[5 * k]).eval());
        let square = elementary::product(4, &a, &a);
        vec![trace(&square), trace(&elementary::product(4, &square, &a))]
    };
    cube_by_eigenvectors 9 |x, L| {
        let (values, vectors) = symmetric_eigen(&matrix::<L::Matrix<S>>(3, &apart(3, x))).expect("finite");
        let values: Vec<Real<S>> = values.into_iter().map(Closed::open).collect();
        composed(3, &values, &reals(vectors), 3)
    };
    {
        let a = elementary::mirrored(3, &apart(3, x));
        elementary::product(3, &elementary::product(3, &a, &a), &a)
    };
}

const TURNED: [f64; 9] = [3.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 3.0];

/// Eigenvalues of a matrix of three rows with these tangents.
fn along(direction: [f64; 9]) -> Result<Vec<Closed<Passive<D1>>>, LinalgError> {
    let number = |k: usize| Closed::constant(Dual { value: TURNED[k], tangents: [direction[k]] });
    symmetric_eigenvalues(&DMatrix::from_vec(3, 3, (0..9).map(number).collect()))
}

#[test]
fn eigenvalues_that_coincide_are_refused_where_the_matrix_moves() {
    let error =
        along([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]).expect_err("their eigenvectors have no derivative");
    assert_eq!(error, LinalgError::EigenvaluesCoincide { first: 0, second: 1 });
    assert!(error.to_string().starts_with("the eigenvalues 0 and 1 coincide, and the matrix has tangents"), "{error}");
    assert_eq!(along([0.0; 9]).expect("it does not move").len(), 3);
    // Above the diagonal nothing is read.
    assert!(along([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0]).is_ok());
}

/// The matrix rests, and a factor of the adjoints moves: only functions that treat coinciding eigenvalues alike go on.
#[test]
fn adjoints_whose_tangents_differ_are_refused() {
    let weighed = |weights: [f64; 3]| {
        move |x: &[Real<Jacobian<D1>>]| {
            let entries = (0..9).map(|k| Closed::from(x[k])).collect();
            let values = symmetric_eigenvalues(&DMatrix::from_vec(3, 3, entries)).expect("it rests");
            let terms = values.iter().zip(weights).map(|(v, w)| (*v.as_real() * (1.0 + x[9] * w)).eval());
            tapewright::sum(&terms.collect::<Vec<_>>())
        }
    };
    let (mut x, mut v) = ([0.0; 10], [0.0; 10]);
    x[..9].copy_from_slice(&TURNED);
    v[9] = 1.0;
    let (_, slopes, product) = hvp::<Jacobian<D1>>(weighed([1.0; 3]), &x, &v);
    // x₉ is 0, so that the function is the trace, and the derivative along x₉ of its gradient is that of the trace.
    let expected = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    tapewright_linalg_tests::assert_close("gradient", &slopes[..9], &expected, 1e-13);
    tapewright_linalg_tests::assert_close("product", &product[..9], &expected, 1e-13);
    let numbers: Vec<D1> = x.iter().zip(v).map(|(x, v)| Dual { value: *x, tangents: [v] }).collect();
    let mut tape = Tape::<Jacobian<D1>>::new();
    let mut adjoints = vec![D1::default(); 10];
    let error = tape.gradient(weighed([1.0, 2.0, 1.0]), &numbers, &mut adjoints).expect_err("they part");
    assert!(error.to_string().contains("have adjoints that differ"), "{error}");
}
