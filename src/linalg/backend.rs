//! What a library of linear algebra has to do.

use tapewright_strategies::Float;

/// A library of linear algebra on plain numbers, for the entries of this module.
///
/// It is asked for floats alone: what the entries do with [other numbers](super::Element) they do with the same
/// functions.
///
/// Matrices are slices, column after column. Implement it, and [`Matrix`](super::Matrix) for a type of yours, to let
/// another library do the work.
pub trait Backend<V: Float>: 'static {
    /// P·A = L·U.
    type Factors: Factors<V>;

    /// Factorises an n×n matrix of finite numbers. A matrix that is singular has a 0 among its pivots.
    fn factorise(n: usize, matrix: Vec<V>) -> Self::Factors;

    /// L with A = L·Lᵀ, zeros above its diagonal; `None` if the matrix is not positive definite. Only the lower
    /// triangle of `matrix` is read.
    fn cholesky(n: usize, matrix: Vec<V>) -> Option<Vec<V>>;

    /// L⁻¹·X, or L⁻ᵀ·X, in the place of X, for an n×n matrix that is lower triangular. What is above its diagonal is
    /// not read.
    fn solve_lower(n: usize, lower: &[V], transposed: bool, right: &mut [V]);

    /// Adds `scale`·left·right to `sum`.
    fn multiply(scale: V, left: Block<'_, V>, right: Block<'_, V>, sum: &mut [V]);

    /// The eigenvalues of a symmetric matrix, in any order, and as many orthonormal eigenvectors; `None` if they were
    /// not found.
    fn eigen(n: usize, matrix: Vec<V>) -> Option<(Vec<V>, Vec<V>)>;

    /// The singular value decomposition U·Σ·Vᵀ of a matrix that is not empty: U, the singular values in any order, and
    /// V, with as many columns as the smaller of both numbers; `None` if they were not found.
    fn svd(rows: usize, columns: usize, matrix: Vec<V>) -> Option<(Vec<V>, Vec<V>, Vec<V>)>;

    /// The real and imaginary parts of the eigenvalues of a square matrix that is not empty, in any order; `None` if
    /// they were not found.
    fn eigenvalues(n: usize, matrix: Vec<V>) -> Option<Vec<(V, V)>>;
}

/// The factors of a square matrix A.
pub trait Factors<V>: Send + Sync + 'static {
    /// The diagonal of U.
    fn pivots(&self) -> Vec<V>;
    /// Whether the permutation P exchanges an odd number of pairs.
    fn is_odd(&self) -> bool;
    /// A⁻¹·X in the place of X.
    fn solve(&self, right: &mut [V]);
    /// A⁻ᵀ·X in the place of X.
    fn solve_transposed(&self, right: &mut [V]);
    /// Bytes that the factors own, for memory reports.
    fn owned_bytes(&self) -> usize;
}

/// A matrix in memory, column after column, that may stand for its transpose.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a, V> {
    /// The numbers as they are stored.
    pub numbers: &'a [V],
    /// The rows that are stored.
    pub rows: usize,
    /// The columns that are stored.
    pub columns: usize,
    /// Whether the transpose is meant.
    pub transposed: bool,
}

impl<'a, V> Block<'a, V> {
    /// A matrix with as many columns as the numbers fill.
    pub(super) fn new(numbers: &'a [V], rows: usize) -> Self {
        Self { numbers, rows, columns: numbers.len().checked_div(rows).unwrap_or(0), transposed: false }
    }

    /// The transpose.
    pub(super) const fn t(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// A matrix of the same shape with other numbers.
    pub(super) const fn with<W>(self, numbers: &[W]) -> Block<'_, W> {
        Block { numbers, rows: self.rows, columns: self.columns, transposed: self.transposed }
    }

    /// Rows and columns of what is meant.
    #[must_use]
    pub const fn shape(&self) -> (usize, usize) {
        if self.transposed { (self.columns, self.rows) } else { (self.rows, self.columns) }
    }
}
