//! Tangents of kernels: the derivatives of the expressions along tangents of what they read.

use super::instructions::WIDTH;
use super::points::{Point, interpreter, partials, some_points};
use super::segments::{SEGMENT, Segments};
use crate::Number;
use crate::kernel::ir::access::{Access, AccessKind, OUTPUTS};
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::kernel::ir::instruction::{Op, opcode};
use crate::kernel::ir::program::List;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::targets::bindings::{Bindings, inner};
use crate::kernel::targets::kernel::BoundKernel;
use crate::kernel::targets::rows::Rows;
use crate::number::all_finite;
use crate::number::simd::planes::planes;

/// Destination of the tangents of a kernel's expressions.
pub(crate) enum Destination<'r, 'b, V: Number> {
    /// A view for each expression.
    Views(&'r mut [&'b mut Buffer<V>]),
    /// A sum over all points for each expression.
    Sums(&'r mut [V]),
    /// A sum over each row of the range, in order, of the first expression.
    Rows(&'r mut Buffer<V>),
}

/// Tangents that have been found, and their destination.
struct Found<'r, 'b, V: Number> {
    results: Destination<'r, 'b, V>,
    /// Sum of the current row, and its number.
    row: (V, usize),
}

impl<V: Number> Found<'_, '_, V> {
    /// Takes tangents of expression `k` at points that are consecutive elements from `place` on.
    fn take(&mut self, k: usize, place: usize, tangents: &[V]) {
        let sum = match &mut self.results {
            Destination::Views(views) => return views[k].put(place, tangents),
            Destination::Sums(sums) => &mut sums[k],
            Destination::Rows(_) => &mut self.row.0,
        };
        tangents.iter().for_each(|tangent| *sum += *tangent);
    }

    /// Ends a row, all of whose tangents have been taken.
    fn end_row(&mut self) {
        if let Destination::Rows(sums) = &mut self.results {
            let (sum, row) = self.row;
            sums.set(row, sum);
            self.row = (V::ZERO, row + 1);
        }
    }
}

/// Σ ∂expressionₖ/∂access·tangent at all points of the range, for each expression: written to views, or added to sums.
/// A product with zero is zero. `tangents` binds the tangents of views, null where they are zero, and of uniform
/// scalars.
///
/// # Safety
///
/// The operands have been checked for this kernel and grid, and they are still alive.
pub(crate) unsafe fn tangent<V: Number>(
    kernel: &BoundKernel<V>,
    grid: &Grid,
    (memory, tangents): (&Bindings<V>, &Bindings<V>),
    results: Destination<'_, '_, V>,
) {
    let found = &mut Found { results, row: (V::ZERO, 0) };
    let (plan, range) = (kernel.plan(), &grid.range);
    let singly = |part: &IndexRange, found: &mut Found<'_, '_, V>| {
        some_points(part, |points| at_points(kernel, (memory, tangents), points, found));
    };
    if const { planes::<V>() > 1 } {
        if !matches!(found.results, Destination::Rows(_)) {
            return singly(range, found);
        }
        let rows = Rows::of(range);
        each_row!(range, row => {
            singly(&rows.row(row), found);
            found.end_row();
        });
        return;
    }
    let mut segments = Segments::new(interpreter(kernel), plan.scripts, (memory, tangents), range);
    let inner = inner(&plan.leaves, memory.shape, range);
    each_row!(range, row => {
        let (mut i, end) = (range.lo[3], range.hi[3]);
        let (from, to) = if inner.has_row(row) { (inner.lo[3], inner.hi[3]) } else { (end, end) };
        while i < end {
            let is_inside = i >= from && i < to;
            let bound = if is_inside { to } else if i < from { from.min(end) } else { end };
            let next = bound.min(i + SEGMENT);
            let (place, count) = (memory.at(row, i).unsigned_abs(), (next - i).unsigned_abs());
            let put = |k: usize, tangents: &[V]| found.take(k, place, tangents);
            // SAFETY: promised by the caller; reads of these points are inside the views.
            if !is_inside || !unsafe { segments.tangents((row, i, count), plan.expressions, put) } {
                let [a, b, c] = row;
                singly(&IndexRange { lo: [a, b, c, i], hi: [a + 1, b + 1, c + 1, next] }, found);
            }
            i = next;
        }
        found.end_row();
    });
}

/// Evaluates the tangents at up to [`WIDTH`] points, wherever they read; exact where factors are not finite.
fn at_points<V: Number>(
    kernel: &BoundKernel<V>,
    (memory, tangents): (&Bindings<V>, &Bindings<V>),
    points: &[Point],
    found: &mut Found<'_, '_, V>,
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
            found.take(k, memory.place(*point).unsigned_abs(), &[slope]);
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
