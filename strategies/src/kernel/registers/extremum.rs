//! Search for the largest or smallest value over a range.

use super::cursor::Captures;
use super::sum::{Summands, values_of};
use crate::Number;
use crate::kernel::interpreter::instructions::WIDTH;
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::kernel::ir::instruction::opcode::ALONG;
use crate::kernel::ir::kernel::Kernel;
use crate::kernel::ir::listing::{StaticListing, has_opcode};
use crate::kernel::targets::bindings::{Bindings, Seeds};
use crate::kernel::targets::blocks::{POINTS, in_order_of_blocks};
use crate::kernel::targets::kernel::{BoundKernel, Found};
use crate::number::agreed;
use crate::number::simd::dispatch::SimdTask;
use crate::number::simd::vector::{MOST, SimdVector};

/// Returns the largest or smallest value of a kernel's expression over the grid, and the first element that has it.
///
/// One pass finds the best value of each block, on several threads if the range is long; the place is looked for in the
/// first block with the best value only.
///
/// # Safety
///
/// The operands have been checked for this kernel and grid, and they are still alive.
pub(crate) unsafe fn find<V: Number, P: Kernel>(
    kernel: &BoundKernel<V>,
    grid: &Grid,
    memory: &Bindings<V>,
    largest: bool,
) -> Option<Found<V>> {
    if grid.range.is_empty() {
        return None;
    }
    let seeds = Seeds::NONE;
    let terms = &values_of::<V, P, 1>(kernel, memory, &seeds, &grid.range);
    let search = Search { terms, inner: &terms.inner() };
    // SAFETY: promised by the caller.
    let best_in = |part: &IndexRange| unsafe { V::dispatch(Best { search, part, largest }) };
    let (best, part) = best_block(&grid.range, largest, &best_in);
    // SAFETY: promised by the caller.
    let found = unsafe { V::dispatch(First { search, part: &part, best }) };
    // All values are NaN: the first point is the result.
    found.or_else(|| {
        let first = [grid.range.lo[0], grid.range.lo[1], grid.range.lo[2]];
        let element = memory.at(first, grid.range.lo[3]).unsigned_abs();
        let mut value = [[V::ZERO]];
        terms.anywhere(first, grid.range.lo[3], &mut value);
        Some(Found { value: value[0][0], element })
    })
}

/// Returns the best value of the range, and a part of it that has the first point with this value.
fn best_block<V: Number>(
    range: &IndexRange,
    largest: bool,
    best_in: &(dyn Fn(&IndexRange) -> V + Sync),
) -> (V, IndexRange) {
    if range.points() <= POINTS.unsigned_abs() {
        return (best_in(range), *range);
    }
    // Until a block has a better value than infinity, any block may be the first that has this infinity.
    let mut best = (worst(largest), *range);
    in_order_of_blocks(range, best_in, &mut |part, value| {
        if better(largest, value, best.0) {
            best = (value, part);
        }
    });
    best
}

/// Returns the infinity that no value is worse than.
fn worst<V: Number>(largest: bool) -> V {
    V::from_f64(if largest { f64::NEG_INFINITY } else { f64::INFINITY })
}

/// Arguments of the search loops.
///
/// Reads are sound if `memory` has been checked for the range; at the points of `inner` all reads are inside the views.
struct Search<'a, 't, V: Number, C> {
    terms: &'a Summands<'t, V, C, 1>,
    inner: &'a IndexRange,
}
impl<V: Number, C> Clone for Search<'_, '_, V, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V: Number, C> Copy for Search<'_, '_, V, C> {}

impl<V: Number, C: StaticListing> Search<'_, '_, V, C> {
    /// Returns the bounds of the points of a row of a part that can be read in complete SIMD groups.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn groups<L: SimdVector<Number = V>>(&self, row: [isize; 3], part: &IndexRange) -> (isize, isize) {
        let inner = self.inner;
        let (from, end) = (inner.lo[3].max(part.lo[3]), inner.hi[3].min(part.hi[3]));
        let groups = if inner.has_row(row) { (end - from).max(0) / L::N.cast_signed() } else { 0 };
        (from, from + groups * L::N.cast_signed())
    }
}

/// Finds the best value of a part. The result is infinite if all values are NaN, or none is better than that infinity.
struct Best<'a, 't, V: Number, C> {
    search: Search<'a, 't, V, C>,
    part: &'a IndexRange,
    largest: bool,
}

impl<V: Number, C: StaticListing> SimdTask<V> for Best<'_, '_, V, C> {
    type Output = V;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> V {
        let Self { search, part: range, largest } = self;
        let memory = search.terms.memory;
        let captured = &Captures::of::<C>(&search.terms.kernel.constants);
        let mut single = worst::<V>(largest);
        let mut best = L::splat(single);
        let mut own = *memory;
        each_row!(range, row => {
            if const { has_opcode::<C>(ALONG) } {
                own.enter(memory, &search.terms.kernel.plan().leaves, row);
            }
            let start = memory.at(row, 0);
            let (from, to) = search.groups::<L>(row, range);
            let mut i = from;
            while i < to {
                // SAFETY: promised by the caller.
                let [value] = unsafe { search.terms.lanes::<L>(&own, captured, (row, start), i) };
                let better = if largest { best.less(value) } else { value.less(best) };
                best = L::select(better, value, best);
                i += L::N.cast_signed();
            }
            for (first, end) in [(range.lo[3], from.min(range.hi[3])), (to.max(range.lo[3]), range.hi[3])] {
                single = best_of::<V, C>(search.terms, row, (first, end), largest, single);
            }
        });
        let mut all = [V::ZERO; MOST];
        const { assert!(L::N <= MOST, "a register has at most this many elements") };
        // SAFETY: the array has room for the elements of a register.
        unsafe { best.store(all.as_mut_ptr()) };
        for value in all.into_iter().take(L::N) {
            if better(largest, value, single) {
                single = value;
            }
        }
        single
    }
}

/// Returns true if `value` is larger, or smaller, than `other`. Panics if the lanes of a pack disagree.
#[cfg_attr(not(debug_assertions), inline(always))]
fn better<V: Number>(largest: bool, value: V, other: V) -> bool {
    agreed::<V, _>(|k| if largest { value.lane(k) > other.lane(k) } else { value.lane(k) < other.lane(k) })
}

/// Returns the best of `best` and the values at some points of a row, by the interpreter.
#[inline(never)]
fn best_of<V: Number, C: StaticListing>(
    terms: &Summands<'_, V, C, 1>,
    row: [isize; 3],
    (mut i, end): (isize, isize),
    largest: bool,
    mut best: V,
) -> V {
    let mut values = [[V::ZERO]; WIDTH];
    while i < end {
        let values = &mut values[..(end - i).unsigned_abs().min(WIDTH)];
        terms.anywhere(row, i, values);
        for [value] in &*values {
            if better(largest, *value, best) {
                best = *value;
            }
        }
        i += values.len().cast_signed();
    }
    best
}

/// Finds the first point of a part with this value.
struct First<'a, 't, V: Number, C> {
    search: Search<'a, 't, V, C>,
    part: &'a IndexRange,
    best: V,
}

impl<V: Number, C: StaticListing> SimdTask<V> for First<'_, '_, V, C> {
    type Output = Option<Found<V>>;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> Option<Found<V>> {
        let Self { search, part: range, best } = self;
        let (memory, wanted) = (search.terms.memory, L::splat(best));
        let captured = &Captures::of::<C>(&search.terms.kernel.constants);
        let mut own = *memory;
        each_row!(range, row => {
            if const { has_opcode::<C>(ALONG) } {
                own.enter(memory, &search.terms.kernel.plan().leaves, row);
            }
            let start = memory.at(row, 0);
            let (from, to) = search.groups::<L>(row, range);
            let mut i = range.lo[3];
            while i < range.hi[3] {
                let in_groups = i >= from && i < to;
                let end = match in_groups {
                    true => i + L::N.cast_signed(),
                    false if i < from => from.min(range.hi[3]),
                    false => range.hi[3],
                };
                if in_groups {
                    // SAFETY: promised by the caller; the points between `from` and `to` form complete groups.
                    let [value] = unsafe { search.terms.lanes::<L>(&own, captured, (row, start), i) };
                    if !L::any(value.equal(wanted)) {
                        i = end;
                        continue;
                    }
                }
                // The point's own value is returned: zeros of both signs are equal, and which of them `best` is depends
                // on the instruction set.
                if let Some((value, k)) = first_of::<V, C>(search.terms, row, (i, end), best) {
                    return Some(Found { value, element: (start + k).unsigned_abs() });
                }
                i = end;
            }
        });
        None
    }
}

/// Returns the first of some points of a row with this value, by the interpreter.
#[inline(never)]
fn first_of<V: Number, C: StaticListing>(
    terms: &Summands<'_, V, C, 1>,
    row: [isize; 3],
    (mut i, end): (isize, isize),
    best: V,
) -> Option<(V, isize)> {
    let mut values = [[V::ZERO]; WIDTH];
    while i < end {
        let values = &mut values[..(end - i).unsigned_abs().min(WIDTH)];
        terms.anywhere(row, i, values);
        if let Some(k) =
            values.iter().position(|[value]| agreed::<V, _>(|k| value.lane(k).as_f64() == best.lane(k).as_f64()))
        {
            return Some((values[k][0], i + k.cast_signed()));
        }
        i += values.len().cast_signed();
    }
    None
}
