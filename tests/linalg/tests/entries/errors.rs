//! What cannot be factorized or solved is an error that names the cause.

use nalgebra::{DMatrix, DVector};
use tapewright::Closed;
use tapewright::linalg::{self, Cholesky, LinalgError, Lu};
use tapewright::prelude::*;

type C = Closed<Passive>;

fn matrix(rows: usize, columns: usize, numbers: &[f64]) -> DMatrix<C> {
    DMatrix::from_row_slice(rows, columns, C::wrap_slice(Real::wrap_slice(numbers)))
}

fn error<T>(result: Result<T, LinalgError>) -> LinalgError {
    result.err().expect("an error")
}

#[test]
fn singular_matrices() {
    let singular = matrix(2, 2, &[1.0, 2.0, 2.0, 4.0]);
    assert_eq!(error(Lu::new(&singular)), LinalgError::Singular { pivot: Some(1) });
    assert_eq!(error(Lu::new(&matrix(1, 1, &[0.0]))).to_string(), "the matrix is singular: its pivot 0 is 0");
    // A factorization that overflows has a pivot that is not finite.
    let overflows = matrix(2, 2, &[1e-308, 1e308, 1e-308, -1e308]);
    assert!(matches!(error(Lu::new(&overflows)), LinalgError::Singular { pivot: Some(1) }));
}

#[test]
fn matrices_that_are_not_positive_definite() {
    for numbers in [[1.0, 0.0, 2.0, 1.0], [0.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 1.0]] {
        assert_eq!(error(Cholesky::new(&matrix(2, 2, &numbers))), LinalgError::NotPositiveDefinite);
    }
}

#[test]
fn the_upper_triangle_is_not_read() {
    let matrix = matrix(2, 2, &[4.0, f64::NAN, 2.0, 5.0]);
    let l = Cholesky::new(&matrix).expect("positive definite").l();
    assert_eq!(l.map(|x| x.value()), DMatrix::from_row_slice(2, 2, &[2.0, 0.0, 1.0, 2.0]));
}

#[test]
fn entries_that_are_not_finite() {
    let broken = matrix(2, 2, &[1.0, 2.0, f64::INFINITY, 4.0]);
    assert_eq!(error(Lu::new(&broken)), LinalgError::NotFinite { row: 1, column: 0 });
    assert_eq!(error(Cholesky::new(&broken)), LinalgError::NotFinite { row: 1, column: 0 });
    assert_eq!(error(linalg::symmetric_eigenvalues(&broken)), LinalgError::NotFinite { row: 1, column: 0 });
}

#[test]
fn shapes_that_do_not_fit() {
    let (tall, square) = (matrix(3, 2, &[0.0; 6]), matrix(2, 2, &[1.0, 0.0, 0.0, 1.0]));
    assert_eq!(error(Lu::new(&tall)).to_string(), "a matrix of 3 rows and 2 columns is not square");
    assert!(matches!(error(Cholesky::new(&tall)), LinalgError::Shape { .. }));
    assert!(matches!(error(linalg::symmetric_eigen(&tall)), LinalgError::Shape { .. }));
    let three: DVector<C> = DVector::from_element(3, Closed::from(1.0));
    let found = error(linalg::solve(&square, &three)).to_string();
    assert_eq!(found, "a system of 2 equations has no right-hand side of 3 rows");
    let found = error(linalg::product(&square, &three)).to_string();
    assert_eq!(found, "a matrix of 2 columns cannot be multiplied with one of 3 rows");
}

#[test]
fn nothing_is_no_error() {
    let nothing = matrix(0, 0, &[]);
    let lu = Lu::new(&nothing).expect("it is regular");
    assert_eq!((lu.ln_det().0.value(), lu.ln_det().1), (0.0, 1.0));
    assert!(lu.solve(&nothing).expect("no rows").is_empty() && lu.inverse().is_empty());
    assert_eq!(Cholesky::new(&nothing).expect("it is definite").ln_det().value(), 0.0);
    assert!(linalg::symmetric_eigenvalues(&nothing).expect("none").is_empty());
    assert!(linalg::product(&nothing, &nothing).expect("no rows").is_empty());
    let (wide, tall) = (matrix(0, 3, &[]), matrix(3, 0, &[]));
    assert_eq!(linalg::product(&tall, &wide).expect("no terms").map(|x| x.value()), DMatrix::zeros(3, 3));
}

#[test]
fn the_sign_of_a_determinant() {
    for (numbers, sign) in [([0.0, 1.0, 1.0, 0.0], -1.0), ([-1.0, 0.0, 0.0, -2.0], 1.0), ([3.0, 1.0, 4.0, 1.0], -1.0)] {
        let a = matrix(2, 2, &numbers);
        let (ln, found) = Lu::new(&a).expect("regular").ln_det();
        assert_eq!(found, sign);
        let det = numbers[0] * numbers[3] - numbers[1] * numbers[2];
        approx::assert_relative_eq!(found * ln.value().exp(), det, max_relative = 1e-14);
    }
}

#[test]
fn a_replay_at_a_singular_matrix_is_an_error_and_changes_nothing() {
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (inputs, y) = tape.record(|scope| {
        let inputs = scope.inputs(&[2.0, 1.0, 1.0, 3.0, 1.0, 1.0]);
        let x = Closed::wrap_slice(&inputs);
        let a = DMatrix::from_column_slice(2, 2, &x[..4]);
        let y = linalg::solve(&a, &DVector::from_column_slice(&x[4..])).expect("regular");
        (inputs, *y[0].as_real())
    });
    let slopes =
        |tape: &mut Tape<PrimalValue>| tape.sweep(&[(&y, 1.0)]).expect("its own").of_all(&inputs).expect("its own");
    let before = (tape.value_of(&y), slopes(&mut tape));
    let error = tape.replay(&[(&inputs[0], 1.0), (&inputs[3], 1.0)]).expect_err("two equal rows");
    assert!(error.to_string().contains("linear solve") && error.to_string().contains("singular"), "{error}");
    assert_eq!((tape.value_of(&y), slopes(&mut tape)), before);
    tape.replay(&[(&inputs[3], 1.0)]).expect("regular");
    // 2·x + y = 1 and x + y = 1.
    assert_eq!(tape.value_of(&y).expect("its own"), 0.0);
}
