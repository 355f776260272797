//! Blocks of ranges, distributed among threads.
//!
//! The division into blocks depends on the range only. The sums of blocks are added in order, so a sum has the same
//! bits on any number of threads; for loops that write the order is irrelevant, because no two points write the same
//! element.

use super::bindings::Bindings;
use super::counts::Region;
use crate::Number;
use crate::kernel::ir::grid::IndexRange;
use core::cmp::Ordering;
#[cfg(feature = "rayon")]
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

/// Number of points of a row that are summed separately.
pub(crate) const CHUNK: isize = 4096;
/// Approximate number of points of a block: enough work to pay for passing it to a thread.
pub(crate) const POINTS: isize = 8 * CHUNK;
/// Number of points above which launches share a parallel region in sweeps. Smaller arrays stay in the cache from one
/// launch to the next.
pub(crate) const SHARED_ABOVE: usize = 2 * POINTS.unsigned_abs();
/// Number of points of a SIMD group, at most.
const GROUP: usize = 16;

/// Offset at which SIMD groups of this part must end; unlimited if the array is too short for several threads. A group
/// must not even read elements beyond the part and discard them, because another thread may be writing there.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn end_of_groups<V: Number>(memory: &Bindings<V>, part: &IndexRange) -> isize {
    if memory.shape.iter().product::<isize>() <= POINTS {
        return isize::MAX;
    }
    memory.at([part.hi[0] - 1, part.hi[1] - 1, part.hi[2] - 1], part.hi[3])
}

/// Offset before which SIMD groups of this part must not read either, as those do that go around the ends of a row.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn start_of_groups<V: Number>(memory: &Bindings<V>, part: &IndexRange) -> isize {
    if end_of_groups(memory, part) == isize::MAX {
        return isize::MIN;
    }
    memory.at([part.lo[0], part.lo[1], part.lo[2]], part.lo[3])
}

/// Division of a range into blocks.
struct Blocks {
    region: IndexRange,
    /// Dimension that is divided. Dimensions before it have extent 1 in a block; those after it are complete.
    dimension: usize,
    /// Extent of a block along `dimension`.
    step: isize,
    count: usize,
}

impl Blocks {
    /// Divides a range into blocks of this many points at most.
    fn of(region: &IndexRange, points: isize) -> Self {
        let extent = |d: usize| region.hi[d] - region.lo[d];
        let inside = |d: usize| (d + 1..4).map(extent).product::<isize>();
        if region.is_empty() {
            return Self { region: *region, dimension: 3, step: 1, count: 0 };
        }
        let dimension = (0..4).find(|d| inside(*d) <= points).unwrap_or(3);
        let step = (points / inside(dimension)).max(1);
        let count = (0..dimension).map(extent).product::<isize>() * ((extent(dimension) + step - 1) / step);
        Self { region: *region, dimension, step, count: count.unsigned_abs() }
    }

    fn get(&self, n: usize) -> IndexRange {
        // `n` in mixed radix: the divided dimension varies fastest, the first one slowest.
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

/// Extent along each dimension of the blocks that a range is divided into for sums.
pub(crate) fn extent_of_block(region: &IndexRange) -> [isize; 4] {
    let blocks = Blocks::of(region, POINTS);
    let extent = |d: usize| match d.cmp(&blocks.dimension) {
        Ordering::Less => 1,
        Ordering::Equal => blocks.step,
        Ordering::Greater => region.hi[d] - region.lo[d],
    };
    [0, 1, 2, 3].map(extent)
}

/// Calls `work` with disjoint parts that cover the range, of this many points at most, one after the other.
pub(crate) fn in_small_parts(range: &IndexRange, points: isize, mut work: impl FnMut(&IndexRange)) {
    if range.is_empty() {
        return;
    }
    let Blocks { dimension: d, mut step, .. } = Blocks::of(range, points);
    if d == 3 {
        // Pieces of a row are about equally long, so that none has only a few points.
        let extent = range.hi[d] - range.lo[d];
        let each = extent.unsigned_abs().div_ceil(extent.unsigned_abs().div_ceil(step.unsigned_abs()));
        step = each.next_multiple_of(GROUP).cast_signed();
    }
    let mut part = *range;
    (0..d).for_each(|k| part.hi[k] = part.lo[k] + 1);
    // Counted up, since the divisions of `Blocks::get` take as long as the work on a part.
    loop {
        let mut first = range.lo[d];
        while first < range.hi[d] {
            (part.lo[d], part.hi[d]) = (first, range.hi[d].min(first + step));
            work(&part);
            first += step;
        }
        let Some(next) = (0..d).rev().find(|k| part.hi[*k] < range.hi[*k]) else { return };
        (part.lo[next], part.hi[next]) = (part.lo[next] + 1, part.hi[next] + 1);
        for k in next + 1..d {
            (part.lo[k], part.hi[k]) = (range.lo[k], range.lo[k] + 1);
        }
    }
}

/// Number of threads that should share work on this many points; 1 if it is not enough to share.
pub(crate) fn threads_for(points: usize) -> usize {
    #[cfg(feature = "rayon")]
    if points > POINTS.unsigned_abs() {
        return rayon::current_num_threads();
    }
    let _ = points;
    1
}

/// Calls `work` with each part and its number, possibly on several threads.
pub(crate) fn each_part<T: Send>(parts: Vec<T>, work: &(dyn Fn(usize, T) + Sync)) {
    #[cfg(feature = "rayon")]
    if parts.len() > 1 && rayon::current_num_threads() > 1 {
        return parts.into_par_iter().enumerate().for_each(|(n, part)| work(n, part));
    }
    parts.into_iter().enumerate().for_each(|(n, part)| work(n, part));
}

/// Calls `work`, which runs this many loops, with disjoint parts that cover the range, possibly on several threads.
pub(crate) fn each_block(region: &IndexRange, loops: usize, work: impl Fn(&IndexRange) + Sync) {
    let entered = Region::begin();
    #[cfg(feature = "rayon")]
    if threads_for(region.points()) > 1 {
        each_shared(&Blocks::of(region, POINTS), &work);
        return entered.end_of_several(loops);
    }
    work(region);
    entered.end_of_several(loops);
}

// Behind a pointer the code of the threads is compiled once, and not for each kernel.
#[cfg(feature = "rayon")]
fn each_shared(blocks: &Blocks, work: &(dyn Fn(&IndexRange) + Sync)) {
    (0..blocks.count).into_par_iter().for_each(|n| work(&blocks.get(n)));
}

/// Sums the results of `work` over the parts of the range, possibly computed on several threads, in the order of the
/// blocks.
pub(crate) fn sum_of_blocks<V: Number, const K: usize>(
    region: &IndexRange,
    work: impl Fn(&IndexRange) -> [V; K] + Sync,
) -> [V; K] {
    let (entered, mut sums) = (Region::begin(), [V::ZERO; K]);
    if region.points() <= POINTS.unsigned_abs() {
        add(&mut sums, work(region));
    } else {
        add_blocks(&mut sums, region, &work);
    }
    entered.end();
    sums
}

fn add<V: Number, const K: usize>(sums: &mut [V; K], block: [V; K]) {
    sums.iter_mut().zip(block).for_each(|(sum, term)| *sum += term);
}

fn add_blocks<V: Number, const K: usize>(
    sums: &mut [V; K],
    region: &IndexRange,
    work: &(dyn Fn(&IndexRange) -> [V; K] + Sync),
) {
    in_order_of_blocks(region, work, &mut |_, block| add(sums, block));
}

/// Passes the results of `work` for the parts of the range to `each`, in the order of the blocks. The results may be
/// computed on several threads.
pub(crate) fn in_order_of_blocks<T: Send>(
    region: &IndexRange,
    work: &(dyn Fn(&IndexRange) -> T + Sync),
    each: &mut dyn FnMut(IndexRange, T),
) {
    let blocks = Blocks::of(region, POINTS);
    #[cfg(feature = "rayon")]
    if threads_for(region.points()) > 1 {
        let all: Vec<T> = (0..blocks.count).into_par_iter().map(|n| work(&blocks.get(n))).collect();
        return all.into_iter().enumerate().for_each(|(n, found)| each(blocks.get(n), found));
    }
    (0..blocks.count).for_each(|n| each(blocks.get(n), work(&blocks.get(n))));
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
            let blocks = Blocks::of(&region, POINTS);
            make_up(&region, &(0..blocks.count).map(|n| blocks.get(n)).collect::<Vec<_>>(), POINTS);
        }
    }

    #[test]
    fn small_parts_are_disjoint_and_make_up_the_range() {
        for (lo, hi) in [
            ([0, 0, 0, 0], [1, 1, 1, 1]),
            ([0, 0, 0, 5], [1, 1, 1, 10_006]),
            ([0, 0, 3, 1], [1, 1, 7, 258]),
            ([0, 2, 0, 1], [1, 8, 3, 70]),
            ([1, 0, 0, 0], [4, 2, 5, 7]),
            ([0, 4, 0, 0], [3, 4, 5, 6]),
        ] {
            let (range, mut parts) = (IndexRange { lo, hi }, Vec::new());
            in_small_parts(&range, 256, |part| parts.push(*part));
            make_up(&range, &parts, 256);
        }
    }

    fn make_up(range: &IndexRange, parts: &[IndexRange], most: isize) {
        for (n, part) in parts.iter().enumerate() {
            assert!(!part.is_empty() && part.points() <= most.unsigned_abs());
            for other in &parts[..n] {
                assert!((0..4).any(|d| part.hi[d] <= other.lo[d] || other.hi[d] <= part.lo[d]));
            }
        }
        assert_eq!(parts.iter().map(IndexRange::points).sum::<usize>(), range.points());
    }
}
