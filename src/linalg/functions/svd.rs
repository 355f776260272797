//! Singular values and vectors of matrices of floats.

use super::super::backend::{Backend, Block, times};
use super::super::element::Element;
use super::super::error::LinalgError;
use super::super::matrix::finite;
use super::record::values;
use tapewright_strategies::Float;

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
        let (left, values, right) = B::svd(rows, columns, matrix.to_vec()).ok_or(LinalgError::NoConvergence)?;
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|i, j| values[*j].partial_cmp(&values[*i]).unwrap_or(core::cmp::Ordering::Equal));
        let sorted = |vectors: &[V], n: usize| -> Vec<V> {
            order.iter().flat_map(|k| vectors[k * n..][..n].iter().copied()).collect()
        };
        let found = Self {
            left: sorted(&left, rows),
            right: sorted(&right, columns),
            values: order.iter().map(|k| values[*k]).collect(),
        };
        if found.is_right::<B>(rows, columns, matrix) { Ok(found) } else { Err(LinalgError::NoConvergence) }
    }

    /// Whether it is a decomposition of this matrix, up to rounding.
    fn is_right<B: Backend<V>>(&self, rows: usize, columns: usize, matrix: &[V]) -> bool {
        let scaled: Vec<V> = self.left.iter().enumerate().map(|(k, u)| *u * self.values[k / rows]).collect();
        let mut rest = times::<V, B>(Block::new(&scaled, rows), Block::new(&self.right, columns).t());
        rest.iter_mut().zip(matrix).for_each(|(rest, entry)| *rest = *rest - *entry);
        let near = rounding::<V>(rows, columns);
        let top = self.values[0].as_f64();
        self.values.iter().all(|value| value.as_f64() >= 0.0)
            && values(&rest, 0).iter().all(|rest| rest.abs() <= near * top)
            && is_orthonormal::<V, B>(&self.left, rows, near)
            && is_orthonormal::<V, B>(&self.right, columns, near)
    }
}

/// What the rounding of a decomposition may be.
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

/// How many singular values, in descending order, are above this part of the largest, or rounding.
pub(super) fn rank<V: Float>((rows, columns): (usize, usize), singular: &[V], tolerance: f64) -> usize {
    #[allow(clippy::cast_precision_loss, reason = "sizes are small")]
    let rounding = rows.max(columns) as f64 * V::epsilon().as_f64();
    let limit = tolerance.max(rounding) * singular[0].as_f64();
    singular.iter().take_while(|value| value.as_f64() > limit).count()
}
