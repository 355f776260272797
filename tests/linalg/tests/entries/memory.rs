//! What an entry keeps.

use nalgebra::{DMatrix, DVector};
use tapewright::Closed;
use tapewright::linalg::{self, Cholesky, Lu};
use tapewright::prelude::*;
use tapewright_linalg_tests::scattered;

type Variables = [Closed<Jacobian>];

/// Bytes of the entries that a function of a matrix and a vector leaves; the inputs are numbered row after row.
fn kept(n: usize, f: impl Fn(&DMatrix<Closed<Jacobian>>, &DVector<Closed<Jacobian>>)) -> usize {
    let mut tape = Tape::<Jacobian>::new();
    let mut numbers = scattered(n * n + n);
    (0..n).for_each(|k| numbers[k * (n + 1)] += 40.0);
    tape.record(|scope| {
        let inputs = scope.inputs(&numbers);
        let x: &Variables = Closed::wrap_slice(&inputs);
        f(&DMatrix::from_row_slice(n, n, &x[..n * n]), &DVector::from_column_slice(&x[n * n..]));
    });
    assert_eq!(tape.memory().statements, 0);
    tape.memory().usage("externals").used
}

/// What goes with n², in bytes.
fn per_square(f: impl Fn(&DMatrix<Closed<Jacobian>>, &DVector<Closed<Jacobian>>)) -> usize {
    let [a, b, c] = [16, 32, 48].map(|n| kept(n, &f));
    (a + c - 2 * b) / (2 * 16 * 16)
}

#[test]
fn bytes_for_each_entry_of_the_matrix() {
    // 8 for the factors and 4 for the identifier of the input.
    assert_eq!(per_square(|a, b| _ = linalg::solve(a, b).expect("regular")), 8 + 4);
    assert_eq!(per_square(|a, _| _ = Lu::new(a).expect("regular").ln_det()), 8 + 4);
    // The values of A and the identifiers of A; those of b go with n.
    assert_eq!(per_square(|a, b| _ = linalg::product(a, b).expect("they fit")), 8 + 4);
    // Half as many identifiers, and all of L.
    assert_eq!(per_square(|a, b| _ = Cholesky::new(a).expect("definite").solve(b).expect("they fit")), 8 + 2);
    assert_eq!(per_square(|a, _| _ = linalg::symmetric_eigenvalues(a).expect("finite")), 8 + 2);
    // The inverse, and the identifiers of A; outputs are numbered one after another.
    assert_eq!(per_square(|a, _| _ = Lu::new(a).expect("regular").inverse()), 8 + 4);
    // So are the inputs, if the matrix was filled as it lies in memory.
    assert_eq!(per_square(|a, b| _ = linalg::solve(&a.transpose(), b).expect("regular")), 8);
}

#[test]
fn entries_of_one_matrix_share_its_factors() {
    let both = |a: &DMatrix<Closed<Jacobian>>, b: &DVector<Closed<Jacobian>>| {
        let factors = Lu::new(a).expect("regular");
        factors.solve(b).expect("they fit");
        let _ = factors.ln_det();
    };
    assert_eq!(per_square(both), 8 + 2 * 4);
}

#[test]
fn constants_take_nothing() {
    let system = |a: &DMatrix<Closed<Jacobian>>, b: &DVector<Closed<Jacobian>>| {
        let constant: DMatrix<Closed<Jacobian>> = a.map(|x| Closed::constant(x.value()));
        linalg::solve(&constant, b).expect("regular");
    };
    assert_eq!(per_square(system), 8, "the factors alone");
    let product = |a: &DMatrix<Closed<Jacobian>>, b: &DVector<Closed<Jacobian>>| {
        let constant: DVector<Closed<Jacobian>> = b.map(|x| Closed::constant(x.value()));
        linalg::product(a, &constant).expect("they fit");
    };
    assert_eq!(per_square(product), 4, "the identifiers alone");
}
