//! Search for the largest and the smallest value over a range.

use super::sum::{Summands, values_of};
use crate::Number;
use crate::kernel::exec::bindings::{Bindings, Captures, Seeds};
use crate::kernel::exec::interpreter::WIDTH;
use crate::kernel::exec::vtable::BoundKernel;
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::kernel::ir::kernel::Kernel;
use crate::kernel::ir::listing::StaticListing;
use crate::number::agreed;
use crate::number::simd::dispatch::SimdTask;
use crate::number::simd::vector::SimdVector;

/// [`extremum`](crate::kernel::launch::extremum) for operands that lie in memory.
///
/// # Safety
///
/// [`memory`](crate::kernel::exec::operands::memory) has checked them for this kernel and grid, and they are still
/// there.
pub(crate) unsafe fn find<V: Number, P: Kernel>(
    kernel: &BoundKernel<V>,
    grid: &Grid,
    memory: &Bindings<V>,
    largest: bool,
) -> Option<(V, usize)> {
    if grid.range.is_empty() {
        return None;
    }
    let seeds = Seeds::NONE;
    let terms = &values_of::<V, P>(kernel, (memory, &seeds), &grid.range);
    let search = Search { terms, inner: &terms.inner() };
    // SAFETY: promised by the caller.
    let found = unsafe {
        let best = V::dispatch(Best { search, largest });
        V::dispatch(First { search, best })
    };
    // Nothing but NaN.
    found.or_else(|| {
        let first = [grid.range.lo[0], grid.range.lo[1], grid.range.lo[2]];
        let element = memory.at(first, grid.range.lo[3]).unsigned_abs();
        let mut value = [[V::ZERO]];
        terms.anywhere(first, grid.range.lo[3], &mut value);
        Some((value[0][0], element))
    })
}

/// Where to look.
///
/// Reads are safe if `memory` is fit for the range, and at the points of `inner` all reads are inside the views.
struct Search<'a, 't, V: 'static, C> {
    terms: &'a Summands<'t, V, C, 1>,
    inner: &'a IndexRange,
}
impl<V, C> Clone for Search<'_, '_, V, C> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<V, C> Copy for Search<'_, '_, V, C> {}

impl<V: Number, C: StaticListing> Search<'_, '_, V, C> {
    /// The points of a row that can be read in groups.
    #[inline(always)]
    fn groups<L: SimdVector<Number = V>>(&self, row: [isize; 3]) -> (isize, isize) {
        let (inner, range) = (self.inner, self.terms.range);
        let inside = (0..3).all(|d| row[d] >= inner.lo[d] && row[d] < inner.hi[d]);
        let (from, end) = (inner.lo[3].max(range.lo[3]), inner.hi[3].min(range.hi[3]));
        let groups = if inside { (end - from).max(0) / L::N.cast_signed() } else { 0 };
        (from, from + groups * L::N.cast_signed())
    }
}

/// Looks for the best value; infinite if there is none but NaN, or none better than infinity.
struct Best<'a, 't, V: 'static, C> {
    search: Search<'a, 't, V, C>,
    largest: bool,
}

impl<V: Number, C: StaticListing> SimdTask<V> for Best<'_, '_, V, C> {
    type Output = V;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> V {
        let Self { search, largest } = self;
        let (memory, range) = (search.terms.memory, search.terms.range);
        let captured = &Captures::of::<C>(&search.terms.kernel.constants);
        let mut single = V::from_f64(if largest { f64::NEG_INFINITY } else { f64::INFINITY });
        let mut best = L::splat(single);
        each_row!(range, row => {
            let start = memory.at(row, 0);
            let (from, to) = search.groups::<L>(row);
            let mut i = from;
            while i < to {
                // SAFETY: promised by the caller.
                let [value] = unsafe { search.terms.lanes::<L>(memory, captured, start + i) };
                let better = if largest { best.less(value) } else { value.less(best) };
                best = L::select(better, value, best);
                i += L::N.cast_signed();
            }
            for (first, end) in [(range.lo[3], from.min(range.hi[3])), (to.max(range.lo[3]), range.hi[3])] {
                single = best_of::<V, C>(search.terms, row, (first, end), largest, single);
            }
        });
        let mut all = [V::ZERO; 16];
        // SAFETY: no register has more numbers.
        unsafe { best.store(all.as_mut_ptr()) };
        for value in all.into_iter().take(L::N) {
            if better(largest, value, single) {
                single = value;
            }
        }
        single
    }
}

/// Whether a value is larger, or smaller, than another one.
#[inline(always)]
fn better<V: Number>(largest: bool, value: V, other: V) -> bool {
    agreed::<V, _>(|k| if largest { value.lane(k) > other.lane(k) } else { value.lane(k) < other.lane(k) })
}

/// The best of some points of a row, and of what has been found before.
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

/// Looks for the first point with this value.
struct First<'a, 't, V: 'static, C> {
    search: Search<'a, 't, V, C>,
    best: V,
}

impl<V: Number, C: StaticListing> SimdTask<V> for First<'_, '_, V, C> {
    type Output = Option<(V, usize)>;
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> Option<(V, usize)> {
        let Self { search, best } = self;
        let (memory, range, wanted) = (search.terms.memory, search.terms.range, L::splat(best));
        let captured = &Captures::of::<C>(&search.terms.kernel.constants);
        each_row!(range, row => {
            let start = memory.at(row, 0);
            let (from, to) = search.groups::<L>(row);
            let mut i = range.lo[3];
            while i < range.hi[3] {
                let in_groups = i >= from && i < to;
                let end = match in_groups {
                    true => i + L::N.cast_signed(),
                    false if i < from => from.min(range.hi[3]),
                    false => range.hi[3],
                };
                if in_groups {
                    // SAFETY: promised by the caller; what lies between `from` and `to` is made of whole groups.
                    let [value] = unsafe { search.terms.lanes::<L>(memory, captured, start + i) };
                    if !L::any(value.equal(wanted)) {
                        i = end;
                        continue;
                    }
                }
                // Its own value: zeros of both signs are equal, and which of them `best` is depends on the registers.
                if let Some((value, k)) = first_of::<V, C>(search.terms, row, (i, end), best) {
                    return Some((value, (start + k).unsigned_abs()));
                }
                i = end;
            }
        });
        None
    }
}

/// The first of some points of a row with this value.
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
