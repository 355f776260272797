//! The pseudo-inverse, and least squares.

use super::record::{add, filled, record, three, tolerance, turned};
use super::svd::{Svd, rank};
use crate::linalg::backend::{Backend, Block};
use crate::linalg::eigen::is_large;
use crate::linalg::element::{At, Element, Plain, Smooth};
use crate::linalg::error::LinalgError;
use crate::linalg::matrix::{Matrix, Operand, right};
use crate::linalg::multiply::times;
use crate::linalg::product::product;
use crate::linalg::system::identity;
use tapewright_strategies::Number as _;

/// A⁺, the pseudo-inverse (Moore and Penrose) of a matrix of any shape and rank, as one entry.
///
/// Singular values up to `tolerance` times the largest count as 0, and those up to max(m, n)·ε in any case. Where the
/// rank does not change, the derivative is that of Golub and Pereyra (SIAM J. Numer. Anal. 10 (1973) 413–432):
/// −A⁺·Ȧ·A⁺ + A⁺·A⁺ᵀ·Ȧᵀ·(1 − A·A⁺) + (1 − A⁺·A)·Ȧᵀ·A⁺ᵀ·A⁺. No differences of singular values are in it, so it is as
/// exact where they coincide as elsewhere.
///
/// A matrix without full rank has a derivative only along directions that keep the rank. Forward mode and duals refuse
/// others. A sweep does not know the direction: it finds the derivative along all that keep the rank.
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::DMatrix;
/// use tapewright::{Closed, linalg::pseudo_inverse, prelude::*};
///
/// let corner = |x: &[Real<Jacobian>]| {
///     let a = DMatrix::from_row_slice(2, 2, Closed::wrap_slice(x));
///     pseudo_inverse(&a, 1e-12).expect("finite")[(0, 1)].open()
/// };
/// // (A⁺)₀₁ of ⎡1 x⎤ is −x/2.
/// //           ⎣0 2⎦
/// assert!((gradient(corner, &[1.0, 0.0, 0.0, 2.0])[1] + 0.5).abs() < 1e-15);
/// # }
/// ```
///
/// # Errors
///
/// When the matrix is empty or not finite, the tolerance is not at least 0 and below 1, the decomposition does not
/// converge, and when all entries are 0 and one of them moves: [`LinalgError::Rank`].
///
/// # Panics
///
/// As [`external`](crate::external()).
#[track_caller]
pub fn pseudo_inverse<M: Matrix>(matrix: &M, tolerance: f64) -> Result<M, LinalgError> {
    let (rows, columns) = filled(matrix)?;
    let function = PseudoInverse { rows, columns, tolerance: self::tolerance(tolerance)? };
    Ok(M::from_entries(columns, rows, record::<_, M>(function, &Operand::matrix(matrix))?))
}

/// X of least norm among those for which |A·X − B| is least: A⁺·B, with A of any shape and rank. Two entries:
/// [`pseudo_inverse`], and a product.
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::{DMatrix, DVector};
/// use tapewright::{Closed, linalg::least_squares, prelude::*};
///
/// // The slope of the line through (−1, y₀), (0, y₁), (1, y₂) that fits best: (y₂ − y₀)/2.
/// let slope = |y: &[Real<Jacobian>]| {
///     let a = DMatrix::from_row_slice(3, 2, &[1, -1, 1, 0, 1, 1].map(Closed::from));
///     let y = DVector::from_column_slice(Closed::wrap_slice(y));
///     least_squares(&a, &y, 1e-12).expect("finite")[1].open()
/// };
/// let found = gradient(slope, &[1.0, 2.0, 5.0]);
/// assert!(found.iter().zip([-0.5, 0.0, 0.5]).all(|(found, right)| (found - right).abs() < 1e-15));
/// # }
/// ```
///
/// # Errors
///
/// As [`pseudo_inverse`], and when B has another number of rows than A.
///
/// # Panics
///
/// As [`external`](crate::external()).
#[track_caller]
pub fn least_squares<A, B>(a: &A, b: &B, tolerance: f64) -> Result<B, LinalgError>
where
    A: Matrix,
    B: Matrix<Strategy = A::Strategy, Backend = A::Backend>,
{
    right(filled(a)?.0, b)?;
    product(&pseudo_inverse(a, tolerance)?, b)
}

/// A⁺. Found are X = A⁺, the projections N = 1 − A·X and M = 1 − X·A, and the rank.
struct PseudoInverse {
    rows: usize,
    columns: usize,
    tolerance: f64,
}

impl PseudoInverse {
    /// X, N and M.
    fn parts<'a, V>(&self, found: &'a [V]) -> [Block<'a, V>; 3] {
        let (x, rest) = found.split_at(self.rows * self.columns);
        let (n, m) = rest.split_at(self.rows * self.rows);
        [
            Block::new(x, self.columns),
            Block::new(n, self.rows),
            Block::new(&m[..self.columns * self.columns], self.columns),
        ]
    }
}

/// 1 − U·Uᵀ for so many orthonormal vectors of n entries; exactly 0 if they are a basis.
fn rest<V: Element, B: Backend<V::Scalar>>(n: usize, vectors: &[V]) -> Vec<V> {
    let mut rest = vec![V::ZERO; n * n];
    if vectors.len() < n * n {
        rest = identity(n);
        V::multiply::<B>(-1.0, Block::new(vectors, n), Block::new(vectors, n).t(), &mut rest);
    }
    rest
}

/// P·C·X·Xᵀ for a projection P, from left to right, since X·Xᵀ may overflow; 0 if P is.
fn outside<V: Element, B: Backend<V::Scalar>>(p: Block<'_, V>, c: Block<'_, V>, x: Block<'_, V>) -> Vec<V> {
    if p.numbers.iter().all(|entry| entry.is_nought()) {
        return vec![V::ZERO; p.rows * x.shape().0];
    }
    times::<V, B>(Block::new(&three::<V, B>(p, c, x), p.rows), x.t())
}

/// −(P + Pᵀ) for a part P: the change of a projection.
fn projection<V: Element>(n: usize, part: &[V]) -> Vec<V> {
    let mut moved = vec![V::ZERO; n * n];
    add(&mut moved, -1.0, part);
    add(&mut moved, -1.0, &turned(n, part));
    moved
}

impl Smooth for PseudoInverse {
    const NAME: &'static str = "pseudo-inverse";

    fn results(&self) -> usize {
        self.rows * self.columns
    }

    fn floats<V: Plain + Element<Scalar = V>, B: Backend<V>>(&self, matrix: &[V]) -> Result<Vec<V>, LinalgError> {
        let (m, n) = (self.rows, self.columns);
        let Svd { mut left, mut right, values } = Svd::<V>::new::<B>(m, n, matrix)?;
        let rank = rank((m, n), &values, self.tolerance);
        left.truncate(rank * m);
        right.truncate(rank * n);
        let scaled: Vec<V> = right.iter().enumerate().map(|(k, v)| *v / values[k / n]).collect();
        let mut found = vec![V::ZERO; m * n];
        if rank > 0 {
            found = times::<V, B>(Block::new(&scaled, n), Block::new(&left, m).t());
        }
        found.extend(rest::<V, B>(m, &left));
        found.extend(rest::<V, B>(n, &right));
        found.push(if rank > 0 { V::ONE } else { V::ZERO });
        Ok(found)
    }

    fn differentiable<V: Element>(&self, found: &[V]) -> Result<(), LinalgError> {
        let regular = found[found.len() - 1];
        let empty = (0..V::LANES).any(|lane| regular.lane(lane).is_nought());
        if empty { Err(LinalgError::Rank { found: 0, needed: 1 }) } else { Ok(()) }
    }

    fn moved<V: Element, B: Backend<V::Scalar>>(
        &self,
        at: At<'_, V>,
        along: &[V],
        whole: bool,
    ) -> Result<Vec<V>, LinalgError> {
        let [x, n, m] = self.parts(at.found);
        let along = Block::new(along, self.rows);
        let jump = three::<V, B>(n, along, m);
        if jump.iter().any(|part| (0..V::LANES).any(|lane| is_large(lane, *part, along.numbers))) {
            return Err(LinalgError::RankChanges);
        }
        let mut moved = vec![V::ZERO; x.numbers.len()];
        add(&mut moved, -1.0, &three::<V, B>(x, along, x));
        add(&mut moved, 1.0, &turned(self.rows, &outside::<V, B>(n, along, x)));
        add(&mut moved, 1.0, &outside::<V, B>(m, along.t(), x.t()));
        if whole {
            moved.extend(projection(self.rows, &three::<V, B>(n, along, x)));
            moved.extend(projection(self.columns, &three::<V, B>(x, along, m)));
            moved.push(V::ZERO);
        }
        Ok(moved)
    }

    /// Ā = −Xᵀ·X̄·Xᵀ + N·X̄ᵀ·X·Xᵀ + Xᵀ·X·X̄ᵀ·M.
    fn adjoints<V: Element, B: Backend<V::Scalar>>(&self, at: At<'_, V>, seeds: &[V]) -> Result<Vec<V>, LinalgError> {
        let [x, n, m] = self.parts(at.found);
        let seeds = Block::new(seeds, self.columns);
        let mut adjoints = vec![V::ZERO; at.matrix.len()];
        add(&mut adjoints, -1.0, &three::<V, B>(x.t(), seeds, x.t()));
        add(&mut adjoints, 1.0, &outside::<V, B>(n, seeds.t(), x));
        add(&mut adjoints, 1.0, &turned(self.columns, &outside::<V, B>(m, seeds, x.t())));
        Ok(adjoints)
    }
}
