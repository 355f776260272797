//! Numbers of 32 bits, and matrices of one row.

use nalgebra::{DMatrix, DVector, MatrixXx2};
use tapewright::linalg::{self, Cholesky, Element, Lu, Matrix};
use tapewright::prelude::*;
use tapewright::{Closed, Taping};
use tapewright_linalg_tests::{assert_close, scattered};

/// Something of every entry, of 3 rows.
fn everything<M, C, S: Taping<Value: Element>>(x: &[Real<S>]) -> Real<S>
where
    M: Matrix<Strategy = S>,
    C: Matrix<Strategy = S, Backend = M::Backend>,
{
    let x = Closed::wrap_slice(x);
    let entries = x[..9].iter().enumerate().map(|(k, x)| if k % 4 == 0 { x + 4.0 } else { x.clone() }).collect();
    let (a, b) = (M::from_entries(3, 3, entries), C::from_entries(3, 1, x[9..].to_vec()));
    let (lu, cholesky) = (Lu::new(&a).expect("regular"), Cholesky::new(&a).expect("positive definite"));
    let (values, vectors) = linalg::symmetric_eigen(&a).expect("finite");
    let mut terms = vec![lu.ln_det().0, cholesky.ln_det()];
    terms.extend(values);
    for matrix in [lu.inverse(), cholesky.l(), vectors] {
        terms.extend(matrix.entries().cloned());
    }
    for vector in [lu.solve(&b), cholesky.solve(&b), linalg::product(&a, &b)] {
        terms.extend(vector.expect("three rows").entries().cloned());
    }
    terms.into_iter().enumerate().map(|(k, term)| term * scattered(k + 1)[k]).sum::<Closed<S>>().open()
}

#[test]
fn single_precision_agrees_with_double() {
    let x = scattered(12);
    let single: Vec<f32> = x.iter().map(|x| <f32 as tapewright::Number>::from_f64(*x)).collect();
    let expected = gradient::<Jacobian>(everything::<DMatrix<_>, DVector<_>, _>, &x);
    let check = |found: Vec<f32>| {
        let found: Vec<f64> = found.into_iter().map(f64::from).collect();
        assert_close("single", &found, &expected, 2e-5);
    };
    check(gradient::<Jacobian<f32>>(everything::<DMatrix<_>, DVector<_>, _>, &single));
    check(gradient::<PrimalValue<f32, Reuse>>(everything::<DMatrix<_>, DVector<_>, _>, &single));
    #[cfg(feature = "faer")]
    check(gradient::<Jacobian<f32>>(everything::<faer::Mat<_>, faer::Col<_>, _>, &single));
}

#[test]
fn one_row() {
    let f = |x: &[Real<Jacobian>]| {
        let x = Closed::wrap_slice(x);
        let a = DMatrix::from_element(1, 1, x[0]);
        let b = MatrixXx2::from_row_slice(&x[1..]);
        let solved = linalg::solve(&a, &b).expect("regular");
        let value = linalg::symmetric_eigenvalues(&a).expect("finite")[0];
        (solved[(0, 0)] * solved[(0, 1)] + value * Lu::new(&a).expect("regular").ln_det().0).open()
    };
    // y·z/x² + x·ln x
    let [x, y, z] = [2.0_f64, 3.0, 5.0];
    let expected = [-2.0 * y * z / (x * x * x) + x.ln() + 1.0, z / (x * x), y / (x * x)];
    assert_close("one row", &gradient(f, &[x, y, z]), &expected, 1e-15);
}

#[test]
fn no_right_hand_sides() {
    let a: DMatrix<Closed<Passive>> = DMatrix::identity(2, 2);
    let none: DMatrix<Closed<Passive>> = DMatrix::from_vec(2, 0, Vec::new());
    assert_eq!(linalg::solve(&a, &none).expect("nothing to solve").shape(), (2, 0));
    assert_eq!(linalg::product(&a, &none).expect("nothing to multiply").shape(), (2, 0));
}
