//! The loops of launches: values at all points.

use super::sum::total;
use crate::Number;
use crate::kernel::exec::bindings::{ALL, Bindings, COLUMNS, Captures, Cursor, ROWS, Seeds, inner};
use crate::kernel::exec::compiled::{Results, execute};
use crate::kernel::exec::interpreter::WIDTH;
use crate::kernel::exec::operands::{Operand, memory};
use crate::kernel::exec::parallel::{each_block, end_of_groups};
use crate::kernel::exec::points::{Batch, Point, values};
use crate::kernel::exec::vtable::BoundKernel;
use crate::kernel::ir::access::{OUTPUTS, RADIUS, each};
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::kernel::ir::kernel::{Kernel, ValuesOf};
use crate::kernel::ir::listing::result;
use crate::kernel::memory::buffer::REACH;
use crate::number::simd::dispatch::SimdTask;
use crate::number::simd::vector::SimdVector;
use core::marker::PhantomData;

/// [`run`](super::map) for operands that lie in memory, some of them perhaps written in place.
///
/// # Safety
///
/// [`memory`](crate::kernel::exec::operands::memory) has checked them for this kernel and grid, they are still there,
/// and nobody else uses what is written.
pub(crate) unsafe fn fill<V: Number, P: Kernel>(
    kernel: &BoundKernel<V>,
    grid: &Grid,
    memory: &Bindings<V>,
    in_place: bool,
) {
    if grid.range.is_empty() {
        return;
    }
    let again = !in_place;
    if grid.range.is_short_row() && !P::PLAN.leaves.borders {
        let start = memory.at([grid.range.lo[0], grid.range.lo[1], grid.range.lo[2]], 0);
        // SAFETY: as below.
        return unsafe { fill_points::<V, P>(memory, kernel, start + grid.range.lo[3]..start + grid.range.hi[3]) };
    }
    let program = PhantomData::<P>;
    // SAFETY: promised by the caller. Parts are disjoint, and each point writes at itself.
    each_block(&grid.range, |part| unsafe { V::dispatch(Fill { kernel, memory, part, again, program }) });
}

/// The loop of [`fill`].
///
/// To run it is safe if `memory` is fit for the range. Points are computed twice only if `again`.
struct Fill<'a, V: 'static, P> {
    kernel: &'a BoundKernel<V>,
    memory: &'a Bindings<V>,
    part: &'a IndexRange,
    again: bool,
    program: PhantomData<P>,
}

impl<V: Number, P: Kernel> SimdTask<V> for Fill<'_, V, P> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) {
        // SAFETY: promised by the caller.
        unsafe { fill_rows::<V, L, P>(self.kernel, self.memory, self.part, self.again) }
    }
}

/// Whether points at borders are computed in masked groups.
const fn masks_borders<P: Kernel>() -> bool {
    P::PLAN.leaves.borders && P::PLAN.can_be_masked()
}

/// A row of a part; the reads of points that are `inside` do not leave the views by other rows.
struct Row<'a, V: 'static> {
    memory: &'a Bindings<V>,
    captured: &'a Captures<V>,
    at: [isize; 3],
    start: isize,
    inside: bool,
}

impl<V: Number> Row<'_, V> {
    /// Whole groups between the bounds; returns where the last one ends.
    ///
    /// # Safety
    ///
    /// As [`Fill`]; points between the bounds read inside the views.
    #[inline(always)]
    unsafe fn groups<L: SimdVector<Number = V>, P: Kernel>(
        &self,
        (from, to): (isize, isize),
        end: isize,
        again: bool,
    ) -> isize {
        let (n, seeds) = (L::N.cast_signed(), &Seeds::NONE);
        let (mut i, mut done) = (from, from);
        while i + n <= to {
            let place = Cursor::inside(self.memory, seeds, self.captured, self.start + i);
            // SAFETY: promised by the caller. One place where a group is computed, so that it is compiled once for
            // each level.
            unsafe { group::<V, L, P, ALL>(&place, L::within(0, n)) }
            done = i + n;
            // One group as it falls, the others where no register lies across two cache lines, the last at the end.
            let next = if again && i == from { aligned::<L>(self.start, from + 1) } else { done };
            let the_rest_is_masked = const { masks_borders::<P>() } && end - done <= n;
            i = match next + n <= to {
                true => next,
                false if again && done < to && !the_rest_is_masked => to - n,
                false => break,
            };
        }
        done
    }

    /// The points from `i` up to `stop` in masked groups. Where a group would reach beyond `last`, its points and all
    /// that follow have to wait.
    ///
    /// # Safety
    ///
    /// As [`Fill`]; the program can be masked.
    #[inline(always)]
    unsafe fn masked<L: SimdVector<Number = V>, P: Kernel>(
        &self,
        (mut i, stop): (isize, isize),
        last: isize,
        waiting: &mut Unfilled<'_, V>,
    ) {
        let seeds = &Seeds::NONE;
        while i < stop {
            // SAFETY: promised by the caller.
            unsafe {
                if self.start + i + L::N.cast_signed() > last {
                    return waiting.add(self.at, i..stop);
                }
                let chosen = L::within(0, stop - i);
                let beside = Cursor::inside(self.memory, seeds, self.captured, self.start + i);
                let place = Cursor { row: self.at, i, ..beside };
                if self.inside {
                    group::<V, L, P, COLUMNS>(&place, chosen);
                } else {
                    group::<V, L, P, ROWS>(&place, chosen);
                }
            }
            i += L::N.cast_signed();
        }
    }
}

/// # Safety
///
/// As [`Fill`].
#[inline(always)]
unsafe fn fill_rows<V: Number, L: SimdVector<Number = V>, P: Kernel>(
    kernel: &BoundKernel<V>,
    memory: &Bindings<V>,
    part: &IndexRange,
    again: bool,
) {
    let (whole, captured) = (memory, &Captures::of::<ValuesOf<P>>(&kernel.constants));
    let memory = &{ *whole }; // a copy that stores cannot touch, so that its fields stay in registers
    let (inner, last) = (inner(&P::PLAN.leaves, memory.shape, part), end_of_groups(memory, part));
    let mut waiting = Unfilled { kernel, memory: whole, batch: Batch::default() };
    each_row!(part, row => {
        let inside = !P::PLAN.leaves.borders || (0..3).all(|d| row[d] >= inner.lo[d] && row[d] < inner.hi[d]);
        let (first, end) = (part.lo[3], part.hi[3]);
        let (mut from, to) = if inside && inner.lo[3] < inner.hi[3] { (inner.lo[3], inner.hi[3]) } else { (end, end) };
        let start = memory.at(row, 0);
        if const { masks_borders::<P>() } {
            from = aligned_if_free::<L>(start, first, (from, to));
        }
        let this = Row { memory, captured, at: row, start, inside };
        // SAFETY: promised by the caller; the row's points from `from` to `to` read inside the views.
        unsafe {
            let mut done = this.groups::<L, P>((from, to), end, again);
            if const { masks_borders::<P>() } {
                this.masked::<L, P>((first, from), last, &mut waiting);
                this.masked::<L, P>((done, end), last, &mut waiting);
            } else {
                if L::N > 1 && done < to {
                    fill_points::<V, P>(whole, kernel, start + done..start + to);
                    done = to;
                }
                if first < from || done < end {
                    waiting.add(row, first..from);
                    waiting.add(row, done..end);
                }
            }
        }
    });
    // SAFETY: promised by the caller.
    unsafe { waiting.finish() }
}

/// The first place from `i` on in the row that begins at `start` where a group of lanes is aligned as a buffer's first
/// number is.
#[inline(always)]
fn aligned<L: SimdVector>(start: isize, i: isize) -> isize {
    let n = L::N.cast_signed();
    i + (-(start + i)).rem_euclid(n)
}

/// Where the groups between the bounds begin, if one from `first` on goes before them: where they are aligned, if what
/// is left of that one reaches so far and costs no more.
#[inline(always)]
pub(crate) fn aligned_if_free<L: SimdVector>(start: isize, first: isize, (from, to): (isize, isize)) -> isize {
    if first < from && from < to {
        let next = aligned::<L>(start, from);
        if next - first <= L::N.cast_signed() && next <= to {
            return next;
        }
    }
    from
}

/// # Safety
///
/// The program reads inside the views at this place and the ones behind it, one place for each lane, or is masked; and
/// the chosen places, all of them unless it is masked, can be written.
#[inline(always)]
unsafe fn group<V: Number, L: SimdVector<Number = V>, P: Kernel, const MASK: u8>(
    place: &Cursor<'_, V>,
    chosen: L::Mask,
) {
    const { assert!(L::N + RADIUS.unsigned_abs() <= REACH, "groups read no farther than margins go") }
    // SAFETY: promised by the caller. What is read beside the views is in the buffers or their margins, as asserted.
    unsafe {
        let mut results = Results::new();
        execute::<ValuesOf<P>, L, MASK>(place, &mut results);
        // All reads come before all writes.
        each!(4: K => {
            if let Some(result) = const { result::<ValuesOf<P>>(K) } {
                let to = place.memory.new[const { P::PLAN.output(K) }].wrapping_offset(place.at);
                let number: L = results.number(result);
                if MASK == ALL { number.store(to) } else { number.store_some(to, chosen) }
            }
        });
    }
}

/// Points one by one that read inside the views: the few that are left over at the end of a row.
///
/// # Safety
///
/// These places can be written.
#[inline(never)]
unsafe fn fill_points<V: Number, P: Kernel>(
    memory: &Bindings<V>,
    kernel: &BoundKernel<V>,
    places: core::ops::Range<isize>,
) {
    let captured = Captures::of::<ValuesOf<P>>(&kernel.constants);
    for at in places {
        // SAFETY: promised by the caller.
        unsafe {
            group::<V, V::Single, P, ALL>(
                &Cursor::inside(memory, &Seeds::NONE, &captured, at),
                V::Single::within(0, 1),
            );
        }
    }
}

/// Points at borders that are not yet written.
struct Unfilled<'a, V: 'static> {
    kernel: &'a BoundKernel<V>,
    memory: &'a Bindings<V>,
    batch: Batch,
}

impl<V: Number> Unfilled<'_, V> {
    /// # Safety
    ///
    /// These points of the row can be written, and nobody else uses them until [`finish`](Self::finish) has been
    /// called.
    #[inline(never)]
    unsafe fn add(&mut self, row: [isize; 3], elements: core::ops::Range<isize>) {
        // SAFETY: promised by the caller.
        self.batch.add(row, elements, |points| unsafe { fill_anywhere(self.kernel, self.memory, points) });
    }

    /// # Safety
    ///
    /// As [`add`](Self::add).
    #[inline(never)]
    unsafe fn finish(&mut self) {
        // SAFETY: promised by the caller.
        self.batch.finish(|points| unsafe { fill_anywhere(self.kernel, self.memory, points) });
    }
}

/// Computes the values at some points, one operation after the other, wherever they read.
///
/// # Safety
///
/// These points can be written.
unsafe fn fill_anywhere<V: Number>(kernel: &BoundKernel<V>, memory: &Bindings<V>, points: &[Point]) {
    let mut found = [[V::ZERO; WIDTH]; OUTPUTS];
    values(kernel, memory, points, |k, values| found[k][..values.len()].copy_from_slice(values));
    for (found, operand) in found.iter().zip(kernel.plan().written) {
        for (value, point) in found.iter().zip(points) {
            // SAFETY: promised by the caller.
            unsafe { *memory.new[*operand].offset(memory.at([point[0], point[1], point[2]], point[3])) = *value }
        }
    }
}

/// Computes the program at all points of the grid, and writes its values. `begun` says afterwards, also after a panic,
/// whether something may have been written.
///
/// # Panics
///
/// When an operand has not as many elements as the grid, or is read beyond it, or is missing.
#[track_caller]
pub fn run<'m, V: Number, P: Kernel>(
    program: &P,
    grid: &Grid,
    operands: impl Iterator<Item = Operand<'m, V>>,
    begun: &mut bool,
) {
    assert!(P::WRITES, "a reduction writes to no operand");
    let (memory, in_place) = memory::<V>(P::PLAN, grid, operands);
    *begun = true;
    // SAFETY: checked above; outputs are borrowed exclusively, and only those that are updated are read as well, at the
    // point itself.
    unsafe { fill::<V, P>(&BoundKernel::of(program), grid, &memory, in_place) }
}

/// The sum of a program's expression over the grid. It is the same at every level and for any number of threads: the
/// points of a row are added in fixed groups, and the groups in order.
///
/// # Panics
///
/// As [`run`].
#[track_caller]
pub fn sum<'m, V: Number, P: Kernel>(program: &P, grid: &Grid, operands: impl Iterator<Item = Operand<'m, V>>) -> V {
    assert!(!P::WRITES, "a reduction has one expression, which is not written");
    let (memory, _) = memory::<V>(P::PLAN, grid, operands);
    // SAFETY: checked above.
    unsafe { total::<V, P>(&BoundKernel::of(program), grid, &memory) }
}
