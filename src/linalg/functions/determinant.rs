//! The determinant, at singular matrices, too.

use super::record::filled;
use crate::closed::Closed;
use crate::linalg::element::Element;
use crate::linalg::error::LinalgError;
use crate::linalg::lu::only;
use crate::linalg::matrix::{Matrix, Operand, entry, square};
use std::collections::VecDeque;
use tapewright_strategies::{External, Float, SweepError};

/// The determinant of a square matrix as one entry, at singular matrices, too: its derivative is tr(adj(A)·Ȧ) with the
/// adjugate, which has no inverse in it.
///
/// The matrix is eliminated with complete pivoting, number by number, as far as it has pivots that are not 0. The rule
/// keeps the adjugate. For the logarithm of a determinant that may be too large or small for a number take
/// [`Lu::ln_det`](crate::linalg::Lu::ln_det).
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::DMatrix;
/// use tapewright::{Closed, linalg::determinant, prelude::*};
///
/// let det = |x: &[Real<Jacobian>]| {
///     determinant(&DMatrix::from_row_slice(2, 2, Closed::wrap_slice(x))).expect("finite").open()
/// };
/// assert_eq!(gradient(det, &[0.0, 0.0, 0.0, 1.0]), [1.0, 0.0, 0.0, 0.0]);
/// # }
/// ```
///
/// # Errors
///
/// When the matrix is empty, not square, or not finite.
///
/// # Panics
///
/// As [`external`](crate::external()).
#[track_caller]
pub fn determinant<M: Matrix>(matrix: &M) -> Result<Closed<M::Strategy>, LinalgError> {
    filled(matrix)?;
    let n = square(matrix)?;
    let operand = Operand::matrix(matrix);
    let (value, cofactors) = operand.deciding(of_numbers(n, &operand.values()))?;
    Ok(only(entry(&[&operand], &[value], || Determinant { cofactors })))
}

/// The determinant and the cofactors of a matrix, lane by lane.
fn of_numbers<V: Element>(n: usize, matrix: &[V]) -> Result<(V, Vec<V>), LinalgError> {
    let lane = |lane: usize| {
        let part: Vec<V::Lane> = matrix.iter().map(|entry| entry.lane(lane)).collect();
        if let Some(k) = part.iter().position(|entry| !entry.is_finite()) {
            return Err(LinalgError::NotFinite { row: k % n, column: k / n });
        }
        Ok(Eliminated::new(n, part).determinant())
    };
    let lanes = (0..V::LANES).map(lane).collect::<Result<Vec<_>, _>>()?;
    let cofactors = (0..n * n).map(|k| V::from_lanes(|lane| lanes[lane].1[k])).collect();
    Ok((V::from_lanes(|lane| lanes[lane].0), cofactors))
}

/// The rule: the slopes by all entries.
struct Determinant<V> {
    cofactors: Vec<V>,
}

impl<V: Element> External<V> for Determinant<V> {
    fn name(&self) -> String {
        String::from("determinant")
    }

    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        inputs.iter_mut().zip(&self.cofactors).for_each(|(input, slope)| *input += outputs[0] * *slope);
        Ok(())
    }

    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        outputs[0] = inputs.iter().zip(&self.cofactors).fold(V::ZERO, |sum, (input, slope)| sum + *input * *slope);
        Ok(())
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let found = of_numbers(inputs.len().isqrt(), inputs);
        (outputs[0], self.cofactors) = found.map_err(|error| SweepError::rule("determinant", error))?;
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        self.cofactors.capacity() * size_of::<V>()
    }
}

/// P·A·Q = L·D·U with unit triangles L and U. D is diagonal up to the rank; the block after it has the values 0, unless
/// it is the last entry alone.
struct Eliminated<L> {
    n: usize,
    /// L below the diagonal, D, and U above it.
    all: Vec<L>,
    rows: Vec<usize>,
    columns: Vec<usize>,
    odd: bool,
    rank: usize,
}

impl<L: Float> Eliminated<L> {
    fn new(n: usize, matrix: Vec<L>) -> Self {
        let indices: Vec<usize> = (0..n).collect();
        let mut this = Self { n, all: matrix, rows: indices.clone(), columns: indices, odd: false, rank: 0 };
        while this.rank + 1 < n && this.pivot() {
            this.eliminate();
            this.rank += 1;
        }
        this
    }

    fn at(&self, i: usize, j: usize) -> L {
        self.all[j * self.n + i]
    }

    /// Brings the largest entry that is left to its place; returns false if all are 0.
    fn pivot(&mut self) -> bool {
        let (n, k) = (self.n, self.rank);
        let size = |place: &(usize, usize)| self.at(place.0, place.1).as_f64().abs();
        let places = (k..n).flat_map(|j| (k..n).map(move |i| (i, j)));
        let Some((i, j)) = places.max_by(|a, b| size(a).total_cmp(&size(b))) else { return false };
        if size(&(i, j)) == 0.0 {
            return false;
        }
        (0..n).for_each(|column| self.all.swap(column * n + i, column * n + k));
        (0..n).for_each(|row| self.all.swap(j * n + row, k * n + row));
        self.rows.swap(i, k);
        self.columns.swap(j, k);
        self.odd ^= (i != k) != (j != k);
        true
    }

    fn eliminate(&mut self) {
        let (n, k) = (self.n, self.rank);
        let pivot = self.at(k, k);
        for i in k + 1..n {
            self.all[k * n + i] = self.at(i, k) / pivot;
        }
        for j in k + 1..n {
            let right = self.at(k, j);
            for i in k + 1..n {
                let product = self.at(i, k) * right;
                self.all[j * n + i] = self.at(i, j) - product;
            }
            self.all[j * n + k] = right / pivot;
        }
    }

    /// The determinant, and the cofactors of all entries.
    fn determinant(&self) -> (L, Vec<L>) {
        let (n, rank) = (self.n, self.rank);
        let size = n - rank;
        let block: Vec<L> = (0..size * size).map(|k| self.at(rank + k % size, rank + k / size)).collect();
        let (minor, cofactors) = of_block(size, &block);
        let pivots: Vec<L> = (0..rank).map(|k| self.at(k, k)).collect();
        let without = |skip: usize, by: L| {
            let others = pivots.iter().enumerate().filter(|(k, _)| *k != skip);
            product(others.map(|(_, pivot)| *pivot).chain([by]).collect())
        };
        // The adjugate of D.
        let mut adjugate = vec![L::ZERO; n * n];
        (0..rank).for_each(|k| adjugate[k * n + k] = without(k, minor));
        for (k, cofactor) in cofactors.iter().enumerate() {
            adjugate[(rank + k % size) * n + rank + k / size] = without(rank, *cofactor);
        }
        self.unfold(&mut adjugate);
        let sign = if self.odd { -L::ONE } else { L::ONE };
        let mut all = vec![L::ZERO; n * n];
        for (k, entry) in adjugate.iter().enumerate() {
            all[self.columns[k % n] * n + self.rows[k / n]] = sign * *entry;
        }
        (sign * without(rank, minor), all)
    }

    /// U⁻¹·X·L⁻¹ in the place of X.
    fn unfold(&self, x: &mut [L]) {
        let (n, rank) = (self.n, self.rank);
        for column in x.chunks_mut(n) {
            for i in (0..rank).rev() {
                column[i] = (i + 1..n).fold(column[i], |sum, k| sum - self.at(i, k) * column[k]);
            }
        }
        for j in (0..rank).rev() {
            for i in 0..n {
                x[j * n + i] = (j + 1..n).fold(x[j * n + i], |sum, k| sum - x[k * n + i] * self.at(k, j));
            }
        }
    }
}

/// A product in an order in which nothing over- or underflows on the way if the product does not: large factors while
/// it is small, and small ones while it is large.
fn product<L: Float>(mut factors: Vec<L>) -> L {
    let size = |factor: &L| factor.as_f64().abs();
    factors.sort_by(|a, b| size(a).total_cmp(&size(b)));
    let mut factors = VecDeque::from(factors);
    let mut product = L::ONE;
    while let Some(factor) = if size(&product) < 1.0 { factors.pop_back() } else { factors.pop_front() } {
        product = product * factor;
    }
    product
}

/// The determinant and the cofactors of a block that is one entry, or whose values are 0: products of more of its
/// entries than tangents are nested are 0.
fn of_block<L: Float>(n: usize, block: &[L]) -> (L, Vec<L>) {
    if n == 1 {
        return (block[0], vec![L::ONE]);
    }
    if n > L::ORDER + 1 {
        return (L::ZERO, vec![L::ZERO; n * n]);
    }
    let cofactor = |k: usize| {
        let (row, column) = (k % n, k / n);
        let places = (0..n * n).filter(|k| k % n != row && k / n != column);
        let minor: Vec<L> = places.map(|k| block[k]).collect();
        let minor = of_block(n - 1, &minor).0;
        if (row + column) % 2 == 0 { minor } else { -minor }
    };
    let cofactors: Vec<L> = (0..n * n).map(cofactor).collect();
    let determinant = (0..n).fold(L::ZERO, |sum, i| sum + block[i] * cofactors[i]);
    (determinant, cofactors)
}
