//! Ranges in blocks, which threads share out among themselves.
//!
//! How a range is cut depends on the range alone. Blocks are summed up in order, so a sum has the same bits on any
//! number of threads; loops that write do not care, since no two points write to one element.

use super::bindings::Bindings;
use crate::Number;
use crate::kernel::ir::grid::IndexRange;
#[cfg(feature = "rayon")]
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Points of a row whose sum is formed apart.
pub(crate) const CHUNK: isize = 4096;
/// Points of a block, about: work enough to be worth handing to a thread.
pub(crate) const POINTS: isize = 8 * CHUNK;

/// Where groups of lanes at points of this part must end: in long arrays, behind its last point. A group must not reach
/// the points behind it, not even to read elements that it throws away, because another thread may be writing there.
#[inline(always)]
pub(crate) fn end_of_groups<V: Number>(memory: &Bindings<V>, part: &IndexRange) -> isize {
    if memory.shape.iter().product::<isize>() <= POINTS {
        return isize::MAX;
    }
    memory.at([part.hi[0] - 1, part.hi[1] - 1, part.hi[2] - 1], part.hi[3])
}

/// The blocks of a range.
struct Blocks {
    region: IndexRange,
    /// Blocks are pieces along this dimension, and single places along those before.
    dimension: usize,
    /// The length of a piece.
    step: isize,
    count: usize,
}

impl Blocks {
    fn of(region: &IndexRange) -> Self {
        let extent = |d: usize| region.hi[d] - region.lo[d];
        let inside = |d: usize| (d + 1..4).map(extent).product::<isize>();
        if region.is_empty() {
            return Self { region: *region, dimension: 3, step: 1, count: 0 };
        }
        let dimension = (0..4).find(|d| inside(*d) <= POINTS).unwrap_or(3);
        let step = (POINTS / inside(dimension)).max(1);
        let count = (0..dimension).map(extent).product::<isize>() * ((extent(dimension) + step - 1) / step);
        Self { region: *region, dimension, step, count: count.unsigned_abs() }
    }

    fn get(&self, n: usize) -> IndexRange {
        let (mut rest, mut block, d) = (n.cast_signed(), self.region, self.dimension);
        let pieces = (block.hi[d] - block.lo[d] + self.step - 1) / self.step;
        block.lo[d] += rest % pieces * self.step;
        block.hi[d] = block.hi[d].min(block.lo[d] + self.step);
        rest /= pieces;
        for k in (0..d).rev() {
            let extent = block.hi[k] - block.lo[k];
            block.lo[k] += rest % extent;
            block.hi[k] = block.lo[k] + 1;
            rest /= extent;
        }
        block
    }
}

/// Whether threads are to share out the blocks of this range, which are more than one then.
fn is_shared(region: &IndexRange) -> bool {
    #[cfg(feature = "rayon")]
    return region.points() > POINTS.unsigned_abs() && rayon::current_num_threads() > 1;
    #[cfg(not(feature = "rayon"))]
    {
        let _ = region;
        false
    }
}

/// Calls `work` with parts that make up the range together, perhaps on several threads.
pub(crate) fn each_block(region: &IndexRange, work: impl Fn(&IndexRange) + Sync) {
    #[cfg(feature = "rayon")]
    if is_shared(region) {
        let blocks = Blocks::of(region);
        return (0..blocks.count).into_par_iter().for_each(|n| work(&blocks.get(n)));
    }
    work(region);
}

/// The sums of what `work` returns for the parts of the range, perhaps found on several threads, and added up in order.
pub(crate) fn sum_of_blocks<V: Number, const K: usize>(
    region: &IndexRange,
    work: impl Fn(&IndexRange) -> [V; K] + Sync,
) -> [V; K] {
    let add = |mut sums: [V; K], block: [V; K]| {
        sums.iter_mut().zip(block).for_each(|(sum, term)| *sum += term);
        sums
    };
    let zeros = [V::ZERO; K];
    if region.points() <= POINTS.unsigned_abs() {
        return add(zeros, work(region));
    }
    let blocks = Blocks::of(region);
    if is_shared(region) {
        #[cfg(feature = "rayon")]
        {
            let sums: Vec<[V; K]> = (0..blocks.count).into_par_iter().map(|n| work(&blocks.get(n))).collect();
            return sums.into_iter().fold(zeros, add);
        }
    }
    (0..blocks.count).map(|n| work(&blocks.get(n))).fold(zeros, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_disjoint_and_make_up_the_range() {
        for (lo, hi) in [
            ([0, 0, 0, 0], [1, 1, 1, 1]),
            ([0, 0, 0, 5], [1, 1, 1, 100_000]),
            ([0, 0, 3, 1], [1, 1, 7, 40_000]),
            ([0, 2, 0, 1], [1, 300, 3, 700]),
            ([1, 0, 0, 0], [4, 2, 200, 200]),
            ([0, 0, 0, 3], [1, 1, 1, 3]),
        ] {
            let region = IndexRange { lo, hi };
            let blocks = Blocks::of(&region);
            let mut points = 0;
            for n in 0..blocks.count {
                let block = blocks.get(n);
                assert!(!block.is_empty() && block.points() <= POINTS.unsigned_abs());
                points += block.points();
                for other in (0..n).map(|n| blocks.get(n)) {
                    assert!((0..4).any(|d| block.hi[d] <= other.lo[d] || other.hi[d] <= block.lo[d]));
                }
            }
            assert_eq!(points, region.points());
        }
    }
}
