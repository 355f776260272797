//! Positions of blocks in a Jacobian matrix.

use super::batch::{Batch, Block};
use crate::pattern::Pattern;

/// A mark for constant parameter blocks, which have no columns.
pub(super) const CONSTANT: u32 = u32::MAX;

/// Positions of parameter blocks in the Jacobian matrix of a problem.
pub(super) struct Layout {
    /// First column of each parameter block, also of constant ones, which have none.
    pub(super) columns: Vec<usize>,
    /// For each batch, observation and argument the offset of its columns in the rows of the observation, or
    /// [`CONSTANT`].
    pub(super) slots: Vec<Vec<u32>>,
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
        let mut slots = Vec::with_capacity(batches.len());
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
            slots.push(of_batch);
        }
        Self { columns, slots, pattern: Pattern::of_parts(width, starts, indices) }
    }
}

/// Offset of the columns of a block among those of all blocks of an observation.
fn slot(blocks: &[Block], arguments: &[usize], block: usize) -> u32 {
    if blocks[block].freedom() == 0 {
        return CONSTANT;
    }
    let before = arguments.iter().filter(|other| **other < block).map(|other| blocks[*other].freedom());
    u32::try_from(before.sum::<usize>()).expect("a residual block has fewer than 2³² columns")
}
