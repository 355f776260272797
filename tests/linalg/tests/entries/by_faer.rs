//! Errors, signs and empty matrices by faer: see `errors.rs` for the same by nalgebra.

use faer::{Col, Mat};
use tapewright::Closed;
use tapewright::linalg::{self, Cholesky, LinalgError, Lu, Matrix};
use tapewright::prelude::*;
use tapewright_linalg_tests::scattered;

type C = Closed<Passive>;

/// A matrix of rows.
fn matrix(rows: usize, columns: usize, numbers: &[f64]) -> Mat<C> {
    Mat::from_fn(rows, columns, |i, j| Closed::from(numbers[i * columns + j]))
}

fn error<T>(result: Result<T, LinalgError>) -> LinalgError {
    result.err().expect("an error")
}

#[test]
fn what_cannot_be_factorized() {
    assert_eq!(error(Lu::new(&matrix(2, 2, &[1.0, 2.0, 2.0, 4.0]))), LinalgError::Singular { pivot: Some(1) });
    assert_eq!(error(Lu::new(&matrix(2, 2, &[0.0; 4]))), LinalgError::Singular { pivot: Some(0) });
    for numbers in [[1.0, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 1.0]] {
        assert_eq!(error(Cholesky::new(&matrix(2, 2, &numbers))), LinalgError::NotPositiveDefinite);
    }
    let broken = matrix(2, 2, &[1.0, 2.0, f64::INFINITY, 4.0]);
    assert_eq!(error(Lu::new(&broken)), LinalgError::NotFinite { row: 1, column: 0 });
    assert!(matches!(error(Lu::new(&matrix(3, 2, &[0.0; 6]))), LinalgError::Shape { .. }));
}

#[test]
fn the_upper_triangle_is_not_read() {
    let broken = matrix(2, 2, &[4.0, f64::NAN, 2.0, 5.0]);
    let l: Vec<f64> = Cholesky::new(&broken).expect("positive definite").l().entries().map(Closed::value).collect();
    assert_eq!(l, [2.0, 1.0, 0.0, 2.0]);
}

/// Permutations of all kinds, and matrices that need some.
#[test]
fn the_sign_of_a_determinant() {
    let permutations = [[0, 1, 2, 3], [1, 0, 2, 3], [1, 2, 0, 3], [1, 2, 3, 0], [1, 0, 3, 2], [3, 2, 1, 0]];
    for (rows, sign) in permutations.into_iter().zip([1.0, -1.0, 1.0, -1.0, 1.0, 1.0]) {
        let numbers: Vec<f64> = (0..16).map(|k| if rows[k / 4] == k % 4 { 1.0 } else { 0.0 }).collect();
        let (ln, found) = Lu::new(&matrix(4, 4, &numbers)).expect("regular").ln_det();
        assert_eq!((ln.value(), found), (0.0, sign), "{rows:?}");
    }
    for salt in 1..20 {
        let numbers = &scattered(25 * salt)[25 * (salt - 1)..];
        let theirs = nalgebra::DMatrix::from_row_slice(5, 5, numbers).determinant();
        let (ln, sign) = Lu::new(&matrix(5, 5, numbers)).expect("regular").ln_det();
        approx::assert_relative_eq!(sign * ln.value().exp(), theirs, max_relative = 1e-10);
    }
}

#[test]
fn nothing_is_no_error() {
    let nothing = matrix(0, 0, &[]);
    let lu = Lu::new(&nothing).expect("it is regular");
    assert_eq!((lu.ln_det().0.value(), lu.ln_det().1), (0.0, 1.0));
    assert_eq!(lu.solve(&nothing).expect("no rows").shape(), (0, 0));
    assert_eq!(lu.inverse().shape(), (0, 0));
    assert_eq!(Cholesky::new(&nothing).expect("it is definite").ln_det().value(), 0.0);
    assert!(linalg::symmetric_eigenvalues(&nothing).expect("none").is_empty());
    let sum = linalg::product(&matrix(3, 0, &[]), &matrix(0, 2, &[])).expect("no terms");
    assert!(sum.shape() == (3, 2) && sum.entries().all(|x| x.value() == 0.0));
    let solved = linalg::solve(&matrix(1, 1, &[2.0]), &Col::from_fn(1, |_| Closed::from(3.0)));
    assert_eq!(solved.expect("regular")[0].value(), 1.5);
}
