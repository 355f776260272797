//! Singular values and vectors of matrices of floats.

use super::record::{turned, values};
use crate::linalg::backend::{Backend, Block};
use crate::linalg::element::Element;
use crate::linalg::error::LinalgError;
use crate::linalg::error::finite;
use crate::linalg::multiply::times;
use crate::linalg::system::identity;
use tapewright_strategies::{Float, Number};

/// U, V, and the singular values in descending order.
pub(super) struct Svd<V> {
    pub(super) left: Vec<V>,
    pub(super) right: Vec<V>,
    pub(super) values: Vec<V>,
}

impl<V: Float + Element<Scalar = V>> Svd<V> {
    /// The decomposition of a matrix that is not empty.
    pub(super) fn new<B: Backend<V>>(rows: usize, columns: usize, matrix: &[V]) -> Result<Self, LinalgError> {
        finite(rows, matrix)?;
        let (matrix, unit) = scaled(matrix);
        // Iterations may not converge, or end too early.
        let by_library = B::svd(rows, columns, matrix.clone());
        let by_library = by_library.map(|(left, values, right)| Self { left, right, values }.sorted(rows, columns));
        let is_right = |found: &Self| found.is_right::<B>(rows, columns, &matrix);
        let by_rotations = || Some(jacobi(rows, columns, &matrix).sorted(rows, columns)).filter(is_right);
        let found = by_library.filter(is_right).or_else(by_rotations).ok_or(LinalgError::NoConvergence)?;
        Ok(Self { values: found.values.iter().map(|value| *value * unit).collect(), ..found })
    }

    /// With the singular values in descending order.
    fn sorted(self, rows: usize, columns: usize) -> Self {
        let values = self.values;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|i, j| values[*j].partial_cmp(&values[*i]).unwrap_or(core::cmp::Ordering::Equal));
        let sorted = |vectors: &[V], n: usize| -> Vec<V> {
            order.iter().flat_map(|k| vectors[k * n..][..n].iter().copied()).collect()
        };
        Self {
            left: sorted(&self.left, rows),
            right: sorted(&self.right, columns),
            values: order.iter().map(|k| values[*k]).collect(),
        }
    }

    fn is_right<B: Backend<V>>(&self, rows: usize, columns: usize, matrix: &[V]) -> bool {
        self.values.iter().all(|value| value.as_f64() >= 0.0)
            && is_right::<V, B>((rows, columns), matrix, &self.left, &self.values, &self.right)
    }
}

/// The numbers over a power of two, and the power: the largest of them is between 1 and 2 then, or almost, so that no
/// square or product of them over- or underflows.
pub(super) fn scaled<V: Float>(numbers: &[V]) -> (Vec<V>, V) {
    let largest = numbers.iter().fold(0.0, |most: f64, number| most.max(number.as_f64().abs()));
    let [unit, inverse] = units(largest);
    (numbers.iter().map(|number| *number * inverse).collect(), unit)
}

/// The power of two next below a number that is not negative, and its inverse, both normal numbers; 1 for 0.
pub(super) fn units<V: Float>(number: f64) -> [V; 2] {
    let range = if V::epsilon().as_f64() < 1e-10 { 1022 } else { 126 };
    let exponent = i32::try_from(number.to_bits() >> 52).unwrap_or(0) - 1023;
    let exponent = if number == 0.0 { 0 } else { exponent.clamp(-range, range) };
    [exponent, -exponent].map(|exponent| V::from_f64(2.0_f64.powi(exponent)))
}

/// Returns true if U·Σ·Vᵀ is the matrix, up to rounding, with orthonormal columns of U and V.
pub(super) fn is_right<V: Float + Element<Scalar = V>, B: Backend<V>>(
    (rows, columns): (usize, usize),
    matrix: &[V],
    left: &[V],
    singular: &[V],
    right: &[V],
) -> bool {
    let scaled: Vec<V> = left.iter().enumerate().map(|(k, u)| *u * singular[k / rows]).collect();
    let mut rest = times::<V, B>(Block::new(&scaled, rows), Block::new(right, columns).t());
    rest.iter_mut().zip(matrix).for_each(|(rest, entry)| *rest = *rest - *entry);
    let near = rounding::<V>(rows, columns);
    let top = values(singular, 0).iter().fold(0.0_f64, |most, value| most.max(value.abs()));
    values(&rest, 0).iter().all(|rest| rest.abs() <= near * top)
        && is_orthonormal::<V, B>(left, rows, near)
        && is_orthonormal::<V, B>(right, columns, near)
}

/// The rounding that a decomposition may have.
#[allow(clippy::cast_precision_loss, reason = "sizes are small")]
fn rounding<V: Float>(rows: usize, columns: usize) -> f64 {
    64.0 * (rows + columns) as f64 * V::epsilon().as_f64()
}

fn is_orthonormal<V: Float + Element<Scalar = V>, B: Backend<V>>(vectors: &[V], rows: usize, near: f64) -> bool {
    let block = Block::new(vectors, rows);
    let products = times::<V, B>(block.t(), block);
    let count = vectors.len() / rows;
    let unit = |k: usize| if k % count == k / count { 1.0 } else { 0.0 };
    products.iter().enumerate().all(|(k, product)| (product.as_f64() - unit(k)).abs() <= near)
}

/// U, the singular values in any order, and V of a matrix by one-sided Jacobi rotations (Golub and Van Loan, Matrix
/// Computations, section 8.6.3), for matrices of full rank: columns of U that belong to 0 are 0.
fn jacobi<V: Float + Element<Scalar = V>>(rows: usize, columns: usize, matrix: &[V]) -> Svd<V> {
    if rows < columns {
        let Svd { left, right, values } = jacobi(columns, rows, &turned(rows, matrix));
        return Svd { left: right, right: left, values };
    }
    let (mut u, mut v) = (matrix.to_vec(), identity::<V>(columns));
    let dot = |u: &[V], i: usize, j: usize| (0..rows).fold(V::ZERO, |sum, k| sum + u[i * rows + k] * u[j * rows + k]);
    for _ in 0..40 {
        let mut turns = false;
        for (i, j) in (0..columns).flat_map(|j| (0..j).map(move |i| (i, j))) {
            let (a, b, c) = (dot(&u, i, i), dot(&u, j, j), dot(&u, i, j));
            if Number::abs(c) > V::epsilon() * Number::sqrt(a * b) {
                turns = true;
                let zeta = (b - a) / (c + c);
                let t = Number::signum(zeta) / (Number::abs(zeta) + Number::hypot(V::ONE, zeta));
                let cos = V::ONE / Number::hypot(V::ONE, t);
                rotate(&mut u, rows, (i, j), (cos, cos * t));
                rotate(&mut v, columns, (i, j), (cos, cos * t));
            }
        }
        if !turns {
            break;
        }
    }
    let values: Vec<V> = (0..columns).map(|k| Number::sqrt(dot(&u, k, k))).collect();
    for (k, entry) in u.iter_mut().enumerate() {
        let value = values[k / rows];
        *entry = if value.is_nought() { V::ZERO } else { *entry / value };
    }
    Svd { left: u, right: v, values }
}

/// Turns two columns.
fn rotate<V: Float>(matrix: &mut [V], rows: usize, (i, j): (usize, usize), (cos, sin): (V, V)) {
    for k in 0..rows {
        let (x, y) = (matrix[i * rows + k], matrix[j * rows + k]);
        matrix[i * rows + k] = cos * x - sin * y;
        matrix[j * rows + k] = sin * x + cos * y;
    }
}

/// The number of singular values, in descending order, above this part of the largest, or rounding.
pub(super) fn rank<V: Float>((rows, columns): (usize, usize), singular: &[V], tolerance: f64) -> usize {
    #[allow(clippy::cast_precision_loss, reason = "sizes are small")]
    let rounding = rows.max(columns) as f64 * V::epsilon().as_f64();
    let limit = tolerance.max(rounding) * singular[0].as_f64();
    singular.iter().take_while(|value| value.as_f64() > limit).count()
}
