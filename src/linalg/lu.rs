//! Square matrices: A·X = B, ln |det A|, A⁻¹.

use super::backend::{Backend, Block, Factors, times};
use super::dense::{Dense, identity, square_times};
use super::error::LinalgError;
use super::matrix::{Matrix, Number, Operand, entry, square};
use super::solve::{self, System, share};
use crate::closed::Closed;
use core::marker::PhantomData;
use std::sync::Arc;
use tapewright_strategies::num_traits::{One, Zero};
use tapewright_strategies::{External, Float, Number as _, SweepError};

/// A square matrix with its factors P·A = L·U, for everything that needs them: the matrix is factorised once.
///
/// Each of the functions records one entry, whose inputs are the entries of the matrix. All of them share the factors,
/// n² numbers.
pub struct Lu<'a, M: Matrix> {
    matrix: Operand<'a, M::Strategy>,
    system: Arc<Dense<Number<M>, M::Backend>>,
}

impl<'a, M: Matrix> Lu<'a, M> {
    /// Factorises the values of a matrix.
    ///
    /// # Errors
    ///
    /// When the matrix is not square, has an infinite or NaN entry, or is singular: when a pivot is exactly 0. One that
    /// is nearly so is solved, with the inexactness that comes of it.
    #[track_caller]
    pub fn new(matrix: &'a M) -> Result<Self, LinalgError> {
        let n = square(matrix)?;
        let matrix = Operand::matrix(matrix);
        let system = Arc::new(Dense::full(n, matrix.values())?);
        Ok(Self { matrix, system })
    }

    /// X with A·X = B. B may be a vector, or have several columns.
    ///
    /// Its rule keeps the factors, and X if A moves; each sweep solves with Aᵀ, and multiplies.
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

    /// ln |det A|, and the sign of the determinant, a number. Each sweep computes A⁻¹ from the factors.
    ///
    /// # Panics
    ///
    /// As [`external`](crate::external).
    #[must_use]
    #[track_caller]
    pub fn ln_det(&self) -> (Closed<M::Strategy>, Number<M>) {
        let Dense::Full(_, factors) = &*self.system else { unreachable!("the factors are L and U") };
        let pivots = factors.pivots();
        let value = pivots.iter().fold(Number::<M>::zero(), |sum, pivot| sum + pivot.abs().ln());
        let odd = pivots.iter().fold(factors.is_odd(), |odd, pivot| odd != (*pivot < Number::<M>::zero()));
        let results = entry(&[&self.matrix], &[value], || LnDet(Arc::clone(&self.system)));
        (only(results), if odd { -Number::<M>::one() } else { Number::<M>::one() })
    }

    /// A⁻¹. Its rule keeps A⁻¹ itself, and no factors.
    ///
    /// To multiply with A⁻¹, [`solve`](Self::solve) is cheaper and more exact.
    ///
    /// # Panics
    ///
    /// As [`external`](crate::external).
    #[must_use]
    #[track_caller]
    pub fn inverse(&self) -> M {
        let n = self.system.rows();
        let mut values = identity(n);
        self.system.solve(&mut values);
        let rule = || Inverse::<_, M::Backend> { n, y: values.clone(), backend: PhantomData };
        M::from_entries(n, n, entry(&[&self.matrix], &values, rule))
    }
}

/// The one output.
pub(super) fn only<T>(results: Vec<T>) -> T {
    results.into_iter().next().expect("an output for each value")
}

/// X with A·X = B as one entry: [`Lu::new`] and [`Lu::solve`].
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::{DMatrix, DVector};
/// use tapewright::{Closed, linalg::solve, prelude::*};
///
/// fn f<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
///     let x = Closed::wrap_slice(x);
///     let a = DMatrix::from_row_slice(2, 2, &x[..4]);
///     solve(&a, &DVector::from_column_slice(&x[4..])).expect("regular")[0].clone().open()
/// }
///
/// // The first unknown is (d·p − b·q) / (a·d − b·c).
/// let slope = gradient::<Jacobian>(f, &[0.0, 2.0, 4.0, 1.0, 6.0, 7.0]);
/// assert_eq!(slope[4..], [-0.125, 0.25]);
/// # }
/// ```
///
/// # Errors
///
/// As both.
///
/// # Panics
///
/// As [`external`](crate::external).
#[track_caller]
pub fn solve<A, B>(a: &A, b: &B) -> Result<B, LinalgError>
where
    A: Matrix,
    B: Matrix<Strategy = A::Strategy, Backend = A::Backend>,
{
    Lu::new(a)?.solve(b)
}

/// The rule of ln |det A|.
pub(super) struct LnDet<V: Float, B: Backend<V>>(pub(super) Arc<Dense<V, B>>);

impl<V: Float, B: Backend<V>> External<V> for LnDet<V, B> {
    fn name(&self) -> String {
        String::from("ln det")
    }

    /// Ā += ȳ·A⁻ᵀ.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let mut inverse = self.0.inverse_transposed();
        inverse.iter_mut().for_each(|entry| *entry = outputs[0] * *entry);
        self.0.fold(&inverse, inputs);
        Ok(())
    }

    /// ẏ = tr(A⁻¹·Ȧ).
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let mut moved = self.0.spread(inputs);
        self.0.solve(&mut moved);
        let diagonal = moved.iter().step_by(Dense::rows(&self.0) + 1);
        outputs[0] = diagonal.fold(V::zero(), |sum, entry| sum + *entry);
        Ok(())
    }

    fn owned_bytes(&self) -> usize {
        share(&self.0)
    }
}

/// The rule of Y = A⁻¹.
struct Inverse<V, B> {
    n: usize,
    y: Vec<V>,
    backend: PhantomData<fn() -> B>,
}

impl<V: Float, B: Backend<V>> External<V> for Inverse<V, B> {
    fn name(&self) -> String {
        String::from("inverse")
    }

    /// Ā −= Yᵀ·Ȳ·Yᵀ.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let transposed = Block::new(&self.y, self.n).t();
        let first = times::<V, B>(transposed, Block::new(outputs, self.n));
        B::multiply(-V::one(), Block::new(&first, self.n), transposed, inputs);
        Ok(())
    }

    /// Ẏ = −Y·Ȧ·Y.
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let first = square_times::<V, B>(self.n, &self.y, inputs);
        B::multiply(-V::one(), Block::new(&first, self.n), Block::new(&self.y, self.n), outputs);
        Ok(())
    }

    fn owned_bytes(&self) -> usize {
        self.y.capacity() * size_of::<V>()
    }
}
