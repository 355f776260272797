//! Sparse systems.

use super::backends::Vector;
use faer::{Col, Mat};
use nalgebra::{DMatrix, DVector};
use tapewright::check::GradientMismatch;
use tapewright::linalg::{self, LinalgError, SparseCholesky, SparseLu, SparsePattern};
use tapewright::prelude::*;
use tapewright::{Closed, Error, check_gradient};
use tapewright_linalg_tests::{assert_close, scattered};

/// A cyclic band with three far entries, in no order.
fn places(n: usize) -> Vec<(usize, usize)> {
    let mut places: Vec<_> = (0..n).flat_map(|i| [(i, i), (i, (i + 1) % n), ((i + 2) % n, i)]).collect();
    places.extend([(0, n / 2), (n - 1, n / 2), (n / 2, 1)]);
    places.rotate_left(7);
    places
}

/// A value for each place, and a right-hand side.
fn numbers(places: &[(usize, usize)], n: usize, columns: usize) -> Vec<f64> {
    let mut numbers = scattered(places.len() + n * columns);
    places.iter().zip(&mut numbers).filter(|((i, j), _)| i == j).for_each(|(_, number)| *number += 4.0);
    numbers
}

/// The lower triangle of a band.
fn lower_places(n: usize) -> Vec<(usize, usize)> {
    let mut places: Vec<_> = (0..n).flat_map(|i| [(i, i), ((i + 1).min(n - 1), i.min(n - 2))]).collect();
    places.extend([(n - 1, 0), (n - 2, 1)]);
    places.sort_unstable();
    places.dedup();
    places.rotate_left(3);
    places
}

const N: usize = 8;

fn solved<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let places = places(N);
    let pattern = SparsePattern::new(N, &places).expect("a pattern");
    let (values, right) = x.split_at(places.len());
    let b = Mat::from_fn(N, 2, |i, j| Closed::from(right[i + N * j].clone()));
    let x = SparseLu::new(&pattern, values).and_then(|solver| solver.solve(&b)).expect("regular");
    x.entries().into_iter().map(Closed::open).collect()
}

/// The same by a dense matrix.
fn densely<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let places = places(N);
    let mut a = DMatrix::from_element(N, N, Closed::default());
    places.iter().zip(x).for_each(|((i, j), x)| a[(*i, *j)] = x.clone().into());
    let b = DMatrix::from_column_slice(N, 2, Closed::wrap_slice(&x[places.len()..]));
    linalg::solve(&a, &b).expect("regular").entries().into_iter().map(Closed::open).collect()
}

fn positive<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let places = lower_places(N);
    let pattern = SparsePattern::new(N, &places).expect("a pattern");
    let (values, right) = x.split_at(places.len());
    let b = Col::from_fn(N, |i| Closed::from(right[i].clone()));
    let x = SparseCholesky::new(&pattern, values).and_then(|solver| solver.solve(&b)).expect("positive definite");
    x.entries().into_iter().map(Closed::open).collect()
}

fn positive_densely<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    let places = lower_places(N);
    let mut a = DMatrix::from_element(N, N, Closed::default());
    places.iter().zip(x).for_each(|((i, j), x)| a[(*i, *j)] = x.clone().into());
    let b = DVector::from_column_slice(Closed::wrap_slice(&x[places.len()..]));
    let x = linalg::Cholesky::new(&a).and_then(|factors| factors.solve(&b)).expect("positive definite");
    x.entries().into_iter().map(Closed::open).collect()
}

#[test]
fn lu_agrees_with_differences_and_with_the_dense_entry() -> Result<(), GradientMismatch> {
    let x = numbers(&places(N), N, 2);
    assert!(check_gradient!(Jacobian, solved, &x)?.order > 1.9);
    let (values, rows) = jacobian::<Jacobian>(solved, &x);
    let (expected_values, expected) = jacobian::<Jacobian>(densely, &x);
    assert_close("values", &values, &expected_values, 1e-13);
    assert_close("rows", &rows.concat(), &expected.concat(), 1e-12);
    assert_close("primal", &jacobian::<PrimalValue<f64, Reuse>>(solved, &x).1.concat(), &expected.concat(), 1e-12);
    Ok(())
}

#[test]
fn cholesky_agrees_with_differences_and_with_the_dense_entry() -> Result<(), GradientMismatch> {
    let x = numbers(&lower_places(N), N, 1);
    assert!(check_gradient!(Jacobian, positive, &x)?.order > 1.9);
    let (values, rows) = jacobian::<Jacobian>(positive, &x);
    let (expected_values, expected) = jacobian::<Jacobian>(positive_densely, &x);
    assert_close("values", &values, &expected_values, 1e-13);
    assert_close("rows", &rows.concat(), &expected.concat(), 1e-12);
    Ok(())
}

/// A chain of 10,000 unknowns.
#[test]
fn memory_goes_with_the_entries() -> Result<(), Error> {
    let n = 10_000;
    let places: Vec<_> = (0..n).map(|i| (i, i)).chain((1..n).map(|i| (i, i - 1))).collect();
    let pattern = SparsePattern::new(n, &places).expect("a pattern");
    let mut tape = Tape::<Jacobian>::new();
    let (values, x) = tape.record(|scope| {
        let values = scope.inputs(&numbers(&places, n, 0));
        let ones = DVector::from_element(n, Closed::from(1.0));
        let solver = SparseCholesky::new(&pattern, &values).expect("diagonally dominant");
        let x = solver.solve(&ones).expect("as many rows");
        (values, x[n - 1].open())
    });
    let memory = tape.memory();
    assert_eq!(memory.statements, 0);
    assert!(memory.total().used < 80 * places.len(), "{memory:?}");
    let slopes = tape.sweep(&[(&x, 1.0)])?.of_all(&values)?;
    assert!(slopes[n - 1] != 0.0 && slopes.iter().all(|slope| slope.is_finite()));
    Ok(())
}

#[test]
fn what_is_no_pattern_or_no_matrix() {
    let error = |result: Result<SparsePattern, LinalgError>| result.expect_err("an error").to_string();
    assert_eq!(error(SparsePattern::new(2, &[(0, 2)])), "a matrix of 2 rows and columns has no entry (0, 2)");
    assert_eq!(error(SparsePattern::new(2, &[(1, 0), (0, 0), (1, 0)])), "the entry (1, 0) is there twice");
    let pattern = SparsePattern::new(2, &[(0, 0), (0, 1), (1, 0), (1, 1)]).expect("a full matrix");
    assert_eq!((pattern.rows(), pattern.places().len()), (2, 4));
    let lu = |values: &[f64]| SparseLu::<Passive>::new(&pattern, Real::wrap_slice(values)).err();
    assert_eq!(lu(&[1.0, 2.0, 3.0, 4.0]), None);
    assert!(matches!(lu(&[1.0, 2.0, 2.0, 4.0]), Some(LinalgError::Singular { .. })));
    assert!(matches!(lu(&[1.0, 2.0, 0.0, 0.0]), Some(LinalgError::Singular { .. })));
    assert!(matches!(lu(&[1.0, 2.0]), Some(LinalgError::Shape { .. })));
    assert_eq!(lu(&[1.0, 2.0, f64::NAN, 0.0]), Some(LinalgError::NotFinite { row: 1, column: 0 }));
    let empty = SparsePattern::new(2, &[(0, 0)]).expect("an empty column");
    let found = SparseLu::<Passive>::new(&empty, Real::wrap_slice(&[1.0])).err();
    assert!(matches!(found, Some(LinalgError::Singular { .. })), "{found:?}");
    let upper = SparseCholesky::<Passive>::new(&pattern, Real::wrap_slice(&[1.0, 0.0, 0.0, 1.0])).err();
    assert!(upper.expect("an error").to_string().contains("the entry (0, 1) is above the diagonal"));
    let lower = SparsePattern::new(2, &[(0, 0), (1, 0), (1, 1)]).expect("a triangle");
    let indefinite = SparseCholesky::<Passive>::new(&lower, Real::wrap_slice(&[1.0, 2.0, 1.0])).err();
    assert_eq!(indefinite, Some(LinalgError::NotPositiveDefinite));
}
