//! Interface of a library of linear algebra.

use tapewright_strategies::Float;

/// A library of linear algebra on floats, for the entries of this module.
///
/// A library computes with floats only: entries over [other numbers](super::Element) use the same functions.
///
/// Matrices are slices, column after column. Implement this trait, and [`Matrix`](super::Matrix) for a type of yours,
/// to let another library do the work.
pub trait Backend<V: Float>: 'static {
    /// Factors of P·A = L·U.
    type Factors: Factors<V>;

    /// Factorizes an n×n matrix of finite values. The factors of a singular matrix have a 0 among the pivots.
    fn factorize(n: usize, matrix: Vec<V>) -> Self::Factors;

    /// Returns L with A = L·Lᵀ, zeros above its diagonal; `None` if the matrix is not positive definite. Only the lower
    /// triangle of `matrix` is read.
    fn cholesky(n: usize, matrix: Vec<V>) -> Option<Vec<V>>;

    /// Replaces X by L⁻¹·X, or by L⁻ᵀ·X, for an n×n matrix that is lower triangular. Entries above its diagonal are not
    /// read.
    fn solve_lower(n: usize, lower: &[V], transposed: bool, right: &mut [V]);

    /// Adds `scale`·left·right to `sum`.
    fn multiply(scale: V, left: Block<'_, V>, right: Block<'_, V>, sum: &mut [V]);

    /// Returns the eigenvalues of a symmetric matrix, in any order, and as many orthonormal eigenvectors; `None` if the
    /// iteration does not converge.
    fn eigen(n: usize, matrix: Vec<V>) -> Option<(Vec<V>, Vec<V>)>;

    /// Returns the singular value decomposition U·Σ·Vᵀ of a matrix that is not empty: U, the singular values in any
    /// order, and V, with as many columns as the smaller of both dimensions; `None` if the iteration does not converge.
    fn svd(rows: usize, columns: usize, matrix: Vec<V>) -> Option<(Vec<V>, Vec<V>, Vec<V>)>;

    /// Returns the real and imaginary parts of the eigenvalues of a square matrix that is not empty, in any order;
    /// `None` if the iteration does not converge.
    fn eigenvalues(n: usize, matrix: Vec<V>) -> Option<Vec<(V, V)>>;
}

/// The factors of a square matrix A.
pub trait Factors<V>: Send + Sync + 'static {
    /// The diagonal of U.
    fn pivots(&self) -> Vec<V>;
    /// Returns true if the permutation P exchanges an odd number of pairs.
    fn is_odd(&self) -> bool;
    /// Replaces X by A⁻¹·X.
    fn solve(&self, right: &mut [V]);
    /// Replaces X by A⁻ᵀ·X.
    fn solve_transposed(&self, right: &mut [V]);
    /// Bytes that the factors own, for memory reports.
    fn owned_bytes(&self) -> usize;
}

/// A matrix in memory, column after column, that may stand for its transpose.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a, V> {
    /// The entries in the order in which they are stored.
    pub numbers: &'a [V],
    /// Number of rows that are stored.
    pub rows: usize,
    /// Number of columns that are stored.
    pub columns: usize,
    /// True if the block stands for the transpose of the stored matrix.
    pub transposed: bool,
}

impl<'a, V> Block<'a, V> {
    /// A matrix with this many rows, and as many columns as the entries fill.
    pub(super) fn new(numbers: &'a [V], rows: usize) -> Self {
        Self { numbers, rows, columns: numbers.len().checked_div(rows).unwrap_or(0), transposed: false }
    }

    /// The transpose of this block.
    pub(super) const fn t(self) -> Self {
        Self { transposed: !self.transposed, ..self }
    }

    /// A matrix of the same shape with other entries.
    pub(super) const fn with<W>(self, numbers: &[W]) -> Block<'_, W> {
        Block { numbers, rows: self.rows, columns: self.columns, transposed: self.transposed }
    }

    /// The entry in a row and column of the matrix that the block stands for.
    pub(super) const fn entry(&self, row: usize, column: usize) -> V
    where
        V: Copy,
    {
        let (row, column) = if self.transposed { (column, row) } else { (row, column) };
        self.numbers[row + column * self.rows]
    }

    /// Rows and columns of the matrix that the block stands for.
    #[must_use]
    pub const fn shape(&self) -> (usize, usize) {
        if self.transposed { (self.columns, self.rows) } else { (self.rows, self.columns) }
    }
}
