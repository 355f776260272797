//! Matrices with their factors.

mod dense;
#[cfg(feature = "faer")]
mod sparse;

pub(crate) use dense::Dense;
pub(super) use dense::{fold_lower, identity, lower_places, spread_lower};
#[cfg(feature = "faer")]
pub use sparse::SparsePattern;
#[cfg(feature = "faer")]
pub(super) use sparse::{Factorize, Sparse, columns};

use crate::linalg::error::LinalgError;
use std::sync::Arc;
use tapewright_strategies::Number;

/// A matrix A with its factors, for the rules of solutions. X has n rows and any number of columns.
pub trait System<V: Number>: Send + Sync + Sized + 'static {
    /// Factorizes the matrix with these entries in the same way.
    fn of_other(&self, entries: &[V]) -> Result<Self, LinalgError>;
    /// Replaces X by A⁻¹·X, or by A⁻ᵀ·X.
    fn solve(&self, transposed: bool, right: &mut [V]);
    /// Number of rows n.
    fn rows(&self) -> usize;
    /// Number of entries of A that are inputs.
    fn entries(&self) -> usize;
    /// Subtracts λ·xᵀ from the adjoints of the entries that are inputs.
    fn subtract_outer(&self, lambda: &[V], x: &[V], adjoints: &mut [V]);
    /// Subtracts M·x, or Mᵀ·x, from `result`, for the matrix M with the values `entries` at the positions of the
    /// inputs.
    fn subtract_product(&self, transposed: bool, entries: &[V], x: &[V], result: &mut [V]);
    /// Adjoints of the entries that are inputs, given the adjoints of all entries of A.
    fn fold(&self, matrix: &[V]) -> Vec<V>;
    /// Bytes that the factors own.
    fn owned_bytes(&self) -> usize;
}

/// Shares factors among several entries on the tape.
impl<V: Number, K: System<V>> System<V> for Arc<K> {
    fn of_other(&self, entries: &[V]) -> Result<Self, LinalgError> {
        K::of_other(self, entries).map(Self::new)
    }
    fn solve(&self, transposed: bool, right: &mut [V]) {
        K::solve(self, transposed, right);
    }
    fn rows(&self) -> usize {
        K::rows(self)
    }
    fn entries(&self) -> usize {
        K::entries(self)
    }
    fn subtract_outer(&self, lambda: &[V], x: &[V], adjoints: &mut [V]) {
        K::subtract_outer(self, lambda, x, adjoints);
    }
    fn subtract_product(&self, transposed: bool, entries: &[V], x: &[V], result: &mut [V]) {
        K::subtract_product(self, transposed, entries, x, result);
    }
    fn fold(&self, matrix: &[V]) -> Vec<V> {
        K::fold(self, matrix)
    }
    fn owned_bytes(&self) -> usize {
        K::owned_bytes(self)
    }
}

/// Share of one entry in the bytes of factors that several entries share.
pub(crate) fn share<V: Number, K: System<V>>(system: &Arc<K>) -> usize {
    system.owned_bytes() / Arc::strong_count(system)
}
