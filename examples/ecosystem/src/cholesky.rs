//! Steps by a sparse Cholesky factorization of `faer`.

use core::fmt;
use faer::Side;
use faer::prelude::Solve;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use std::error::Error;
use tapewright::residuals::NormalMatrix;
use tapewright::sparse::SparseMatrix;

/// Sparse Cholesky factorizations of the matrices of one problem, whose structure is analyzed once.
#[derive(Debug, Default)]
pub struct Cholesky {
    structure: Option<SymbolicLlt<usize>>,
    upper: Option<SparseMatrix<f64>>,
}

impl Cholesky {
    /// Returns the step δ with `A·δ = −g`.
    ///
    /// # Errors
    ///
    /// When the matrix A is not positive definite.
    pub fn step(&mut self, matrix: &NormalMatrix, gradient: &[f64]) -> Result<Vec<f64>, Box<dyn Error>> {
        let mut upper = self.upper.take();
        if let Some(upper) = &mut upper {
            matrix.upper_into(upper);
        }
        let upper = self.upper.insert(upper.unwrap_or_else(|| matrix.to_upper()));
        let factors = factors(&mut self.structure, upper)?;
        let right = faer::Mat::from_fn(gradient.len(), 1, |row, _| -gradient[row]);
        Ok(factors.solve(&right).col_as_slice(0).to_vec())
    }
}

/// Factors a matrix by its upper triangle, whose structure is analyzed if it is not known.
///
/// # Errors
///
/// [`CholeskyError`].
pub(crate) fn factors(
    structure: &mut Option<SymbolicLlt<usize>>,
    upper: &SparseMatrix<f64>,
) -> Result<Llt<usize, f64>, CholeskyError> {
    // The upper triangle by rows is the lower one by columns.
    let lower = upper.as_faer().transpose();
    let error = |error: &dyn fmt::Debug| CholeskyError(format!("{error:?}"));
    let known = match structure {
        Some(known) => known.clone(),
        None => structure
            .insert(SymbolicLlt::try_new(lower.symbolic(), Side::Lower).map_err(|found| error(&found))?)
            .clone(),
    };
    Llt::try_new_with_symbolic(known, lower, Side::Lower).map_err(|found| error(&found))
}

/// A matrix that has no factorization, with faer's reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CholeskyError(String);

impl fmt::Display for CholeskyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the matrix of a step is not positive definite: {}", self.0)
    }
}

impl Error for CholeskyError {}
