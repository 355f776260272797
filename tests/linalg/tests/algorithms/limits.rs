//! What recording somebody else's algorithm cannot do.

use super::reverse;
use nalgebra::{DMatrix, Vector3};
use tapewright::{Closed, prelude::*};

/// An iteration that is done before it begins has recorded nothing of how the result moves.
#[test]
fn eigenvectors_of_a_diagonal_matrix_lose_their_derivative() {
    let vectors = |x: &[Closed<Jacobian>]| {
        let matrix = DMatrix::from_column_slice(2, 2, &[Closed::from(1.0), x[0], x[0], Closed::from(3.0)]);
        let vectors = matrix.symmetric_eigen().eigenvectors;
        vectors[(0, 0)] * vectors[(1, 0)]
    };
    // The first eigenvector turns by −x/2.
    assert_eq!(reverse::<Jacobian>(vectors, &[0.0]).1, [0.0]);
    let (_, near) = reverse::<Jacobian>(vectors, &[1e-4]);
    approx::assert_relative_eq!(near[0].abs(), 0.5, max_relative = 1e-6);
}

/// The norm of 0 has an infinite slope, as everywhere.
#[test]
fn norm_of_nothing() {
    let (value, slope) = reverse::<Jacobian>(|x| Vector3::from_column_slice(x).norm(), &[0.0; 3]);
    assert_eq!(value, 0.0);
    assert!(slope.iter().all(|slope| slope.is_nan() || *slope == 0.0), "{slope:?}");
}
