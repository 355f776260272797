//! Parts of a problem: parameter blocks, batches of residual blocks of one kind, and their positions in the Jacobian
//! matrix.

use super::loss::Loss;
use super::manifold::Manifold;
use crate::pattern::Pattern;
use crate::programs::Program;
use core::ops::Range;
use smallvec::SmallVec;
use tapewright_strategies::program::into_columns;

/// Rows of numbers, one for each observation of a block.
type Rows<'a> = SmallVec<[&'a [f64]; 64]>;

/// A parameter block.
pub(super) struct Block {
    /// Offset of its first number in the vector of all parameters.
    pub(super) start: usize,
    /// Number of its parameters.
    pub(super) size: usize,
    pub(super) constant: bool,
    pub(super) manifold: Option<Box<dyn Manifold>>,
}

impl Block {
    /// Range of its parameters in the vector of all.
    pub(super) const fn range(&self) -> Range<usize> {
        self.start..self.start + self.size
    }

    /// Number of columns that it has in a Jacobian matrix.
    pub(super) fn freedom(&self) -> usize {
        match &self.manifold {
            _ if self.constant => 0,
            Some(manifold) => manifold.freedom(),
            None => self.size,
        }
    }
}

/// Residual blocks of one kind with one loss function. A block is called an observation here.
pub(super) struct Batch {
    pub(super) program: Program<'static>,
    pub(super) loss: Box<dyn Loss>,
    /// Sizes of the parameter blocks that an observation takes.
    pub(super) sizes: Vec<usize>,
    /// Indices of the parameter blocks, for each observation.
    pub(super) arguments: Vec<usize>,
    /// Offsets of these blocks in the vector of all parameters.
    pub(super) starts: Vec<usize>,
    /// Number of parameters of an observation.
    pub(super) parameters: usize,
    /// Number of data of an observation.
    pub(super) width: usize,
    /// Data, for each observation.
    pub(super) data: Vec<f64>,
    /// Number of residuals of an observation.
    pub(super) residuals: usize,
    /// Index of the first observation among all residual blocks.
    pub(super) first: usize,
    /// Number of observations.
    pub(super) count: usize,
}

impl Batch {
    /// Indices of the parameter blocks of an observation.
    pub(super) fn arguments_of(&self, observation: usize) -> &[usize] {
        &self.arguments[observation * self.sizes.len()..][..self.sizes.len()]
    }

    /// Writes parameters and data of observations at a point into columns of one length, one behind the other.
    pub(super) fn write(&self, point: Point<'_>, observations: &[usize], columns: &mut [f64]) {
        let width = columns.len() / (self.parameters + self.width).max(1);
        if width == 0 {
            return;
        }
        let mut rest = columns;
        for (k, size) in self.sizes.iter().enumerate() {
            let (columns, others) = rest.split_at_mut(size * width);
            rest = others;
            let block = |of: &usize| &point.x[self.starts[of * self.sizes.len() + k]..][..*size];
            into_columns(&observations.iter().map(block).collect::<Rows<'_>>(), columns, (0, width));
        }
        let data = |of: &usize| &self.data[of * self.width..][..self.width];
        into_columns(&observations.iter().map(data).collect::<Rows<'_>>(), rest, (0, width));
    }

    /// Returns parameters and data of an observation at a point.
    pub(super) fn numbers(&self, point: Point<'_>, observation: usize) -> Vec<f64> {
        let mut numbers = vec![0.0; self.parameters + self.width];
        self.write(point, &[observation], &mut numbers);
        numbers
    }
}

/// The point at which a problem is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Point<'a> {
    pub(super) blocks: &'a [Block],
    pub(super) x: &'a [f64],
}

/// A mark for constant parameter blocks, which have no columns.
pub(super) const CONSTANT: u32 = u32::MAX;

/// Positions of the columns of a batch in its rows.
pub(super) struct Places {
    /// For each observation and argument the offset of its columns, or [`CONSTANT`].
    pub(super) slots: Vec<u32>,
    /// True if all columns of an observation are those of all its parameters, in order: no block is constant or on a
    /// manifold, and the indices of its blocks ascend.
    pub(super) are_in_order: bool,
}

/// Positions of parameter blocks in the Jacobian matrix of a problem.
pub(super) struct Layout {
    /// First column of each parameter block, also of constant ones, which have none.
    pub(super) columns: Vec<usize>,
    /// For each batch the positions of its columns.
    pub(super) places: Vec<Places>,
    /// Entries of the Jacobian matrix: the rows of an observation have the same columns.
    pub(super) pattern: Pattern,
}

impl Layout {
    pub(super) fn new(blocks: &[Block], batches: &[Batch]) -> Self {
        let mut width = 0;
        let columns: Vec<usize> = blocks
            .iter()
            .map(|block| {
                let column = width;
                width += block.freedom();
                column
            })
            .collect();
        let (mut starts, mut indices) = (vec![0], Vec::new());
        let mut places = Vec::with_capacity(batches.len());
        for batch in batches {
            let mut of_batch = Vec::with_capacity(batch.arguments.len());
            for observation in 0..batch.count {
                let arguments = batch.arguments_of(observation);
                of_batch.extend(arguments.iter().map(|block| slot(blocks, arguments, *block)));
                let first = indices.len();
                let mut ordered = arguments.to_vec();
                ordered.sort_unstable();
                indices.extend(ordered.iter().flat_map(|k| columns[*k]..columns[*k] + blocks[*k].freedom()));
                let row = first..indices.len();
                for k in 0..batch.residuals {
                    if k > 0 {
                        indices.extend_from_within(row.clone());
                    }
                    starts.push(indices.len());
                }
            }
            places.push(Places { slots: of_batch, are_in_order: are_in_order(blocks, batch) });
        }
        Self { columns, places, pattern: Pattern::of_parts(width, starts, indices) }
    }
}

/// See [`Places::are_in_order`].
fn are_in_order(blocks: &[Block], batch: &Batch) -> bool {
    let is_plain = |block: &usize| !blocks[*block].constant && blocks[*block].manifold.is_none();
    batch.arguments.iter().all(is_plain)
        && (0..batch.count).all(|observation| batch.arguments_of(observation).is_sorted())
}

/// Offset of the columns of a block among those of all blocks of an observation.
fn slot(blocks: &[Block], arguments: &[usize], block: usize) -> u32 {
    if blocks[block].freedom() == 0 {
        return CONSTANT;
    }
    let before = arguments.iter().filter(|other| **other < block).map(|other| blocks[*other].freedom());
    u32::try_from(before.sum::<usize>()).expect("a residual block has fewer than 2³² columns")
}
