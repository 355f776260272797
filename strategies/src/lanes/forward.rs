//! The loops of launches: values at all points, and sums over them.

use super::blocks::{each_block, sum_of_blocks};
use super::buffer::Buffer;
use super::grid::{Grid, Region, each_row};
use super::keys::{Facts, OPERANDS};
use super::lane::Vector;
use super::level::Task;
use super::memory::{Anywhere, Inside, Memory, Needed, Seeds, check_reads, inner};
use super::program::{OUTPUTS, Program};
use crate::Float;

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
pub(super) fn memory<'m, V: Float, P: Program>(
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
                    !Facts::has(P::LEAVES.beside, k),
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
    let expected = if P::WRITES { P::EXPRESSIONS } else { 0 };
    assert!(
        P::IN_ORDER && written == expected,
        "one expression for each operand that is written, each before its value is used"
    );
    // Those of the program itself are no leaves of it.
    assert!(P::LEAVES.new == 0, "`new` is asked for what the launch does not write: that is not there");
    assert!(!P::LEAVES.locals, "a temporary is used where it is not bound: it is not there");
    assert!(
        P::LEAVES.views & !views == 0 && P::LEAVES.numbers & !numbers == 0,
        "a token of another launch is used, whose operand is not there"
    );
    if P::WRITES {
        for k in 0..P::EXPRESSIONS {
            assert!(!memory.new[P::written(k)].is_null(), "operand {} is written, and cannot be", P::written(k));
        }
    }
    check_reads::<P>(grid);
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
    let (memory, in_place) = memory::<V, P>(grid, operands);
    if grid.range.is_empty() {
        return;
    }
    let (memory, again) = (&memory, !in_place);
    // SAFETY: checked above; outputs are borrowed exclusively, and only those that are updated are read as well, at the point itself.
    // Parts are disjoint, and each point writes at itself.
    each_block(&grid.range, |part| unsafe { V::at_level(Fill { program, memory, part, again }) });
}

/// The loop of [`run`].
///
/// To run it is safe if `memory` is fit for the range. Points are computed twice only if `again`.
struct Fill<'a, V, P> {
    program: &'a P,
    memory: &'a Memory<V>,
    part: &'a Region,
    again: bool,
}

impl<V: Float, P: Program> Task<V> for Fill<'_, V, P> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Vector<Number = V>>(self) {
        // SAFETY: promised by the caller.
        unsafe { fill_rows::<V, L, P>(self.program, self.memory, self.part, self.again) }
    }
}

/// The loop of [`total`].
///
/// To run it is safe if `memory` is fit for the range, and at the points of `inner` all reads are inside the views.
struct AddUp<'a, V, T> {
    term: &'a T,
    memory: &'a Memory<V>,
    inner: &'a Region,
    part: &'a Region,
}

impl<V: Float, T: Term<V>> Task<V> for AddUp<'_, V, T> {
    type Output = V;
    #[inline(always)]
    unsafe fn run<L: Vector<Number = V>>(self) -> V {
        // SAFETY: promised by the caller.
        unsafe { add_rows::<V, L, T>(self.term, self.memory, self.inner, self.part) }
    }
}

/// # Safety
///
/// As [`Fill`].
#[inline(always)]
unsafe fn fill_rows<V: Float, L: Vector<Number = V>, P: Program>(
    program: &P,
    memory: &Memory<V>,
    part: &Region,
    again: bool,
) {
    let memory = &{ *memory }; // a copy that stores cannot touch, so that its fields stay in registers
    let inner = inner(&P::LEAVES, memory.shape, part);
    let n = L::N.cast_signed();
    each_row!(part, row => {
        let inside = !P::LEAVES.borders || (0..3).all(|d| row[d] >= inner.lo[d] && row[d] < inner.hi[d]);
        let (first, end) = (part.lo[3], part.hi[3]);
        let (from, to) = if inside && inner.lo[3] < inner.hi[3] { (inner.lo[3], inner.hi[3]) } else { (end, end) };
        let start = memory.at(row, 0);
        // SAFETY: promised by the caller; the row's points from `from` to `to` read inside the views.
        unsafe {
            // One place where a group is computed, so that it is compiled once for each level.
            let mut done = from;
            if from + n <= to {
                let mut i = from;
                loop {
                    group::<V, L, P>(program, memory, start + i);
                    done = i + n;
                    // One group as it falls, the others where no register lies across two cache lines, the last at the end.
                    let next = if again && i == from { aligned::<L>(start, from + 1) } else { done };
                    i = match next + n <= to {
                        true => next,
                        false if again && done < to => to - n,
                        false => break,
                    };
                }
            }
            if first < from || done < end {
                let rest = [first..from, done..end];
                fill_points::<V, P>(program, memory, row, rest);
            }
        }
    });
}

/// The first place from `i` on in the row that begins at `start` where a group of lanes is aligned as a buffer's first number is.
#[inline(always)]
pub(super) fn aligned<L: Vector>(start: isize, i: isize) -> isize {
    let n = L::N.cast_signed();
    i + (-(start + i)).rem_euclid(n)
}

/// # Safety
///
/// The program reads inside the views at this place and the ones behind it, as many as there are lanes, which can be written.
#[inline(always)]
unsafe fn group<V: Float, L: Vector<Number = V>, P: Program>(program: &P, memory: &Memory<V>, at: isize) {
    program.each::<L, _>(Inside(memory, at), &mut |k, value| {
        let to = memory.new[P::written(k)].wrapping_offset(at);
        // SAFETY: promised by the caller.
        unsafe { value.store(to) }
    });
}

/// Points one by one: those at borders, and the few that are left over at the end of a row.
///
/// # Safety
///
/// These points of the row can be written.
#[inline(never)]
unsafe fn fill_points<V: Float, P: Program>(
    program: &P,
    memory: &Memory<V>,
    row: [isize; 3],
    pieces: [core::ops::Range<isize>; 2],
) {
    for i in pieces.into_iter().flatten() {
        let source = Anywhere(memory, [row[0], row[1], row[2], i]);
        program.each::<V::Single, _>(source, &mut |k, value| {
            let to = memory.new[P::written(k)].wrapping_offset(memory.at(row, i));
            // SAFETY: promised by the caller.
            unsafe { value.store(to) }
        });
    }
}

/// What is added up over the points of a range.
pub(super) trait Term<V: Float>: Sync {
    /// The leaves that it reads.
    const LEAVES: Facts;
    /// The terms at a place and the ones behind it.
    ///
    /// # Safety
    ///
    /// All reads there are inside the views.
    unsafe fn lanes<L: Vector<Number = V>>(&self, memory: &Memory<V>, at: isize) -> L;
    /// The term at a point.
    fn single(&self, memory: &Memory<V>, point: [isize; 4]) -> V;
}

/// The value of a program with one expression.
pub(super) struct Value<'a, P>(pub(super) &'a P);
impl<V: Float, P: Program> Term<V> for Value<'_, P> {
    const LEAVES: Facts = P::LEAVES;
    #[inline(always)]
    unsafe fn lanes<L: Vector<Number = V>>(&self, memory: &Memory<V>, at: isize) -> L {
        let mut found = L::zero();
        self.0.each::<L, _>(Inside(memory, at), &mut |_, value| found = value);
        found
    }
    #[inline(never)]
    fn single(&self, memory: &Memory<V>, point: [isize; 4]) -> V {
        let mut found = <V::Single as super::lane::Lane>::zero();
        self.0.each::<V::Single, _>(Anywhere(memory, point), &mut |_, value| found = value);
        number(found)
    }
}

/// A lane that is one number, as that.
pub(super) fn number<V: Float>(lane: V::Single) -> V {
    let mut number = V::zero();
    // SAFETY: it is one number.
    unsafe { lane.store(&raw mut number) };
    number
}

/// The partial of a program for leaf `N`, a number that all points share, times the seeds.
pub(super) struct Slope<'a, V, P, const N: usize, const CARE: bool>(pub(super) &'a P, pub(super) Seeds<V>);
impl<V: Float, P: Program, const N: usize, const CARE: bool> Term<V> for Slope<'_, V, P, N, CARE> {
    const LEAVES: Facts = P::LEAVES;
    #[inline(always)]
    unsafe fn lanes<L: Vector<Number = V>>(&self, memory: &Memory<V>, at: isize) -> L {
        // SAFETY: promised by the caller.
        let seeds: [L; OUTPUTS] = unsafe { self.1.at::<L, P>(at) };
        self.0.partial::<N, CARE, L, _>(Needed::<P, _>::of(Inside(memory, at)), &seeds).number()
    }
    #[inline(never)]
    fn single(&self, memory: &Memory<V>, point: [isize; 4]) -> V {
        let at = memory.at([point[0], point[1], point[2]], point[3]);
        // SAFETY: the point is in the range, and the outputs' adjoints have all its elements.
        let seeds = unsafe { self.1.at::<V::Single, P>(at) };
        number(self.0.partial::<N, CARE, V::Single, _>(Needed::<P, _>::of(Anywhere(memory, point)), &seeds).number())
    }
}

/// Partial sums: every level adds the same numbers in the same order.
const SUMS: usize = 16;
/// Points of a row whose sum is formed apart.
pub(super) const CHUNK: isize = 4096;

/// Adds up a term over the range.
///
/// # Safety
///
/// `memory` is fit for the range.
pub(super) unsafe fn total<V: Float, T: Term<V>>(term: &T, memory: &Memory<V>, range: &Region) -> V {
    let inner = inner(&T::LEAVES, memory.shape, range);
    // SAFETY: promised by the caller.
    sum_of_blocks(range, |part| unsafe { V::at_level(AddUp { term, memory, inner: &inner, part }) })
}

/// # Safety
///
/// As [`total`]; at the points of `inner` all reads are inside the views.
#[inline(always)]
unsafe fn add_rows<V: Float, L: Vector<Number = V>, T: Term<V>>(
    term: &T,
    memory: &Memory<V>,
    inner: &Region,
    part: &Region,
) -> V {
    let memory = &{ *memory };
    let mut total = V::zero();
    each_row!(part, row => {
        let inside = (0..3).all(|d| row[d] >= inner.lo[d] && row[d] < inner.hi[d]);
        let bounds = if inside { (inner.lo[3], inner.hi[3]) } else { (0, 0) };
        let mut from = part.lo[3];
        while from < part.hi[3] {
            let to = (from + CHUNK).min(part.hi[3]);
            // SAFETY: promised by the caller.
            total += unsafe { add_chunk::<V, L, T>(term, memory, row, (from, to), bounds) };
            from = to;
        }
    });
    total
}

/// # Safety
///
/// As [`add_rows`], for the points of a row; those between the bounds read inside the views.
#[inline(always)]
unsafe fn add_chunk<V: Float, L: Vector<Number = V>, T: Term<V>>(
    term: &T,
    memory: &Memory<V>,
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
            (0..all).for_each(|k| single[k.unsigned_abs()] = term.single(memory, [row[0], row[1], row[2], i + k]));
        }
        let mut k = 0;
        while k < SUMS / L::N {
            let skip = k * L::N;
            // SAFETY: promised by the caller; `single` has as many numbers.
            let terms: L = unsafe {
                if inside {
                    term.lanes::<L>(memory, start + i + skip.cast_signed())
                } else {
                    L::load(&raw const single[skip])
                }
            };
            sums[k] = sums[k] + terms;
            k += 1;
        }
        i += all;
    }
    let mut k = 0;
    while k < SUMS / L::N {
        // SAFETY: there is room for all sums.
        unsafe { sums[k].store(&raw mut single[k * L::N]) };
        k += 1;
    }
    for (sum, i) in single.iter_mut().zip(i..to) {
        *sum += term.single(memory, [row[0], row[1], row[2], i]);
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
    let (memory, _) = memory::<V, P>(grid, operands);
    // SAFETY: checked above.
    unsafe { total::<V, _>(&Value(program), &memory, &grid.range) }
}
