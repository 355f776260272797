//! The loops of reverse sweeps: each adjoint element gathers what the points that read it contribute.
//!
//! No two points write to one element, so there is nothing to lock, and an element's adjoint is the same sum in the same order
//! however the elements are shared out.

use super::blocks::each_block;
use super::buffer::Buffer;
use super::forward::{Slope, aligned, number, total};
use super::grid::{Grid, Region, each_row};
use super::keys::{Border, Facts, Kind, LEAVES, OPERANDS};
use super::lane::{Lane, Vector};
use super::level::Task;
use super::memory::{Anywhere, Inside, Memory, Needed, Seeds, all_dense, check_reads, is_local};
use super::program::{OUTPUTS, Program};
use super::tree::{Signed, Source};
use crate::Float;
use core::ptr;

/// The adjoints of an operand.
#[derive(Debug)]
pub enum Adjoint<'a, V> {
    /// Nobody asks for them.
    None,
    /// Contributions are added to what is there.
    Add(&'a mut Buffer<V>),
    /// Contributions are all there is: what is there is not read, and every element that can be reached is written. The others
    /// stay as they are.
    Store(&'a mut Buffer<V>),
    /// As `Store` in the range of the launch, which writes the view there, and as `Add` outside.
    Replace(&'a mut Buffer<V>),
}

/// One operand of a launch in a reverse sweep.
#[derive(Debug)]
pub struct BackOperand<'a, V> {
    /// The values that the launch has read, if the partials need them.
    pub values: Option<&'a Buffer<V>>,
    /// The values that it has written, if the partials need them.
    pub new: Option<&'a Buffer<V>>,
    /// The number that all points share.
    pub number: V,
    /// Where contributions go.
    pub adjoint: Adjoint<'a, V>,
}

/// The adjoint of an output.
#[derive(Debug)]
pub enum Seed<'a, V> {
    /// The same at all points.
    Uniform(V),
    /// An element for each.
    Dense(&'a Buffer<V>),
    /// Those that the operand's contributions will replace, in the same buffer: for programs that read at the point itself only.
    InPlace,
}

/// What the loops need.
#[derive(Clone, Copy)]
struct Gather<'a, V, P> {
    program: &'a P,
    /// The partials of a linear program, by leaf.
    slopes: &'a [V; LEAVES],
    /// Whether zero may meet infinity or NaN where adjoints are finite.
    is_delicate: bool,
    memory: Memory<V>,
    range: Region,
    seeds: Seeds<V>,
    to: [*mut V; OPERANDS],
    how: [How; OPERANDS],
}

// SAFETY: these are addresses, and numbers. Whoever runs the loops says that they may be used.
unsafe impl<V: Float, P: Program> Sync for Gather<'_, V, P> {}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Add,
    Store,
    Replace,
}

/// Whether [`Seed::Uniform`] is understood for this program, or its seeds are always arrays.
#[must_use]
pub const fn takes_uniform<P: Program>() -> bool {
    !all_dense::<P>()
}

/// Whether all partials of this program are for elements at the point itself, so that a view's adjoints can be
/// [replaced in place](Seed::InPlace).
#[must_use]
pub const fn works_in_place<P: Program>() -> bool {
    is_local::<P>()
}

/// The elements whose adjoints get contributions.
fn reached<P: Program>(grid: &Grid) -> Region {
    let mut region = grid.range;
    let shape = grid.shape();
    let repeats = P::PARTIALS.repeats;
    for d in 0..4 {
        let (least, most) = P::PARTIALS.shifts[d];
        // Reads that wrap around can reach the other side.
        let whole = repeats && (least, most) != (0, 0);
        region.lo[d] = if whole { 0 } else { (region.lo[d] + least).max(0) };
        region.hi[d] = if whole { shape[d] } else { (region.hi[d] + most).min(shape[d]) };
    }
    region
}

/// Whether contributions of this program can reach every element of views. Without points they reach nothing.
#[must_use]
pub fn reaches_all<P: Program>(grid: &Grid) -> bool {
    if grid.range.is_empty() {
        return false;
    }
    let region = reached::<P>(grid);
    (0..4).all(|d| region.lo[d] == 0 && region.hi[d] == grid.shape()[d])
}

/// Adds Σ seed·∂output/∂element to the adjoints of each operand, and returns the adjoints of the numbers that all points share, 0
/// for the other operands. Zero times anything is zero.
///
/// # Panics
///
/// When operands do not fit the grid, when values that the partials need are missing, and when adjoints are to be replaced in place
/// though the program reads beside the point.
#[track_caller]
pub fn reverse<'m, V: Float, P: Program>(
    program: &P,
    grid: &Grid,
    operands: impl Iterator<Item = BackOperand<'m, V>>,
    seeds: impl Iterator<Item = Seed<'m, V>>,
) -> [V; OPERANDS] {
    let mut constants = [V::one(); LEAVES];
    if is_linear::<P>() {
        find_slopes(program, &mut constants);
    }
    let safe = |slope: &V| slope.is_finite() && *slope != V::zero();
    let mut gather = Gather {
        program,
        slopes: &constants,
        is_delicate: !is_linear::<P>() || !constants[..P::USED.len()].iter().all(safe),
        memory: Memory::new(grid),
        range: grid.range,
        seeds: Seeds { dense: [ptr::null(); OUTPUTS], uniform: [V::zero(); OUTPUTS] },
        to: [ptr::null_mut(); OPERANDS],
        how: [How::Add; OPERANDS],
    };
    let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), grid.elements(), "all views of a launch have one shape");
    for (k, operand) in operands.enumerate() {
        operand.values.into_iter().chain(operand.new).for_each(fits);
        gather.memory.values[k] = operand.values.map_or(ptr::null(), Buffer::start);
        gather.memory.new[k] = operand.new.map_or(ptr::null_mut(), |new| new.start().cast_mut());
        gather.memory.numbers[k] = operand.number;
        let (how, buffer) = match operand.adjoint {
            Adjoint::None => continue,
            Adjoint::Add(buffer) => (How::Add, buffer),
            Adjoint::Store(buffer) => (How::Store, buffer),
            Adjoint::Replace(buffer) => (How::Replace, buffer),
        };
        fits(buffer);
        (gather.how[k], gather.to[k]) = (how, buffer.start_mut());
    }
    let mut count = 0;
    for (k, seed) in seeds.enumerate() {
        count += 1;
        assert!(k < P::EXPRESSIONS, "one seed for each output");
        match seed {
            Seed::Uniform(seed) => {
                assert!(takes_uniform::<P>(), "the seeds of this program are arrays");
                gather.seeds.uniform[k] = seed;
            }
            Seed::Dense(buffer) => {
                fits(buffer);
                gather.seeds.dense[k] = buffer.start();
            }
            Seed::InPlace => {
                let to = P::written(k);
                assert!(works_in_place::<P>(), "adjoints are replaced in place where all reads are at the point");
                assert!(gather.how[to] == How::Replace, "operand {to} has no adjoints to be replaced");
                gather.seeds.dense[k] = gather.to[to];
            }
        }
    }
    assert!(count == P::EXPRESSIONS, "one seed for each output");
    check_needs::<V, P>(&gather.memory);
    check_reads::<P>(grid);
    let mut numbers = [V::zero(); OPERANDS];
    if !grid.range.is_empty() {
        // SAFETY: checked above: all that is read or written has as many elements as the grid, and what is written is borrowed
        // exclusively.
        unsafe {
            numbers = slopes::<V, P>(&gather);
            if P::PARTIALS.views != 0 {
                let gather = &gather;
                // Parts are disjoint, and each element's adjoint is written for itself.
                each_block(&reached::<P>(grid), |part| V::at_level(GatherAll { gather, part }));
            }
        }
    }
    numbers
}

/// Checks that the values that partials need are there, and lets what they do not need be read as anything.
#[track_caller]
fn check_needs<V: Float, P: Program>(memory: &Memory<V>) {
    for operand in 0..OPERANDS {
        let there = !Facts::has(P::KEPT.views, operand) || !memory.values[operand].is_null();
        let there = there && (!Facts::has(P::KEPT.new, operand) || !memory.new[operand].is_null());
        assert!(there, "the values of operand {operand} are needed, and were not kept");
    }
}

/// `each_leaf!(N => …)` with every number that a leaf can have, as a constant.
macro_rules! each_leaf {
    ($n:ident => $block:block) => { each_leaf!(@ $n $block 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26
        27 28 29 30 31) };
    (@ $n:ident $block:block $($k:literal)*) => { $( { const $n: usize = $k; $block } )* };
}
pub(super) use each_leaf;
const _: () = assert!(LEAVES == 32, "`each_leaf` has as many numbers");

/// Whether leaf `n` of a program's partials is of this kind.
const fn is<P: Program>(n: usize, kind: Kind) -> bool {
    n < P::USED.len() && P::USED.get(n).kind() as u8 == kind as u8
}

/// The adjoints of the numbers that all points share.
///
/// # Safety
///
/// `gather` has been checked.
unsafe fn slopes<V: Float, P: Program>(gather: &Gather<'_, V, P>) -> [V; OPERANDS] {
    let mut numbers = [V::zero(); OPERANDS];
    let Gather { program, memory, seeds, range, .. } = gather;
    each_leaf!(N => {
        if const { is::<P>(N, Kind::Number) } {
            // SAFETY: promised by the caller.
            unsafe {
                let mut sum = total::<V, _>(&Slope::<V, P, N, false>(program, *seeds), memory, range);
                if !sum.is_finite() {
                    sum = total::<V, _>(&Slope::<V, P, N, true>(program, *seeds), memory, range);
                }
                numbers[const { P::USED.get(N) }.operand()] = sum;
            }
        }
    });
    numbers
}

/// The loop that gathers the adjoints of some elements.
///
/// To run it is safe if `gather` has been checked, and nobody else uses the adjoints of these elements.
struct GatherAll<'a, 'p, V, P> {
    gather: &'a Gather<'p, V, P>,
    part: &'a Region,
}

impl<V: Float, P: Program> Task<V> for GatherAll<'_, '_, V, P> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Vector<Number = V>>(self) {
        // SAFETY: promised by the caller.
        unsafe { gather_rows::<V, L, P>(self.gather, self.part) }
    }
}

/// The elements at which all points that read them are in the range, and read inside the views themselves.
fn inner<P: Program>(gather: &Region, shape: [isize; 4], part: &Region) -> Region {
    let mut inner = *part;
    for d in 0..4 {
        let (least, most) = P::PARTIALS.shifts[d];
        inner.lo[d] = inner.lo[d].max(gather.lo[d] + most);
        inner.hi[d] = inner.hi[d].min(gather.hi[d] + least);
        if P::LEAVES.borders {
            let (first, last) = P::LEAVES.shifts[d];
            // At the ends of a view further points may read an element.
            let repeats = isize::from(P::PARTIALS.repeats && (least, most) != (0, 0));
            inner.lo[d] = inner.lo[d].max(most - first).max(repeats);
            inner.hi[d] = inner.hi[d].min(shape[d] + least - last).min(shape[d] - repeats);
        }
    }
    inner
}

/// # Safety
///
/// As [`GatherAll`].
#[inline(always)]
unsafe fn gather_rows<V: Float, L: Vector<Number = V>, P: Program>(gather: &Gather<'_, V, P>, part: &Region) {
    let gather = &{ *gather }; // a copy that stores cannot touch, so that its fields stay in registers
    let inner = inner::<P>(&gather.range, gather.memory.shape, part);
    let n = L::N.cast_signed();
    let (first, end) = (part.lo[3], part.hi[3]);
    each_row!(part, row => {
        let inside = (0..3).all(|d| row[d] >= inner.lo[d] && row[d] < inner.hi[d]);
        let start = gather.memory.at(row, 0);
        let (mut from, to) = if inside && inner.lo[3] < inner.hi[3] { (inner.lo[3], inner.hi[3]) } else { (end, end) };
        if first < from && from < to {
            // What is left of the group at the border does not cost more.
            let next = aligned::<L>(start, from);
            from = if next - first <= n && next <= to { next } else { from };
        }
        // SAFETY: promised by the caller. Between `from` and `to` all points that read an element are in the range.
        unsafe {
            // One place for either kind, so that each is compiled once for each level.
            let mut i = first;
            while i < end {
                if i >= from && i + n <= to {
                    element::<V, L, P>(gather, row, start, i);
                    i += n;
                } else {
                    let stop = if i < from { from } else { end };
                    i = border::<V, L, P>(gather, row, inside, i, stop);
                }
            }
        }
    });
}

/// Σ seed·∂expression/∂leaf for one leaf.
///
/// Without optimisation each call of a function that is inlined has its own place on the stack; in such builds this one is not,
/// so that the places of one leaf at a time are needed.
#[cfg_attr(not(debug_assertions), inline(always))]
#[cfg_attr(debug_assertions, inline(never))]
fn partial<const N: usize, const CARE: bool, P: Program, L: Lane, S: Source<L>>(
    program: &P,
    source: S,
    seeds: &[L; OUTPUTS],
) -> Signed<L> {
    program.partial::<N, CARE, L, _>(Needed::<P, _>::of(source), seeds)
}

/// Whether the partials of a program are numbers that all points share, one for each leaf.
const fn is_linear<P: Program>() -> bool {
    P::EXPRESSIONS == 1 && P::NEEDS.is_empty()
}

/// The partials of a linear program.
fn find_slopes<V: Float, P: Program>(program: &P, slopes: &mut [V; LEAVES]) {
    let memory = Memory::<V>::nowhere();
    let seeds = [<V::Single as Lane>::one(); OUTPUTS];
    each_leaf!(N => {
        if const { is_linear::<P>() && is::<P>(N, Kind::Read) } {
            // The partial needs no values, so none are read.
            let source = Anywhere(&memory, [0; 4]);
            slopes[N] = number(partial::<N, false, P, V::Single, _>(program, source, &seeds).number());
        }
    });
}

/// Σ seed·∂expression/∂leaf for one leaf, in a loop over points.
#[inline(always)]
fn contribution<const N: usize, const CARE: bool, V: Float, P: Program, L: Lane<Number = V>, S: Source<L>>(
    gather: &Gather<'_, V, P>,
    source: S,
    seeds: &[L; OUTPUTS],
) -> Signed<L> {
    if !const { is_linear::<P>() } {
        return partial::<N, CARE, P, L, S>(gather.program, source, seeds);
    }
    let slope = L::splat(gather.slopes[N]);
    Signed::of(if CARE { seeds[0].times(slope) } else { seeds[0] * slope })
}

/// The contributions to the elements of a group of lanes, one for each operand, all of whose readers are in the range.
///
/// # Safety
///
/// The readers are, and what they read is inside the views.
#[inline(always)]
unsafe fn contributions<V: Float, L: Vector<Number = V>, P: Program>(
    gather: &Gather<'_, V, P>,
    at: isize,
) -> [L; OPERANDS] {
    let mut sums = [L::nothing(); OPERANDS];
    each_leaf!(N => {
        if const { is::<P>(N, Kind::Read) } {
            let key = const { P::USED.get(N) };
            let reader = at - gather.memory.offset(key);
            // SAFETY: promised by the caller.
            let seeds = unsafe { gather.seeds.at::<L, P>(reader) };
            let source = Inside(&gather.memory, reader);
            let partial = contribution::<N, false, V, P, L, _>(gather, source, &seeds);
            sums[key.operand()] = partial.added_to(sums[key.operand()]);
        }
    });
    sums
}

/// Whether some sum is infinite or NaN; perhaps also if all are finite and very large.
#[inline(always)]
fn are_odd<L: Vector, P: Program>(sums: &[L; OPERANDS]) -> bool {
    let mut all = L::nothing();
    let mut k = 0;
    while k < OPERANDS {
        if Facts::has(P::PARTIALS.views, k) {
            // 0, and NaN for what is infinite or NaN.
            #[allow(clippy::eq_op, reason = "it is not 0 for all numbers")]
            let odd = sums[k] - sums[k];
            all = all + odd;
        }
        k += 1;
    }
    L::any(all.differ(L::zero()))
}

/// A group of elements all of whose readers are in the range.
///
/// # Safety
///
/// As [`contributions`]; nobody else uses the elements.
#[inline(always)]
unsafe fn element<V: Float, L: Vector<Number = V>, P: Program>(
    gather: &Gather<'_, V, P>,
    row: [isize; 3],
    start: isize,
    i: isize,
) {
    // SAFETY: promised by the caller.
    unsafe {
        let sums = contributions::<V, L, P>(gather, start + i);
        if gather.is_delicate && are_odd::<L, P>(&sums) {
            return points::<V, P>(gather, row, i, i + L::N.cast_signed());
        }
        let mut k = 0;
        while k < OPERANDS {
            if Facts::has(P::PARTIALS.views, k) && !gather.to[k].is_null() {
                let to = gather.to[k].wrapping_offset(start + i);
                // 0 + sum turns a −0, where nothing contributes, into 0.
                let before = if gather.how[k] == How::Add { L::load(to) } else { L::zero() };
                (before + sums[k]).store(to);
            }
            k += 1;
        }
    }
}

/// Elements of a row some of whose readers may be outside the range; if the row is inside, none of them in another row. Returns the first
/// one that is left.
///
/// # Safety
///
/// Nobody else uses the elements.
#[inline(always)]
unsafe fn border<V: Float, L: Vector<Number = V>, P: Program>(
    gather: &Gather<'_, V, P>,
    row: [isize; 3],
    inside: bool,
    from: isize,
    to: isize,
) -> isize {
    // SAFETY: promised by the caller.
    unsafe {
        if P::LEAVES.borders || is_local::<P>() || L::N == 1 {
            points::<V, P>(gather, row, from, to);
            return to;
        }
        masked::<V, L, P>(gather, row, inside, from, to);
        to.min(from + L::N.cast_signed())
    }
}

/// The elements of a row from `i` up to `end`, as many as there are lanes, in a program without border rules.
///
/// # Safety
///
/// As [`border`].
#[inline(always)]
unsafe fn masked<V: Float, L: Vector<Number = V>, P: Program>(
    gather: &Gather<'_, V, P>,
    row: [isize; 3],
    inside: bool,
    i: isize,
    end: isize,
) {
    let (start, range) = (gather.memory.at(row, 0), &gather.range);
    let chosen = L::within(0, end - i);
    let mut sums = [L::nothing(); OPERANDS];
    each_leaf!(N => {
        if const { is::<P>(N, Kind::Read) } {
            let key = const { P::USED.get(N) };
            let in_rows = |d: usize| row[d] - key.shift(d) >= range.lo[d] && row[d] - key.shift(d) < range.hi[d];
            if inside || in_rows(0) && in_rows(1) && in_rows(2) {
                let (at, reader) = (i - key.shift(3), start + i - gather.memory.offset(key));
                // SAFETY: the row of the readers is in the range; lanes beside it read from the buffer or its margin, because a
                // group and twice the largest shift are less than a margin.
                let seeds = unsafe { gather.seeds.at::<L, P>(reader) };
                let partial = contribution::<N, false, V, P, L, _>(gather, Inside(&gather.memory, reader), &seeds);
                let readers = L::both(chosen, L::within(range.lo[3] - at, range.hi[3] - at));
                sums[key.operand()] = sums[key.operand()] + L::select(readers, partial.number(), L::nothing());
            }
        }
    });
    // SAFETY: promised by the caller; only the chosen elements are touched.
    unsafe {
        if gather.is_delicate && are_odd::<L, P>(&sums) {
            return points::<V, P>(gather, row, i, end.min(i + L::N.cast_signed()));
        }
        let own_row = inside || (0..3).all(|d| row[d] >= range.lo[d] && row[d] < range.hi[d]);
        let written = if own_row { L::within(range.lo[3] - i, range.hi[3] - i) } else { L::within(0, 0) };
        let mut k = 0;
        while k < OPERANDS {
            if Facts::has(P::PARTIALS.views, k) && !gather.to[k].is_null() {
                let to = gather.to[k].wrapping_offset(start + i);
                let before = match gather.how[k] {
                    How::Add => L::load_some(to, chosen),
                    How::Store => L::zero(),
                    How::Replace => L::select(written, L::zero(), L::load_some(to, chosen)),
                };
                (before + sums[k]).store_some(to, chosen);
            }
            k += 1;
        }
    }
}

/// Elements of a row one by one.
///
/// # Safety
///
/// As [`border`].
#[inline(never)]
unsafe fn points<V: Float, P: Program>(gather: &Gather<'_, V, P>, row: [isize; 3], from: isize, to: isize) {
    for i in from..to {
        let point = [row[0], row[1], row[2], i];
        let at = gather.memory.at(row, i);
        let mut sums = gathered::<V, P, false>(gather, point);
        if !sums.iter().all(|sum| sum.is_finite()) {
            // A factor that is 0 may have met one that is infinite or NaN: now with each partial apart from its seed.
            let careful = gathered::<V, P, true>(gather, point);
            for (sum, careful) in sums.iter_mut().zip(careful) {
                *sum = if sum.is_finite() { *sum } else { careful };
            }
        }
        let inside = (0..4).all(|d| point[d] >= gather.range.lo[d] && point[d] < gather.range.hi[d]);
        for k in (0..OPERANDS).filter(|k| Facts::has(P::PARTIALS.views, *k) && !gather.to[*k].is_null()) {
            // SAFETY: promised by the caller; the element is one of the view's.
            unsafe {
                let to = gather.to[k].offset(at);
                let adds = gather.how[k] == How::Add || gather.how[k] == How::Replace && !inside;
                *to = if adds { *to } else { V::zero() } + sums[k];
            }
        }
    }
}

/// The contributions to one element, one for each operand.
fn gathered<V: Float, P: Program, const CARE: bool>(gather: &Gather<'_, V, P>, point: [isize; 4]) -> [V; OPERANDS] {
    let mut sums = [-V::zero(); OPERANDS];
    each_leaf!(N => {
        if const { is::<P>(N, Kind::Read) } {
            let key = const { P::USED.get(N) };
            readers(gather.memory.shape, &gather.range, key, point, &mut |reader| {
                let at = gather.memory.at([reader[0], reader[1], reader[2]], reader[3]);
                // SAFETY: the reader is in the range.
                let seeds = unsafe { gather.seeds.at::<V::Single, P>(at) };
                let source = Anywhere(&gather.memory, reader);
                let partial = contribution::<N, CARE, V, P, V::Single, _>(gather, source, &seeds);
                sums[key.operand()] = sums[key.operand()] + number(partial.number());
            });
        }
    });
    sums
}

/// Calls `f` with each point of the range whose read with this key gives the element at `point`.
fn readers(
    shape: [isize; 4],
    range: &Region,
    key: super::keys::Key,
    point: [isize; 4],
    f: &mut impl FnMut([isize; 4]),
) {
    let along = |d: usize| {
        let (shift, last) = (key.shift(d), shape[d] - 1);
        let straight = point[d] - shift;
        let (from, to) = match key.border() {
            // From where the read just reaches the end, up to the end itself, all points read the last element.
            Border::Nearest if shift > 0 && point[d] == last => (straight, last),
            Border::Nearest if shift < 0 && point[d] == 0 => (0, straight),
            Border::Periodic => (straight.rem_euclid(shape[d]), straight.rem_euclid(shape[d])),
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

/// Σ seed·∂/∂element of a reduction whose only partial is one number at all points, if it is one.
pub(super) fn constant_slope<V: Float, P: Program>(program: &P, seed: V) -> Option<V> {
    const fn is_constant<P: Program>() -> bool {
        P::USED.len() == 1 && P::NEEDS.is_empty() && is::<P>(0, Kind::Read) && is_local::<P>()
    }
    if !const { is_constant::<P>() } {
        return None;
    }
    let memory = Memory::<V>::nowhere();
    // The partial needs no values, so none are read.
    let source = Needed::<P, _>::of(Anywhere(&memory, [0; 4]));
    let mut seeds = [<V::Single as Lane>::zero(); OUTPUTS];
    seeds[0] = <V::Single as Lane>::splat(seed);
    let slope: V = number(program.partial::<0, false, V::Single, _>(source, &seeds).number());
    let careful = || number(program.partial::<0, true, V::Single, _>(source, &seeds).number());
    Some(if slope.is_finite() { slope } else { careful() })
}

/// Σ ∂expressionₖ/∂leaf·tangent at all points of the range: written to `result` if the program writes, else added up and returned.
/// Zero times anything is zero.
pub(super) fn tangent<V: Float, P: Program>(
    program: &P,
    grid: &Grid,
    operands: &[BackOperand<'_, V>],
    tangents: &[Option<&Buffer<V>>],
    numbers: &[V; OPERANDS],
    k: usize,
    result: &mut Buffer<V>,
) -> V {
    let mut memory = Memory::new(grid);
    let mut slopes = Memory::new(grid);
    let fits = |buffer: &Buffer<V>| assert_eq!(buffer.len(), grid.elements(), "all views of a launch have one shape");
    for (a, operand) in operands.iter().enumerate() {
        operand.values.into_iter().chain(operand.new).chain(tangents[a]).for_each(fits);
        memory.values[a] = operand.values.map_or(ptr::null(), Buffer::start);
        memory.new[a] = operand.new.map_or(ptr::null_mut(), |new| new.start().cast_mut());
        memory.numbers[a] = operand.number;
        slopes.values[a] = tangents[a].map_or(ptr::null(), Buffer::start);
    }
    check_needs::<V, P>(&memory);
    let mut unit = [<V::Single as Lane>::zero(); OUTPUTS];
    unit[k] = <V::Single as Lane>::one();
    let mut sum = V::zero();
    each_row!(&grid.range, row => {
        for i in grid.range.lo[3]..grid.range.hi[3] {
            let point = [row[0], row[1], row[2], i];
            let source = Anywhere(&memory, point);
            let mut slope = V::zero();
            each_leaf!(N => {
                if const { N < P::USED.len() } {
                    let key = const { P::USED.get(N) };
                    let tangent = match key.kind() {
                        Kind::Read if slopes.values[key.operand()].is_null() => V::zero(),
                        Kind::Read => Anywhere(&slopes, point).number_at(key),
                        _ => numbers[key.operand()],
                    };
                    if tangent != V::zero() {
                        let partial: V = number(partial::<N, true, P, V::Single, _>(program, source, &unit).number());
                        if crate::counts(tangent, partial) {
                            slope += tangent * partial;
                        }
                    }
                }
            });
            if P::WRITES {
                result[memory.at(row, i).unsigned_abs()] = slope;
            } else {
                sum += slope;
            }
        }
    });
    sum
}
