//! Adjoints of operands of lower rank: rows of partial derivatives, added up in registers.

use super::cursor::{ALL, Captures};
use super::sum::{Summands, What, sum_of_terms};
use crate::Number;
use crate::kernel::interpreter::points::careful_sum;
use crate::kernel::ir::access::{Access, AccessSummary};
use crate::kernel::ir::grid::{IndexRange, each_row};
use crate::kernel::ir::kernel::{AlongOf, Kernel};
use crate::kernel::ir::listing::StaticListing;
use crate::kernel::targets::along::{Slopes, accumulate};
use crate::kernel::targets::blocks::sum_of_blocks;
use crate::kernel::targets::kernel::Gather;
use crate::kernel::targets::sums::SUMS;
use crate::number::simd::dispatch::SimdTask;
use crate::number::simd::vector::SimdVector;
use core::marker::PhantomData;

/// Function that accumulates the adjoints of one operand.
type OfOperand<V> = unsafe fn(&Gather<'_, V>);

/// Returns the function for operand `K`, or `None` if it is not of lower rank or has no partial derivative.
pub(crate) const fn of_operand<V: Number, P: Kernel, const K: usize>() -> Option<OfOperand<V>> {
    if AccessSummary::has(P::PLAN.partials.along, K) { Some(along::<V, P, K>) } else { None }
}

/// # Safety
///
/// The gather has been checked, its range is not empty, and nobody else uses the adjoints of the operand.
unsafe fn along<V: Number, P: Kernel, const K: usize>(gather: &Gather<'_, V>) {
    let plan = P::PLAN;
    let leaf = plan.scripts.leaf(Access::along(K, plan.leaves.dimensions[K])).expect("it has a partial derivative");
    let terms = Summands {
        kernel: gather.kernel,
        memory: &gather.memory,
        seeds: &gather.seeds,
        range: &gather.range,
        what: What::Partial(leaf),
        steps: PhantomData,
    };
    // SAFETY: promised by the caller.
    unsafe { accumulate(gather, K, &Partials::<V, AlongOf<P, K>> { gather, leaf, terms }) }
}

/// Partial derivatives for an operand. Evaluating them is sound if the gather has been checked.
struct Partials<'a, 'g, V: Number, C> {
    gather: &'a Gather<'g, V>,
    leaf: usize,
    terms: Summands<'a, V, C, 1>,
}

impl<V: Number, C: StaticListing + Sync> Slopes<V> for Partials<'_, '_, V, C> {
    fn sum(&self, part: &IndexRange) -> V {
        // SAFETY: the gather has been checked.
        let [sum] = sum_of_blocks(part, |part| unsafe { sum_of_terms(&self.terms, part) });
        sum
    }

    fn add_rows(&self, part: &IndexRange, to: &mut [V]) {
        assert!(to.len().cast_signed() >= part.hi[3] - part.lo[3], "an element for each place of a row");
        // SAFETY: the gather has been checked, and `to` is long enough.
        unsafe { V::dispatch(AddRows { terms: &self.terms, part, to }) }
    }

    fn careful(&self, part: &IndexRange) -> V {
        careful_sum(self.gather, self.leaf, part)
    }
}

/// Task of [`Slopes::add_rows`].
///
/// Running the task is sound if the terms have been checked for their range, which has all of the part, and `to` has an
/// element for each place of a row.
struct AddRows<'a, 't, V: Number, C> {
    terms: &'a Summands<'t, V, C, 1>,
    part: &'a IndexRange,
    to: &'a mut [V],
}

impl<V: Number, C: StaticListing> SimdTask<V> for AddRows<'_, '_, V, C> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) {
        let Self { terms, part, to } = self;
        let (inner, captured) = (terms.inner(), &Captures::of::<C>(&terms.kernel.constants));
        let (mut memory, mut seeds) = (*terms.memory, *terms.seeds);
        let (n, (first, end)) = (L::N.cast_signed(), (part.lo[3], part.hi[3]));
        each_row!(part, row => {
            // SAFETY: promised by the caller; points between `from` and `stop` read inside the views.
            unsafe {
                terms.enter(&mut memory, &mut seeds, row);
                let here = &Summands { memory: &memory, seeds: &seeds, ..*terms };
                let (from, stop) = if inner.has_row(row) {
                    (inner.lo[3].clamp(first, end), inner.hi[3].clamp(first, end))
                } else {
                    (end, end)
                };
                let (start, sums) = (memory.at(row, 0), to.as_mut_ptr().wrapping_offset(-first));
                let mut i = from;
                while i + n <= stop {
                    let [term] = here.lanes::<L, ALL>(here.memory, captured, (row, start), i);
                    let sum = sums.wrapping_offset(i);
                    (L::load(sum) + term).store(sum);
                    i += n;
                }
                if first < from {
                    add_points((terms, false), row, (first, from), to);
                }
                let (done, last) = ((i - first).unsigned_abs(), stop.max(i));
                if i < stop {
                    add_points((here, true), row, (i, stop), &mut to[done..]);
                }
                if last < end {
                    add_points((terms, false), row, (last, end), &mut to[(last - first).unsigned_abs()..]);
                }
            }
        });
    }
}

/// Adds the terms at some points of a row to the sums for these points.
///
/// # Safety
///
/// The terms have been checked for their range; if `inside`, they are those of the row, and the points read inside the
/// views.
#[cold]
#[inline(never)]
unsafe fn add_points<V: Number, C: StaticListing>(
    (terms, inside): (&Summands<'_, V, C, 1>, bool),
    row: [isize; 3],
    (from, stop): (isize, isize),
    to: &mut [V],
) {
    let mut found = [[V::ZERO]; SUMS];
    let to = &mut to[..(stop - from).unsigned_abs()];
    for (to, i) in to.chunks_mut(SUMS).zip((from..).step_by(SUMS)) {
        let found = &mut found[..to.len()];
        if inside {
            // SAFETY: promised by the caller.
            unsafe { terms.singles::<ALL>(row, i, found) }
        } else {
            terms.anywhere(row, i, found);
        }
        to.iter_mut().zip(found).for_each(|(sum, [term])| *sum += *term);
    }
}
