//! Adjoints of operands of lower rank: sums over the dimensions that they do not have.
//!
//! The division into parts depends on the range only, and the sums of parts are added in order, so an adjoint has the
//! same bits on any number of threads.

#[cfg(feature = "rayon")]
use super::blocks::threads_for;
use super::blocks::{POINTS, extent_of_block};
use super::counts::Region;
use super::kernel::Gather;
use crate::Number;
use crate::kernel::ir::access::{DimensionBits, LAST};
use crate::kernel::ir::grid::IndexRange;
use crate::number::all_finite;
use crate::number::simd::planes::Place;
#[cfg(feature = "rayon")]
use rayon::iter::{IntoParallelIterator, ParallelIterator};

/// Number of elements of an operand along the last dimension that are accumulated together, in a part of the cache.
const COLUMNS: isize = 1024;
/// Minimum number of rows whose sum has memory of its own.
const ROWS: isize = 64;

/// Partial derivatives for an operand of lower rank, times the seeds.
pub(crate) trait Slopes<V>: Sync {
    /// Sums them over a part of the range.
    fn sum(&self, part: &IndexRange) -> V;
    /// Adds those at each point to the element of `to` for its place along the last dimension, row by row.
    fn add_rows(&self, part: &IndexRange, to: &mut [V]);
    /// Sums them over a part of the range, one after the other. Exact where factors are not finite.
    fn careful(&self, part: &IndexRange) -> V;
}

/// Division of a range into groups of points, each with its own elements of an operand. A group is divided into blocks,
/// which are added in order.
struct Groups {
    range: IndexRange,
    /// Elements of a group along each dimension; all of a dimension that the operand does not have.
    extent: [isize; 4],
    /// Dimension along which a group is divided into blocks, and the extent of a block along it.
    block: (usize, isize),
}

impl Groups {
    fn of(range: &IndexRange, dimensions: DimensionBits) -> Self {
        let length = |d: usize| range.hi[d] - range.lo[d];
        let mut extent = [0, 1, 2, 3].map(|d| if dimensions >> d & 1 == 1 { 1 } else { length(d) });
        if dimensions & LAST == 0 {
            return Self { range: *range, extent, block: (0, extent[0]) };
        }
        extent[3] = length(3).min(COLUMNS);
        let longest = (0..3).max_by_key(|d| extent[*d]).unwrap_or(0);
        let rows = extent[..3].iter().product::<isize>() / extent[longest];
        let least = ROWS.max(POINTS / extent[3]);
        Self { range: *range, extent, block: (longest, (least + rows - 1) / rows) }
    }

    fn pieces(&self, d: usize) -> isize {
        (self.range.hi[d] - self.range.lo[d] + self.extent[d] - 1) / self.extent[d]
    }

    fn count(&self) -> usize {
        (0..4).map(|d| self.pieces(d)).product::<isize>().unsigned_abs()
    }

    /// Number of blocks of each group.
    fn blocks(&self) -> usize {
        let (dimension, step) = self.block;
        ((self.extent[dimension] + step - 1) / step).unsigned_abs()
    }

    /// Returns the points of a group.
    fn group(&self, group: usize) -> IndexRange {
        let (mut rest, mut part) = (group.cast_signed(), self.range);
        for d in (0..4).rev() {
            let pieces = self.pieces(d);
            part.lo[d] += rest % pieces * self.extent[d];
            part.hi[d] = part.hi[d].min(part.lo[d] + self.extent[d]);
            rest /= pieces;
        }
        part
    }

    /// Returns the points of a block of a group.
    fn block(&self, group: usize, block: usize) -> IndexRange {
        let (mut part, (dimension, step)) = (self.group(group), self.block);
        part.lo[dimension] += block.cast_signed() * step;
        part.hi[dimension] = part.hi[dimension].min(part.lo[dimension] + step);
        part
    }
}

/// Division of the points of a launch for the adjoints of an operand of lower rank: each element of the operand in the
/// range is read at points of its own, in blocks, whose sums are added to its adjoint in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// Extent of a block along each dimension that the operand does not have; 1 along the others. Blocks are in the
    /// order of their first points, and the last one along a dimension may be smaller.
    pub block: [isize; 4],
    /// Number of blocks of each element.
    pub blocks: usize,
    /// Number of elements of the operand that are read.
    pub elements: usize,
}

impl Division {
    /// Divides a range for an operand along these dimensions.
    pub(crate) fn of(range: &IndexRange, dimensions: DimensionBits) -> Self {
        let (groups, length) = (Groups::of(range, dimensions), |d: usize| (range.hi[d] - range.lo[d]).max(0));
        let mut block = groups.extent;
        if dimensions & LAST == 0 {
            block = extent_of_block(&groups.group(0));
        } else {
            block[groups.block.0] = groups.block.1;
        }
        let has = |d: &usize| dimensions >> d & 1 == 1;
        (0..4).filter(has).for_each(|d| block[d] = 1);
        let elements = (0..4).filter(has).map(|d| length(d).unsigned_abs()).product();
        let pieces = |d: usize| ((length(d) + block[d] - 1) / block[d]).unsigned_abs();
        Self { block, blocks: (0..4).filter(|d| !has(d)).map(pieces).product(), elements }
    }
}

/// Adjoints of an operand, of which each group has its own.
struct Adjoints<V: Number> {
    start: Place<V>,
    strides: [isize; 4],
}

// SAFETY: whoever calls `add` promises that nobody else uses the adjoints of the group.
unsafe impl<V: Number> Sync for Adjoints<V> {}

impl<V: Number> Adjoints<V> {
    /// # Safety
    ///
    /// Nobody else uses the adjoints of this group, which are as many as the sums.
    unsafe fn add(&self, group: &IndexRange, sums: &[V]) {
        let first = (0..4).map(|d| group.lo[d] * self.strides[d]).sum::<isize>();
        for (sum, at) in sums.iter().zip(first..) {
            let to = self.start.wrapping_offset(at);
            // SAFETY: promised by the caller.
            unsafe { to.set(to.get() + *sum) }
        }
    }
}

/// Accumulates the adjoints of operand `k`, of lower rank: one loop in one region, whatever it sums.
///
/// # Safety
///
/// The range is not empty; the gather has been checked, and nobody else uses the adjoints of the operand.
pub(crate) unsafe fn accumulate<V: Number>(gather: &Gather<'_, V>, k: usize, slopes: &dyn Slopes<V>) {
    let dimensions = gather.kernel.plan().leaves.dimensions[k];
    let to = &Adjoints { start: gather.to[k], strides: gather.memory.strides_along(dimensions) };
    let groups = &Groups::of(&gather.range, dimensions);
    let add_block = |group: usize, block: usize, sums: &mut Vec<V>| {
        let part = groups.block(group, block);
        sums.clear();
        if dimensions & LAST == 0 {
            let sum = slopes.sum(&part);
            return sums.push(if all_finite(sum) { sum } else { slopes.careful(&part) });
        }
        sums.resize((part.hi[3] - part.lo[3]).unsigned_abs(), V::ZERO);
        slopes.add_rows(&part, sums);
        for (sum, i) in sums.iter_mut().zip(part.lo[3]..) {
            if !all_finite(*sum) {
                let column = |[a, b, c, _]: [isize; 4], i: isize| [a, b, c, i];
                *sum = slopes.careful(&IndexRange { lo: column(part.lo, i), hi: column(part.hi, i + 1) });
            }
        }
    };
    // SAFETY: promised by the caller; each call below adds to a group that no other thread adds to.
    let add = |group: usize, sums: &[V]| unsafe { to.add(&groups.group(group), sums) };
    let entered = Region::begin();
    #[cfg(feature = "rayon")]
    if threads_for(gather.range.points()) > 1 {
        on_threads(groups, &add_block, &add);
        return entered.end();
    }
    let mut sums = Vec::new();
    for group in 0..groups.count() {
        for block in 0..groups.blocks() {
            add_block(group, block, &mut sums);
            add(group, &sums);
        }
    }
    entered.end();
}

#[cfg(feature = "rayon")]
fn on_threads<V: Number>(
    groups: &Groups,
    add_block: &(dyn Fn(usize, usize, &mut Vec<V>) + Sync),
    add: &(dyn Fn(usize, &[V]) + Sync),
) {
    let (count, blocks) = (groups.count(), groups.blocks());
    let sums_of = |group: usize, block: usize| {
        let mut sums = Vec::new();
        add_block(group, block, &mut sums);
        sums
    };
    if blocks == 1 {
        return (0..count).into_par_iter().for_each(|group| add(group, &sums_of(group, 0)));
    }
    let each = (0..count * blocks).into_par_iter();
    let all: Vec<Vec<V>> = each.map(|n| sums_of(n / blocks, n % blocks)).collect();
    all.iter().enumerate().for_each(|(n, sums)| add(n / blocks, sums));
}
