//! What has no derivative, and what is no input.

use super::Sine;
use nalgebra::DMatrix;
use tapewright::linalg::{self, LinalgError};
use tapewright::prelude::*;
use tapewright::{Closed, Dual, Float, Unary};

type S = Jacobian;
type M = DMatrix<Closed<S>>;
type Function = fn(&M) -> Result<(), LinalgError>;

const FUNCTIONS: &[(&str, Function)] = &[
    ("function", |m| linalg::symmetric_function::<Sine, _>(m).map(drop)),
    ("pseudo-inverse", |m| linalg::pseudo_inverse(m, 1e-12).map(drop)),
    ("least squares", |m| linalg::least_squares(m, m, 1e-12).map(drop)),
    ("orthogonal", |m| linalg::nearest_orthogonal(m, 1e-12).map(drop)),
    ("rotation", |m| linalg::nearest_rotation(m, 1e-12).map(drop)),
    ("alignment", |m| linalg::align(m, m, true, 1e-12).map(drop)),
    ("determinant", |m| linalg::determinant(m).map(drop)),
    ("singular values", |m| linalg::singular_values(m).map(drop)),
    ("eigenvalues", |m| linalg::eigenvalues(m).map(drop)),
];

/// What a function says of a matrix of variables with these values.
fn says(function: Function, rows: usize, columns: usize, x: &[f64]) -> Result<(), LinalgError> {
    let mut tape = Tape::<S>::new();
    tape.record(|scope| {
        let x = scope.inputs(x);
        function(&DMatrix::from_column_slice(rows, columns, Closed::wrap_slice(&x)))
    })
}

#[test]
fn empty_matrices_and_numbers_that_are_not_finite() {
    for (name, function) in FUNCTIONS {
        assert_eq!(says(*function, 0, 0, &[]), Err(LinalgError::Empty { rows: 0, columns: 0 }), "{name}");
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = says(*function, 2, 2, &[1.0, bad, 0.0, 1.0]).expect_err(name);
            // The covariance of points has other places.
            let alone = matches!(error, LinalgError::NotFinite { row: 1, column: 0 });
            assert!(alone || *name == "alignment", "{name}: {error}");
        }
    }
}

#[test]
fn tolerances_are_parts() {
    for given in [-1e-3, 1.0, f64::NAN] {
        let mut tape = Tape::<S>::new();
        let error = tape.record(|scope| {
            let x = scope.inputs(&[1.0]);
            linalg::pseudo_inverse(&DMatrix::from_column_slice(1, 1, Closed::wrap_slice(&x)), given).map(drop)
        });
        assert_eq!(error, Err(LinalgError::Tolerance { given: given.to_string() }));
    }
}

#[test]
fn ranks_that_are_too_low() {
    let rank = |found, needed| Err(LinalgError::Rank { found, needed });
    let orthogonal: Function = |m| linalg::nearest_orthogonal(m, 1e-12).map(drop);
    let rotation: Function = |m| linalg::nearest_rotation(m, 1e-12).map(drop);
    let pseudo: Function = |m| linalg::pseudo_inverse(m, 1e-12).map(drop);
    assert_eq!(says(orthogonal, 2, 2, &[1.0, 2.0, 2.0, 4.0]), rank(1, 2));
    assert_eq!(says(orthogonal, 3, 2, &[1.0, 2.0, 0.0, 0.0, 0.0, 0.0]), rank(1, 2));
    assert_eq!(says(orthogonal, 1, 1, &[0.0]), rank(0, 1));
    assert_eq!(says(pseudo, 2, 3, &[0.0; 6]), rank(0, 1));
    let line = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    assert_eq!(says(rotation, 3, 3, &line), Err(LinalgError::RotationUndetermined));
    // A reflection whose two smallest singular values are equal.
    let reflection = [2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0];
    assert_eq!(says(rotation, 3, 3, &reflection), Err(LinalgError::RotationUndetermined));
    assert!(says(rotation, 1, 1, &[-3.0]).is_ok(), "there is one rotation in one dimension");
}

#[test]
fn the_rank_is_kept_in_forward_mode() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[1.0, 0.0, 0.0, 0.0]);
        let y = linalg::pseudo_inverse(&DMatrix::from_column_slice(2, 2, Closed::wrap_slice(&x)), 1e-12);
        (x, y.expect("rank 1"))
    });
    let outputs: Vec<&Real<S>> = y.iter().map(Closed::as_real).collect();
    assert_eq!(tape.jvp(&[(&x[0], 1.0), (&x[1], 1.0)], &outputs).expect("the rank stays"), [-1.0, 0.0, 1.0, 0.0]);
    let error = tape.jvp(&[(&x[3], 1.0)], &outputs).expect_err("the rank is 2 then");
    assert!(error.to_string().contains("changes its rank along this direction"), "{error}");
}

/// 1 above 1/2, and 0 below.
struct Step;

impl Unary for Step {
    fn value<V: Float>(x: V) -> V {
        if x > V::from_f64(0.5) { V::ONE } else { V::ZERO }
    }
    fn derivative<V: Float>(_: V, _: V) -> V {
        V::ZERO
    }
}

/// |x|.
struct Size;

impl Unary for Size {
    fn value<V: Float>(x: V) -> V {
        x.abs()
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        x.signum()
    }
}

#[test]
fn functions_that_are_not_smooth_at_an_eigenvalue() {
    let sqrt: Function = |m| linalg::symmetric_sqrt(m).map(drop);
    let ln: Function = |m| linalg::symmetric_ln(m).map(drop);
    let step: Function = |m| linalg::symmetric_function::<Step, _>(m).map(drop);
    let size: Function = |m| linalg::symmetric_function::<Size, _>(m).map(drop);
    for (function, x) in [
        (sqrt, [0.0, 0.0, 0.0, 1.0]),
        (sqrt, [1.0, 1.0, 1.0, 1.0]),
        (sqrt, [-1.0, 0.0, 0.0, 1.0]),
        (ln, [1.0, 2.0, 2.0, 4.0]),
        (step, [0.5, 0.0, 0.0, 1.0]),
        (size, [1.0, 1.0, 1.0, 1.0]),
    ] {
        let error = says(function, 2, 2, &x).expect_err("not smooth");
        assert!(matches!(error, LinalgError::NotSmooth { index: 0, .. }), "{x:?}: {error}");
    }
    assert!(says(size, 2, 2, &[1.0, 2.0, 2.0, 1.0]).is_ok(), "−1 and 3");
    // A projection, as a function: its slope is (1 − 0)/(2 − 0) across.
    let corner = |x: &[Real<S>]| {
        let found = linalg::symmetric_function::<Step, _>(&DMatrix::from_column_slice(2, 2, Closed::wrap_slice(x)));
        found.expect("smooth")[(1, 0)].open()
    };
    assert_eq!(gradient::<S>(corner, &[0.0, 0.0, 0.0, 2.0]), [0.0, 0.5, 0.0, 0.0]);
    // What rests need not be smooth.
    let rests = DMatrix::from_column_slice(2, 2, &[0.0, 0.0, 0.0, 4.0].map(Closed::<S>::constant));
    assert_eq!(linalg::symmetric_sqrt(&rests).expect("it does not move")[(1, 1)].as_real().value(), 2.0);
}

#[test]
fn singular_values_one_by_one() {
    let one = |x: &[f64], k: usize| {
        let mut tape = Tape::<S>::new();
        let values = tape.record(|scope| {
            let x = scope.inputs(x);
            linalg::singular_values(&DMatrix::from_column_slice(2, 2, Closed::wrap_slice(&x))).expect("finite")
        });
        tape.sweep(&[(values[k].as_real(), 1.0)]).map(drop).map_err(|error| error.to_string())
    };
    for twins in [[1.0, 0.0, 0.0, 1.0], [0.0, -1.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0 + 1e-9]] {
        let error = one(&twins, 0).expect_err("they coincide");
        assert!(error.contains("the singular values 0 and 1 coincide"), "{error}");
    }
    let error = one(&[1.0, 0.0, 0.0, 0.0], 1).expect_err("0");
    assert!(error.contains("the singular value 1 is 0"), "{error}");
    assert_eq!(one(&[1.0, 0.0, 0.0, 0.0], 0), Ok(()));
    // Over duals a matrix that moves has to have distinct ones.
    let number =
        |k: usize| Closed::<Passive<Dual<f64, 1>>>::constant(Dual { value: [1.0, 0.0, 0.0, 1.0][k], tangents: [1.0] });
    let error = linalg::singular_values(&DMatrix::from_fn(2, 2, |i, j| number(2 * j + i))).expect_err("they coincide");
    assert_eq!(error, LinalgError::SingularValuesCoincide { first: 0, second: 1 });
}

#[test]
fn eigenvalues_that_are_not_simple() {
    let one = |n: usize, x: &[f64], k: usize| {
        let mut tape = Tape::<S>::new();
        let values = tape.record(|scope| {
            let x = scope.inputs(x);
            linalg::eigenvalues(&DMatrix::from_row_slice(n, n, Closed::wrap_slice(&x))).expect("finite")
        });
        tape.sweep(&[(values[k].0.as_real(), 1.0)]).map(drop).map_err(|error| error.to_string())
    };
    let jordan = [1.0, 1.0, 0.0, 1.0];
    // It is a block of Jordan's within rounding: its eigenvalues are 1 ± 1e-8.
    let near = [1.0, 1.0, 1e-16, 1.0];
    for twins in [[1.0, 0.0, 0.0, 1.0], [0.0; 4], jordan, near] {
        let error = one(2, &twins, 0).expect_err("they coincide");
        assert!(error.contains("the eigenvalue 0 coincides with 1"), "{error}");
    }
    let partly = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0];
    assert!(one(3, &partly, 1).is_err());
    assert_eq!(one(3, &partly, 2), Ok(()));
}
