//! Loops of the reverse sweep: SIMD groups of elements that gather their adjoints.

use super::cursor::{ALL, COLUMNS, Captures, Cursor, ROWS, WRAPPED};
use super::map::aligned_if_free;
use super::program::results;
use crate::Number;
use crate::kernel::interpreter::points::Waiting;
use crate::kernel::ir::access::{AccessSummary, OPERANDS, RADIUS};
use crate::kernel::ir::grid::{IndexRange, each_row};
use crate::kernel::ir::kernel::{GatherOf, Kernel, KernelInfo};
use crate::kernel::memory::buffer::REACH;
use crate::kernel::targets::bindings::inner_elements;
use crate::kernel::targets::blocks::{end_of_groups, start_of_groups};
use crate::kernel::targets::kernel::{Gather, How};
use crate::number::simd::dispatch::SimdTask;
use crate::number::simd::planes::Place;
use crate::number::simd::vector::SimdVector;
use core::marker::PhantomData;
use core::ops::Range;

/// Task that gathers the adjoints of some elements.
///
/// Running the task is sound if `gather` has been checked, and nobody else uses the adjoints of these elements.
pub(crate) struct GatherAll<'a, 'p, V: Number, P> {
    pub(crate) gather: &'a Gather<'p, V>,
    pub(crate) part: &'a IndexRange,
    pub(crate) program: PhantomData<P>,
}

impl<V: Number, P: Kernel> SimdTask<V> for GatherAll<'_, '_, V, P> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) {
        // SAFETY: promised by the caller.
        unsafe { gather_rows::<V, L, P>(self.gather, self.part) }
    }
}

/// Returns true if groups at the ends of rows are faster with seeds that are 0 outside the range. Not with boundary
/// rules, because the seeds that would have to be 0 may be missing.
const fn needs_clean_seeds<P: Kernel>() -> bool {
    P::PLAN.can_be_masked() && !P::PLAN.leaves.borders && !is_at_points::<P>()
}

/// Returns true if all readers of an element of the range are in the range and read inside the views: the point itself.
pub(crate) const fn is_at_points<P: Kernel>() -> bool {
    P::PLAN.is_local() && !P::PLAN.leaves.borders
}

/// Returns true if everything that the partial derivatives read for elements of this row lies in rows of the views.
/// Readers outside the range have seed 0. Points beyond the ends of a row belong to adjacent rows and are outside the
/// range, too, since no read leaves the views. The first row of the array has no such neighbor before it, and the last
/// one none behind it, but a margin with any contents: elements with readers there are excluded.
#[cfg_attr(not(debug_assertions), inline(always))]
fn can_read<V: Number>(plan: &KernelInfo, gather: &Gather<'_, V>, row: [isize; 3]) -> bool {
    let (memory, start) = (&gather.memory, gather.memory.at(row, 0));
    let reads = |d: usize| {
        let ((least, most), (first, last)) = (plan.partials.shifts[d], plan.gathered.shifts[d]);
        row[d] >= most - first && row[d] < memory.shape[d] + least - last
    };
    // The first element of the first row with readers before the row, and of the last one with readers behind it.
    let (first, last) = (start - memory.shifted(plan.partials.ahead), start - memory.shifted(plan.partials.behind));
    first > 0 && last + memory.shape[3] < gather.length.cast_signed() && (0..3).all(reads)
}

/// Returns the bounds of the elements of a row that groups without a mask can write: all, unless an operand has
/// [`How::Replace`], which overwrites adjoints inside the range only.
#[cfg_attr(not(debug_assertions), inline(always))]
fn replaced<V: Number>(gather: &Gather<'_, V>, row: [isize; 3], all: (isize, isize)) -> (isize, isize) {
    let range = &gather.range;
    if !gather.how.contains(&How::Replace) {
        return all;
    }
    if range.has_row(row) { (range.lo[3].max(all.0), range.hi[3].min(all.1)) } else { (all.1, all.1) }
}

/// Returns true if what the gather reads begins anew in each row: operands of lower rank, or adjoints of row sums.
const fn is_by_rows<P: Kernel>() -> bool {
    P::PLAN.gathered.along != 0 || !P::WRITES
}

/// Moves what begins anew in each row to this one.
///
/// # Safety
///
/// The gather has been checked, and the row is in the range if each row has its own adjoint.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn enter<V: Number, P: Kernel>(own: &mut Gather<'_, V>, whole: &Gather<'_, V>, row: [isize; 3]) {
    if const { P::PLAN.gathered.along != 0 } {
        own.memory.enter(&whole.memory, &P::PLAN.gathered, row);
    }
    if const { !P::WRITES } {
        // SAFETY: promised by the caller.
        unsafe { own.seeds.enter(row) }
    }
}

/// One row of elements.
struct Row<'a, 'p, V: Number> {
    gather: &'a Gather<'p, V>,
    captured: &'a Captures<V>,
    at: [isize; 3],
    start: isize,
}

/// # Safety
///
/// The conditions of [`GatherAll`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn gather_rows<V: Number, L: SimdVector<Number = V>, P: Kernel>(whole: &Gather<'_, V>, part: &IndexRange) {
    let captured = &Captures::of::<GatherOf<P>>(&whole.kernel.constants);
    let mut waiting = Waiting::new(whole);
    // A copy that stores cannot alias, so that its fields stay in registers. Kernels whose adjoints depend on the point
    // only use the original: for them the copy costs more than it saves.
    let mut own = whole.copied();
    let inner =
        if const { is_at_points::<P>() } { *part } else { inner_elements(P::PLAN, &own.range, own.memory.shape, part) };
    let (n, bounds) = (L::N.cast_signed(), (start_of_groups(&whole.memory, part), end_of_groups(&whole.memory, part)));
    let (first, end) = (part.lo[3], part.hi[3]);
    each_row!(part, row => {
        let gather = if const { is_at_points::<P>() && !is_by_rows::<P>() } {
            whole
        } else {
            // SAFETY: promised by the caller.
            unsafe { enter::<V, P>(&mut own, whole, row) }
            &own
        };
        let clean = const { needs_clean_seeds::<P>() } && gather.is_clean && can_read(P::PLAN, gather, row);
        let inside = const { is_at_points::<P>() } || clean || inner.has_row(row);
        let start = gather.memory.at(row, 0);
        let (from, to) = match inside {
            true if clean => replaced(gather, row, (first, end)),
            true if inner.lo[3] < inner.hi[3] => (inner.lo[3], inner.hi[3]),
            _ => (end, end),
        };
        let from = aligned_if_free::<L>(start, first, (from, to));
        let this = Row { gather, captured, at: row, start };
        // SAFETY: promised by the caller. Between `from` and `to` all readers of an element are in the range, or have
        // seeds 0.
        unsafe {
            // Each kind of group is computed at one call site, so that it is compiled once per instruction set.
            let mut i = first;
            while i < end {
                if i >= from && i + n <= to {
                    while i + n <= to {
                        if !this.element::<L, P>(i) {
                            waiting.add(row, i..i + n);
                        }
                        i += n;
                    }
                } else {
                    i = this.beside::<L, P>(i, (from, to), (end, bounds), (inside, clean), &mut waiting);
                }
            }
        }
    });
    // SAFETY: promised by the caller.
    unsafe { waiting.finish() }
}

/// Gathers the few remaining elements of a row one by one, for a kernel that reads operands only at the point itself.
///
/// # Safety
///
/// The conditions of [`GatherAll`]; the elements are in the range, and reads of other operands at an offset, if any,
/// are inside the views.
#[inline(never)]
pub(crate) unsafe fn singles<V: Number, P: Kernel>(gather: &Gather<'_, V>, row: [isize; 3], elements: Range<isize>) {
    let captured = &Captures::of::<GatherOf<P>>(&gather.kernel.constants);
    let (whole, mut own) = (gather, None);
    let gather = if const { is_by_rows::<P>() } {
        let own = own.insert(whole.copied());
        // SAFETY: promised by the caller.
        unsafe { enter::<V, P>(own, whole, row) }
        own
    } else {
        whole
    };
    let this = Row { gather, captured, at: row, start: gather.memory.at(row, 0) };
    for i in elements {
        // SAFETY: promised by the caller.
        unsafe {
            if !this.element::<V::Single, P>(i) {
                let mut waiting = Waiting::new(whole);
                waiting.add(row, i..i + 1);
                waiting.finish();
            }
        }
    }
}

/// Returns true if some sum that is asked for is infinite or NaN. Very large finite sums may overflow in the test, and
/// also give true.
#[cfg_attr(not(debug_assertions), inline(always))]
fn are_odd<L: SimdVector, P: Kernel>(to: &[Place<L::Number>; OPERANDS], sums: &[L; OPERANDS]) -> bool {
    let mut all = L::nothing();
    let mut k = 0;
    while k < OPERANDS {
        if AccessSummary::has(P::PLAN.partials.views, k) && !to[k].is_null() {
            // x − x is 0 if x is finite, else NaN.
            #[allow(clippy::eq_op, reason = "it is not 0 for all numbers")]
            let odd = sums[k] - sums[k];
            all = all + odd;
        }
        k += 1;
    }
    all.any_part()
}

impl<V: Number> Row<'_, '_, V> {
    /// Computes the contributions to the elements of a SIMD group, by operand.
    ///
    /// # Safety
    ///
    /// All readers of the elements are in the range, unless the program is masked, and read inside the views.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn sums<L: SimdVector<Number = V>, P: Kernel, const MASK: u8>(&self, i: isize) -> [L; OPERANDS] {
        let gather = self.gather;
        let place = Cursor {
            memory: &gather.memory,
            seeds: &gather.seeds,
            captured: self.captured,
            at: self.start + i,
            row: self.at,
            i,
            range: &gather.range,
            pass: 0,
        };
        // SAFETY: promised by the caller.
        unsafe { results::<GatherOf<P>, L, MASK, OPERANDS>(&place, L::nothing()) }
    }

    /// Gathers a group of elements all of whose readers are in the range. Returns false, and writes nothing, if the
    /// elements must be computed by the interpreter instead.
    ///
    /// # Safety
    ///
    /// The conditions of [`sums`](Self::sums); nobody else uses the elements.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn element<L: SimdVector<Number = V>, P: Kernel>(&self, i: isize) -> bool {
        let gather = self.gather;
        // SAFETY: promised by the caller.
        unsafe {
            let sums = self.sums::<L, P, ALL>(i);
            if (L::LOOSE || gather.is_delicate) && are_odd::<L, P>(&gather.to, &sums) {
                return false;
            }
            let mut k = 0;
            while k < OPERANDS {
                if AccessSummary::has(P::PLAN.partials.views, k) && !gather.to[k].is_null() {
                    let to = gather.to[k].wrapping_offset(self.start + i);
                    // 0 + sum turns −0, the sum without contributions, into 0.
                    let before = if gather.how[k] == How::Add { L::take(to) } else { L::zero() };
                    (before + sums[k]).settled().put(to);
                }
                k += 1;
            }
        }
        true
    }

    /// Returns true if a group from `i` on may be masked, or read around the ends: if it reads between these offsets
    /// only what others may be writing, and calls rules for points of the range only.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn admits<L: SimdVector, P: Kernel>(&self, i: isize, (first, last): (isize, isize)) -> bool {
        let (n, start, range, shape) = (L::N.cast_signed(), self.start, &self.gather.range, self.gather.memory.shape);
        if const { P::PLAN.can_be_wrapped() } {
            let is_all = || (0..4).all(|d| range.lo[d] == 0 && range.hi[d] == shape[d]);
            // Around the end of the row, a group reads from less than `n` elements before the row on.
            let is_apart = start + i + n <= last && (i + n <= shape[3] || start - n >= first);
            return is_apart && (const { !P::PLAN.calls_rules } || is_all());
        }
        start + i + n <= last
    }

    /// Gathers the next elements from `i` on, which do not fill a group between `from` and `to`, and returns the first
    /// element after them. Groups must not reach beyond the bounds.
    ///
    /// # Safety
    ///
    /// Nobody else uses the elements.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn beside<L: SimdVector<Number = V>, P: Kernel>(
        &self,
        i: isize,
        (from, to): (isize, isize),
        (end, bounds): (isize, (isize, isize)),
        (inside, clean): (bool, bool),
        waiting: &mut Waiting<'_, '_, V>,
    ) -> isize {
        let stop = if i < from { from } else { end };
        // SAFETY: promised by the caller. Between `from` and `to` all readers of an element are in the range, or have
        // seeds 0.
        unsafe {
            if const { is_at_points::<P>() } {
                singles::<V, P>(waiting.gather, self.at, i..stop);
                stop
            } else if const { !P::PLAN.can_be_masked() && !P::PLAN.can_be_wrapped() } || !self.admits::<L, P>(i, bounds)
            {
                if i >= from && i < to {
                    singles::<V, P>(waiting.gather, self.at, i..to);
                    return to;
                }
                waiting.add(self.at, i..stop);
                stop
            } else {
                let next = stop.min(i + L::N.cast_signed());
                let done = if const { P::PLAN.can_be_wrapped() } {
                    self.masked::<L, P, WRAPPED>(i, next)
                } else if const { needs_clean_seeds::<P>() } && clean {
                    self.masked::<L, P, ALL>(i, next)
                } else if const { !needs_clean_seeds::<P>() } && inside {
                    self.masked::<L, P, COLUMNS>(i, next)
                } else {
                    self.masked::<L, P, ROWS>(i, next)
                };
                if !done {
                    waiting.add(self.at, i..next);
                }
                next
            }
        }
    }

    /// Gathers the elements from `i` to `end`, at most one per lane, in a kernel that can be masked or wrapped. Some of
    /// their readers may be outside the range, where any value may be read. Returns false, and writes nothing, if the
    /// elements must be computed by the interpreter instead.
    ///
    /// # Safety
    ///
    /// Nobody else uses the elements.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn masked<L: SimdVector<Number = V>, P: Kernel, const MASK: u8>(&self, i: isize, end: isize) -> bool {
        const { assert!(L::N + 2 * RADIUS.unsigned_abs() <= REACH, "groups read no farther than margins go") }
        let (gather, row, range) = (self.gather, self.at, &self.gather.range);
        let chosen = L::within(0, end - i);
        // SAFETY: promised by the caller; only the chosen elements are touched. Reads outside the views are in the
        // buffers or their margins, as asserted.
        unsafe {
            let sums = self.sums::<L, P, MASK>(i);
            if (L::LOOSE || gather.is_delicate) && are_odd::<L, P>(&gather.to, &sums) {
                return false;
            }
            let written =
                if range.has_row(row) { L::within(range.lo[3] - i, range.hi[3] - i) } else { L::within(0, 0) };
            let mut k = 0;
            while k < OPERANDS {
                if AccessSummary::has(P::PLAN.partials.views, k) && !gather.to[k].is_null() {
                    let to = gather.to[k].wrapping_offset(self.start + i);
                    let before = match gather.how[k] {
                        How::Add => L::take_some(to, chosen),
                        How::Store => L::zero(),
                        How::Replace | How::InPlace => L::select(written, L::zero(), L::take_some(to, chosen)),
                    };
                    (before + sums[k]).settled().put_some(to, chosen);
                }
                k += 1;
            }
        }
        true
    }
}
