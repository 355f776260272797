//! Symmetric positive definite matrices: A·X = B, ln det A, and the factor L with A = L·Lᵀ.

use super::backend::{Backend, Block};
use super::element::Element;
use super::error::LinalgError;
use super::lu::{LnDet, only};
use super::matrix::{self, Factorized, Lifted, Matrix, Operand, Unused, entry, square};
use super::multiply::square_times;
use super::multiply::times;
use super::solution;
use super::system::{Dense, fold_lower, lower_places, spread_lower};
use super::system::{System, share};
use crate::closed::Closed;
use std::sync::Arc;
use tapewright_strategies::{External, Number, SweepError};

/// A symmetric positive definite matrix with its Cholesky factor: the matrix is factorized once for all functions of
/// it.
///
/// Only the lower triangle is read, and only its variables are inputs: the functions are functions of the lower
/// triangle, and the derivative with respect to an entry below the diagonal counts its twin above the diagonal, too.
pub struct Cholesky<'a, M: Matrix> {
    matrix: Operand<'a, M::Strategy>,
    system: Arc<Factorized<M>>,
    unused: Unused<M::Strategy>,
}

impl<'a, M: Matrix> Cholesky<'a, M> {
    /// Factorizes the values of a matrix.
    ///
    /// # Errors
    ///
    /// When the matrix is not square, has an infinite or NaN entry in its lower triangle, or is not positive definite.
    #[track_caller]
    pub fn new(matrix: &'a M) -> Result<Self, LinalgError> {
        let n = square(matrix)?;
        let matrix = Operand::lower(matrix);
        let system = matrix::Number::<M>::lift(matrix.values(), &mut |triangle| Dense::lower(n, &triangle));
        let system = Arc::new(matrix.deciding(system)?);
        Ok(Self { unused: Unused::new(&matrix), matrix, system })
    }

    /// The matrix, for an entry that factorizes it again.
    fn matrix(&self) -> &Operand<'a, M::Strategy> {
        self.unused.use_it();
        &self.matrix
    }

    /// X with A·X = B. B may be a vector, or have several columns.
    ///
    /// # Errors
    ///
    /// When B has another number of rows than A.
    ///
    /// # Panics
    ///
    /// When [`external`](crate::external()) does.
    #[track_caller]
    pub fn solve<B>(&self, b: &B) -> Result<B, LinalgError>
    where
        B: Matrix<Strategy = M::Strategy, Backend = M::Backend>,
    {
        solution::record(&self.system, self.matrix(), b)
    }

    /// ln det A. Each sweep computes A⁻¹ from the factor.
    ///
    /// # Panics
    ///
    /// When [`external`](crate::external()) does.
    #[must_use]
    #[track_caller]
    pub fn ln_det(&self) -> Closed<M::Strategy> {
        let (value, _) = matrix::Number::<M>::ln_det::<M::Backend>(&self.system);
        only(entry(&[self.matrix()], &[value], || LnDet::<_, M::Backend>::of(&self.system)))
    }

    /// L with A = L·Lᵀ, passive zeros above its diagonal.
    ///
    /// # Panics
    ///
    /// When [`external`](crate::external()) does.
    #[must_use]
    #[track_caller]
    pub fn l(&self) -> M {
        let (n, lower) = (self.system.rows(), matrix::Number::<M>::lower::<M::Backend>(&self.system));
        let values: Vec<_> = lower_places(n).map(|(i, j)| lower[j * n + i]).collect();
        let results = entry(&[self.matrix()], &values, || Factor::<_, M::Backend>(Arc::clone(&self.system)));
        let mut results = results.into_iter();
        let place = |k: usize| if k % n < k / n { Closed::default() } else { results.next().expect("a triangle") };
        M::from_entries(n, n, (0..n * n).map(place).collect())
    }
}

/// The lower triangle of a square matrix with half of its diagonal, and zeros above it.
fn half_lower<V: Number>(n: usize, matrix: &mut [V]) {
    let half = V::from_f64(0.5);
    for (k, entry) in matrix.iter_mut().enumerate() {
        if k % n == k / n {
            *entry = half * *entry;
        } else if k % n < k / n {
            *entry = V::ZERO;
        }
    }
}

fn transpose<V: Number>(n: usize, matrix: &[V]) -> Vec<V> {
    (0..n * n).map(|k| matrix[(k % n) * n + k / n]).collect()
}

/// L̇ = L·Φ(L⁻¹·Ȧ·L⁻ᵀ), given L and the lower triangle of Ȧ, where Φ takes the lower triangle and half of the diagonal.
pub(super) fn moved_factor<V: Element, B: Backend<V::Scalar>>(n: usize, lower: &[V], triangle: &[V]) -> Vec<V> {
    let mut moved = spread_lower(n, triangle);
    V::solve_lower::<B>(n, lower, false, &mut moved);
    let mut inner = transpose(n, &moved);
    V::solve_lower::<B>(n, lower, false, &mut inner);
    half_lower(n, &mut inner);
    let mut slopes = square_times::<V, B>(n, lower, &inner);
    // Libraries may leave rounding errors in place of zeros.
    slopes.iter_mut().enumerate().filter(|(k, _)| k % n < k / n).for_each(|(_, slope)| *slope = V::ZERO);
    slopes
}

/// The rule of the lower triangle of L.
struct Factor<V: Element, B: Backend<V::Scalar>>(Arc<Lifted<V, B>>);

impl<V: Element, B: Backend<V::Scalar>> External<V> for Factor<V, B> {
    fn name(&self) -> String {
        String::from("Cholesky factor")
    }

    /// Ā is the symmetric part of L⁻ᵀ·Φ(Lᵀ·L̄)·L⁻¹, where Φ takes the lower triangle and half of the diagonal.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let (n, lower) = (self.0.rows(), V::lower::<B>(&self.0));
        let mut seeds = vec![V::ZERO; n * n];
        lower_places(n).zip(outputs).for_each(|((i, j), seed)| seeds[j * n + i] = *seed);
        let mut inner = times::<V, B>(Block::new(&lower, n).t(), Block::new(&seeds, n));
        half_lower(n, &mut inner);
        V::solve_lower::<B>(n, &lower, true, &mut inner);
        // (M·L⁻¹)ᵀ = L⁻ᵀ·Mᵀ; the symmetric part of a transpose is the same.
        let mut outer = transpose(n, &inner);
        V::solve_lower::<B>(n, &lower, true, &mut outer);
        fold_lower(n, &outer, inputs);
        Ok(())
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let (n, lower) = (self.0.rows(), V::lower::<B>(&self.0));
        let slopes = moved_factor::<V, B>(n, &lower, inputs);
        lower_places(n).zip(outputs).for_each(|((i, j), slope)| *slope = slopes[j * n + i]);
        Ok(())
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let refused = |error| SweepError::rule("Cholesky factor", error);
        self.0 = System::<V>::of_other(&self.0, inputs).map_err(refused)?;
        let (n, lower) = (self.0.rows(), V::lower::<B>(&self.0));
        lower_places(n).zip(outputs).for_each(|((i, j), output)| *output = lower[j * n + i]);
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        share(&self.0)
    }
}
