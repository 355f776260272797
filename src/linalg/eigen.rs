//! Eigenvalues and eigenvectors of symmetric matrices.

use super::backend::{Backend, Block};
use super::element::Element;
use super::error::LinalgError;
use super::matrix::{self, Matrix, Operand, entry, square};
use super::multiply::square_times;
use super::multiply::times;
use super::system::{fold_lower, spread_lower};
use crate::closed::Closed;
use core::marker::PhantomData;
use tapewright_strategies::{External, Float, Number, SweepError};

/// The eigenvalues of a symmetric matrix, in ascending order, as one entry that keeps the eigenvectors, n² values.
///
/// Only the lower triangle is read, and only its variables are inputs, as with [`Cholesky`](super::Cholesky).
///
/// # Eigenvalues that coincide
///
/// Eigenvalues that coincide have no derivative one by one; a function that treats them alike, such as their sum, has
/// one. A sweep finds it if the adjoints of eigenvalues that coincide are equal, up to √ε of the largest, and is [an
/// error](tapewright_strategies::SweepError::Rule) otherwise. Forward mode does not know how the eigenvalues are used,
/// and refuses directions along which coinciding eigenvalues separate. Eigenvalues coincide if they differ by at most
/// √ε of the largest absolute value: rounding turns their eigenvectors by ε over the difference, and so the derivatives
/// of closer eigenvalues one by one would be right to less than half of their digits.
///
/// Over duals, where eigenvalues coincide, the matrix must not move along any tangent: the second derivative needs
/// derivatives of the eigenvectors.
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
/// converge; over duals, when eigenvalues coincide and the lower triangle has a tangent that is not 0.
///
/// # Panics
///
/// When [`external`](crate::external()) does.
#[track_caller]
pub fn symmetric_eigenvalues<M: Matrix>(matrix: &M) -> Result<Vec<Closed<M::Strategy>>, LinalgError> {
    let n = square(matrix)?;
    let operand = Operand::lower(matrix);
    let mut values = operand.deciding(matrix::Number::<M>::eigen::<M::Backend>(n, &operand.values()))?;
    let vectors = values.split_off(n);
    Ok(entry(&[&operand], &values, || Eigen::<_, M::Backend>::new(values.clone(), vectors, false)))
}

/// The eigenvalues of a symmetric matrix, in ascending order, and its orthonormal eigenvectors, as the columns of a
/// matrix. The entry of largest absolute value of each vector is positive, the first such entry if there are several.
///
/// The eigenvalues equal the result of [`symmetric_eigenvalues`]. Where eigenvalues coincide, their eigenvectors are
/// some basis. A sweep succeeds if the result does not depend on these vectors within their span, up to √ε of the
/// largest adjoint, and is an error otherwise, also where V·f(Λ)·Vᵀ is smooth: there 0/0 stands for f′, which the rule
/// cannot know. Take [`symmetric_function`](super::symmetric_function) for such results, and for projections. Forward
/// mode refuses.
///
/// # Errors
///
/// The errors of [`symmetric_eigenvalues`].
///
/// # Panics
///
/// When [`external`](crate::external()) does.
#[track_caller]
#[allow(clippy::type_complexity, reason = "the types say what is returned")]
pub fn symmetric_eigen<M: Matrix>(matrix: &M) -> Result<(Vec<Closed<M::Strategy>>, M), LinalgError> {
    let n = square(matrix)?;
    let operand = Operand::lower(matrix);
    let outputs = operand.deciding(matrix::Number::<M>::eigen::<M::Backend>(n, &operand.values()))?;
    let rule = || Eigen::<_, M::Backend>::new(outputs[..n].to_vec(), outputs[n..].to_vec(), true);
    let mut values = entry(&[&operand], &outputs, rule);
    let vectors = values.split_off(n);
    Ok((values, M::from_entries(n, n, vectors)))
}

/// Rule of A·V = V·Λ. The inputs are the lower triangle of A, the outputs Λ, and V if it is asked for.
pub(super) struct Eigen<V, B> {
    values: Vec<V>,
    vectors: Vec<V>,
    with_vectors: bool,
    backend: PhantomData<fn() -> B>,
}

/// Two eigenvalues that coincide, and the reason why that is an error.
pub(super) struct Pair {
    first: usize,
    second: usize,
    value: f64,
    why: &'static str,
}

impl Pair {
    pub(super) const fn error(&self) -> LinalgError {
        LinalgError::EigenvaluesCoincide { first: self.first, second: self.second }
    }
}

impl From<Pair> for SweepError {
    fn from(Pair { first, second, value, why }: Pair) -> Self {
        Self::rule(
            "symmetric eigenvalues",
            format!("the eigenvalues {first} and {second} coincide ({value}), and {why}"),
        )
    }
}

impl<V: Element, B: Backend<V::Scalar>> Eigen<V, B> {
    /// The rule with these eigenvalues and eigenvectors, column after column.
    pub(super) const fn new(values: Vec<V>, vectors: Vec<V>, with_vectors: bool) -> Self {
        Self { values, vectors, with_vectors, backend: PhantomData }
    }

    fn vectors(&self) -> Block<'_, V> {
        Block::new(&self.vectors, self.values.len())
    }

    /// Value of an eigenvalue in a lane.
    fn value(&self, lane: usize, k: usize) -> f64 {
        self.values[k].lane(lane).as_f64()
    }

    /// Returns true if two eigenvalues coincide in a lane: they are equal, or so close that their eigenvectors have
    /// lost half of their digits.
    fn coincide(&self, lane: usize, i: usize, j: usize) -> bool {
        let n = self.values.len();
        let largest = self.value(lane, 0).abs().max(self.value(lane, n - 1).abs());
        (self.value(lane, i) - self.value(lane, j)).abs() <= CLOSE * epsilon::<V>().sqrt() * largest
    }

    /// Calls `why`, for all lanes and all pairs i < j of eigenvalues that coincide, and fails with the reason if it
    /// returns one.
    fn coinciding(&self, why: impl Fn(usize, usize, usize) -> Option<&'static str>) -> Result<(), Pair> {
        let n = self.values.len();
        let ask = |lane: usize, first: usize, second: usize| {
            let why = self.coincide(lane, first, second).then(|| why(lane, first, second)).flatten();
            why.map_or(Ok(()), |why| Err(Pair { first, second, value: self.value(lane, first), why }))
        };
        (0..V::LANES).try_for_each(|lane| (0..n).try_for_each(|j| (0..j).try_for_each(|i| ask(lane, i, j))))
    }

    /// The quotient by λⱼ − λᵢ; 0 in lanes in which the two coincide.
    fn by_gap(&self, number: V, i: usize, j: usize) -> V {
        let gap = self.values[j] - self.values[i];
        V::from_lanes(|lane| if self.coincide(lane, i, j) { Number::ZERO } else { number.lane(lane) / gap.lane(lane) })
    }

    /// λ̇ = diag M and V̇ = V·(F∘M), with M = Vᵀ·Ȧ·V and Fᵢⱼ = 1/(λⱼ − λᵢ), for the lower triangle of Ȧ.
    pub(super) fn moved(&self, triangle: &[V]) -> Result<Vec<V>, Pair> {
        let n = self.values.len();
        let right = times::<V, B>(Block::new(&spread_lower(n, triangle), n), self.vectors());
        let mut moved = times::<V, B>(self.vectors().t(), Block::new(&right, n));
        self.coinciding(|lane, i, j| {
            let (split, apart) = (moved[j * n + i], moved[i * n + i] - moved[j * n + j]);
            if self.with_vectors && triangle.iter().any(|entry| !entry.lane(lane).is_nought()) {
                return Some("their eigenvectors have no derivative");
            }
            let part = is_large(lane, split, &moved) || is_large(lane, apart, &moved);
            part.then_some("part along this direction: they have no derivative one by one")
        })?;
        let mut slopes: Vec<V> = (0..n).map(|k| moved[k * n + k]).collect();
        if self.with_vectors {
            (0..n).for_each(|k| moved[k * n + k] = V::ZERO);
            for j in 0..n {
                for i in 0..j {
                    let turn = self.by_gap(moved[j * n + i], i, j);
                    moved[j * n + i] = turn;
                    moved[i * n + j] = -turn;
                }
            }
            slopes.extend(square_times::<V, B>(n, &self.vectors, &moved));
        }
        Ok(slopes)
    }

    /// Adjoints of all entries of A.
    fn adjoints(&self, outputs: &[V]) -> Result<Vec<V>, Pair> {
        let n = self.values.len();
        let (values, vectors) = outputs.split_at(n);
        let mut inner = vec![V::ZERO; n * n];
        values.iter().enumerate().for_each(|(k, seed)| inner[k * n + k] = *seed);
        self.coinciding(|lane, i, j| {
            let differ = is_large(lane, values[i] - values[j], values);
            differ.then_some("have adjoints that differ: they have no derivative one by one")
        })?;
        if self.with_vectors {
            let turns = times::<V, B>(self.vectors().t(), Block::new(vectors, n));
            // Only the difference tells how far the two vectors turn towards each other. Where it is 0 over 0, the
            // eigenvalues may have separated in a function of the matrix, V·f(Λ)·Vᵀ, which this rule does not know.
            let turn = |i: usize, j: usize| turns[j * n + i] - turns[i * n + j];
            self.coinciding(|lane, i, j| {
                let matters = [turns[j * n + i], turns[i * n + j]].iter().any(|part| is_large(lane, *part, &turns));
                matters.then_some(
                    "the result depends on the choice of their eigenvectors, or is a function of the matrix: \
                     see linalg::symmetric_function",
                )
            })?;
            (0..n).for_each(|j| (0..j).for_each(|i| inner[j * n + i] = self.by_gap(turn(i, j), i, j)));
        }
        let outer = times::<V, B>(self.vectors(), Block::new(&inner, n));
        Ok(times::<V, B>(Block::new(&outer, n), self.vectors().t()))
    }
}

/// Difference up to which values coincide, in √ε of the largest value. Rounding turns eigenvectors by ε over the
/// difference, so at larger differences they are right to √ε.
pub(super) const CLOSE: f64 = 1.0;

/// ε of the floats that a value consists of.
fn epsilon<V: Element>() -> f64 {
    <V::Scalar as Float>::epsilon().as_f64()
}

/// Returns true if a part of a value is larger in a lane than √ε of the largest such part of `of`, and is not a
/// rounding error of other parts.
pub(super) fn is_large<V: Element>(lane: usize, number: V, of: &[V]) -> bool {
    let part = |number: &V, k: usize| number.lane(lane).part(k).abs();
    let largest = |k: usize| of.iter().map(|number| part(number, k)).fold(0.0, f64::max);
    let rounding = 64.0 * epsilon::<V>() * (0..V::Lane::PARTS).map(largest).fold(0.0, f64::max);
    (0..V::Lane::PARTS).any(|k| part(&number, k) > rounding.max(epsilon::<V>().sqrt() * largest(k)))
}

impl<V: Element, B: Backend<V::Scalar>> External<V> for Eigen<V, B> {
    fn name(&self) -> String {
        String::from("symmetric eigenvalues")
    }

    /// Ā = V·(diag λ̄ + F∘(Vᵀ·V̄))·Vᵀ with Fᵢⱼ = 1/(λⱼ − λᵢ).
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        fold_lower(self.values.len(), &self.adjoints(outputs)?, inputs);
        Ok(())
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        outputs.copy_from_slice(&self.moved(inputs)?);
        Ok(())
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let n = self.values.len();
        let found = V::eigen::<B>(n, inputs).map_err(|error| SweepError::rule("symmetric eigenvalues", error))?;
        outputs.copy_from_slice(&found[..outputs.len()]);
        self.values.copy_from_slice(&found[..n]);
        self.vectors.copy_from_slice(&found[n..]);
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        (self.values.capacity() + self.vectors.capacity()) * size_of::<V>()
    }
}
