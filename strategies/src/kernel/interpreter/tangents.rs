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
use crate::number::all_finite;
use crate::number::simd::planes::planes;

/// Destination of the tangents of a kernel's expressions.
struct Found<'r, 'b, V: Number> {
    /// Views that they are written to; none for a reduction.
    results: &'r mut [&'b mut Buffer<V>],
    sums: [V; OUTPUTS],
}

impl<V: Number> Found<'_, '_, V> {
    /// Takes tangents of expression `k` at points that are consecutive elements from `place` on.
    fn take(&mut self, k: usize, place: usize, tangents: &[V]) {
        match self.results.get_mut(k) {
            Some(result) => result.put(place, tangents),
            None => tangents.iter().for_each(|tangent| self.sums[k] += *tangent),
        }
    }
}

/// Σ ∂expressionₖ/∂access·tangent at all points of the range, for each expression: written to `results` if the kernel
/// writes, else summed and returned. A product with zero is zero. `tangents` binds the tangents of views, null where
/// they are zero, and of uniform scalars.
///
/// # Safety
///
/// The operands have been checked for this kernel and grid, and they are still alive.
pub(crate) unsafe fn tangent<V: Number>(
    kernel: &BoundKernel<V>,
    grid: &Grid,
    (memory, tangents): (&Bindings<V>, &Bindings<V>),
    results: &mut [&mut Buffer<V>],
) -> [V; OUTPUTS] {
    let mut found = Found { results, sums: [V::ZERO; OUTPUTS] };
    let (plan, range) = (kernel.plan(), &grid.range);
    let singly = |part: &IndexRange, found: &mut Found<'_, '_, V>| {
        some_points(part, |points| at_points(kernel, (memory, tangents), points, found));
    };
    if const { planes::<V>() > 1 } {
        singly(range, &mut found);
        return found.sums;
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
                singly(&IndexRange { lo: [a, b, c, i], hi: [a + 1, b + 1, c + 1, next] }, &mut found);
            }
            i = next;
        }
    });
    found.sums
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
