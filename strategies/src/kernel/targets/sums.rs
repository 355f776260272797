//! Sums over the points of a range in a fixed order, which depends on the range only.

use super::blocks::{CHUNK, sum_of_blocks};
use super::rows::Rows;
use crate::Number;
use crate::kernel::ir::grid::{IndexRange, each_row};

/// Number of partial sums of a chunk. It is a multiple of every register's length, so that every instruction set adds
/// the same terms in the same order.
pub(crate) const SUMS: usize = 16;

/// Adds the partial sums of a chunk in pairs, in a fixed order.
pub(crate) fn in_pairs<V: Number>(mut sums: [V; SUMS]) -> V {
    let mut step = SUMS / 2;
    while step > 0 {
        for k in 0..step {
            let other = sums[k + step];
            sums[k] += other;
        }
        step /= 2;
    }
    sums[0]
}

/// Number of chunks of a range: rows times chunks of a row.
pub(crate) fn chunks(range: &IndexRange) -> usize {
    if range.is_empty() {
        0
    } else {
        pieces(range) * (0..3).map(|d| (range.hi[d] - range.lo[d]).unsigned_abs()).product::<usize>()
    }
}

/// Number of chunks of each row of a range.
fn pieces(range: &IndexRange) -> usize {
    ((range.hi[3] - range.lo[3] + CHUNK - 1) / CHUNK).unsigned_abs()
}

/// Adds the sums of the chunks of a range, which are in the order of the points, in the order of all sums.
pub(crate) fn total_of_chunks<V: Number>(range: &IndexRange, sums: &[V]) -> V {
    assert!(sums.len() == chunks(range), "a sum for each chunk");
    if sums.is_empty() {
        return V::ZERO;
    }
    let (rows, pieces) = (Rows::of(range), pieces(range));
    let [total] = sum_of_blocks(range, |part| {
        let mut total = V::ZERO;
        each_row!(part, row => {
            let first = rows.number(row) * pieces;
            let piece = |i: isize| first + ((i - range.lo[3]) / CHUNK).unsigned_abs();
            sums[piece(part.lo[3])..=piece(part.hi[3] - 1)].iter().for_each(|sum| total += *sum);
        });
        [total]
    });
    total
}

/// Consecutive points of a row that are summed together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    pub(crate) row: [isize; 3],
    pub(crate) from: isize,
    pub(crate) to: isize,
}

/// Sums the terms at the points of a part, `K` at each point: those of a chunk in [`SUMS`] partial sums, the term at
/// its point m in partial sum m mod 16, and the sums of the chunks in order. `terms` appends the terms of a chunk.
pub(crate) fn sum_of_chunks<V: Number, const K: usize>(
    part: &IndexRange,
    mut terms: impl FnMut(Chunk, &mut dyn FnMut([V; K])),
) -> [V; K] {
    let mut total = [V::ZERO; K];
    each_row!(part, row => {
        let mut from = part.lo[3];
        while from < part.hi[3] {
            let to = (from + CHUNK).min(part.hi[3]);
            let (mut sums, mut m) = ([[V::ZERO; SUMS]; K], 0);
            terms(Chunk { row, from, to }, &mut |found| {
                sums.iter_mut().zip(found).for_each(|(sums, term)| sums[m % SUMS] += term);
                m += 1;
            });
            total.iter_mut().zip(sums).for_each(|(total, sums)| *total += in_pairs(sums));
            from = to;
        }
    });
    total
}
