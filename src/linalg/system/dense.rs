//! Dense matrices with their factors.

use super::System;
use crate::linalg::backend::{Backend, Block, Factors};
use crate::linalg::error::{LinalgError, finite};
use tapewright_strategies::{Float, Number};

/// The factors of a square matrix of floats. The inputs of an entry are all entries of the matrix, or, if it is
/// symmetric, its lower triangle, column after column.
pub enum Dense<V: Float, B: Backend<V>> {
    /// Factors of P·A = L·U, with the number of rows.
    Full(usize, B::Factors),
    /// The factor L of A = L·Lᵀ, with the number of rows.
    Lower(usize, Vec<V>),
}

impl<V: Float, B: Backend<V>> Dense<V, B> {
    /// Factorizes an n×n matrix.
    pub(crate) fn full(n: usize, matrix: Vec<V>) -> Result<Self, LinalgError> {
        finite(n, &matrix)?;
        let factors = B::factorize(n, matrix);
        let zero = factors.pivots().iter().position(|pivot| pivot.is_nought() || !pivot.is_finite());
        zero.map_or(Ok(Self::Full(n, factors)), |pivot| Err(LinalgError::Singular { pivot: Some(pivot) }))
    }

    /// Factorizes the n×n matrix with this lower triangle.
    pub(crate) fn lower(n: usize, triangle: &[V]) -> Result<Self, LinalgError> {
        let matrix = spread_lower(n, triangle);
        finite(n, &matrix)?;
        B::cholesky(n, matrix).map(|lower| Self::Lower(n, lower)).ok_or(LinalgError::NotPositiveDefinite)
    }

    /// The factor L of A = L·Lᵀ.
    pub(crate) fn factor(&self) -> &[V] {
        let Self::Lower(_, lower) = self else { unreachable!("the factor is lower triangular") };
        lower
    }

    /// ln |det A|, and the sign of det A.
    pub(crate) fn ln_det(&self) -> (V, V) {
        match self {
            Self::Full(_, factors) => {
                let pivots = factors.pivots();
                let value = pivots.iter().fold(V::ZERO, |sum, pivot| sum + Number::ln(Number::abs(*pivot)));
                let odd = pivots.iter().fold(factors.is_odd(), |odd, pivot| odd != (*pivot < V::ZERO));
                (value, if odd { -V::ONE } else { V::ONE })
            }
            Self::Lower(n, lower) => {
                let logarithms = lower.iter().step_by(n + 1).fold(V::ZERO, |sum, pivot| sum + Number::ln(*pivot));
                (logarithms + logarithms, V::ONE)
            }
        }
    }
}

/// Rows and columns of the entries in the lower triangle of an n×n matrix, column after column.
pub(crate) fn lower_places(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |j| (j..n).map(move |i| (i, j)))
}

/// The symmetric matrix with this lower triangle.
pub(crate) fn spread_lower<V: Number>(n: usize, triangle: &[V]) -> Vec<V> {
    let mut matrix = vec![V::ZERO; n * n];
    for ((i, j), entry) in lower_places(n).zip(triangle) {
        matrix[j * n + i] = *entry;
        matrix[i * n + j] = *entry;
    }
    matrix
}

/// Adds the adjoints of all entries of a symmetric matrix to the adjoints of its lower triangle.
pub(crate) fn fold_lower<V: Number>(n: usize, matrix: &[V], adjoints: &mut [V]) {
    for ((i, j), adjoint) in lower_places(n).zip(adjoints) {
        *adjoint += matrix[j * n + i];
        if i != j {
            *adjoint += matrix[i * n + j];
        }
    }
}

/// The unit matrix.
pub(crate) fn identity<V: Number>(n: usize) -> Vec<V> {
    (0..n * n).map(|k| if k % n == k / n { V::ONE } else { V::ZERO }).collect()
}

impl<V: Float, B: Backend<V>> System<V> for Dense<V, B> {
    fn of_other(&self, entries: &[V]) -> Result<Self, LinalgError> {
        match self {
            Self::Full(n, _) => Self::full(*n, entries.to_vec()),
            Self::Lower(n, _) => Self::lower(*n, entries),
        }
    }

    fn solve(&self, transposed: bool, right: &mut [V]) {
        match self {
            Self::Full(_, factors) if transposed => factors.solve_transposed(right),
            Self::Full(_, factors) => factors.solve(right),
            Self::Lower(n, lower) => {
                B::solve_lower(*n, lower, false, right);
                B::solve_lower(*n, lower, true, right);
            }
        }
    }

    fn rows(&self) -> usize {
        let (Self::Full(n, _) | Self::Lower(n, _)) = self;
        *n
    }

    fn entries(&self) -> usize {
        match self {
            Self::Full(n, _) => n * n,
            Self::Lower(n, _) => n * (n + 1) / 2,
        }
    }

    fn subtract_outer(&self, lambda: &[V], x: &[V], adjoints: &mut [V]) {
        let (lambda, x) = (Block::new(lambda, self.rows()), Block::new(x, self.rows()).t());
        match self {
            Self::Full(..) => B::multiply(-V::ONE, lambda, x, adjoints),
            Self::Lower(n, _) => {
                let mut matrix = vec![V::ZERO; n * n];
                B::multiply(-V::ONE, lambda, x, &mut matrix);
                fold_lower(*n, &matrix, adjoints);
            }
        }
    }

    fn subtract_product(&self, transposed: bool, entries: &[V], x: &[V], result: &mut [V]) {
        let n = self.rows();
        let symmetric;
        let numbers = match self {
            Self::Full(..) => entries,
            Self::Lower(..) => {
                symmetric = spread_lower(n, entries);
                &symmetric
            }
        };
        B::multiply(-V::ONE, Block { transposed, ..Block::new(numbers, n) }, Block::new(x, n), result);
    }

    fn fold(&self, matrix: &[V]) -> Vec<V> {
        match self {
            Self::Full(..) => matrix.to_vec(),
            Self::Lower(n, _) => {
                let mut adjoints = vec![V::ZERO; self.entries()];
                fold_lower(*n, matrix, &mut adjoints);
                adjoints
            }
        }
    }

    fn owned_bytes(&self) -> usize {
        match self {
            Self::Full(_, factors) => factors.owned_bytes(),
            Self::Lower(_, lower) => lower.capacity() * size_of::<V>(),
        }
    }
}
