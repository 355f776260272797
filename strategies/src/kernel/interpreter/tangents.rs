//! Tangents of kernels: the derivatives of the expressions along tangents of what they read.

use super::instructions::WIDTH;
use super::points::{Point, interpreter, partials, some_points};
use super::segments::{SEGMENT, Segments};
use crate::Number;
use crate::kernel::ir::access::{Access, AccessKind, OUTPUTS};
use crate::kernel::ir::grid::{IndexRange, each_row};
use crate::kernel::ir::instruction::{Op, opcode};
use crate::kernel::ir::program::List;
use crate::kernel::targets::bindings::{Bindings, inner};
use crate::kernel::targets::blocks::CHUNK;
use crate::kernel::targets::jobs::{Destination, Propagation};
use crate::kernel::targets::kernel::{BoundKernel, Inputs};
use crate::kernel::targets::rows::Rows;
use crate::kernel::targets::sums::{SUMS, in_pairs, total_of_chunks};
use crate::number::all_finite;
use crate::number::simd::planes::planes;
use core::slice;

/// Tangents that have been found.
struct Found<'a, V: Number> {
    /// Bindings of the arrays that they are written to; `None` if they are summed.
    views: Option<(&'a Bindings<V>, &'a [usize])>,
    /// For each expression the partial sums of the current chunk, and the number of its terms.
    parts: [([V; SUMS], usize); OUTPUTS],
    /// Sums of the chunks so far, for each expression.
    sums: [Vec<V>; OUTPUTS],
}

impl<V: Number> Found<'_, V> {
    /// Takes tangents of expression `k` at points that are consecutive elements from `place` on.
    ///
    /// # Safety
    ///
    /// The points are in the range of the job, whose results may be written.
    unsafe fn take(&mut self, k: usize, place: isize, tangents: &[V]) {
        let Some((bindings, written)) = self.views else { return self.add(k, tangents) };
        let to = bindings.new[written[k]].wrapping_offset(place);
        if const { planes::<V>() == 1 } {
            // SAFETY: promised by the caller; the tangents of a view are as many as its elements.
            let to = unsafe { slice::from_raw_parts_mut(to.part(0).cast::<V>(), tangents.len()) };
            return to.copy_from_slice(tangents);
        }
        for (j, tangent) in (0..).zip(tangents) {
            // SAFETY: promised by the caller.
            unsafe { to.wrapping_offset(j).set(*tangent) }
        }
    }

    /// Adds tangents of expression `k` at the next points of the chunk.
    fn add(&mut self, k: usize, tangents: &[V]) {
        let (sums, next) = &mut self.parts[k];
        let (first, rest) = tangents.split_at(tangents.len().min((SUMS - *next % SUMS) % SUMS));
        let (groups, last) = rest.as_chunks::<SUMS>();
        sums.iter_mut().skip(*next % SUMS).zip(first).for_each(|(sum, tangent)| *sum += *tangent);
        for group in groups {
            sums.iter_mut().zip(group).for_each(|(sum, tangent)| *sum += *tangent);
        }
        sums.iter_mut().zip(last).for_each(|(sum, tangent)| *sum += *tangent);
        *next += tangents.len();
    }

    /// Ends a chunk, all of whose tangents have been taken.
    fn end_chunk(&mut self, expressions: usize) {
        if self.views.is_none() {
            for (parts, sums) in self.parts.iter_mut().zip(&mut self.sums).take(expressions) {
                sums.push(in_pairs(parts.0));
                *parts = ([V::ZERO; SUMS], 0);
            }
        }
    }
}

/// Carries out a job on the host: Σ ∂expressionₖ/∂access·tangent at all points of the range, for each expression.
/// Sums are formed in chunks, as those of values are.
pub(super) fn tangent<V: Number>(job: Propagation<'_, V>) {
    let (kernel, grid, tangents) = (job.kernel, job.grid, job.tangents);
    let plan = kernel.plan();
    let views = matches!(job.to, Destination::Views).then_some((tangents, plan.written));
    let sums = [const { Vec::new() }; OUTPUTS];
    let mut found = Found { views, parts: [([V::ZERO; SUMS], 0); OUTPUTS], sums };
    find(kernel, &grid.range, (job.memory, tangents), &mut found);
    match job.to {
        Destination::Views => {}
        Destination::Sums(sums) => {
            let chunks = found.sums.iter().zip(sums);
            chunks.for_each(|(chunks, sum)| *sum = total_of_chunks(&grid.range, chunks));
        }
        Destination::Rows => {
            let mut sums: Vec<V> = vec![V::ZERO; Rows::of(&grid.range).count()];
            Inputs::of(kernel, grid, job.memory).row_totals(&found.sums[0], &mut sums);
            for (row, sum) in (0..).zip(sums) {
                // SAFETY: the job's promise: the array has an element for each row, and may be written.
                unsafe { tangents.new[0].wrapping_offset(row).set(sum) }
            }
        }
    }
}

/// Finds the tangents at all points of the range of a job with these operands.
fn find<V: Number>(
    kernel: &BoundKernel<V>,
    range: &IndexRange,
    (memory, tangents): (&Bindings<V>, &Bindings<V>),
    found: &mut Found<'_, V>,
) {
    let plan = kernel.plan();
    let singly = |part: &IndexRange, found: &mut Found<'_, V>| {
        some_points(part, |points| at_points(kernel, (memory, tangents), points, found));
    };
    if planes::<V>() > 1 && found.views.is_some() {
        return singly(range, found);
    }
    let mut segments =
        (planes::<V>() == 1).then(|| Segments::new(interpreter(kernel), plan.scripts, (memory, tangents), range));
    let inner = inner(&plan.leaves, memory.shape, range);
    each_row!(range, row => {
        let (from, to) = if inner.has_row(row) { (inner.lo[3], inner.hi[3]) } else { (range.hi[3], range.hi[3]) };
        for first in (range.lo[3]..range.hi[3]).step_by(CHUNK.unsigned_abs()) {
            let (mut i, end) = (first, range.hi[3].min(first + CHUNK));
            while i < end {
                let is_inside = i >= from && i < to;
                let bound = if is_inside { to.min(end) } else if i < from { from.min(end) } else { end };
                let next = bound.min(i + SEGMENT);
                let (place, count) = (memory.at(row, i), (next - i).unsigned_abs());
                let is_done = is_inside && segments.as_mut().is_some_and(|segments| {
                    // SAFETY: the job's promise; reads of these points are inside the views, and the points in the
                    // range.
                    unsafe {
                        segments.tangents((row, i, count), plan.expressions, |k, tangents| {
                            found.take(k, place, tangents);
                        })
                    }
                });
                if !is_done {
                    let [a, b, c] = row;
                    singly(&IndexRange { lo: [a, b, c, i], hi: [a + 1, b + 1, c + 1, next] }, found);
                }
                i = next;
            }
            found.end_chunk(plan.expressions);
        }
    });
}

/// Evaluates the tangents at up to [`WIDTH`] points, wherever they read; exact where factors are not finite.
fn at_points<V: Number>(
    kernel: &BoundKernel<V>,
    (memory, tangents): (&Bindings<V>, &Bindings<V>),
    points: &[Point],
    found: &mut Found<'_, V>,
) {
    let moves = |key: Access, point: Point| match key.kind() {
        AccessKind::Read | AccessKind::Along if tangents.values[key.operand()].is_null() => V::ZERO,
        AccessKind::Read => tangents.number_at(key, point),
        AccessKind::Along => tangents.number_along(key, point),
        _ => tangents.numbers[key.operand()],
    };
    let slopes = tangents_at(kernel, memory, points, &moves);
    for (j, point) in points.iter().enumerate() {
        for (k, slopes) in slopes.iter().enumerate().take(kernel.plan().expressions) {
            let mut slope = slopes[j];
            if !all_finite(slope) {
                slope = careful_tangent(kernel, memory, *point, k, &moves);
            }
            // SAFETY: the points are those of the job.
            unsafe { found.take(k, memory.place(*point), &[slope]) }
        }
    }
}

/// Tangents of the expressions at up to [`WIDTH`] points; `moves` returns the tangent of an access at a point.
fn tangents_at<V: Number>(
    kernel: &BoundKernel<V>,
    memory: &Bindings<V>,
    points: &[Point],
    moves: &impl Fn(Access, Point) -> V,
) -> [[V; WIDTH]; OUTPUTS] {
    let plan = kernel.plan();
    let leaf = |op: &Op, to: &mut [V]| match op.what {
        opcode::TANGENT => {
            let key = op.moving().key().expect("a tangent is one of a leaf");
            to.iter_mut().zip(points).for_each(|(to, point)| *to = moves(key, *point));
        }
        _ => memory.leaf(op, points, to),
    };
    let mut slopes = [[V::ZERO; WIDTH]; OUTPUTS];
    interpreter(kernel).run(plan.scripts.list(List::Tangents), points.len(), leaf, |found| {
        for (k, slopes) in slopes.iter_mut().enumerate().take(plan.expressions) {
            slopes.copy_from_slice(&found[usize::from(plan.scripts.tangents[k]) * WIDTH..][..WIDTH]);
        }
    });
    slopes
}

/// Tangent of expression `k` at a point, summed access by access, so that zero factors suppress non-finite ones.
#[cold]
fn careful_tangent<V: Number>(
    kernel: &BoundKernel<V>,
    memory: &Bindings<V>,
    point: Point,
    k: usize,
    moves: &impl Fn(Access, Point) -> V,
) -> V {
    let (mut slope, used) = (V::ZERO, &kernel.plan().scripts.used);
    let unit = |output: usize, _: Point| if output == k { V::ONE } else { V::ZERO };
    for n in 0..used.len() {
        let tangent = moves(used.get(n), point);
        if !tangent.is_nought() {
            partials(kernel, n, memory, unit, &[point], |partial| {
                if crate::counts(tangent, partial[0]) {
                    slope += tangent.contribution(partial[0]);
                }
            });
        }
    }
    slope
}
