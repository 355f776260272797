//! Eigenvalues and eigenvectors of symmetric matrices.

use super::backend::{Backend, Block, times};
use super::dense::{fold_lower, spread_lower, square_times};
use super::error::LinalgError;
use super::matrix::{Matrix, Number, Operand, entry, finite, square};
use crate::closed::Closed;
use core::marker::PhantomData;
use tapewright_strategies::{External, Float, SweepError};

/// The eigenvalues of a symmetric matrix, in ascending order, as one entry that keeps the eigenvectors, n² numbers.
///
/// Only the lower triangle is read, and only its variables are inputs, as with [`Cholesky`](super::Cholesky).
///
/// # Eigenvalues that coincide
///
/// They have no derivative one by one; a function that treats them alike, such as their sum, has one. A sweep finds it
/// if the adjoints of eigenvalues that coincide are equal, up to √ε of the largest, and is [an
/// error](tapewright_strategies::SweepError::Rule) otherwise. Forward mode does not know what becomes of the
/// eigenvalues, and refuses directions along which those that coincide part. Eigenvalues coincide if they differ by at
/// most 64·n·ε of the largest absolute value.
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::DMatrix;
/// use tapewright::{Closed, linalg::symmetric_eigenvalues, prelude::*};
///
/// fn largest<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
///     let a = DMatrix::from_column_slice(2, 2, Closed::wrap_slice(x));
///     symmetric_eigenvalues(&a).expect("finite").pop().expect("two").open()
/// }
///
/// // 2 and 4 with (1, 1)/√2: half of each diagonal entry, and of the two others, which are one variable.
/// let slope = gradient::<Jacobian>(largest, &[3.0, 1.0, 1.0, 3.0]);
/// assert!(slope.iter().zip([0.5, 1.0, 0.0, 0.5]).all(|(found, by_hand)| (found - by_hand).abs() < 1e-15));
/// # }
/// ```
///
/// # Errors
///
/// When the matrix is not square, has an infinite or NaN entry in its lower triangle, or the iteration does not
/// converge.
///
/// # Panics
///
/// As [`external`](crate::external).
#[track_caller]
pub fn symmetric_eigenvalues<M: Matrix>(matrix: &M) -> Result<Vec<Closed<M::Strategy>>, LinalgError> {
    let operand = Operand::lower(matrix);
    let eigen = Eigen::<_, M::Backend>::new(square(matrix)?, &operand.values(), false)?;
    Ok(entry(&[&operand], &eigen.values.clone(), || eigen))
}

/// The eigenvalues of a symmetric matrix, in ascending order, and its orthonormal eigenvectors, as the columns of a
/// matrix. The entry of largest absolute value of each vector is positive, the first one if there are several.
///
/// As [`symmetric_eigenvalues`]. Where eigenvalues coincide, their eigenvectors are some basis. A sweep goes on if the
/// adjoints of the vectors say that the choice does not matter, up to √ε of the largest, and is an error otherwise;
/// forward mode refuses.
///
/// # Errors
///
/// As [`symmetric_eigenvalues`].
///
/// # Panics
///
/// As [`external`](crate::external).
#[track_caller]
#[allow(clippy::type_complexity, reason = "the types say what is returned")]
pub fn symmetric_eigen<M: Matrix>(matrix: &M) -> Result<(Vec<Closed<M::Strategy>>, M), LinalgError> {
    let n = square(matrix)?;
    let operand = Operand::lower(matrix);
    let eigen = Eigen::<Number<M>, M::Backend>::new(n, &operand.values(), true)?;
    let outputs: Vec<_> = eigen.values.iter().chain(&eigen.vectors).copied().collect();
    let mut values = entry(&[&operand], &outputs, || eigen);
    let vectors = values.split_off(n);
    Ok((values, M::from_entries(n, n, vectors)))
}

/// A·V = V·Λ. The inputs are the lower triangle of A, the outputs Λ, and V if it is asked for.
struct Eigen<V, B> {
    values: Vec<V>,
    vectors: Vec<V>,
    with_vectors: bool,
    backend: PhantomData<fn() -> B>,
}

impl<V: Float, B: Backend<V>> Eigen<V, B> {
    fn new(n: usize, triangle: &[V], with_vectors: bool) -> Result<Self, LinalgError> {
        let matrix = spread_lower(n, triangle);
        finite(n, &matrix)?;
        let found = if n == 0 { Some(Default::default()) } else { B::eigen(n, matrix) };
        let (values, vectors): (Vec<V>, Vec<V>) = found.ok_or(LinalgError::NoConvergence)?;
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|i, j| values[*i].partial_cmp(&values[*j]).expect("the matrix is finite"));
        let mut sorted = Vec::with_capacity(n * n);
        order.iter().for_each(|k| sorted.extend(upright(&vectors[k * n..][..n])));
        let values = order.iter().map(|k| values[*k]).collect();
        Ok(Self { values, vectors: sorted, with_vectors, backend: PhantomData })
    }

    fn vectors(&self) -> Block<'_, V> {
        Block::new(&self.vectors, self.values.len())
    }

    /// Whether two eigenvalues are one.
    fn coincide(&self, i: usize, j: usize) -> bool {
        let n = self.values.len();
        let near = V::from_f64(64.0) * V::from(n).unwrap_or_else(V::max_value) * V::epsilon();
        (self.values[i] - self.values[j]).abs() <= near * largest(&self.values)
    }

    /// An error, if so, about two eigenvalues that are one.
    fn refuse(&self, i: usize, j: usize, why: &str) -> SweepError {
        let message = format!("the eigenvalues {i} and {j} coincide ({}), and {why}", self.values[i]);
        SweepError::rule("symmetric eigenvalues", message)
    }

    /// Calls `f` with all pairs i < j of eigenvalues.
    fn pairs(&self, mut f: impl FnMut(usize, usize) -> Result<(), SweepError>) -> Result<(), SweepError> {
        let n = self.values.len();
        (0..n).try_for_each(|j| (0..j).try_for_each(|i| f(i, j)))
    }
}

/// The largest absolute value.
fn largest<V: Float>(numbers: &[V]) -> V {
    numbers.iter().fold(V::zero(), |most, number| most.max(number.abs()))
}

/// A vector with the sign that makes its largest entry positive.
fn upright<V: Float>(vector: &[V]) -> impl Iterator<Item = V> {
    let top = vector.iter().fold(V::zero(), |top, entry| if entry.abs() > top.abs() { *entry } else { top });
    let sign = if top < V::zero() { -V::one() } else { V::one() };
    vector.iter().map(move |entry| sign * *entry)
}

impl<V: Float, B: Backend<V>> External<V> for Eigen<V, B> {
    fn name(&self) -> String {
        String::from("symmetric eigenvalues")
    }

    /// Ā = V·(diag λ̄ + F∘(Vᵀ·V̄))·Vᵀ with Fᵢⱼ = 1/(λⱼ − λᵢ).
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let n = self.values.len();
        let (values, vectors) = outputs.split_at(n);
        let near = V::epsilon().sqrt();
        let mut inner = vec![V::zero(); n * n];
        values.iter().enumerate().for_each(|(k, seed)| inner[k * n + k] = *seed);
        self.pairs(|i, j| {
            let apart = (values[i] - values[j]).abs() > near * largest(values);
            if apart && self.coincide(i, j) {
                return Err(self.refuse(i, j, "have adjoints that differ: they have no derivative one by one"));
            }
            Ok(())
        })?;
        if self.with_vectors {
            let turns = times::<V, B>(self.vectors().t(), Block::new(vectors, n));
            self.pairs(|i, j| {
                // Only the difference tells how far the two vectors turn towards each other.
                let turn = turns[j * n + i] - turns[i * n + j];
                if !self.coincide(i, j) {
                    inner[j * n + i] = turn / (self.values[j] - self.values[i]);
                } else if turn.abs() > near * largest(&turns) {
                    return Err(self.refuse(i, j, "the result depends on the choice of their eigenvectors"));
                }
                Ok(())
            })?;
        }
        let outer = times::<V, B>(self.vectors(), Block::new(&inner, n));
        fold_lower(n, &times::<V, B>(Block::new(&outer, n), self.vectors().t()), inputs);
        Ok(())
    }

    /// λ̇ = diag M and V̇ = V·(F∘M), with M = Vᵀ·Ȧ·V.
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let n = self.values.len();
        let right = times::<V, B>(Block::new(&spread_lower(n, inputs), n), self.vectors());
        let mut moved = times::<V, B>(self.vectors().t(), Block::new(&right, n));
        let near = V::epsilon().sqrt() * largest(&moved);
        (0..n).for_each(|k| outputs[k] = moved[k * n + k]);
        self.pairs(|i, j| {
            let (split, apart) = (moved[j * n + i], moved[i * n + i] - moved[j * n + j]);
            let gap = self.values[j] - self.values[i];
            moved[j * n + i] = split / gap;
            moved[i * n + j] = -split / gap;
            match self.coincide(i, j) {
                true if self.with_vectors => Err(self.refuse(i, j, "their eigenvectors have no derivative")),
                true if split.abs() > near || apart.abs() > near => {
                    Err(self.refuse(i, j, "part along this direction: they have no derivative one by one"))
                }
                _ => Ok(()),
            }
        })?;
        if self.with_vectors {
            (0..n).for_each(|k| moved[k * n + k] = V::zero());
            outputs[n..].copy_from_slice(&square_times::<V, B>(n, &self.vectors, &moved));
        }
        Ok(())
    }

    fn owned_bytes(&self) -> usize {
        (self.values.capacity() + self.vectors.capacity()) * size_of::<V>()
    }
}
