//! Positions of blocks in a Jacobian matrix.

use super::batch::{Batch, Block};
use crate::pattern::Pattern;

/// A mark for constant parameter blocks, which have no columns.
pub(super) const CONSTANT: u32 = u32::MAX;

/// Positions of the columns of a batch in its rows.
pub(super) struct Places {
    /// For each observation and argument the offset of its columns, or [`CONSTANT`].
    pub(super) slots: Vec<u32>,
    /// Offsets of the parameters of each argument among those of an observation: its slots, if all blocks are free, none
    /// is on a manifold and their indices ascend.
    pub(super) in_order: Vec<u32>,
    /// True if a block is on a manifold.
    pub(super) is_lifted: bool,
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
            places.push(Places::new(blocks, batch, of_batch));
        }
        Self { columns, places, pattern: Pattern::of_parts(width, starts, indices) }
    }
}

impl Places {
    fn new(blocks: &[Block], batch: &Batch, slots: Vec<u32>) -> Self {
        let mut first = 0;
        let offset = |size: &usize| {
            let offset = first;
            first += narrow(*size);
            offset
        };
        Self {
            slots,
            in_order: batch.sizes.iter().map(offset).collect(),
            is_lifted: batch.arguments.iter().any(|block| blocks[*block].manifold.is_some()),
        }
    }
}

/// Offset of the columns of a block among those of all blocks of an observation.
fn slot(blocks: &[Block], arguments: &[usize], block: usize) -> u32 {
    if blocks[block].freedom() == 0 {
        return CONSTANT;
    }
    let before = arguments.iter().filter(|other| **other < block).map(|other| blocks[*other].freedom());
    narrow(before.sum())
}

fn narrow(columns: usize) -> u32 {
    u32::try_from(columns).expect("a residual block has fewer than 2³² columns")
}
