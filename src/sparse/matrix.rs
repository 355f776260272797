//! Sparse matrices: a pattern and a value for each of its entries.

use crate::pattern::Pattern;
use tapewright_strategies::Number;

/// A sparse matrix by rows, in the format that other crates call CSR.
///
/// With the feature `faer`, `as_faer` gives it to that crate without copying. Other crates take its parts unchanged:
/// `sprs::CsMatView::new((rows, columns), pattern.starts(), pattern.indices(), matrix.values())` is a matrix of the
/// crate `sprs`.
///
/// ```
/// use tapewright::prelude::*;
/// use tapewright::sparse::sparse_jacobian;
///
/// /// Differences of neighbors.
/// fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> { x.windows(2).map(|x| (x[1] - x[0] * x[0]).into()).collect() }
/// let (_, matrix) = sparse_jacobian::<Jacobian>(f, &[1.0, 2.0, 3.0])?;
/// assert_eq!(matrix.iter().collect::<Vec<_>>(), [(0, 0, -2.0), (0, 1, 1.0), (1, 1, -4.0), (1, 2, 1.0)]);
/// assert_eq!(matrix.times(&[1.0, 1.0, 1.0]), [-1.0, -3.0]);
/// # Ok::<(), tapewright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix<V> {
    pattern: Pattern,
    values: Vec<V>,
}

impl<V: Number> SparseMatrix<V> {
    pub(super) fn zero(pattern: Pattern) -> Self {
        Self { values: vec![V::ZERO; pattern.entries()], pattern }
    }

    /// The matrix with these values of its entries, row by row.
    pub(crate) fn of_parts(pattern: Pattern, values: Vec<V>) -> Self {
        debug_assert_eq!(pattern.entries(), values.len());
        Self { pattern, values }
    }

    /// Positions of the entries.
    #[must_use]
    pub const fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The values of the entries, row by row, in the order of [`Pattern::indices`].
    #[must_use]
    pub fn values(&self) -> &[V] {
        &self.values
    }

    pub(crate) fn values_mut(&mut self) -> (&Pattern, &mut [V]) {
        (&self.pattern, &mut self.values)
    }

    /// Value of an entry; `None` if the entry is not in the pattern, and therefore 0.
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> Option<V> {
        self.pattern.find(row, column).map(|at| self.values[at])
    }

    /// Row, column and value of each entry, row by row.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, V)> + '_ {
        let rows =
            (0..self.pattern.rows()).flat_map(|row| self.pattern.row(row).iter().map(move |column| (row, *column)));
        rows.zip(&self.values).map(|((row, column), value)| (row, column, *value))
    }

    /// The product of the matrix and a vector.
    ///
    /// # Panics
    ///
    /// When the vector has not as many entries as the matrix has columns.
    #[must_use]
    #[track_caller]
    pub fn times(&self, vector: &[V]) -> Vec<V> {
        assert_eq!(vector.len(), self.pattern.columns(), "the vector must have an entry for each column");
        let mut product = vec![V::ZERO; self.pattern.rows()];
        self.iter().for_each(|(row, column, value)| product[row] += value * vector[column]);
        product
    }

    /// The product of the transposed matrix and a vector.
    ///
    /// # Panics
    ///
    /// When the vector has not as many entries as the matrix has rows.
    #[must_use]
    #[track_caller]
    pub fn transpose_times(&self, vector: &[V]) -> Vec<V> {
        assert_eq!(vector.len(), self.pattern.rows(), "the vector must have an entry for each row");
        let mut product = vec![V::ZERO; self.pattern.columns()];
        self.iter().for_each(|(row, column, value)| product[column] += value * vector[row]);
        product
    }

    /// Rows of the matrix, with its zeros.
    #[must_use]
    pub fn to_dense(&self) -> Vec<Vec<V>> {
        let mut rows = vec![vec![V::ZERO; self.pattern.columns()]; self.pattern.rows()];
        self.iter().for_each(|(row, column, value)| rows[row][column] = value);
        rows
    }
}

#[cfg(feature = "faer")]
impl<V> SparseMatrix<V> {
    /// The matrix as a matrix of the crate `faer`, by rows, without copying.
    #[must_use]
    pub fn as_faer(&self) -> ::faer::sparse::SparseRowMatRef<'_, usize, V> {
        let (rows, columns) = (self.pattern.rows(), self.pattern.columns());
        let symbolic = ::faer::sparse::SymbolicSparseRowMatRef::new_checked(
            rows,
            columns,
            self.pattern.starts(),
            None,
            self.pattern.indices(),
        );
        ::faer::sparse::SparseRowMatRef::new(symbolic, &self.values)
    }
}
