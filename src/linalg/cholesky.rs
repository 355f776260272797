//! Symmetric positive definite matrices: A·X = B, ln det A, and the factor L with A = L·Lᵀ.

use super::backend::{Backend, Block, times};
use super::dense::{Dense, fold_lower, lower_places, spread_lower, square_times};
use super::error::LinalgError;
use super::lu::{LnDet, only};
use super::matrix::{Matrix, Number, Operand, entry, square};
use super::solve::{self, share};
use crate::closed::Closed;
use std::sync::Arc;
use tapewright_strategies::num_traits::Zero;
use tapewright_strategies::{External, Float, Number as _, SweepError};

/// A symmetric positive definite matrix with its Cholesky factor, for everything that needs it: the matrix is
/// factorised once.
///
/// Only the lower triangle is read, and only its variables are inputs: the functions are functions of the lower
/// triangle, and the derivative with respect to an entry below the diagonal counts its twin above the diagonal, too.
pub struct Cholesky<'a, M: Matrix> {
    matrix: Operand<'a, M::Strategy>,
    system: Arc<Dense<Number<M>, M::Backend>>,
}

impl<'a, M: Matrix> Cholesky<'a, M> {
    /// Factorises the values of a matrix.
    ///
    /// # Errors
    ///
    /// When the matrix is not square, has an infinite or NaN entry in its lower triangle, or is not positive definite.
    #[track_caller]
    pub fn new(matrix: &'a M) -> Result<Self, LinalgError> {
        let n = square(matrix)?;
        let matrix = Operand::lower(matrix);
        let system = Arc::new(Dense::lower(n, &matrix.values())?);
        Ok(Self { matrix, system })
    }

    /// X with A·X = B. B may be a vector, or have several columns.
    ///
    /// # Errors
    ///
    /// When B has another number of rows than A.
    ///
    /// # Panics
    ///
    /// As [`external`](crate::external).
    #[track_caller]
    pub fn solve<B>(&self, b: &B) -> Result<B, LinalgError>
    where
        B: Matrix<Strategy = M::Strategy, Backend = M::Backend>,
    {
        solve::record(&self.system, &self.matrix, b)
    }

    /// ln det A. Each sweep computes A⁻¹ from the factor.
    ///
    /// # Panics
    ///
    /// As [`external`](crate::external).
    #[must_use]
    #[track_caller]
    pub fn ln_det(&self) -> Closed<M::Strategy> {
        let (n, lower) = self.factor();
        let logarithms = lower.iter().step_by(n + 1).fold(Number::<M>::zero(), |sum, pivot| sum + pivot.ln());
        let rule = || LnDet(Arc::clone(&self.system));
        only(entry(&[&self.matrix], &[logarithms + logarithms], rule))
    }

    /// L with A = L·Lᵀ, passive zeros above its diagonal.
    ///
    /// # Panics
    ///
    /// As [`external`](crate::external).
    #[must_use]
    #[track_caller]
    pub fn l(&self) -> M {
        let (n, lower) = self.factor();
        let values: Vec<_> = lower_places(n).map(|(i, j)| lower[j * n + i]).collect();
        let results = entry(&[&self.matrix], &values, || Factor(Arc::clone(&self.system)));
        let mut results = results.into_iter();
        let place = |k: usize| if k % n < k / n { Closed::default() } else { results.next().expect("a triangle") };
        M::from_entries(n, n, (0..n * n).map(place).collect())
    }

    /// n, and L.
    fn factor(&self) -> (usize, &[Number<M>]) {
        lower_of(&self.system)
    }
}

/// n, and L.
fn lower_of<V: Float, B: Backend<V>>(system: &Dense<V, B>) -> (usize, &[V]) {
    let Dense::Lower(n, lower) = system else { unreachable!("the factor is lower triangular") };
    (*n, lower)
}

/// The lower triangle of a square matrix with half of its diagonal, and zeros above it.
fn half_lower<V: Float>(n: usize, matrix: &mut [V]) {
    let half = (V::one() + V::one()).recip();
    for (k, entry) in matrix.iter_mut().enumerate() {
        if k % n == k / n {
            *entry = half * *entry;
        } else if k % n < k / n {
            *entry = V::zero();
        }
    }
}

fn transpose<V: Float>(n: usize, matrix: &[V]) -> Vec<V> {
    (0..n * n).map(|k| matrix[(k % n) * n + k / n]).collect()
}

/// The rule of the lower triangle of L.
struct Factor<V: Float, B: Backend<V>>(Arc<Dense<V, B>>);

impl<V: Float, B: Backend<V>> External<V> for Factor<V, B> {
    fn name(&self) -> String {
        String::from("Cholesky factor")
    }

    /// Ā is the symmetric part of L⁻ᵀ·Φ(Lᵀ·L̄)·L⁻¹, where Φ takes the lower triangle and half of the diagonal.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let (n, lower) = lower_of(&self.0);
        let mut seeds = vec![V::zero(); n * n];
        lower_places(n).zip(outputs).for_each(|((i, j), seed)| seeds[j * n + i] = *seed);
        let mut inner = times::<V, B>(Block::new(lower, n).t(), Block::new(&seeds, n));
        half_lower(n, &mut inner);
        B::solve_lower(n, lower, true, &mut inner);
        // (M·L⁻¹)ᵀ = L⁻ᵀ·Mᵀ; the symmetric part of a transpose is the same.
        let mut outer = transpose(n, &inner);
        B::solve_lower(n, lower, true, &mut outer);
        fold_lower(n, &outer, inputs);
        Ok(())
    }

    /// L̇ = L·Φ(L⁻¹·Ȧ·L⁻ᵀ).
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let (n, lower) = lower_of(&self.0);
        let mut moved = spread_lower(n, inputs);
        B::solve_lower(n, lower, false, &mut moved);
        let mut inner = transpose(n, &moved);
        B::solve_lower(n, lower, false, &mut inner);
        half_lower(n, &mut inner);
        let slopes = square_times::<V, B>(n, lower, &inner);
        lower_places(n).zip(outputs).for_each(|((i, j), slope)| *slope = slopes[j * n + i]);
        Ok(())
    }

    fn owned_bytes(&self) -> usize {
        share(&self.0)
    }
}
