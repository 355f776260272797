//! The two libraries behind one face.

use nalgebra::{DMatrix, DVector};
use tapewright::linalg::{Matrix, Nalgebra};
use tapewright::{Closed, Taping};

/// What tests ask of a matrix or vector.
pub(crate) trait Vector<S: Taping>: Matrix<Strategy = S> {
    /// A copy of the entries.
    fn entries(self) -> Vec<Closed<S>> {
        Matrix::entries(&self).cloned().collect()
    }
}
impl<S: Taping, M: Matrix<Strategy = S>> Vector<S> for M {}

/// A library.
pub(crate) trait Dense {
    /// The crate that does the work.
    type Backend: tapewright::linalg::Backend<f64>;
    /// Its matrices.
    type Matrix<S: Taping<Value = f64>>: Matrix<Strategy = S, Backend = Self::Backend>;
    /// Its vectors.
    type Vector<S: Taping<Value = f64>>: Matrix<Strategy = S, Backend = Self::Backend>;

    /// A matrix of entries column after column.
    fn matrix<S: Taping<Value = f64>>(rows: usize, columns: usize, x: &[Closed<S>]) -> Self::Matrix<S> {
        Self::Matrix::from_entries(rows, columns, x[..rows * columns].to_vec())
    }
    /// A vector.
    fn vector<S: Taping<Value = f64>>(x: &[Closed<S>]) -> Self::Vector<S> {
        Self::Vector::from_entries(x.len(), 1, x.to_vec())
    }
}

#[derive(Debug)]
pub(crate) struct ByNalgebra;

impl Dense for ByNalgebra {
    type Backend = Nalgebra;
    type Matrix<S: Taping<Value = f64>> = DMatrix<Closed<S>>;
    type Vector<S: Taping<Value = f64>> = DVector<Closed<S>>;
}

#[cfg(feature = "faer")]
#[derive(Debug)]
pub(crate) struct ByFaer;

#[cfg(feature = "faer")]
impl Dense for ByFaer {
    type Backend = tapewright::linalg::Faer;
    type Matrix<S: Taping<Value = f64>> = faer::Mat<Closed<S>>;
    type Vector<S: Taping<Value = f64>> = faer::Col<Closed<S>>;
}
