//! The loops of launches: values at all points, and sums over them.

use super::blocks::{each_block, sum_of_blocks};
use super::buffer::Buffer;
use super::grid::{Grid, Region, each_row};
use super::interpret::WIDTH;
use super::kernel::{Kernel, ValuesOf};
use super::keys::{Facts, OPERANDS};
use super::lane::Vector;
use super::level::Task;
use super::memory::{ALL, COLUMNS, Memory, Place, ROWS, Seeds, check_reads, inner};
use super::points::{Point, partials, values};
use super::program::{OUTPUTS, Plan, Program, each_output};
use super::steps::{Captured, Results, Steps, execute, result};
use crate::Float;
use core::marker::PhantomData;
use smallvec::SmallVec;

/// One operand of a launch.
#[derive(Debug)]
pub enum Operand<'a, V> {
    /// A view that is read.
    Read(&'a Buffer<V>),
    /// A number that all points share.
    Number(V),
    /// A view that is written, and read at most at the point itself.
    Update(&'a mut Buffer<V>),
    /// A view that is read from the first buffer, and written to the second.
    Replace(&'a Buffer<V>, &'a mut Buffer<V>),
}

/// The operands in memory, after all that the loops rely on has been checked; and whether some are written in place.
///
/// # Panics
///
/// When an operand has not as many elements as the grid, or is read beyond it; when an operand is read or written that is not
/// among them; and when there are too many.
#[track_caller]
pub(super) fn memory<'m, V: Float>(
    plan: &Plan,
    grid: &Grid,
    operands: impl Iterator<Item = Operand<'m, V>>,
) -> (Memory<V>, bool) {
    let mut memory = Memory::new(grid);
    let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), grid.elements(), "all views of a launch have one shape");
    let (mut views, mut numbers, mut written, mut in_place) = (0_u8, 0_u8, 0, false);
    for (k, operand) in operands.enumerate() {
        assert!(k < OPERANDS, "a launch has at most {OPERANDS} operands");
        views |= 1 << k;
        match operand {
            Operand::Read(buffer) => {
                fits(buffer);
                memory.values[k] = buffer.start();
            }
            Operand::Number(number) => {
                memory.numbers[k] = number;
                (views, numbers) = (views & !(1 << k), numbers | 1 << k);
            }
            Operand::Update(buffer) => {
                fits(buffer);
                assert!(
                    !Facts::has(plan.leaves.beside, k),
                    "a view that is read beside the point is not written in place"
                );
                memory.new[k] = buffer.start_mut();
                memory.values[k] = memory.new[k];
                (written, in_place) = (written + 1, true);
            }
            Operand::Replace(old, new) => {
                fits(old);
                fits(new);
                memory.values[k] = old.start();
                memory.new[k] = new.start_mut();
                written += 1;
            }
        }
    }
    let expected = if plan.writes { plan.expressions } else { 0 };
    assert!(
        plan.in_order && written == expected,
        "one expression for each operand that is written, each before its value is used"
    );
    // Those of the kernel itself are no leaves of it.
    assert!(plan.leaves.new == 0, "`new` is asked for what the launch does not write: that is not there");
    assert!(!plan.leaves.locals, "a temporary is used where it is not bound: it is not there");
    assert!(
        plan.leaves.views & !views == 0 && plan.leaves.numbers & !numbers == 0,
        "a token of another launch is used, whose operand is not there"
    );
    for operand in plan.written {
        assert!(!memory.new[*operand].is_null(), "operand {operand} is written, and cannot be");
    }
    check_reads(plan, grid);
    (memory, in_place)
}

/// Computes the program at all points of the grid, and writes its values.
///
/// # Panics
///
/// When an operand has not as many elements as the grid, or is read beyond it, or is missing.
#[track_caller]
pub fn run<'m, V: Float, P: Program>(program: &P, grid: &Grid, operands: impl Iterator<Item = Operand<'m, V>>) {
    assert!(P::WRITES, "a reduction writes to no operand");
    let (memory, in_place) = memory::<V>(P::PLAN, grid, operands);
    // SAFETY: checked above; outputs are borrowed exclusively, and only those that are updated are read as well, at the point itself.
    unsafe { fill::<V, P>(&Kernel::of(program), grid, &memory, in_place) }
}

/// [`run`] for operands that lie in memory, some of them perhaps written in place.
///
/// # Safety
///
/// [`memory`] has checked them for this kernel and grid, they are still there, and nobody else uses what is written.
pub(super) unsafe fn fill<V: Float, P: Program>(kernel: &Kernel<V>, grid: &Grid, memory: &Memory<V>, in_place: bool) {
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

/// The loop of [`run`].
///
/// To run it is safe if `memory` is fit for the range. Points are computed twice only if `again`.
struct Fill<'a, V: 'static, P> {
    kernel: &'a Kernel<V>,
    memory: &'a Memory<V>,
    part: &'a Region,
    again: bool,
    program: PhantomData<P>,
}

impl<V: Float, P: Program> Task<V> for Fill<'_, V, P> {
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
unsafe fn fill_rows<V: Float, L: Vector<Number = V>, P: Program>(
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
    let n = L::N.cast_signed();
    let mut waiting = Unfilled { kernel, memory: whole, points: SmallVec::new() };
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
                    // One group as it falls, the others where no register lies across two cache lines, the last at the end.
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

/// The first place from `i` on in the row that begins at `start` where a group of lanes is aligned as a buffer's first number is.
#[inline(always)]
pub(super) fn aligned<L: Vector>(start: isize, i: isize) -> isize {
    let n = L::N.cast_signed();
    i + (-(start + i)).rem_euclid(n)
}

/// # Safety
///
/// The program reads inside the views at this place and the ones behind it, as many as there are lanes, or is masked; and the chosen places,
/// all of them unless it is masked, can be written.
#[inline(always)]
unsafe fn group<V: Float, L: Vector<Number = V>, P: Program, const MASK: u8>(place: &Place<'_, V>, chosen: L::Mask) {
    // SAFETY: promised by the caller. What is read beside the views is in the buffers or their margins, because a group and the largest
    // shift are less than a margin.
    unsafe {
        let mut results = Results::new();
        execute::<ValuesOf<P>, L, MASK>(place, &mut results);
        // All reads come before all writes.
        each_output!(K => {
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
unsafe fn fill_points<V: Float, P: Program>(memory: &Memory<V>, kernel: &Kernel<V>, places: core::ops::Range<isize>) {
    let captured = Captured::of::<ValuesOf<P>>(&kernel.constants);
    for at in places {
        // SAFETY: promised by the caller.
        unsafe {
            group::<V, V::Single, P, ALL>(&Place::inside(memory, &Seeds::NONE, &captured, at), V::Single::within(0, 1))
        }
    }
}

/// Points at borders that are not yet written.
struct Unfilled<'a, V: 'static> {
    kernel: &'a Kernel<V>,
    memory: &'a Memory<V>,
    points: SmallVec<[Point; WIDTH]>,
}

impl<V: Float> Unfilled<'_, V> {
    /// # Safety
    ///
    /// These points of the row can be written, and nobody else uses them until [`finish`](Self::finish) has been called.
    #[inline(never)]
    unsafe fn add(&mut self, row: [isize; 3], elements: core::ops::Range<isize>) {
        for i in elements {
            self.points.push([row[0], row[1], row[2], i]);
            if self.points.len() == WIDTH {
                // SAFETY: promised by the caller.
                unsafe { self.finish() }
            }
        }
    }

    /// # Safety
    ///
    /// As [`add`](Self::add).
    #[inline(never)]
    unsafe fn finish(&mut self) {
        if self.points.is_empty() {
            return;
        }
        let (memory, written) = (self.memory, self.kernel.plan().written);
        let mut found = [[V::zero(); WIDTH]; OUTPUTS];
        values(self.kernel, memory, &self.points, |k, values| found[k][..values.len()].copy_from_slice(values));
        for (found, operand) in found.iter().zip(written) {
            for (value, point) in found.iter().zip(&self.points) {
                // SAFETY: promised by the caller.
                unsafe { *memory.new[*operand].offset(memory.at([point[0], point[1], point[2]], point[3])) = *value }
            }
        }
        self.points.clear();
    }
}

/// What is added up, or compared, over the points of a range: the values of a kernel with one expression, or a partial times the seeds.
///
/// To ask for terms is safe if `memory` is fit for the range.
pub(super) struct Terms<'a, V: 'static, C> {
    pub(super) kernel: &'a Kernel<V>,
    pub(super) memory: &'a Memory<V>,
    pub(super) seeds: &'a Seeds<V>,
    pub(super) range: &'a Region,
    /// The leaf whose partial it is; else it is the value.
    pub(super) partial: Option<usize>,
    pub(super) steps: PhantomData<C>,
}

/// Where the result of these steps is, a partial's or a value's.
pub(super) const fn place_of<C: Steps>() -> usize {
    match result::<C>(0) {
        Some(place) => place,
        None => panic!("there is a result"),
    }
}

impl<V: Float, C: Steps> Terms<'_, V, C> {
    /// The points of the range that read inside the views.
    pub(super) fn inner(&self) -> Region {
        inner(&self.kernel.plan().leaves, self.memory.shape, self.range)
    }

    /// The terms at a place and the ones behind it.
    ///
    /// # Safety
    ///
    /// All reads there are inside the views.
    #[inline(always)]
    pub(super) unsafe fn lanes<L: Vector<Number = V>>(
        &self,
        memory: &Memory<V>,
        captured: &Captured<V>,
        at: isize,
    ) -> L {
        let mut results = Results::new();
        // SAFETY: promised by the caller.
        unsafe {
            execute::<C, L, ALL>(&Place::inside(memory, self.seeds, captured, at), &mut results);
            results.number(const { place_of::<C>() })
        }
    }

    /// The terms at the first places, as many as there are in `to`.
    ///
    /// # Safety
    ///
    /// All reads there are inside the views.
    #[inline(never)]
    pub(super) unsafe fn singles(&self, at: isize, to: &mut [V]) {
        let captured = Captured::of::<C>(&self.kernel.constants);
        for (to, at) in to.iter_mut().zip(at..) {
            // SAFETY: promised by the caller; it is one number.
            unsafe { self.lanes::<V::Single>(self.memory, &captured, at).store(to) }
        }
    }

    /// The terms at some points of a row from `i` on, wherever they read.
    #[inline(never)]
    pub(super) fn anywhere(&self, row: [isize; 3], i: isize, to: &mut [V]) {
        for (k, to) in to.chunks_mut(WIDTH).enumerate() {
            let first = i + (k * WIDTH).cast_signed();
            let points: SmallVec<[Point; WIDTH]> =
                (first..first + to.len().cast_signed()).map(|i| [row[0], row[1], row[2], i]).collect();
            match self.partial {
                None => values(self.kernel, self.memory, &points, |_, values| to.copy_from_slice(values)),
                Some(n) => {
                    let seed = |k: usize, point: Point| {
                        self.seeds.at(k, self.memory.at([point[0], point[1], point[2]], point[3]))
                    };
                    partials(self.kernel, n, self.memory, seed, &points, |terms| to.copy_from_slice(terms));
                }
            }
        }
    }
}

/// A lane that is one number, as that.
pub(super) fn number<V: Float>(lane: V::Single) -> V {
    let mut number = V::zero();
    // SAFETY: it is one number.
    unsafe { lane.store(&raw mut number) };
    number
}

/// Partial sums: every level adds the same numbers in the same order.
const SUMS: usize = 16;
/// Points of a row whose sum is formed apart.
pub(super) const CHUNK: isize = 4096;

/// Adds up terms over a part of their range.
///
/// # Safety
///
/// `terms` are fit for their range.
pub(super) unsafe fn sum_of_terms<V: Float, C: Steps>(terms: &Terms<'_, V, C>, part: &Region) -> V {
    let inner = &terms.inner();
    // SAFETY: promised by the caller.
    unsafe { V::at_level(AddUp { terms, inner, part }) }
}

/// The loop of [`sum_of_terms`].
///
/// To run it is safe if the terms are fit for their range, and at the points of `inner` all reads are inside the views.
struct AddUp<'a, 't, V: 'static, C> {
    terms: &'a Terms<'t, V, C>,
    inner: &'a Region,
    part: &'a Region,
}

impl<V: Float, C: Steps> Task<V> for AddUp<'_, '_, V, C> {
    type Output = V;
    #[inline(always)]
    unsafe fn run<L: Vector<Number = V>>(self) -> V {
        // SAFETY: promised by the caller.
        unsafe { add_rows::<V, L, C>(self.terms, self.inner, self.part) }
    }
}

/// # Safety
///
/// As [`AddUp`].
#[inline(always)]
unsafe fn add_rows<V: Float, L: Vector<Number = V>, C: Steps>(
    terms: &Terms<'_, V, C>,
    inner: &Region,
    part: &Region,
) -> V {
    let (memory, captured) = (&{ *terms.memory }, &Captured::of::<C>(&terms.kernel.constants));
    let mut total = V::zero();
    each_row!(part, row => {
        let inside = (0..3).all(|d| row[d] >= inner.lo[d] && row[d] < inner.hi[d]);
        let bounds = if inside { (inner.lo[3], inner.hi[3]) } else { (0, 0) };
        let mut from = part.lo[3];
        while from < part.hi[3] {
            let to = (from + CHUNK).min(part.hi[3]);
            // SAFETY: promised by the caller.
            total += unsafe { add_chunk::<V, L, C>(terms, memory, captured, row, (from, to), bounds) };
            from = to;
        }
    });
    total
}

/// # Safety
///
/// As [`add_rows`], for the points of a row; those between the bounds read inside the views.
#[inline(always)]
unsafe fn add_chunk<V: Float, L: Vector<Number = V>, C: Steps>(
    terms: &Terms<'_, V, C>,
    memory: &Memory<V>,
    captured: &Captured<V>,
    row: [isize; 3],
    (from, to): (isize, isize),
    bounds: (isize, isize),
) -> V {
    let (start, all) = (memory.at(row, 0), SUMS.cast_signed());
    let mut sums = [L::zero(); SUMS];
    let mut i = from;
    let mut single = [V::zero(); SUMS];
    while i + all <= to {
        let inside = i >= bounds.0 && i + all <= bounds.1;
        if !inside {
            terms.anywhere(row, i, &mut single);
        }
        let mut k = 0;
        while k < SUMS / L::N {
            let skip = k * L::N;
            // SAFETY: promised by the caller; `single` has as many numbers.
            let found: L = unsafe {
                if inside {
                    terms.lanes::<L>(memory, captured, start + i + skip.cast_signed())
                } else {
                    L::load(single.as_ptr().add(skip))
                }
            };
            sums[k] = sums[k] + found;
            k += 1;
        }
        i += all;
    }
    let mut k = 0;
    while k < SUMS / L::N {
        // SAFETY: there is room for all sums.
        unsafe { sums[k].store(single.as_mut_ptr().add(k * L::N)) };
        k += 1;
    }
    if i < to {
        let mut rest = [V::zero(); SUMS];
        let rest = &mut rest[..(to - i).unsigned_abs()];
        if i >= bounds.0 && to <= bounds.1 {
            // SAFETY: these points read inside the views.
            unsafe { terms.singles(start + i, rest) }
        } else {
            terms.anywhere(row, i, rest);
        }
        for (sum, term) in single.iter_mut().zip(rest) {
            *sum += *term;
        }
    }
    let mut step = SUMS / 2;
    while step > 0 {
        for k in 0..step {
            let other = single[k + step];
            single[k] += other;
        }
        step /= 2;
    }
    single[0]
}

/// The sum of a program's expression over the grid. It is the same at every level and for any number of threads: the points of a
/// row are added in fixed groups, and the groups in order.
///
/// # Panics
///
/// As [`run`].
#[track_caller]
pub fn sum<'m, V: Float, P: Program>(program: &P, grid: &Grid, operands: impl Iterator<Item = Operand<'m, V>>) -> V {
    assert!(!P::WRITES, "a reduction has one expression, which is not written");
    let (memory, _) = memory::<V>(P::PLAN, grid, operands);
    // SAFETY: checked above.
    unsafe { total::<V, P>(&Kernel::of(program), grid, &memory) }
}

/// [`sum`] for operands that lie in memory.
///
/// # Safety
///
/// [`memory`] has checked them for this kernel and grid, and they are still there.
pub(super) unsafe fn total<V: Float, P: Program>(kernel: &Kernel<V>, grid: &Grid, memory: &Memory<V>) -> V {
    let seeds = Seeds::NONE;
    let terms = values_of::<V, P>(kernel, (memory, &seeds), &grid.range);
    // SAFETY: promised by the caller.
    sum_of_blocks(&grid.range, |part| unsafe { sum_of_terms(&terms, part) })
}

/// The values of a reduction.
pub(super) fn values_of<'a, V: Float, P: Program>(
    kernel: &'a Kernel<V>,
    (memory, seeds): (&'a Memory<V>, &'a Seeds<V>),
    range: &'a Region,
) -> Terms<'a, V, ValuesOf<P>> {
    Terms { kernel, memory, seeds, range, partial: None, steps: PhantomData }
}
