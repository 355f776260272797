//! Single points, by the interpreter: at boundaries, where a group gave an infinite value or NaN, and along tangents.

use super::bindings::{Bindings, Seeds};
use super::interpreter::{Interpreter, WIDTH};
use super::vtable::{BoundKernel, Gather, How};
use crate::Number;
use crate::kernel::ir::access::{Access, AccessKind, AccessSummary, Boundary, LEAVES, OPERANDS, OUTPUTS};
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::kernel::ir::instruction::{Op, opcode};
use crate::kernel::ir::program::List;
use crate::kernel::memory::buffer::Buffer;
use crate::number::all_finite;
use core::ops::Range;
use smallvec::SmallVec;

/// A point's coordinates.
pub(crate) type Point = [isize; 4];

impl<V: Number> Bindings<V> {
    /// The number that this read gives at a point, which may lie outside the views.
    fn number_at(&self, key: Access, point: Point) -> V {
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
        unsafe { *self.values[key.operand()].offset(at) }
    }

    fn place(&self, point: Point) -> isize {
        self.at([point[0], point[1], point[2]], point[3])
    }

    /// What a leaf is at some points.
    fn leaf(&self, op: &Op, points: &[Point], to: &mut [V]) {
        let key = op.key().expect("it is a leaf");
        for (to, point) in to.iter_mut().zip(points) {
            *to = match key.kind() {
                AccessKind::Read => self.number_at(key, *point),
                AccessKind::Number => self.numbers[key.operand()],
                // SAFETY: the points are in the range.
                _ => unsafe { *self.new[key.operand()].offset(self.place(*point)) },
            };
        }
    }
}

/// Points that wait until there are [`WIDTH`] of them, so that looking at an operation costs little for each.
#[derive(Default)]
pub(crate) struct Batch(SmallVec<[Point; WIDTH]>);

impl Batch {
    /// Adds some points of a row, and hands over those that have waited when they are as many.
    pub(crate) fn add(&mut self, row: [isize; 3], elements: Range<isize>, mut work: impl FnMut(&[Point])) {
        for i in elements {
            self.0.push([row[0], row[1], row[2], i]);
            if self.0.len() == WIDTH {
                self.finish(&mut work);
            }
        }
    }

    /// Hands over the points that still wait.
    pub(crate) fn finish(&mut self, work: impl FnOnce(&[Point])) {
        if !self.0.is_empty() {
            work(&self.0);
            self.0.clear();
        }
    }
}

/// The values of a kernel's expressions at some points, at most [`WIDTH`].
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

fn interpreter<V: Number>(kernel: &BoundKernel<V>) -> Interpreter<'_, V> {
    Interpreter { rules: &kernel.plan().scripts.rules, constants: &kernel.constants }
}

/// Σ seed·∂expression/∂(leaf `n`) at some points; zero times anything is zero.
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

/// Whether zero may meet infinity or NaN where adjoints are finite.
pub(crate) fn is_delicate<V: Number>(kernel: &BoundKernel<V>) -> bool {
    let used = kernel.plan().scripts.used.len();
    let safe = |slopes: [V; LEAVES]| slopes[..used].iter().all(|slope| slope.is_ordinary());
    !kernel.linear(V::ONE).is_some_and(safe)
}

/// Σ seed·∂/∂element of a reduction whose only partial is one number at all points, if it is one.
pub(crate) fn constant_slope<V: Number>(kernel: &BoundKernel<V>, seed: V) -> Option<V> {
    let plan = kernel.plan();
    let one = plan.scripts.used.len() == 1 && plan.partials.views != 0 && plan.is_local();
    let slope = kernel.linear(V::ONE).filter(|_| one)?[0];
    Some(if crate::counts(seed, slope) { seed.contribution(slope) } else { V::ZERO })
}

impl<V: Number> Seeds<V> {
    /// The seed of an output at a point of the range.
    pub(crate) fn at(&self, k: usize, place: isize) -> V {
        let dense = self.dense[k];
        // SAFETY: an output's adjoints have all its elements.
        if dense.is_null() { self.uniform[k] } else { unsafe { *dense.offset(place) } }
    }
}

/// Some points of a range at a time.
pub(crate) fn some_points(range: &IndexRange, mut work: impl FnMut(&[Point])) {
    let mut batch = Batch::default();
    each_row!(range, row => { batch.add(row, range.lo[3]..range.hi[3], &mut work) });
    batch.finish(work);
}

/// Σ seed·∂expression/∂(leaf `n`) over the points of the range, in order: for a number that all points share.
pub(crate) fn careful_slope<V: Number>(gather: &Gather<'_, V>, n: usize) -> V {
    let (mut sum, memory) = (V::ZERO, &gather.memory);
    some_points(&gather.range, |points| {
        let seed = |k: usize, point: Point| gather.seeds.at(k, memory.place(point));
        partials(gather.kernel, n, memory, seed, points, |found| found.iter().for_each(|term| sum += *term));
    });
    sum
}

/// Elements that are gathered one by one: they wait here until they are worth it.
pub(crate) struct Waiting<'g, 'a, V: 'static> {
    pub(crate) gather: &'g Gather<'a, V>,
    batch: Batch,
}

impl<'g, 'a, V: Number> Waiting<'g, 'a, V> {
    #[inline(always)]
    pub(crate) fn new(gather: &'g Gather<'a, V>) -> Self {
        Self { gather, batch: Batch::default() }
    }

    /// Adds some elements of a row.
    ///
    /// # Safety
    ///
    /// Nobody else uses these elements until [`finish`](Self::finish) has been called, which must be done.
    #[inline(never)]
    pub(crate) unsafe fn add(&mut self, row: [isize; 3], elements: Range<isize>) {
        // SAFETY: promised by the caller.
        self.batch.add(row, elements, |points| unsafe { self.gather.compute(points) });
    }

    /// Computes what is waiting.
    ///
    /// # Safety
    ///
    /// As [`add`](Self::add).
    #[inline(never)]
    pub(crate) unsafe fn finish(&mut self) {
        // SAFETY: promised by the caller.
        self.batch.finish(|points| unsafe { self.gather.compute(points) });
    }
}

impl<V: Number> Gather<'_, V> {
    /// Gathers the adjoints of some elements, one operation after the other.
    ///
    /// # Safety
    ///
    /// Nobody else uses these elements.
    unsafe fn compute(&self, points: &[Point]) {
        let (gather, plan) = (self, self.kernel.plan());
        let mut sums = [[-V::ZERO; WIDTH]; OPERANDS];
        for n in 0..plan.scripts.used.len() {
            let key = plan.scripts.used.get(n);
            if key.kind() == AccessKind::Read {
                self.gather_from(points, n, key, &mut sums[key.operand()]);
            }
        }
        for (j, point) in points.iter().enumerate() {
            let at = gather.memory.place(*point);
            let inside = (0..4).all(|d| point[d] >= gather.range.lo[d] && point[d] < gather.range.hi[d]);
            for k in (0..OPERANDS).filter(|k| AccessSummary::has(plan.partials.views, *k) && !gather.to[*k].is_null()) {
                // SAFETY: promised by the caller; the element is one of the view's.
                unsafe {
                    let to = gather.to[k].offset(at);
                    let adds = match gather.how[k] {
                        How::Add => true,
                        How::Store => false,
                        How::Replace | How::InPlace => !inside,
                    };
                    *to = if adds { *to } else { V::ZERO } + sums[k][j];
                }
            }
        }
    }

    /// Adds what the points contribute that read these elements by leaf `n`.
    fn gather_from(&self, points: &[Point], n: usize, key: Access, sums: &mut [V; WIDTH]) {
        let (gather, memory) = (self, &self.memory);
        let (mut elements, mut from): (SmallVec<[usize; WIDTH]>, SmallVec<[Point; WIDTH]>) = Default::default();
        let mut add = |elements: &mut SmallVec<[usize; WIDTH]>, from: &mut SmallVec<[Point; WIDTH]>| {
            let seed = |k: usize, point: Point| gather.seeds.at(k, memory.place(point));
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

/// Calls `f` with each point of the range whose read with this key gives the element at `point`.
fn readers(shape: [isize; 4], range: &IndexRange, key: Access, point: Point, f: &mut impl FnMut(Point)) {
    let along = |d: usize| {
        let (shift, last) = (key.shift(d), shape[d] - 1);
        let straight = point[d] - shift;
        let (from, to) = match key.border() {
            // From where the read just reaches the end, up to the end itself, all points read the last element.
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

/// Σ ∂expressionₖ/∂leaf·tangent at all points of the range, for each expression: written to `results` if the kernel
/// writes, else added up and returned. Zero times anything is zero. `tangents` holds the tangents of views, or nowhere,
/// and of numbers.
pub(crate) fn tangent<V: Number>(
    kernel: &BoundKernel<V>,
    grid: &Grid,
    memory: &Bindings<V>,
    tangents: &Bindings<V>,
    results: &mut [&mut Buffer<V>],
) -> V {
    let (plan, mut sum) = (kernel.plan(), V::ZERO);
    let moves = |key: Access, point: Point| match key.kind() {
        AccessKind::Read if tangents.values[key.operand()].is_null() => V::ZERO,
        AccessKind::Read => tangents.number_at(key, point),
        _ => tangents.numbers[key.operand()],
    };
    some_points(&grid.range, |points| {
        let slopes = tangents_at(kernel, memory, points, &moves);
        for (j, point) in points.iter().enumerate() {
            for (k, slopes) in slopes.iter().enumerate().take(plan.expressions) {
                let mut slope = slopes[j];
                if !all_finite(slope) {
                    slope = careful_tangent(kernel, memory, *point, k, &moves);
                }
                if plan.writes {
                    results[k][memory.place(*point).unsigned_abs()] = slope;
                } else {
                    sum += slope;
                }
            }
        }
    });
    sum
}

/// The tangents of the expressions at some points, at most [`WIDTH`], when the leaves' tangents are what `moves` says.
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

/// The tangent of expression `k` at a point, leaf by leaf.
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
