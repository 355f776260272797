//! Steps by a sparse Cholesky factorization of `faer`.

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
        // The upper triangle by rows is the lower one by columns.
        if let Some(upper) = &mut self.upper {
            matrix.upper_into(upper);
        }
        let lower = self.upper.get_or_insert_with(|| matrix.to_upper()).as_faer().transpose();
        let structure = match &self.structure {
            Some(structure) => structure.clone(),
            None => self.structure.insert(SymbolicLlt::try_new(lower.symbolic(), Side::Lower)?).clone(),
        };
        let factors = Llt::try_new_with_symbolic(structure, lower, Side::Lower)
            .map_err(|error| format!("the matrix of a step is not positive definite: {error:?}"))?;
        let right = faer::Mat::from_fn(gradient.len(), 1, |row, _| -gradient[row]);
        Ok(factors.solve(&right).col_as_slice(0).to_vec())
    }
}
