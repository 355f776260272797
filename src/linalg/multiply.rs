//! Products of matrices of values.

use super::backend::{Backend, Block};
use super::element::Element;

/// Returns left·right.
pub(super) fn times<V: Element, B: Backend<V::Scalar>>(left: Block<'_, V>, right: Block<'_, V>) -> Vec<V> {
    let mut product = vec![V::ZERO; left.shape().0 * right.shape().1];
    V::multiply::<B>(1.0, left, right, &mut product);
    product
}

/// Returns left·right of two n×n matrices.
pub(super) fn square_times<V: Element, B: Backend<V::Scalar>>(n: usize, left: &[V], right: &[V]) -> Vec<V> {
    times::<V, B>(Block::new(left, n), Block::new(right, n))
}
