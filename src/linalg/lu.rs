//! Square matrices: A·X = B, ln |det A|, A⁻¹.

use super::backend::{Backend, Block};
use super::element::Element;
use super::error::LinalgError;
use super::matrix::{self, Factorized, Lifted, Matrix, Operand, Unused, entry, square};
use super::multiply::square_times;
use super::multiply::times;
use super::solution;
use super::system::{Dense, identity};
use super::system::{System, share};
use crate::closed::Closed;
use core::marker::PhantomData;
use std::sync::Arc;
use tapewright_strategies::{External, Number, SweepError, same};

/// A square matrix with its factors P·A = L·U: the matrix is factorized once for all functions of it.
///
/// Each of the functions records one entry, whose inputs are the entries of the matrix. All entries share the factors,
/// n² values.
pub struct Lu<'a, M: Matrix> {
    matrix: Operand<'a, M::Strategy>,
    system: Arc<Factorized<M>>,
    unused: Unused<M::Strategy>,
}

impl<'a, M: Matrix> Lu<'a, M> {
    /// Factorizes the values of a matrix.
    ///
    /// # Errors
    ///
    /// When the matrix is not square, has an infinite or NaN entry, or is singular: when a pivot is exactly 0. A matrix
    /// that is nearly singular is solved, with the inexactness that this brings.
    #[track_caller]
    pub fn new(matrix: &'a M) -> Result<Self, LinalgError> {
        let n = square(matrix)?;
        let matrix = Operand::matrix(matrix);
        let system = matrix::Number::<M>::lift(matrix.values(), &mut |values| Dense::full(n, values));
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
    /// The rule keeps the factors, and X if A moves; each sweep solves with Aᵀ, and multiplies.
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

    /// ln |det A|, and the sign of the determinant, which is not a variable. Each sweep computes A⁻¹ from the factors.
    ///
    /// # Panics
    ///
    /// When [`external`](crate::external()) does.
    #[must_use]
    #[track_caller]
    pub fn ln_det(&self) -> (Closed<M::Strategy>, matrix::Number<M>) {
        let (value, sign) = matrix::Number::<M>::ln_det::<M::Backend>(&self.system);
        let results = entry(&[self.matrix()], &[value], || LnDet::<_, M::Backend>::of(&self.system));
        (only(results), sign)
    }

    /// A⁻¹. The rule keeps A⁻¹ itself, and no factors.
    ///
    /// To multiply with A⁻¹, [`solve`](Self::solve) is cheaper and more exact.
    ///
    /// # Panics
    ///
    /// When [`external`](crate::external()) does.
    #[must_use]
    #[track_caller]
    pub fn inverse(&self) -> M {
        let n = self.system.rows();
        let mut values = identity(n);
        self.system.solve(false, &mut values);
        let rule = || Inverse::<_, M::Backend> { n, y: values.clone(), backend: PhantomData };
        M::from_entries(n, n, entry(&[self.matrix()], &values, rule))
    }
}

/// The only output of an entry.
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
/// The errors of [`Lu::new`] and [`Lu::solve`].
///
/// # Panics
///
/// When [`external`](crate::external()) does.
#[track_caller]
pub fn solve<A, B>(a: &A, b: &B) -> Result<B, LinalgError>
where
    A: Matrix,
    B: Matrix<Strategy = A::Strategy, Backend = A::Backend>,
{
    Lu::new(a)?.solve(b)
}

/// Derivative of ln |det A| with respect to the entries of A that are inputs: A⁻ᵀ.
pub(super) fn ln_det_slope<V: Number, K: System<V>>(system: &K) -> Vec<V> {
    let mut inverse = identity(system.rows());
    system.solve(true, &mut inverse);
    system.fold(&inverse)
}

/// The rule of ln |det A|, with the sign of the determinant.
pub(super) struct LnDet<V: Element, B: Backend<V::Scalar>>(Arc<Lifted<V, B>>, V);

impl<V: Element, B: Backend<V::Scalar>> LnDet<V, B> {
    pub(super) fn of(system: &Arc<Lifted<V, B>>) -> Self {
        Self(Arc::clone(system), V::ln_det::<B>(system).1)
    }
}

impl<V: Element, B: Backend<V::Scalar>> External<V> for LnDet<V, B> {
    fn name(&self) -> String {
        String::from("ln det")
    }

    /// Ā += ȳ·A⁻ᵀ.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let slope = ln_det_slope(&*self.0);
        inputs.iter_mut().zip(slope).for_each(|(input, slope)| *input += outputs[0] * slope);
        Ok(())
    }

    /// ẏ = tr(A⁻¹·Ȧ).
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let slope = ln_det_slope(&*self.0);
        outputs[0] = slope.iter().zip(inputs).fold(V::ZERO, |sum, (slope, input)| sum + *slope * *input);
        Ok(())
    }

    /// Fails where the sign changes, which is a constant for who uses it.
    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let system = System::<V>::of_other(&self.0, inputs).map_err(|error| SweepError::rule("ln det", error))?;
        let (value, sign) = V::ln_det::<B>(&system);
        if !same(sign, self.1) {
            return Err(SweepError::rule("ln det", "the sign of the determinant has changed"));
        }
        (self.0, outputs[0]) = (system, value);
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        true
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

impl<V: Element, B: Backend<V::Scalar>> External<V> for Inverse<V, B> {
    fn name(&self) -> String {
        String::from("inverse")
    }

    /// Ā −= Yᵀ·Ȳ·Yᵀ.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let transposed = Block::new(&self.y, self.n).t();
        let first = times::<V, B>(transposed, Block::new(outputs, self.n));
        V::multiply::<B>(-1.0, Block::new(&first, self.n), transposed, inputs);
        Ok(())
    }

    /// Ẏ = −Y·Ȧ·Y.
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let first = square_times::<V, B>(self.n, &self.y, inputs);
        V::multiply::<B>(-1.0, Block::new(&first, self.n), Block::new(&self.y, self.n), outputs);
        Ok(())
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let n = self.n;
        let system = V::lift(inputs.to_vec(), &mut |values| Dense::<_, B>::full(n, values));
        let system = system.map_err(|error| SweepError::rule("inverse", error))?;
        self.y = identity(n);
        system.solve(false, &mut self.y);
        outputs.copy_from_slice(&self.y);
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        self.y.capacity() * size_of::<V>()
    }
}
