//! Evaluates single points by interpreting the program: points at boundaries, and points where a SIMD group gave a
//! non-finite value.

use super::instructions::{Instructions, WIDTH};
use crate::Number;
use crate::kernel::ir::access::{Access, AccessKind, AccessSummary, Boundary, OPERANDS, OUTPUTS};
use crate::kernel::ir::grid::{IndexRange, each_row};
use crate::kernel::ir::instruction::{Op, opcode};
use crate::kernel::ir::program::List;
use crate::kernel::targets::bindings::{Bindings, Seeds};
use crate::kernel::targets::kernel::{BoundKernel, Gather, How};
use crate::number::all_finite;
use core::array::from_fn;
use core::ops::Range;
use smallvec::SmallVec;

/// Coordinates of a point.
pub(crate) type Point = [isize; 4];

impl<V: Number> Bindings<V> {
    /// Returns the value of a read at a point, by its boundary rule if the read lies outside the view.
    pub(super) fn number_at(&self, key: Access, point: Point) -> V {
        let mut at = 0;
        for d in 0..4 {
            let (mut i, length) = (point[d] + key.shift(d), self.shape[d]);
            if i < 0 || i >= length {
                match key.border() {
                    Boundary::Inside | Boundary::Zero => return V::ZERO,
                    Boundary::Nearest => i = i.clamp(0, length - 1),
                    Boundary::Periodic => i = i.rem_euclid(length),
                }
            }
            at += i * self.strides[d];
        }
        // SAFETY: each coordinate is inside the views, which are not empty, and the buffer has all their elements.
        unsafe { self.values[key.operand()].wrapping_offset(at).get() }
    }

    /// Returns the value of an operand of lower rank at a point.
    pub(super) fn number_along(&self, key: Access, point: Point) -> V {
        let strides = self.strides_along(key.dimensions());
        let at = (0..4).map(|d| point[d] * strides[d]).sum();
        // SAFETY: the point is inside the views, and the operand has an element for its coordinates.
        unsafe { self.values[key.operand()].wrapping_offset(at).get() }
    }

    pub(crate) fn place(&self, point: Point) -> isize {
        self.at([point[0], point[1], point[2]], point[3])
    }

    /// Evaluates an access, or a coordinate, at some points.
    pub(super) fn leaf(&self, op: &Op, points: &[Point], to: &mut [V]) {
        if op.what == opcode::COORDINATE {
            let d = usize::from(op.c);
            #[allow(clippy::cast_precision_loss, reason = "the nearest number is meant")]
            let coordinate = |point: &Point| V::from_f64((point[d] + isize::from(op.shift[d])) as f64);
            return to.iter_mut().zip(points).for_each(|(to, point)| *to = coordinate(point));
        }
        let key = op.key().expect("it is a leaf");
        for (to, point) in to.iter_mut().zip(points) {
            *to = match key.kind() {
                AccessKind::Read => self.number_at(key, *point),
                AccessKind::Along => self.number_along(key, *point),
                AccessKind::Number => self.numbers[key.operand()],
                // SAFETY: the points are in the range.
                _ => unsafe { self.new[key.operand()].wrapping_offset(self.place(*point)).get() },
            };
        }
    }
}

/// Queue of points, passed on when [`WIDTH`] of them have come together, so that decoding an instruction costs little
/// for each.
#[derive(Default)]
pub(crate) struct Batch(SmallVec<[Point; WIDTH]>);

impl Batch {
    /// Adds points of a row, and passes the queued points to `work` whenever there are [`WIDTH`].
    pub(crate) fn add(&mut self, row: [isize; 3], elements: Range<isize>, mut work: impl FnMut(&[Point])) {
        for i in elements {
            self.0.push([row[0], row[1], row[2], i]);
            if self.0.len() == WIDTH {
                self.finish(&mut work);
            }
        }
    }

    /// Passes the remaining points to `work`.
    pub(crate) fn finish(&mut self, work: impl FnOnce(&[Point])) {
        if !self.0.is_empty() {
            work(&self.0);
            self.0.clear();
        }
    }
}

/// Evaluates a kernel's expressions at up to [`WIDTH`] points, and passes the values of each expression to `put`.
pub(crate) fn values<V: Number>(
    kernel: &BoundKernel<V>,
    memory: &Bindings<V>,
    points: &[Point],
    mut put: impl FnMut(usize, &[V]),
) {
    let plan = kernel.plan();
    interpreter(kernel).run(
        plan.scripts.list(List::Values),
        points.len(),
        |op, to| memory.leaf(op, points, to),
        |found| {
            for k in 0..plan.expressions {
                put(k, &found[usize::from(plan.scripts.values[k]) * WIDTH..][..points.len()]);
            }
        },
    );
}

/// Computes the values at some points by the interpreter, wherever they read.
///
/// # Safety
///
/// These points may be written.
pub(crate) unsafe fn fill_anywhere<V: Number>(kernel: &BoundKernel<V>, memory: &Bindings<V>, points: &[Point]) {
    let mut found = [[V::ZERO; WIDTH]; OUTPUTS];
    values(kernel, memory, points, |k, values| found[k][..values.len()].copy_from_slice(values));
    for (found, operand) in found.iter().zip(kernel.plan().written) {
        for (value, point) in found.iter().zip(points) {
            // SAFETY: promised by the caller.
            unsafe { memory.new[*operand].wrapping_offset(memory.place(*point)).set(value.settled()) }
        }
    }
}

pub(super) fn interpreter<V: Number>(kernel: &BoundKernel<V>) -> Instructions<'_, V> {
    Instructions { rules: &kernel.plan().scripts.rules, constants: &kernel.constants }
}

/// Σ seed·∂expression/∂access at some points, for access `n`; a product with zero is zero even if the other factor is
/// not finite.
pub(crate) fn partials<V: Number>(
    kernel: &BoundKernel<V>,
    n: usize,
    memory: &Bindings<V>,
    seed: impl Fn(usize, Point) -> V,
    points: &[Point],
    found: impl FnOnce(&[V]),
) {
    let scripts = kernel.plan().scripts;
    let (ops, result) = (scripts.list(List::Partial(n)), usize::from(scripts.partials[n]));
    let leaf = |op: &Op, to: &mut [V]| match op.what {
        opcode::SEED => to.iter_mut().zip(points).for_each(|(to, point)| *to = seed(op.operand.into(), *point)),
        _ => memory.leaf(op, points, to),
    };
    interpreter(kernel).run(ops, points.len(), leaf, |all| found(&all[result * WIDTH..][..points.len()]));
}

impl<V: Number> Seeds<V> {
    /// Returns the seed of an output at a point of the range.
    pub(crate) fn at(&self, k: usize, memory: &Bindings<V>, point: Point) -> V {
        let (dense, mut uniform) = (self.dense[k], *self);
        // SAFETY: an output's adjoints have all its elements, and those of rows are there for each row of the range.
        unsafe {
            if !dense.is_null() {
                return dense.wrapping_offset(memory.place(point)).get();
            }
            uniform.enter([point[0], point[1], point[2]]);
        }
        uniform.uniform[k]
    }
}

/// Passes the points of a range to `work`, up to [`WIDTH`] at a time.
pub(crate) fn some_points(range: &IndexRange, mut work: impl FnMut(&[Point])) {
    let mut batch = Batch::default();
    each_row!(range, row => { batch.add(row, range.lo[3]..range.hi[3], &mut work) });
    batch.finish(work);
}

/// Adjoints of the uniform scalars that are asked for, by operand, from `sum`, which returns that of an operand by its
/// access. Where a sum is not finite, it is formed anew, point by point.
pub(crate) fn slopes_of_scalars<V: Number>(gather: &Gather<'_, V>, sum: impl Fn(usize, usize) -> V) -> [V; OPERANDS] {
    from_fn(|k| {
        let leaf = gather.kernel.plan().scripts.leaf(Access::number(k));
        leaf.filter(|_| AccessSummary::has(gather.scalars, k)).map_or(V::ZERO, |leaf| {
            let sum = sum(k, leaf);
            if all_finite(sum) { sum } else { careful_sum(gather, leaf, &gather.range) }
        })
    })
}

/// Σ seed·∂expression/∂access over the points of a part of the range, in order, for access `n` to a uniform scalar or
/// an operand of lower rank. Exact where factors are not finite.
pub(crate) fn careful_sum<V: Number>(gather: &Gather<'_, V>, n: usize, part: &IndexRange) -> V {
    let (mut sum, memory) = (V::ZERO, &gather.memory);
    some_points(part, |points| {
        let seed = |k: usize, point: Point| gather.seeds.at(k, memory, point);
        partials(gather.kernel, n, memory, seed, points, |found| found.iter().for_each(|term| sum += *term));
    });
    sum
}

/// Elements whose adjoints are gathered by the interpreter, queued until there are enough.
pub(crate) struct Waiting<'g, 'a, V: Number> {
    pub(crate) gather: &'g Gather<'a, V>,
    batch: Batch,
}

impl<'g, 'a, V: Number> Waiting<'g, 'a, V> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(gather: &'g Gather<'a, V>) -> Self {
        Self { gather, batch: Batch::default() }
    }

    /// Queues elements of a row.
    ///
    /// # Safety
    ///
    /// Nobody else uses these elements until [`finish`](Self::finish) has been called; the caller must call it.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn add(&mut self, row: [isize; 3], elements: Range<isize>) {
        // SAFETY: promised by the caller.
        self.batch.add(row, elements, |points| unsafe { self.gather.compute(points) });
    }

    /// Gathers the adjoints of all queued elements.
    ///
    /// # Safety
    ///
    /// The conditions of [`add`](Self::add).
    #[inline(never)]
    pub(crate) unsafe fn finish(&mut self) {
        // SAFETY: promised by the caller.
        self.batch.finish(|points| unsafe { self.gather.compute(points) });
    }
}

impl<V: Number> Gather<'_, V> {
    /// Gathers the adjoints of some elements by the interpreter.
    ///
    /// # Safety
    ///
    /// Nobody else uses these elements.
    pub(crate) unsafe fn compute(&self, points: &[Point]) {
        let (gather, plan) = (self, self.kernel.plan());
        let mut sums = [[-V::ZERO; WIDTH]; OPERANDS];
        for n in 0..plan.scripts.used.len() {
            let key = plan.scripts.used.get(n);
            if key.kind() == AccessKind::Read && !self.to[key.operand()].is_null() {
                self.gather_from(points, n, key, &mut sums[key.operand()]);
            }
        }
        for (j, point) in points.iter().enumerate() {
            let at = gather.memory.place(*point);
            let inside = gather.range.has(*point);
            for k in (0..OPERANDS).filter(|k| AccessSummary::has(plan.partials.views, *k) && !gather.to[*k].is_null()) {
                // SAFETY: promised by the caller; the element is one of the view's.
                unsafe {
                    let to = gather.to[k].wrapping_offset(at);
                    let adds = match gather.how[k] {
                        How::Add => true,
                        How::Store => false,
                        How::Replace | How::InPlace => !inside,
                    };
                    to.set((if adds { to.get() } else { V::ZERO } + sums[k][j]).settled());
                }
            }
        }
    }

    /// Adds to `sums` what the readers of these elements contribute through access `n`.
    fn gather_from(&self, points: &[Point], n: usize, key: Access, sums: &mut [V; WIDTH]) {
        let (gather, memory) = (self, &self.memory);
        let (mut elements, mut from): (SmallVec<[usize; WIDTH]>, SmallVec<[Point; WIDTH]>) = Default::default();
        let mut add = |elements: &mut SmallVec<[usize; WIDTH]>, from: &mut SmallVec<[Point; WIDTH]>| {
            let seed = |k: usize, point: Point| gather.seeds.at(k, memory, point);
            partials(gather.kernel, n, memory, seed, from, |found| {
                for (j, term) in elements.iter().zip(found) {
                    sums[*j] += *term;
                }
            });
            elements.clear();
            from.clear();
        };
        for (j, point) in points.iter().enumerate() {
            readers(memory.shape, &gather.range, key, *point, &mut |reader| {
                elements.push(j);
                from.push(reader);
                if from.len() == WIDTH {
                    add(&mut elements, &mut from);
                }
            });
        }
        add(&mut elements, &mut from);
    }
}

/// Calls `f` with each point of the range whose read through `key` returns the element at `point`.
fn readers(shape: [isize; 4], range: &IndexRange, key: Access, point: Point, f: &mut impl FnMut(Point)) {
    let along = |d: usize| {
        let (shift, last) = (key.shift(d), shape[d] - 1);
        let straight = point[d] - shift;
        let (from, to) = match key.border() {
            // Reads of the last element: from the point whose read just reaches the end, up to the end itself.
            Boundary::Nearest if shift > 0 && point[d] == last => (straight, last),
            Boundary::Nearest if shift < 0 && point[d] == 0 => (0, straight),
            Boundary::Periodic => (straight.rem_euclid(shape[d]), straight.rem_euclid(shape[d])),
            _ => (straight, straight),
        };
        from.max(range.lo[d])..(to + 1).min(range.hi[d])
    };
    for a in along(0) {
        for b in along(1) {
            for c in along(2) {
                along(3).for_each(|i| f([a, b, c, i]));
            }
        }
    }
}
