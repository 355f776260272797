//! The orthogonal matrix and the rotation next to a matrix.

use super::record::{add, filled, outside, record, tangents_alone, three, tolerance, transpose, turned};
use super::svd::{Svd, rank};
use crate::linalg::backend::{Backend, Block, Factors};
use crate::linalg::element::{At, Element, Plain, Smooth};
use crate::linalg::error::LinalgError;
use crate::linalg::matrix::{Matrix, Operand, square};
use crate::linalg::multiply::times;

/// The matrix with orthonormal columns next to a matrix A of full rank, or with orthonormal rows, if it is wide: the
/// polar factor U·Vᵀ of A = U·Σ·Vᵀ, as one entry (Higham, Functions of Matrices, chapter 8).
///
/// The derivative divides by sums of two singular values, and by no difference: it is right where they coincide.
/// Singular values up to `tolerance` times the largest count as 0.
///
/// ```
/// # #[cfg(feature = "nalgebra")] {
/// use nalgebra::DMatrix;
/// use tapewright::{Closed, linalg::nearest_orthogonal, prelude::*};
///
/// let corner = |x: &[Real<Jacobian>]| {
///     let a = DMatrix::from_row_slice(2, 2, Closed::wrap_slice(x));
///     nearest_orthogonal(&a, 1e-12).expect("regular")[(0, 1)].open()
/// };
/// // At the identity it moves by (Ȧ − Ȧᵀ)/2.
/// assert_eq!(gradient(corner, &[1.0, 0.0, 0.0, 1.0]), [0.0, 0.5, -0.5, 0.0]);
/// # }
/// ```
///
/// # Errors
///
/// When the matrix is empty or not finite, has not full rank ([`LinalgError::Rank`]), the tolerance is not at least 0
/// and below 1, or the decomposition does not converge.
///
/// # Panics
///
/// As [`external`](crate::external()).
#[track_caller]
pub fn nearest_orthogonal<M: Matrix>(matrix: &M, tolerance: f64) -> Result<M, LinalgError> {
    let (rows, columns) = filled(matrix)?;
    if rows < columns {
        return Ok(transpose(&nearest_orthogonal(&transpose(matrix), tolerance)?));
    }
    let function = Polar { rows, columns, tolerance: self::tolerance(tolerance)?, rotation: false };
    Ok(M::from_entries(rows, columns, record::<_, M>(function, &Operand::matrix(matrix))?))
}

/// The rotation next to a square matrix: the orthogonal matrix with determinant 1 whose difference from it has the
/// least sum of squares (Umeyama, IEEE Trans. PAMI 13 (1991) 376–380), as one entry.
///
/// Unlike with [`nearest_orthogonal`], a singular value may be 0, as it is for points in a plane. The determinant may
/// be negative, if the two smallest singular values then differ by more than `tolerance` times the largest.
///
/// # Errors
///
/// As [`nearest_orthogonal`], when the matrix is not square, and when the rotation is not determined:
/// [`LinalgError::RotationUndetermined`].
///
/// # Panics
///
/// As [`external`](crate::external()).
#[track_caller]
pub fn nearest_rotation<M: Matrix>(matrix: &M, tolerance: f64) -> Result<M, LinalgError> {
    filled(matrix)?;
    let n = square(matrix)?;
    let function = Polar { rows: n, columns: n, tolerance: self::tolerance(tolerance)?, rotation: true };
    Ok(M::from_entries(n, n, record::<_, M>(function, &Operand::matrix(matrix))?))
}

/// A = R·H with H symmetric. Found are R, H, H⁻¹ if A is not square, and the eigenvectors V and eigenvalues of the
/// value of H.
struct Polar {
    rows: usize,
    columns: usize,
    tolerance: f64,
    rotation: bool,
}

/// The parts of what is found.
struct Parts<'a, V> {
    r: Block<'a, V>,
    h: Block<'a, V>,
    inverse: Block<'a, V>,
    vectors: Block<'a, V>,
    stretches: &'a [V],
}

impl Polar {
    fn parts<'a, V>(&self, found: &'a [V]) -> Parts<'a, V> {
        let (m, n) = (self.rows, self.columns);
        let (r, rest) = found.split_at(m * n);
        let (h, rest) = rest.split_at(n * n);
        let (inverse, rest) = rest.split_at(if m == n { 0 } else { n * n });
        let (vectors, stretches) = rest.split_at(n * n);
        let block = |numbers| Block::new(numbers, n);
        Parts { r: Block::new(r, m), h: block(h), inverse: block(inverse), vectors: block(vectors), stretches }
    }

    /// W with H·W + W·H = C, for a matrix C = −Cᵀ.
    fn turn<V: Element, B: Backend<V::Scalar>>(&self, parts: &Parts<'_, V>, right: &[V]) -> Vec<V> {
        let (n, v) = (self.columns, parts.vectors);
        let with_values = |right: &[V]| {
            let mut inner = three::<V, B>(v.t(), Block::new(right, n), v);
            for (k, entry) in inner.iter_mut().enumerate() {
                let (i, j) = (k % n, k / n);
                *entry = if i == j { V::ZERO } else { *entry / (parts.stretches[i] + parts.stretches[j]) };
            }
            three::<V, B>(v, Block::new(&inner, n), v.t())
        };
        let mut found = with_values(right);
        if V::ORDER > 0 {
            // Each round is right in one order of tangents more.
            let nil = tangents_alone(parts.h.numbers);
            for _ in 0..V::ORDER {
                let mut rest = right.to_vec();
                V::multiply::<B>(-1.0, Block::new(&nil, n), Block::new(&found, n), &mut rest);
                V::multiply::<B>(-1.0, Block::new(&found, n), Block::new(&nil, n), &mut rest);
                found = with_values(&rest);
            }
        }
        found
    }
}

/// C − Cᵀ.
fn skew<V: Element>(n: usize, matrix: &[V]) -> Vec<V> {
    let mut skew = matrix.to_vec();
    add(&mut skew, -1.0, &turned(n, matrix));
    skew
}

impl Smooth for Polar {
    const NAME: &'static str = "nearest orthogonal matrix";

    fn results(&self) -> usize {
        self.rows * self.columns
    }

    fn floats<V: Plain + Element<Scalar = V>, B: Backend<V>>(&self, matrix: &[V]) -> Result<Vec<V>, LinalgError> {
        let (m, n) = (self.rows, self.columns);
        let Svd { mut left, right, mut values } = Svd::<V>::new::<B>(m, n, matrix)?;
        let rank = rank((m, n), &values, self.tolerance);
        if self.rotation {
            if is_reflection::<V, B>(n, &left) != is_reflection::<V, B>(n, &right) {
                values[n - 1] = -values[n - 1];
                left[(n - 1) * n..].iter_mut().for_each(|entry| *entry = -*entry);
            }
            let least = if n == 1 { V::ONE } else { values[n - 2] + values[n - 1] };
            let near =
                self.tolerance.max(V::epsilon().as_f64() * 4.0 * f64::from(u32::try_from(n).unwrap_or(u32::MAX)));
            if n > 1 && least.as_f64() <= near * values[0].as_f64() {
                return Err(LinalgError::RotationUndetermined);
            }
        } else if rank < n {
            return Err(LinalgError::Rank { found: rank, needed: n });
        }
        let v = Block::new(&right, n);
        let mut found = times::<V, B>(Block::new(&left, m), v.t());
        let stretched = |by: &dyn Fn(V) -> V| -> Vec<V> {
            let scaled: Vec<V> = right.iter().enumerate().map(|(k, v)| *v * by(values[k / n])).collect();
            times::<V, B>(Block::new(&scaled, n), v.t())
        };
        found.extend(stretched(&|value| value));
        if m > n {
            found.extend(stretched(&|value| V::ONE / value));
        }
        found.extend(&right);
        found.extend(values);
        Ok(found)
    }

    /// Ṙ = R·W + (1 − R·Rᵀ)·Ȧ·H⁻¹ with H·W + W·H = Rᵀ·Ȧ − Ȧᵀ·R.
    fn moved<V: Element, B: Backend<V::Scalar>>(
        &self,
        at: At<'_, V>,
        along: &[V],
        whole: bool,
    ) -> Result<Vec<V>, LinalgError> {
        let (m, n, parts) = (self.rows, self.columns, self.parts(at.found));
        let along = Block::new(along, m);
        let inner = times::<V, B>(parts.r.t(), along);
        let turn = self.turn::<V, B>(&parts, &skew(n, &inner));
        let mut moved = times::<V, B>(parts.r, Block::new(&turn, n));
        if m > n {
            V::multiply::<B>(1.0, Block::new(&outside::<V, B>(parts.r, along.numbers), m), parts.inverse, &mut moved);
        }
        if whole {
            let mut stretch = inner;
            V::multiply::<B>(1.0, Block::new(&moved, m).t(), Block::new(at.matrix, m), &mut stretch);
            moved.extend(&stretch);
            if m > n {
                let inverse = three::<V, B>(parts.inverse, Block::new(&stretch, n), parts.inverse);
                moved.extend(inverse.iter().map(|entry| -*entry));
            }
            moved.resize(at.found.len(), V::ZERO);
        }
        Ok(moved)
    }

    /// Ā = R·Y + (1 − R·Rᵀ)·R̄·H⁻¹ with H·Y + Y·H = Rᵀ·R̄ − R̄ᵀ·R.
    fn adjoints<V: Element, B: Backend<V::Scalar>>(&self, at: At<'_, V>, seeds: &[V]) -> Result<Vec<V>, LinalgError> {
        // The derivative is its own transpose.
        self.moved::<V, B>(at, seeds, false)
    }
}

/// Returns true if an orthogonal matrix has the determinant −1.
fn is_reflection<V: Plain, B: Backend<V>>(n: usize, matrix: &[V]) -> bool {
    let factors = B::factorize(n, matrix.to_vec());
    factors.pivots().iter().fold(factors.is_odd(), |odd, pivot| odd != (*pivot < V::ZERO))
}
