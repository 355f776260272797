//! All matrices of small integers: many of them are singular, have values that coincide, or begin where an iteration ends.

use core::cmp::Ordering;
use nalgebra::DMatrix;
use tapewright::linalg::{self, LinalgError};
use tapewright::prelude::*;
use tapewright::{Closed, Error};

type C = Closed<Jacobian>;

/// The matrices of this shape with the entries −1, 0 and 1, but for one of zeros.
fn matrices(rows: usize, columns: usize) -> impl Iterator<Item = DMatrix<f64>> {
    let count = 3_u32.pow(u32::try_from(rows * columns).expect("small"));
    (0..count).filter(move |k| *k != count / 2).map(move |k| {
        let mut digits = k;
        DMatrix::from_fn(rows, columns, |_, _| {
            let digit = f64::from(digits % 3) - 1.0;
            digits /= 3;
            digit
        })
    })
}

fn weights(rows: usize, columns: usize) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns, |i, j| super::rows::weight(j * rows + i))
}

/// A value and a gradient.
type Both = (DMatrix<f64>, DMatrix<f64>);

/// The value of a function of a matrix, and the gradient of the weighed sum of its entries, as a matrix.
fn both(at: &DMatrix<f64>, f: fn(&DMatrix<C>) -> Result<DMatrix<C>, LinalgError>) -> Result<Option<Both>, Error> {
    let mut tape = Tape::<Jacobian>::new();
    let (inputs, found) = tape.record(|scope| {
        let inputs = scope.inputs(at.as_slice());
        let found = f(&DMatrix::from_column_slice(at.nrows(), at.ncols(), Closed::wrap_slice(&inputs)));
        (inputs, found)
    });
    let found = match found {
        Ok(found) => found,
        Err(LinalgError::Rank { .. } | LinalgError::RotationUndetermined) => return Ok(None),
        Err(error) => panic!("{error}: {at}"),
    };
    let weights = weights(found.nrows(), found.ncols());
    let seeds: Vec<(&Real<Jacobian>, f64)> = found.iter().map(Closed::as_real).zip(weights.iter().copied()).collect();
    let slopes = tape.sweep(&seeds)?.of_all(&inputs)?;
    Ok(Some((found.map(|y| y.as_real().value()), DMatrix::from_vec(at.nrows(), at.ncols(), slopes))))
}

fn assert_near(name: &str, at: &DMatrix<f64>, found: &DMatrix<f64>, expected: &DMatrix<f64>) {
    let off = (found - expected).amax();
    // NaN is not near.
    assert!(off <= 1e-13 * expected.amax().max(1.0), "{name}: {off:e} at {at}");
}

/// A·A⁺·A = A, and at full rank the derivative of the formula with the inverse of Aᵀ·A or A·Aᵀ.
#[test]
fn pseudo_inverses() -> Result<(), Error> {
    for (rows, columns) in [(2, 2), (3, 2), (2, 3), (1, 3)] {
        for a in matrices(rows, columns) {
            let Some((x, slopes)) = both(&a, |a| linalg::pseudo_inverse(a, 1e-12))? else { panic!("not 0: {a}") };
            assert_near("A·A⁺·A", &a, &(&a * &x * &a), &a);
            assert_near("A⁺·A·A⁺", &a, &(&x * &a * &x), &x);
            // Of |A⁺|² for A of full rank the derivative by A is known; here that by a direction A: −A⁺.
            let along = slopes.dot(&a);
            assert_near(
                "along A",
                &a,
                &DMatrix::repeat(1, 1, along),
                &DMatrix::repeat(1, 1, -weights(columns, rows).dot(&x)),
            );
            if rows == columns && a.determinant().abs() > 0.5 {
                let inverse = a.clone().try_inverse().expect("regular");
                let expected = -inverse.transpose() * weights(2, 2) * inverse.transpose();
                assert_near("slopes of the inverse", &a, &slopes, &expected);
            }
        }
    }
    Ok(())
}

/// The result is orthogonal, does not depend on a factor of the matrix, and moves with it under rotations.
#[test]
fn nearest_matrices() -> Result<(), Error> {
    let turn = |a: &DMatrix<f64>, r: &DMatrix<f64>, slopes: &DMatrix<f64>, n: usize| {
        for (i, j) in (0..n).flat_map(|j| (0..j).map(move |i| (i, j))) {
            let mut k = DMatrix::zeros(n, n);
            (k[(i, j)], k[(j, i)]) = (1.0, -1.0);
            let (found, expected) = (slopes.dot(&(&k * a)), weights(r.nrows(), r.ncols()).dot(&(&k * r)));
            assert_near("turned", a, &DMatrix::repeat(1, 1, found), &DMatrix::repeat(1, 1, expected));
        }
    };
    let mut counts = [0, 0];
    for (rows, columns) in [(2, 2), (3, 2), (3, 3)] {
        // Of matrices of three rows each seventh.
        let step = if columns == 3 { 7 } else { 1 };
        for a in matrices(rows, columns).step_by(step) {
            if let Some((r, slopes)) = both(&a, |a| linalg::nearest_orthogonal(a, 1e-12))? {
                counts[0] += 1;
                assert_near("Rᵀ·R", &a, &(r.transpose() * &r), &DMatrix::identity(columns, columns));
                assert!(slopes.dot(&a).abs() < 1e-13, "a factor: {a}");
                turn(&a, &r, &slopes, rows);
            }
            if rows == columns
                && let Some((r, slopes)) = both(&a, |a| linalg::nearest_rotation(a, 1e-12))?
            {
                counts[1] += 1;
                assert!((r.determinant() - 1.0).abs() < 1e-13, "{a}");
                assert!(slopes.dot(&a).abs() < 1e-13, "a factor: {a}");
                turn(&a, &r, &slopes, rows);
            }
        }
    }
    assert!(counts[0] > 1000 && counts[1] > 1000, "{counts:?}");
    Ok(())
}

/// The derivative of the square of the square root is that of the matrix itself.
#[test]
fn square_roots() -> Result<(), Error> {
    for (rows, columns) in [(2, 2), (2, 3)] {
        for b in matrices(rows, columns) {
            let a = &b * b.transpose() + DMatrix::identity(rows, rows) * 0.5;
            let square = |a: &DMatrix<C>| {
                let root = linalg::symmetric_sqrt(a)?;
                linalg::product(&root, &root)
            };
            let Some((found, slopes)) = both(&a, square)? else { panic!("it is definite: {a}") };
            assert_near("square", &a, &found, &a);
            let w = weights(rows, rows);
            let lower = |i: usize, j: usize| match i.cmp(&j) {
                Ordering::Equal => w[(i, i)],
                Ordering::Greater => w[(i, j)] + w[(j, i)],
                Ordering::Less => 0.0,
            };
            assert_near("slopes", &a, &slopes, &DMatrix::from_fn(rows, rows, lower));
        }
    }
    Ok(())
}

/// The determinant is right to the last bit, and its slopes are the cofactors, of all matrices, singular or not;
/// eigenvalues and singular values are found.
#[test]
fn determinants_and_values() {
    let mut unfound = 0;
    for a in matrices(3, 3).step_by(5) {
        let (value, slopes) = value_and_gradient::<Jacobian>(
            |x| linalg::determinant(&DMatrix::from_column_slice(3, 3, Closed::wrap_slice(x))).expect("finite").open(),
            a.as_slice(),
        );
        let product = |k: usize, step: usize| a[(0, k)] * a[(1, (k + step) % 3)] * a[(2, (k + 2 * step) % 3)];
        let sarrus: f64 = (0..3).map(|k| product(k, 1) - product(k, 2)).sum();
        assert_eq!(value, sarrus, "{a}");
        let cofactor = |i: usize, j: usize| {
            let minor = a.clone().remove_row(i).remove_column(j).determinant();
            if (i + j).is_multiple_of(2) { minor } else { -minor }
        };
        assert_near("cofactors", &a, &DMatrix::from_vec(3, 3, slopes), &DMatrix::from_fn(3, 3, cofactor));
        let plain = a.map(Closed::<Passive>::from);
        let singular = linalg::singular_values(&plain).expect("they are found");
        let square: f64 = singular.iter().map(|value| value.as_real().value().powi(2)).sum();
        assert!((square - a.norm_squared()).abs() < 1e-13 * square, "{a}");
        match linalg::eigenvalues(&plain) {
            Ok(found) => {
                let trace: f64 = found.iter().map(|v| v.0.as_real().value()).sum();
                assert!((trace - a.trace()).abs() < 1e-13, "{a}");
            }
            // nalgebra's iteration goes on for ever at −1 plus a rotation.
            Err(error) => {
                assert_eq!(error, LinalgError::NoConvergence, "{a}");
                unfound += 1;
            }
        }
    }
    assert!(unfound < 40, "{unfound}");
}
