//! Sparse matrices as the crates `sprs` and `faer` see them.

use tapewright::prelude::*;
use tapewright::sparse::{SparseMatrix, sparse_jacobian};

/// A banded matrix with an empty row, an empty column, and another number of rows than of columns.
fn matrix() -> SparseMatrix<f64> {
    fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
        let mut y: Vec<Real<S>> = x[..6].windows(2).map(|x| (x[0] * x[1] + 2.0 * x[1]).into()).collect();
        y.insert(2, Real::from(1.0));
        y.push((x[0] * x[7]).into());
        y
    }
    let (_, matrix) = sparse_jacobian::<Jacobian>(f, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).expect("it is found");
    assert_eq!((matrix.pattern().rows(), matrix.pattern().columns(), matrix.pattern().entries()), (7, 8, 12));
    matrix
}

#[test]
fn sprs_sees_the_same_matrix() {
    let matrix = matrix();
    let pattern = matrix.pattern();
    let shape = (pattern.rows(), pattern.columns());
    let seen = sprs::CsMatView::new(shape, pattern.starts(), pattern.indices(), matrix.values());
    assert!(seen.is_csr());
    assert_eq!((seen.shape(), seen.nnz()), ((7, 8), 12));
    for (row, column, value) in matrix.iter() {
        assert_eq!(seen.get(row, column), Some(&value));
    }
    let vector = [1.0, -1.0, 2.0, 0.5, 3.0, -2.0, 1.5, 4.0];
    let mut product = [0.0; 7];
    sprs::prod::mul_acc_mat_vec_csr(seen, &vector[..], &mut product[..]);
    assert_eq!(product[..], matrix.times(&vector));
    assert_eq!(std::ptr::from_ref(seen.data()), std::ptr::from_ref(matrix.values()), "nothing is copied");
}

#[cfg(feature = "faer")]
#[test]
fn faer_sees_the_same_matrix() {
    let matrix = matrix();
    let seen = matrix.as_faer();
    assert_eq!((seen.nrows(), seen.ncols(), seen.compute_nnz()), (7, 8, 12));
    for (row, column, value) in matrix.iter() {
        assert_eq!(seen.get(row, column), Some(&value));
    }
    let dense = seen.to_dense();
    for (i, row) in matrix.to_dense().iter().enumerate() {
        row.iter().enumerate().for_each(|(j, value)| assert_eq!(dense[(i, j)], *value));
    }
}
