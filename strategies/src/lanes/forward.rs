//! The loops of launches: values at all points.

use super::blocks::{each_block, end_of_groups};
use super::buffer::REACH;
use super::grid::{Grid, Region, each_row};
use super::interpret::WIDTH;
use super::kernel::Kernel;
use super::keys::{OUTPUTS, RADIUS, each};
use super::lane::Vector;
use super::level::Task;
use super::memory::{ALL, COLUMNS, Captured, Memory, Place, ROWS, Seeds, inner};
use super::points::{Batch, Point, values};
use super::program::{Program, ValuesOf};
use super::script::result;
use super::steps::{Results, execute};
use crate::Number;
use core::marker::PhantomData;

/// [`run`](super::run) for operands that lie in memory, some of them perhaps written in place.
///
/// # Safety
///
/// [`memory`](super::operands::memory) has checked them for this kernel and grid, they are still there, and nobody else
/// uses what is written.
pub(super) unsafe fn fill<V: Number, P: Program>(kernel: &Kernel<V>, grid: &Grid, memory: &Memory<V>, in_place: bool) {
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
    each_block(&grid.range, |part| unsafe { V::at_level(Fill { kernel, memory, part, again, program }) });
}

/// The loop of [`fill`].
///
/// To run it is safe if `memory` is fit for the range. Points are computed twice only if `again`.
struct Fill<'a, V: 'static, P> {
    kernel: &'a Kernel<V>,
    memory: &'a Memory<V>,
    part: &'a Region,
    again: bool,
    program: PhantomData<P>,
}

impl<V: Number, P: Program> Task<V> for Fill<'_, V, P> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Vector<Number = V>>(self) {
        // SAFETY: promised by the caller.
        unsafe { fill_rows::<V, L, P>(self.kernel, self.memory, self.part, self.again) }
    }
}

/// Whether points at borders are computed in masked groups.
const fn masks_borders<P: Program>() -> bool {
    P::PLAN.leaves.borders && P::PLAN.can_be_masked()
}

/// # Safety
///
/// As [`Fill`].
#[inline(always)]
unsafe fn fill_rows<V: Number, L: Vector<Number = V>, P: Program>(
    kernel: &Kernel<V>,
    memory: &Memory<V>,
    part: &Region,
    again: bool,
) {
    let (whole, captured) = (memory, &Captured::of::<ValuesOf<P>>(&kernel.constants));
    let memory = &{ *whole }; // a copy that stores cannot touch, so that its fields stay in registers
    let (borders, seeds) = (P::PLAN.leaves.borders, &Seeds::NONE);
    let masks = const { masks_borders::<P>() };
    let inner = inner(&P::PLAN.leaves, memory.shape, part);
    let (n, last) = (L::N.cast_signed(), end_of_groups(memory, part));
    let mut waiting = Unfilled { kernel, memory: whole, batch: Batch::default() };
    each_row!(part, row => {
        let inside = !borders || (0..3).all(|d| row[d] >= inner.lo[d] && row[d] < inner.hi[d]);
        let (first, end) = (part.lo[3], part.hi[3]);
        let (mut from, to) = if inside && inner.lo[3] < inner.hi[3] { (inner.lo[3], inner.hi[3]) } else { (end, end) };
        let start = memory.at(row, 0);
        if masks && first < from && from < to {
            // What is left of the group at the border does not cost more.
            let next = aligned::<L>(start, from);
            from = if next - first <= n && next <= to { next } else { from };
        }
        // SAFETY: promised by the caller; the row's points from `from` to `to` read inside the views.
        unsafe {
            // One place where a group is computed, so that it is compiled once for each level.
            let mut done = from;
            if from + n <= to {
                let mut i = from;
                loop {
                    let place = Place::inside(memory, seeds, captured, start + i);
                    group::<V, L, P, ALL>(&place, L::within(0, n));
                    done = i + n;
                    // One group as it falls, the others where no register lies across two cache lines, the last at the
                    // end.
                    let next = if again && i == from { aligned::<L>(start, from + 1) } else { done };
                    let the_rest_is_masked = masks && end - done <= n;
                    i = match next + n <= to {
                        true => next,
                        false if again && done < to && !the_rest_is_masked => to - n,
                        false => break,
                    };
                }
            }
            if const { masks_borders::<P>() } {
                for (mut i, stop) in [(first, from), (done, end)] {
                    while i < stop {
                        if start + i + n > last {
                            waiting.add(row, i..stop);
                            break;
                        }
                        let chosen = L::within(0, stop - i);
                        let place = Place { row, i, ..Place::inside(memory, seeds, captured, start + i) };
                        if inside {
                            group::<V, L, P, COLUMNS>(&place, chosen);
                        } else {
                            group::<V, L, P, ROWS>(&place, chosen);
                        }
                        i += n;
                    }
                }
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
pub(super) fn aligned<L: Vector>(start: isize, i: isize) -> isize {
    let n = L::N.cast_signed();
    i + (-(start + i)).rem_euclid(n)
}

/// # Safety
///
/// The program reads inside the views at this place and the ones behind it, one place for each lane, or is masked; and
/// the chosen places, all of them unless it is masked, can be written.
#[inline(always)]
unsafe fn group<V: Number, L: Vector<Number = V>, P: Program, const MASK: u8>(place: &Place<'_, V>, chosen: L::Mask) {
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
unsafe fn fill_points<V: Number, P: Program>(memory: &Memory<V>, kernel: &Kernel<V>, places: core::ops::Range<isize>) {
    let captured = Captured::of::<ValuesOf<P>>(&kernel.constants);
    for at in places {
        // SAFETY: promised by the caller.
        unsafe {
            group::<V, V::Single, P, ALL>(&Place::inside(memory, &Seeds::NONE, &captured, at), V::Single::within(0, 1));
        }
    }
}

/// Points at borders that are not yet written.
struct Unfilled<'a, V: 'static> {
    kernel: &'a Kernel<V>,
    memory: &'a Memory<V>,
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
unsafe fn fill_anywhere<V: Number>(kernel: &Kernel<V>, memory: &Memory<V>, points: &[Point]) {
    let mut found = [[V::ZERO; WIDTH]; OUTPUTS];
    values(kernel, memory, points, |k, values| found[k][..values.len()].copy_from_slice(values));
    for (found, operand) in found.iter().zip(kernel.plan().written) {
        for (value, point) in found.iter().zip(points) {
            // SAFETY: promised by the caller.
            unsafe { *memory.new[*operand].offset(memory.at([point[0], point[1], point[2]], point[3])) = *value }
        }
    }
}
