//! `JᵀJ` by blocks.

use super::batch::Layout;
use super::problem::Problem;
use crate::pattern::Pattern;
use crate::sparse::SparseMatrix;
use core::ops::Range;

/// A symmetric matrix in dense blocks, one for each pair of parameter blocks that a residual block depends on. The
/// upper triangle is stored.
#[derive(Clone, Debug)]
pub struct NormalMatrix {
    /// For each parameter block its columns; none for constant ones.
    spans: Vec<Range<usize>>,
    /// For each parameter block the range of its row of blocks.
    rows: Vec<Range<usize>>,
    /// Parameter block of the columns of each block, ascending in each row.
    columns: Vec<usize>,
    /// Position of each block among the entries.
    offsets: Vec<usize>,
    entries: Vec<f64>,
    /// For each residual block the positions of its pairs of parameter blocks.
    places: Vec<usize>,
}

/// A block of a [`NormalMatrix`].
#[derive(Clone, Debug, PartialEq)]
pub struct NormalBlock<'a> {
    /// Indices of the parameter blocks that rows and columns belong to.
    pub blocks: [usize; 2],
    /// Rows of the matrix.
    pub rows: Range<usize>,
    /// Columns of the matrix.
    pub columns: Range<usize>,
    /// Entries, row by row.
    pub entries: &'a [f64],
}

impl NormalMatrix {
    /// A matrix of zeros.
    pub(super) fn new(problem: &Problem, layout: &Layout) -> Self {
        let ends = layout.columns.iter().zip(&problem.blocks);
        let spans: Vec<_> = ends.map(|(first, block)| *first..first + block.freedom()).collect();
        let mut pairs: Vec<[usize; 2]> = (0..spans.len()).filter(|k| !spans[*k].is_empty()).map(|k| [k, k]).collect();
        each_observation(problem, |_, arguments| each_pair(&spans, arguments, |pair, _| pairs.push(pair)));
        pairs.sort_unstable();
        pairs.dedup();
        let mut offsets = vec![0];
        for [row, column] in &pairs {
            offsets.push(offsets[offsets.len() - 1] + spans[*row].len() * spans[*column].len());
        }
        let mut places = Vec::new();
        each_observation(problem, |_, arguments| {
            each_pair(&spans, arguments, |pair, _| {
                places.push(offsets[pairs.binary_search(&pair).expect("all pairs are listed")]);
            });
        });
        let row = |k: usize| pairs.partition_point(|pair| pair[0] < k)..pairs.partition_point(|pair| pair[0] <= k);
        Self {
            rows: (0..spans.len()).map(row).collect(),
            columns: pairs.iter().map(|pair| pair[1]).collect(),
            entries: vec![0.0; offsets[pairs.len()]],
            spans,
            offsets,
            places,
        }
    }

    /// Computes `JᵀJ`.
    pub(super) fn compute(&mut self, problem: &Problem, jacobian: &SparseMatrix<f64>) {
        let Self { spans, entries, places, .. } = self;
        entries.fill(0.0);
        let (mut places, mut row) = (places.iter(), 0);
        each_observation(problem, |height, arguments| {
            let rows = row..row + height;
            row = rows.end;
            each_pair(spans, arguments, |pair, local| {
                let place = *places.next().expect("each pair has a place");
                let lengths = pair.map(|k| spans[k].len());
                let block = &mut entries[place..][..lengths[0] * lengths[1]];
                for row in rows.clone() {
                    let row = &jacobian.values()[jacobian.pattern().starts()[row]..];
                    let [left, right] = [0, 1].map(|k| &row[local[k]..][..lengths[k]]);
                    for (sums, factor) in block.chunks_exact_mut(lengths[1]).zip(left) {
                        sums.iter_mut().zip(right).for_each(|(sum, entry)| *sum += factor * entry);
                    }
                }
            });
        });
    }

    /// The number of rows, and of columns.
    #[must_use]
    pub fn size(&self) -> usize {
        self.spans.last().map_or(0, |span| span.end)
    }

    /// The blocks of the upper triangle, row by row. Blocks on the diagonal are stored completely.
    pub fn blocks(&self) -> impl Iterator<Item = NormalBlock<'_>> + '_ {
        let rows = self.rows.iter().enumerate();
        rows.flat_map(|(row, blocks)| blocks.clone().map(move |k| (row, k))).map(|(row, k)| NormalBlock {
            blocks: [row, self.columns[k]],
            rows: self.spans[row].clone(),
            columns: self.spans[self.columns[k]].clone(),
            entries: &self.entries[self.offsets[k]..self.offsets[k + 1]],
        })
    }

    /// The block of two parameter blocks, the smaller index first; `None` if there is none, because all its entries are
    /// 0.
    #[must_use]
    pub fn block(&self, row: usize, column: usize) -> Option<&[f64]> {
        let range = self.rows.get(row)?.clone();
        let k = range.start + self.columns[range].binary_search(&column).ok()?;
        Some(&self.entries[self.offsets[k]..self.offsets[k + 1]])
    }

    /// The diagonal of the matrix.
    #[must_use]
    pub fn diagonal(&self) -> Vec<f64> {
        let mut diagonal = Vec::with_capacity(self.size());
        for (span, row) in self.spans.iter().zip(&self.rows).filter(|(span, _)| !span.is_empty()) {
            let block = &self.entries[self.offsets[row.start]..self.offsets[row.start + 1]];
            diagonal.extend(block.iter().step_by(span.len() + 1));
        }
        diagonal
    }

    /// Adds numbers to the diagonal, as solvers do that damp their steps.
    ///
    /// # Panics
    ///
    /// When there are not as many as the matrix has rows.
    #[track_caller]
    pub fn add_to_diagonal(&mut self, numbers: &[f64]) {
        let (size, found) = (self.size(), numbers.len());
        assert_eq!(found, size, "{found} numbers cannot be added to the diagonal of a matrix with {size} rows");
        for (span, row) in self.spans.iter().zip(&self.rows).filter(|(span, _)| !span.is_empty()) {
            let block = &mut self.entries[self.offsets[row.start]..self.offsets[row.start + 1]];
            let diagonal = block.iter_mut().step_by(span.len() + 1);
            diagonal.zip(&numbers[span.clone()]).for_each(|(entry, number)| *entry += number);
        }
    }

    /// The upper triangle by rows, entry by entry; read by columns, the lower triangle: the form in which sparse
    /// Cholesky factorizations take a matrix. For one matrix after another, see [`upper_into`](Self::upper_into).
    #[must_use]
    pub fn to_upper(&self) -> SparseMatrix<f64> {
        let (mut starts, mut indices) = (vec![0], Vec::new());
        let (mut row, mut values) = (0, Vec::new());
        for (at, columns, entries) in self.pieces() {
            while row < at {
                starts.push(indices.len());
                row += 1;
            }
            indices.extend(columns);
            values.extend_from_slice(entries);
        }
        starts.resize(self.size() + 1, indices.len());
        SparseMatrix::of_parts(Pattern::of_parts(self.size(), starts, indices), values)
    }

    /// Writes what [`to_upper`](Self::to_upper) returns into a matrix that it has returned for the same problem, and
    /// allocates nothing.
    ///
    /// ```
    /// use tapewright::prelude::*;
    /// use tapewright::residuals::{Linearization, Problem, Residual, Trivial};
    ///
    /// /// x·y − data.
    /// struct Product;
    /// impl Residual<1, 1, 1> for Product {
    ///     fn sizes(&self) -> [usize; 1] { [2] }
    ///     fn residuals<S: Strategy>(&self, [x]: [&[Real<S>]; 1], [data]: [Real<S>; 1]) -> [Real<S>; 1] {
    ///         [(x[0] * x[1] - data).into()]
    ///     }
    /// }
    ///
    /// let mut problem = Problem::new();
    /// let x = problem.add_parameters(&[3.0, 4.0]);
    /// problem.add_residuals(Product, Trivial, [([x], [10.0])])?;
    /// let mut at = Linearization::new(&problem)?;
    /// at.evaluate(problem.start())?;
    /// let mut upper = at.normal_matrix().to_upper(); // once for all steps
    /// assert_eq!(upper.values(), [16.0, 12.0, 9.0]);
    /// at.evaluate(&[1.0, 2.0])?;
    /// at.normal_matrix().upper_into(&mut upper);
    /// assert_eq!(upper.values(), [4.0, 2.0, 1.0]);
    /// # Ok::<(), tapewright::residuals::ResidualError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When the entries of that matrix lie elsewhere than those of this triangle.
    #[track_caller]
    pub fn upper_into(&self, upper: &mut SparseMatrix<f64>) {
        let (pattern, values) = upper.values_mut();
        let mut fits = [pattern.rows(), pattern.columns()] == [self.size(); 2];
        let mut end = 0;
        for (row, columns, entries) in self.pieces() {
            let place = end..end + entries.len();
            end = place.end;
            fits = fits && pattern.starts()[row] <= place.start && end <= pattern.starts()[row + 1];
            fits = fits && pattern.indices()[place.clone()].iter().copied().eq(columns);
            if !fits {
                break;
            }
            values[place].copy_from_slice(entries);
        }
        assert!(
            fits && end == values.len(),
            "the entries of the matrix lie elsewhere than those of the upper triangle: pass one that `to_upper` has \
             returned for the same problem"
        );
    }

    /// The row, the columns and the entries of each row of each block, in the upper triangle.
    fn pieces(&self) -> impl Iterator<Item = (usize, Range<usize>, &[f64])> {
        self.spans.iter().enumerate().flat_map(move |(row, span)| {
            (0..span.len()).flat_map(move |i| {
                self.rows[row].clone().map(move |k| {
                    let columns = self.spans[self.columns[k]].clone();
                    let of_row = &self.entries[self.offsets[k] + i * columns.len()..][..columns.len()];
                    let skipped = if self.columns[k] == row { i } else { 0 };
                    (span.start + i, columns.start + skipped..columns.end, &of_row[skipped..])
                })
            })
        })
    }
}

/// Calls `f` with the number of residuals and the parameter blocks of each observation.
fn each_observation(problem: &Problem, mut f: impl FnMut(usize, &[usize])) {
    for batch in &problem.batches {
        (0..batch.count).for_each(|observation| f(batch.residuals, batch.arguments_of(observation)));
    }
}

/// Calls `f` with each pair of free parameter blocks of an observation, the smaller index first, and the offsets of
/// their columns in its rows.
fn each_pair(spans: &[Range<usize>], arguments: &[usize], mut f: impl FnMut([usize; 2], [usize; 2])) {
    let free = |block: &&usize| !spans[**block].is_empty();
    let offset =
        |block: usize| arguments.iter().filter(|other| **other < block).map(|other| spans[*other].len()).sum::<usize>();
    for left in arguments.iter().filter(free) {
        for right in arguments.iter().filter(free).filter(|right| left <= *right) {
            f([*left, *right], [offset(*left), offset(*right)]);
        }
    }
}
