//! Sparsity patterns in compressed rows.

use bytemuck::{Zeroable, try_zeroed_vec};
use core::fmt;

/// The entries of a matrix that may be other than 0, row by row: a *sparsity pattern*.
///
/// A pattern follows from which variables statements read, not from their values: an entry outside the pattern is 0
/// wherever the function computes the same statements; an entry in the pattern may be 0 at this point.
///
/// ```
/// use tapewright::sparse::Pattern;
///
/// let pattern = Pattern::from_rows(3, [vec![2, 0], vec![], vec![1]]);
/// assert_eq!((pattern.rows(), pattern.columns(), pattern.entries()), (3, 3, 3));
/// assert_eq!(pattern.row(0), [0, 2]);
/// assert_eq!(pattern.to_string(), "x.x\n...\n.x.\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    columns: usize,
    /// Start of each row in `indices`, followed by the end of the last row.
    starts: Vec<usize>,
    /// Columns of the entries of each row, ascending.
    indices: Vec<usize>,
}

impl Pattern {
    /// The pattern with entries in these columns of each row.
    ///
    /// # Panics
    ///
    /// When a column is not in the matrix.
    #[must_use]
    #[track_caller]
    pub fn from_rows(columns: usize, rows: impl IntoIterator<Item = impl IntoIterator<Item = usize>>) -> Self {
        let mut pattern = Self { columns, starts: vec![0], indices: Vec::new() };
        for row in rows {
            let first = pattern.indices.len();
            pattern.indices.extend(row);
            let row = &mut pattern.indices[first..];
            row.sort_unstable();
            assert!(row.last().is_none_or(|last| *last < columns), "a row has an entry beyond column {columns}");
            let mut kept = first;
            for k in first..pattern.indices.len() {
                if k == first || pattern.indices[k] != pattern.indices[kept - 1] {
                    pattern.indices[kept] = pattern.indices[k];
                    kept += 1;
                }
            }
            pattern.indices.truncate(kept);
            pattern.starts.push(kept);
        }
        pattern
    }

    /// The pattern whose rows begin and end at `starts`, in a list of columns that ascend in each row.
    pub(crate) const fn of_parts(columns: usize, starts: Vec<usize>, indices: Vec<usize>) -> Self {
        Self { columns, starts, indices }
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The number of columns.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The number of entries.
    #[must_use]
    pub const fn entries(&self) -> usize {
        self.indices.len()
    }

    /// The columns of the entries of a row, ascending.
    ///
    /// # Panics
    ///
    /// When there is no such row.
    #[must_use]
    #[track_caller]
    pub fn row(&self, row: usize) -> &[usize] {
        &self.indices[self.starts[row]..self.starts[row + 1]]
    }

    /// Offsets of the rows in the list of all entries, followed by its end; other crates say row pointers or `indptr`.
    #[must_use]
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The columns of all entries, row by row.
    #[must_use]
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// Largest number of entries in a row.
    pub(crate) fn fullest_row(&self) -> usize {
        (0..self.rows()).map(|row| self.row(row).len()).max().unwrap_or(0)
    }

    /// Largest number of entries in a column.
    pub(crate) fn fullest_column(&self) -> usize {
        let mut entries: Vec<usize> = self.list_of_columns(0);
        self.indices.iter().for_each(|column| entries[*column] += 1);
        entries.into_iter().max().unwrap_or(0)
    }

    /// Index of an entry in the list of all entries; `None` if the pattern lacks it.
    #[must_use]
    pub fn find(&self, row: usize, column: usize) -> Option<usize> {
        let start = *self.starts.get(row)?;
        let end = *self.starts.get(row + 1)?;
        self.indices[start..end].binary_search(&column).ok().map(|at| start + at)
    }

    /// The first entry, row and column, of another pattern with the same number of rows that this pattern lacks.
    pub(crate) fn lacks(&self, other: &Self) -> Option<(usize, usize)> {
        let mut entries = (0..other.rows()).flat_map(|row| other.row(row).iter().map(move |column| (row, *column)));
        entries.find(|(row, column)| self.find(*row, *column).is_none())
    }

    /// A list of zeros: one for each column, and `more` in addition.
    ///
    /// # Panics
    ///
    /// When there is no memory for the list.
    #[track_caller]
    pub(crate) fn list_of_columns<T: Zeroable>(&self, more: usize) -> Vec<T> {
        let list = self.columns.checked_add(more).and_then(|length| try_zeroed_vec(length).ok());
        list.unwrap_or_else(|| panic!("out of memory: a list with an entry for each of {} columns", self.columns))
    }

    /// The pattern of the transposed matrix.
    ///
    /// # Panics
    ///
    /// When there is no memory for a list of all columns.
    #[must_use]
    #[track_caller]
    pub fn transposed(&self) -> Self {
        // Starts are shifted by two, so that `starts[column + 1]` is the next free index of a column while the second
        // loop counts it up, and the end of the column afterwards.
        let mut starts: Vec<usize> = self.list_of_columns(2);
        self.indices.iter().for_each(|column| starts[column + 2] += 1);
        for k in 1..=self.columns {
            starts[k + 1] += starts[k];
        }
        let mut indices = vec![0; self.indices.len()];
        for row in 0..self.rows() {
            for column in self.row(row) {
                let next = &mut starts[column + 1];
                indices[*next] = row;
                *next += 1;
            }
        }
        starts.pop();
        Self { columns: self.rows(), starts, indices }
    }

    /// Returns true if the pattern is equal to the pattern of the transposed matrix.
    #[must_use]
    pub fn is_symmetric(&self) -> bool {
        self.rows() == self.columns && *self == self.transposed()
    }
}

/// Prints the matrix in rows, an `x` for each entry and a dot elsewhere.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in 0..self.rows() {
            let mut line = vec![b'.'; self.columns];
            self.row(row).iter().for_each(|column| line[*column] = b'x');
            writeln!(f, "{}", String::from_utf8_lossy(&line))?;
        }
        Ok(())
    }
}
