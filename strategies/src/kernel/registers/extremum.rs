//! Search for the largest or smallest value over a range.

use super::cursor::{ALL, Captures};
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
use crate::kernel::targets::sums::Chunk;
use crate::number::agreed;
use crate::number::simd::dispatch::SimdTask;
use crate::number::simd::vector::{MOST, SimdVector};

/// Number of points of a row that are compared before the best value so far is looked at.
const PIECE: isize = 64;

/// The best value so far, and the first piece of a row that has it; `None` if no value is better than infinity.
#[derive(Clone, Copy)]
struct Best<V> {
    value: V,
    piece: Option<Chunk>,
}

impl<V: Number> Best<V> {
    /// The infinity that no value is worse than.
    fn none(largest: bool) -> Self {
        Self { value: V::from_f64(if largest { f64::NEG_INFINITY } else { f64::INFINITY }), piece: None }
    }
}

/// Returns the largest or smallest value of a kernel's expression over the grid, and the first element that has it.
///
/// One pass finds the best value and a short piece of a row that has it first, block by block, on several threads if
/// the range is long; the place is looked for in this piece only.
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
    let (seeds, range) = (Seeds::NONE, &grid.range);
    let terms = &values_of::<V, P, 1>(kernel, memory, &seeds, range);
    let inner = &terms.inner();
    // SAFETY: promised by the caller.
    let best_in = |part: &IndexRange| unsafe { V::dispatch(Search { terms, inner, part, largest }) };
    let Best { value: best, piece } = best_of_blocks(range, largest, &best_in);
    let place = |row: [isize; 3], i: isize| memory.at(row, i).unsigned_abs();
    if let Some(Chunk { row, from, to }) = piece {
        let (value, i) = first_of(terms, row, (from, to), best)?;
        return Some(Found { value, element: place(row, i) });
    }
    each_row!(range, row => {
        if let Some((value, i)) = first_of(terms, row, (range.lo[3], range.hi[3]), best) {
            return Some(Found { value, element: place(row, i) });
        }
    });
    // All values are NaN: the first point is the result.
    let ([a, b, c, i], mut value) = (range.lo, [[V::ZERO]]);
    terms.anywhere([a, b, c], i, &mut value);
    Some(Found { value: value[0][0], element: place([a, b, c], i) })
}

/// Returns the best of the results of `best_in` for the blocks of the range: the first one, if several are equal.
fn best_of_blocks<V: Number>(
    range: &IndexRange,
    largest: bool,
    best_in: &(dyn Fn(&IndexRange) -> Best<V> + Sync),
) -> Best<V> {
    if range.points() <= POINTS.unsigned_abs() {
        return best_in(range);
    }
    let mut best = Best::none(largest);
    in_order_of_blocks(range, best_in, &mut |_, found| {
        if better(largest, found.value, best.value) {
            best = found;
        }
    });
    best
}

/// Finds the best value of a part.
///
/// Running the task is sound if the terms have been checked for their range; at the points of `inner` all reads are
/// inside the views.
struct Search<'a, 't, V: Number, C> {
    terms: &'a Summands<'t, V, C, 1>,
    inner: &'a IndexRange,
    part: &'a IndexRange,
    largest: bool,
}

impl<V: Number, C: StaticListing> SimdTask<V> for Search<'_, '_, V, C> {
    type Output = Best<V>;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> Best<V> {
        const { assert!(PIECE % L::N.cast_signed() == 0 && L::N <= MOST, "registers fill a piece, and a chunk") };
        let Self { terms, inner, part, largest } = self;
        let (memory, captured) = (terms.memory, &Captures::of::<C>(&terms.kernel.constants));
        let (n, (first, end), mut best, mut own) =
            (L::N.cast_signed(), (part.lo[3], part.hi[3]), Best::none(largest), *memory);
        each_row!(part, row => {
            if const { has_opcode::<C>(ALONG) } {
                own.enter(memory, &terms.kernel.plan().leaves, row);
            }
            let start = memory.at(row, 0);
            // Points that can be read in complete groups.
            let from = if inner.has_row(row) { inner.lo[3].clamp(first, end) } else { end };
            let stop = from + (inner.hi[3].min(end) - from).max(0) / n * n;
            let mut i = first;
            while i < end {
                let bound = if i < from { from } else if i < stop { stop } else { end };
                let to = (i + PIECE).min(bound);
                let mut value = best.value;
                if i >= from && i < stop {
                    let (before, mut most, mut at) = (L::splat(best.value), L::splat(best.value), i);
                    while at < to {
                        // SAFETY: promised by the caller.
                        let [found] = unsafe { terms.lanes::<L, ALL>(&own, captured, (row, start), at) };
                        let better = if largest { most.less(found) } else { found.less(most) };
                        most = L::select(better, found, most);
                        at += n;
                    }
                    if L::any(if largest { before.less(most) } else { most.less(before) }) {
                        value = best_lane(&most, largest, value);
                    }
                } else {
                    value = best_of::<V, C>(terms, row, (i, to), largest, value);
                }
                if better(largest, value, best.value) {
                    best = Best { value, piece: Some(Chunk { row, from: i, to }) };
                }
                i = to;
            }
        });
        best
    }
}

/// Returns the best of `best` and the elements of a register.
#[cfg_attr(not(debug_assertions), inline(always))]
fn best_lane<V: Number, L: SimdVector<Number = V>>(register: &L, largest: bool, best: V) -> V {
    let mut all = [V::ZERO; MOST];
    // SAFETY: the array has room for the elements of a register.
    unsafe { register.store(all.as_mut_ptr()) };
    all.into_iter().take(L::N).fold(best, |best, value| if better(largest, value, best) { value } else { best })
}

/// Returns true if `value` is larger, or smaller, than `other`. Panics if the lanes of a pack disagree.
#[cfg_attr(not(debug_assertions), inline(always))]
fn better<V: Number>(largest: bool, value: V, other: V) -> bool {
    agreed::<V, _>(|k| if largest { value.lane(k) > other.lane(k) } else { value.lane(k) < other.lane(k) })
}

/// Returns the best of `best` and the values at some points of a row, by the interpreter.
#[cold]
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
