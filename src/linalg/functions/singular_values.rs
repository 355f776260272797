//! Singular values.

use super::record::{epsilon, filled, outside, record, values};
use super::svd::Svd;
use crate::closed::Closed;
use crate::linalg::backend::{Backend, Block};
use crate::linalg::eigen::{CLOSE, is_large};
use crate::linalg::element::{At, Element, Plain, Smooth};
use crate::linalg::error::LinalgError;
use crate::linalg::matrix::{Matrix, Operand};
use crate::linalg::multiply::times;

/// The singular values of a matrix of any shape, in descending order, as one entry, whose rule keeps the singular
/// vectors.
///
/// # Singular values that coincide or are 0
///
/// A singular value has a derivative where it is not 0 and no other one coincides with it, which means here: where its
/// distance from the others, and from 0, is more than √ε of the largest. Closer ones have no derivative one by one, or
/// one that cannot be found. A sweep finds the derivative of functions that treat coinciding values alike (their
/// adjoints are equal, up to √ε of the largest), as their sum does, and do not depend on those that are 0. Other sweeps
/// are errors. Forward mode refuses directions along which they part, and over duals they are an error if the matrix
/// moves.
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::DMatrix;
/// use tapewright::{Closed, linalg::singular_values, prelude::*};
///
/// let largest = |x: &[Real<Jacobian>]| {
///     let a = DMatrix::from_row_slice(2, 2, Closed::wrap_slice(x));
///     singular_values(&a).expect("finite")[0].open()
/// };
/// let slopes = gradient(largest, &[0.0, 2.0, -3.0, 0.0]);
/// assert!(slopes.iter().zip([0.0, 0.0, -1.0, 0.0]).all(|(found, right)| (found - right).abs() < 1e-14));
/// # }
/// ```
///
/// # Errors
///
/// When the matrix is empty or not finite, or the decomposition does not converge; over duals, when singular values
/// coincide or are 0 and the matrix has a tangent that is not 0: [`LinalgError::SingularValuesCoincide`],
/// [`LinalgError::SingularValueZero`].
///
/// # Panics
///
/// As [`external`](crate::external()).
#[track_caller]
pub fn singular_values<M: Matrix>(matrix: &M) -> Result<Vec<Closed<M::Strategy>>, LinalgError> {
    let (rows, columns) = filled(matrix)?;
    record::<_, M>(SingularValues { rows, columns }, &Operand::matrix(matrix))
}

/// Found are the singular values, U and V.
struct SingularValues {
    rows: usize,
    columns: usize,
}

impl SingularValues {
    const fn count(&self) -> usize {
        if self.rows < self.columns { self.rows } else { self.columns }
    }

    fn parts<'a, V>(&self, found: &'a [V]) -> (&'a [V], Block<'a, V>, Block<'a, V>) {
        let (singular, rest) = found.split_at(self.count());
        let (u, v) = rest.split_at(self.rows * self.count());
        (singular, Block::new(u, self.rows), Block::new(v, self.columns))
    }

    /// Asks, in each lane, for each pair of singular values that coincide, and for each that is 0, if that is an error.
    fn close<V: Element>(
        singular: &[V],
        apart: impl Fn(usize, usize, usize) -> bool,
        moves: impl Fn(usize, usize) -> bool,
    ) -> Result<(), LinalgError> {
        for lane in 0..V::LANES {
            let values = values(singular, lane);
            let near = CLOSE * epsilon::<V>().sqrt() * values[0];
            for (second, value) in values.iter().enumerate() {
                if *value <= near && moves(lane, second) {
                    return Err(LinalgError::SingularValueZero { index: second });
                }
                for (first, other) in values[..second].iter().enumerate() {
                    if *value > near && other - value <= near && apart(lane, first, second) {
                        return Err(LinalgError::SingularValuesCoincide { first, second });
                    }
                }
            }
        }
        Ok(())
    }

    /// U̇ = U·P + (1 − U·Uᵀ)·C·Σ⁻¹ with P = −Pᵀ, given C = Ȧ·V.
    fn vectors<V: Element, B: Backend<V::Scalar>>(u: Block<'_, V>, singular: &[V], turn: &[V], c: &[V]) -> Vec<V> {
        let k = singular.len();
        let mut moved = times::<V, B>(u, Block::new(turn, k));
        if u.rows > k {
            let outside = outside::<V, B>(u, c);
            let scaled = outside.iter().enumerate().map(|(i, entry)| *entry / singular[i / u.rows]);
            moved.iter_mut().zip(scaled).for_each(|(moved, part)| *moved += part);
        }
        moved
    }
}

impl Smooth for SingularValues {
    const NAME: &'static str = "singular values";

    fn results(&self) -> usize {
        self.count()
    }

    fn floats<V: Plain + Element<Scalar = V>, B: Backend<V>>(&self, matrix: &[V]) -> Result<Vec<V>, LinalgError> {
        let Svd { left, right, values: mut found } = Svd::<V>::new::<B>(self.rows, self.columns, matrix)?;
        found.extend(left);
        found.extend(right);
        Ok(found)
    }

    /// With M = Uᵀ·Ȧ·V the singular values move by its diagonal, U and V inside of their spaces by P and Q, where
    /// (P + Q)ᵢⱼ = (Mᵢⱼ + Mⱼᵢ)/(σⱼ − σᵢ) and (P − Q)ᵢⱼ = (Mᵢⱼ − Mⱼᵢ)/(σⱼ + σᵢ).
    fn moved<V: Element, B: Backend<V::Scalar>>(
        &self,
        at: At<'_, V>,
        along: &[V],
        whole: bool,
    ) -> Result<Vec<V>, LinalgError> {
        let (k, (singular, u, v)) = (self.count(), self.parts(at.found));
        let along = Block::new(along, self.rows);
        let right = times::<V, B>(along, v);
        let m = times::<V, B>(u.t(), Block::new(&right, self.rows));
        let entry = |i: usize, j: usize| m[j * k + i];
        let apart = |lane: usize, i: usize, j: usize| {
            let parts = [entry(i, j) + entry(j, i), entry(i, i) - entry(j, j)];
            whole || parts.iter().any(|part| is_large(lane, *part, &m))
        };
        Self::close(singular, apart, |lane, i| whole || is_large_in(lane, &m, k, i))?;
        let mut moved: Vec<V> = (0..k).map(|i| entry(i, i)).collect();
        if whole {
            let half = V::from_f64(0.5);
            let mut turns = [vec![V::ZERO; k * k], vec![V::ZERO; k * k]];
            for (i, j) in (0..k).flat_map(|j| (0..j).map(move |i| (i, j))) {
                let sum = half * (entry(i, j) + entry(j, i)) / (singular[j] - singular[i]);
                let difference = half * (entry(i, j) - entry(j, i)) / (singular[j] + singular[i]);
                for (turn, angle) in turns.iter_mut().zip([sum + difference, sum - difference]) {
                    turn[j * k + i] = angle;
                    turn[i * k + j] = -angle;
                }
            }
            let left = times::<V, B>(along.t(), u);
            moved.extend(Self::vectors::<V, B>(u, singular, &turns[0], &right));
            moved.extend(Self::vectors::<V, B>(v, singular, &turns[1], &left));
        }
        Ok(moved)
    }

    /// Ā = U·diag(σ̄)·Vᵀ.
    fn adjoints<V: Element, B: Backend<V::Scalar>>(&self, at: At<'_, V>, seeds: &[V]) -> Result<Vec<V>, LinalgError> {
        let (singular, u, v) = self.parts(at.found);
        let differ = |lane: usize, i: usize, j: usize| is_large(lane, seeds[i] - seeds[j], seeds);
        Self::close(singular, differ, |lane, i| is_large(lane, seeds[i], seeds))?;
        let scaled: Vec<V> = u.numbers.iter().enumerate().map(|(k, u)| *u * seeds[k / self.rows]).collect();
        Ok(times::<V, B>(Block::new(&scaled, self.rows), v.t()))
    }
}

/// Returns true if a row or a column of M is large: then a singular value that is 0 leaves it.
fn is_large_in<V: Element>(lane: usize, m: &[V], k: usize, i: usize) -> bool {
    is_large(lane, m[i * k + i], m)
}
