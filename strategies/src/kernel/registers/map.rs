//! Loops of launches: values at all points.

use super::cursor::{ALL, COLUMNS, Captures, Cursor, ROWS, WRAPPED};
use super::program::results;
use crate::Number;
use crate::kernel::interpreter::points::{Batch, fill_anywhere};
use crate::kernel::ir::access::{OUTPUTS, RADIUS, each};
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::kernel::ir::instruction::opcode::ALONG;
use crate::kernel::ir::kernel::{Kernel, ValuesOf};
use crate::kernel::ir::listing::{has_opcode, has_result};
use crate::kernel::memory::buffer::REACH;
use crate::kernel::targets::bindings::{Bindings, Seeds, inner};
use crate::kernel::targets::blocks::{each_block, end_of_groups, start_of_groups};
use crate::kernel::targets::counts::Region;
use crate::kernel::targets::kernel::BoundKernel;
use crate::number::simd::dispatch::SimdTask;
use crate::number::simd::vector::SimdVector;
use core::marker::PhantomData;

/// Computes the kernel at all points of the grid, and writes its values.
///
/// # Safety
///
/// The operands have been checked for this kernel and grid, they are still alive, and nobody else uses those that are
/// written.
pub(crate) unsafe fn fill<V: Number, P: Kernel>(
    kernel: &BoundKernel<V>,
    grid: &Grid,
    memory: &Bindings<V>,
    in_place: bool,
) {
    if grid.range.is_short_row() && !P::PLAN.leaves.borders {
        let (row, entered) = ([grid.range.lo[0], grid.range.lo[1], grid.range.lo[2]], Region::begin());
        let mut own;
        let memory = if const { reads_along::<P>() } {
            own = *memory;
            own.enter(memory, &P::PLAN.leaves, row);
            &own
        } else {
            memory
        };
        // SAFETY: promised by the caller.
        unsafe { fill_points::<V, P>(memory, kernel, row, grid.range.lo[3]..grid.range.hi[3]) };
        return entered.end();
    }
    if grid.range.is_empty() {
        return;
    }
    let (program, again) = (PhantomData::<P>, !in_place);
    let beyond = const { !P::PLAN.calls_rules } || again && grid.is_all();
    // SAFETY: promised by the caller. Parts are disjoint, and each point writes only its own element.
    each_block(&grid.range, 1, |part| unsafe { V::dispatch(Fill { kernel, memory, part, again, beyond, program }) });
}

/// Task of [`fill`].
///
/// Running the task is sound if `memory` has been checked for the range. Points may be computed twice only if `again`,
/// that is, if no operand is written in place. Groups around the ends may compute other points than those that they
/// write only if `beyond`: rules may be undefined there.
struct Fill<'a, V: Number, P> {
    kernel: &'a BoundKernel<V>,
    memory: &'a Bindings<V>,
    part: &'a IndexRange,
    again: bool,
    beyond: bool,
    program: PhantomData<P>,
}

impl<V: Number, P: Kernel> SimdTask<V> for Fill<'_, V, P> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) {
        // SAFETY: promised by the caller.
        unsafe { fill_rows::<V, L, P>(self) }
    }
}

/// Returns true if the values depend on operands of lower rank.
const fn reads_along<P: Kernel>() -> bool {
    has_opcode::<ValuesOf<P>>(ALONG)
}

/// Returns true if points at boundaries are computed in masked groups, or in groups around the ends.
const fn masks_borders<P: Kernel>() -> bool {
    P::PLAN.leaves.borders && (P::PLAN.can_be_masked() || P::PLAN.can_be_wrapped())
}

/// Bounds of what the groups of a part may do at boundaries.
#[derive(Clone, Copy)]
struct Limits {
    /// Offsets among the elements between which groups read what others may be writing.
    offsets: (isize, isize),
    /// True if groups around the ends may compute other points than those that they write.
    beyond: bool,
}

impl Limits {
    /// Returns true if a group may compute the points from `i` to `stop` of a row that begins at `start`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn admit<L: SimdVector, P: Kernel>(&self, (start, length): (isize, isize), i: isize, stop: isize) -> bool {
        let (n, (first, last)) = (L::N.cast_signed(), self.offsets);
        if start + i + n > last {
            return false;
        }
        if const { !P::PLAN.can_be_wrapped() } {
            return true;
        }
        // Around the end of the row, a group reads from less than `n` elements before the row on.
        (self.beyond || i + n <= stop) && (i + n <= length || start - n >= first)
    }
}

/// One row of a part. With `inside`, no read of its points leaves the view along the first three dimensions.
struct Row<'a, V: Number> {
    memory: &'a Bindings<V>,
    captured: &'a Captures<V>,
    at: [isize; 3],
    start: isize,
    inside: bool,
}

impl<V: Number> Row<'_, V> {
    /// Computes complete groups between the bounds, and returns the end of the last one.
    ///
    /// # Safety
    ///
    /// The conditions of [`Fill`]; points between the bounds read inside the views.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn groups<L: SimdVector<Number = V>, P: Kernel>(
        &self,
        (from, to): (isize, isize),
        end: isize,
        again: bool,
        waiting: &mut Unfilled<'_, V>,
    ) -> isize {
        let (n, seeds) = (L::N.cast_signed(), &Seeds::NONE);
        // Counted in offsets, and few of them, so that registers suffice: a counter on the stack takes a third longer.
        let (mut at, to, end) = (self.start + from, self.start + to, self.start + end);
        if at + n > to {
            return from;
        }
        // The first group is unaligned, the following ones are aligned so that no register straddles two cache lines,
        // and the last one ends at the bound.
        let mut next = if again { aligned::<L>(0, at + 1) } else { at + n };
        loop {
            let i = at - self.start;
            let place = Cursor::inside(self.memory, seeds, self.captured, (self.at, self.start), i);
            // SAFETY: promised by the caller. One call site for all groups, so that the group is compiled once per
            // instruction set.
            if !unsafe { group::<V, L, P, ALL>(&place, L::within(0, n)) } {
                // SAFETY: promised by the caller.
                unsafe { waiting.add(self.at, i..i + n) }
            }
            let done = at + n;
            let the_rest_is_masked = const { masks_borders::<P>() } && end - done <= n;
            at = match next + n <= to {
                true => next,
                false if again && done < to && !the_rest_is_masked => to - n,
                false => return done - self.start,
            };
            next = at + n;
        }
    }

    /// Computes the points from `i` to `stop` in masked groups, or in groups around the ends. From the first group that
    /// is beyond the limits, points are queued for the interpreter.
    ///
    /// # Safety
    ///
    /// The conditions of [`Fill`]; the program can be masked, or wrapped.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn masked<L: SimdVector<Number = V>, P: Kernel>(
        &self,
        (mut i, stop): (isize, isize),
        limits: Limits,
        waiting: &mut Unfilled<'_, V>,
    ) {
        let seeds = &Seeds::NONE;
        while i < stop {
            // SAFETY: promised by the caller.
            unsafe {
                if !limits.admit::<L, P>((self.start, self.memory.shape[3]), i, stop) {
                    return waiting.add(self.at, i..stop);
                }
                let chosen = L::within(0, stop - i);
                let place = Cursor::inside(self.memory, seeds, self.captured, (self.at, self.start), i);
                let done = if const { P::PLAN.can_be_wrapped() } {
                    group::<V, L, P, WRAPPED>(&place, chosen)
                } else if self.inside {
                    group::<V, L, P, COLUMNS>(&place, chosen)
                } else {
                    group::<V, L, P, ROWS>(&place, chosen)
                };
                if !done {
                    waiting.add(self.at, i..stop.min(i + L::N.cast_signed()));
                }
            }
            i += L::N.cast_signed();
        }
    }
}

/// # Safety
///
/// The conditions of [`Fill`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn fill_rows<V: Number, L: SimdVector<Number = V>, P: Kernel>(task: Fill<'_, V, P>) {
    let Fill { kernel, memory: whole, part, again, beyond, .. } = task;
    let captured = &Captures::of::<ValuesOf<P>>(&kernel.constants);
    let mut own = *whole; // a copy that stores cannot alias, so that its fields stay in registers
    let inner = inner(&P::PLAN.leaves, whole.shape, part);
    let limits = Limits { offsets: (start_of_groups(whole, part), end_of_groups(whole, part)), beyond };
    let mut waiting = Unfilled { kernel, memory: whole, batch: Batch::default() };
    each_row!(part, row => {
        if const { reads_along::<P>() } {
            own.enter(whole, &P::PLAN.leaves, row);
        }
        let memory = &own;
        let inside = const { !P::PLAN.leaves.borders } || inner.has_row(row);
        let (first, end) = (part.lo[3], part.hi[3]);
        let (mut from, to) = match inside {
            _ if const { !P::PLAN.leaves.borders } => (first, end),
            true if inner.lo[3] < inner.hi[3] => (inner.lo[3], inner.hi[3]),
            _ => (end, end),
        };
        let start = memory.at(row, 0);
        if const { masks_borders::<P>() } {
            from = aligned_if_free::<L>(start, first, (from, to));
        }
        let this = Row { memory, captured, at: row, start, inside };
        // SAFETY: promised by the caller; the row's points from `from` to `to` read inside the views.
        unsafe {
            let mut done = this.groups::<L, P>((from, to), end, again, &mut waiting);
            if const { masks_borders::<P>() } {
                this.masked::<L, P>((first, from), limits, &mut waiting);
                this.masked::<L, P>((done, end), limits, &mut waiting);
            } else {
                if L::N > 1 && done < to {
                    let memory = if const { reads_along::<P>() } { memory } else { whole };
                    fill_points::<V, P>(memory, kernel, row, done..to);
                    done = to;
                }
                if const { P::PLAN.leaves.borders } && (first < from || done < end) {
                    waiting.add(row, first..from);
                    waiting.add(row, done..end);
                }
            }
        }
    });
    // SAFETY: promised by the caller.
    unsafe { waiting.finish() }
}

/// Returns the first index from `i` on at which a SIMD group is aligned like the buffer's first element, in the row
/// that begins at `start`.
#[cfg_attr(not(debug_assertions), inline(always))]
fn aligned<L: SimdVector>(start: isize, i: isize) -> isize {
    let n = L::N.cast_signed();
    i + (-(start + i)).rem_euclid(n)
}

/// Returns the start of the groups between the bounds: the next aligned index, if the group from `first` on covers all
/// points before it anyway, else `from`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn aligned_if_free<L: SimdVector>(start: isize, first: isize, (from, to): (isize, isize)) -> isize {
    if first < from && from < to {
        let next = aligned::<L>(start, from);
        if next - first <= L::N.cast_signed() && next <= to {
            return next;
        }
    }
    from
}

/// Computes a group of points. Returns false, and writes nothing, if the points must be computed by the interpreter
/// instead.
///
/// # Safety
///
/// The program reads inside the views at this position and the following ones, one per lane, or is masked or wrapped;
/// and the chosen elements, all of them unless masked or wrapped, may be written.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn group<V: Number, L: SimdVector<Number = V>, P: Kernel, const MASK: u8>(
    place: &Cursor<'_, V>,
    chosen: L::Mask,
) -> bool {
    const { assert!(L::N + RADIUS.unsigned_abs() <= REACH, "groups read no farther than margins go") }
    // All reads come before all writes.
    // SAFETY: promised by the caller. Reads outside the views are in the buffers or their margins, as asserted.
    let found = unsafe { results::<ValuesOf<P>, L, MASK, OUTPUTS>(place, L::zero()) };
    if L::LOOSE {
        let mut all = L::zero();
        each!(6: K => {
            if const { has_result::<ValuesOf<P>>(K) } {
                // x − x is 0 if x is finite, else NaN.
                #[allow(clippy::eq_op, reason = "it is not 0 for all numbers")]
                let odd = found[K] - found[K];
                all = all + odd;
            }
        });
        let all = if MASK == ALL { all } else { L::select(chosen, all, L::zero()) };
        if all.any_part() {
            return false;
        }
    }
    each!(6: K => {
        if const { has_result::<ValuesOf<P>>(K) } {
            let to = place.memory.new[const { P::PLAN.output(K) }].wrapping_offset(place.at);
            let number = found[K].settled();
            // SAFETY: promised by the caller.
            unsafe { if MASK == ALL { number.put(to) } else { number.put_some(to, chosen) } }
        }
    });
    true
}

/// Computes single points that read inside the views: the few that remain at the end of a row.
///
/// # Safety
///
/// These elements may be written.
// Cold, so that what the loop over groups keeps in registers is not kept on the stack because of this call.
#[cold]
#[inline(never)]
unsafe fn fill_points<V: Number, P: Kernel>(
    memory: &Bindings<V>,
    kernel: &BoundKernel<V>,
    row: [isize; 3],
    elements: core::ops::Range<isize>,
) {
    let (captured, start) = (Captures::of::<ValuesOf<P>>(&kernel.constants), memory.at(row, 0));
    for i in elements {
        // SAFETY: promised by the caller.
        unsafe {
            group::<V, V::Single, P, ALL>(
                &Cursor::inside(memory, &Seeds::NONE, &captured, (row, start), i),
                V::Single::within(0, 1),
            );
        }
    }
}

/// Queue of points at boundaries that have not been computed yet.
struct Unfilled<'a, V: Number> {
    kernel: &'a BoundKernel<V>,
    memory: &'a Bindings<V>,
    batch: Batch,
}

impl<V: Number> Unfilled<'_, V> {
    /// # Safety
    ///
    /// These points of the row may be written, and nobody else uses them until [`finish`](Self::finish) has been
    /// called.
    #[cold]
    #[inline(never)]
    unsafe fn add(&mut self, row: [isize; 3], elements: core::ops::Range<isize>) {
        // SAFETY: promised by the caller.
        self.batch.add(row, elements, |points| unsafe { fill_anywhere(self.kernel, self.memory, points) });
    }

    /// # Safety
    ///
    /// The conditions of [`add`](Self::add).
    #[inline(never)]
    unsafe fn finish(&mut self) {
        // SAFETY: promised by the caller.
        self.batch.finish(|points| unsafe { fill_anywhere(self.kernel, self.memory, points) });
    }
}
