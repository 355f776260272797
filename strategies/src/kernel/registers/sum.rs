//! Sums over the points of a range, with the same bits on every instruction set and for any number of threads.

use super::cursor::{ALL, Captures, Cursor, WRAPPED};
use super::program::{number, results};
use crate::Number;
use crate::kernel::interpreter::instructions::WIDTH;
use crate::kernel::interpreter::points::{Point, partials, values};
use crate::kernel::ir::access::{Access, OUTPUTS};
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::kernel::ir::instruction::opcode::{ALONG, SEED};
use crate::kernel::ir::kernel::{Kernel, ValuesOf};
use crate::kernel::ir::listing::{StaticListing, has_opcode};
use crate::kernel::targets::bindings::{Bindings, Seeds, inner};
use crate::kernel::targets::blocks::CHUNK;
use crate::kernel::targets::kernel::BoundKernel;
use crate::kernel::targets::sums::{SUMS, in_pairs};
use crate::number::parts_are_finite;
use crate::number::simd::dispatch::SimdTask;
use crate::number::simd::planes::{parts, parts_mut};
use crate::number::simd::vector::SimdVector;
use core::marker::PhantomData;
use core::ops::Range;
use smallvec::SmallVec;

/// Terms of a sum, or values of a search, over the points of a range: `K` at each point.
///
/// Evaluating terms is sound if `memory` has been checked for the range.
pub(crate) struct Summands<'a, V: Number, C, const K: usize> {
    pub(crate) kernel: &'a BoundKernel<V>,
    pub(crate) memory: &'a Bindings<V>,
    pub(crate) seeds: &'a Seeds<V>,
    pub(crate) range: &'a IndexRange,
    pub(crate) what: What,
    pub(crate) steps: PhantomData<C>,
}

/// Kind of the terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// Values of the expressions.
    Values,
    /// Adjoints of uniform scalars, by operand.
    Numbers,
    /// Partial derivative for the access with this index, times the seeds.
    Partial(usize),
}

impl<V: Number, C: StaticListing, const K: usize> Summands<'_, V, C, K> {
    /// Returns the points of the range that read inside the views.
    pub(crate) fn inner(&self) -> IndexRange {
        inner(&self.kernel.plan().leaves, self.memory.shape, self.range)
    }

    /// Returns true if what the program reads begins anew in each row: operands of lower rank, or adjoints of row sums.
    const fn is_by_rows() -> bool {
        has_opcode::<C>(ALONG) || has_opcode::<C>(SEED)
    }

    /// Moves what begins anew in each row to this one.
    ///
    /// # Safety
    ///
    /// The terms have been checked for their range, which has the row.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn enter(&self, memory: &mut Bindings<V>, seeds: &mut Seeds<V>, row: [isize; 3]) {
        if const { has_opcode::<C>(ALONG) } {
            memory.enter(self.memory, &self.kernel.plan().leaves, row);
        }
        if const { has_opcode::<C>(SEED) } {
            // SAFETY: promised by the caller.
            unsafe { seeds.enter(row) }
        }
    }

    /// Returns the terms that functions of their own are called with: those of a row if they differ from all others.
    /// A copy whose address is passed on would not stay in registers.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn outside<'s>(&'s self, here: &'s Self) -> &'s Self {
        if const { Self::is_by_rows() } { here } else { self }
    }

    /// Evaluates the terms of a SIMD group: from point `i` on, in a row given by its coordinates and its start.
    ///
    /// # Safety
    ///
    /// All reads of the group are inside the views, or the program is wrapped.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn lanes<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        memory: &Bindings<V>,
        captured: &Captures<V>,
        row: ([isize; 3], isize),
        i: isize,
    ) -> [L; K] {
        let place = Cursor { range: self.range, ..Cursor::inside(memory, self.seeds, captured, row, i) };
        // SAFETY: promised by the caller.
        unsafe { results::<C, L, MASK, K>(&place, L::zero()) }
    }

    /// Adds the terms at [`SUMS`] consecutive points to the sums in registers.
    ///
    /// # Safety
    ///
    /// The conditions of [`lanes`](Self::lanes).
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn add_lanes<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        captured: &Captures<V>,
        row: ([isize; 3], isize),
        i: isize,
        sums: &mut [[L; SUMS]; K],
    ) {
        let mut k = 0;
        while k < SUMS / L::N {
            // SAFETY: promised by the caller.
            let found = unsafe { self.lanes::<L, MASK>(self.memory, captured, row, i + (k * L::N).cast_signed()) };
            let mut term = 0;
            while term < K {
                sums[term][k] = sums[term][k] + found[term];
                term += 1;
            }
            k += 1;
        }
    }

    /// Evaluates the terms at consecutive points, one for each entry of `to`.
    ///
    /// # Safety
    ///
    /// All reads of these points are inside the views, or the program is wrapped.
    #[cold]
    #[inline(never)]
    pub(crate) unsafe fn singles<const MASK: u8>(&self, row: [isize; 3], i: isize, to: &mut [[V; K]]) {
        let (captured, start) = (Captures::of::<C>(&self.kernel.constants), self.memory.at(row, 0));
        for (to, i) in to.iter_mut().zip(i..) {
            // SAFETY: promised by the caller.
            *to = unsafe { self.lanes::<V::Single, MASK>(self.memory, &captured, (row, start), i) }.map(number);
        }
    }

    /// Evaluates the terms at consecutive points of a row from `i` on by the interpreter, wherever they read.
    #[cold]
    #[inline(never)]
    pub(crate) fn anywhere(&self, row: [isize; 3], i: isize, to: &mut [[V; K]]) {
        let (memory, plan) = (self.memory, self.kernel.plan());
        for (first, to) in (i..).step_by(WIDTH).zip(to.chunks_mut(WIDTH)) {
            let end = first + to.len().cast_signed();
            let points: SmallVec<[Point; WIDTH]> = (first..end).map(|i| [row[0], row[1], row[2], i]).collect();
            let mut put = |k: usize, found: &[V]| to.iter_mut().zip(found).for_each(|(to, term)| to[k] = *term);
            if self.what == What::Values {
                values(self.kernel, memory, &points, |k, values| {
                    if k < K {
                        put(k, values);
                    }
                });
                continue;
            }
            let seed = |k: usize, point: Point| self.seeds.at(k, memory, point);
            if let What::Partial(leaf) = self.what {
                partials(self.kernel, leaf, memory, seed, &points, |terms| put(0, terms));
                continue;
            }
            for k in (0..K).filter(|k| plan.partials.numbers >> k & 1 == 1) {
                let leaf = plan.scripts.leaf(Access::number(k)).expect("a number with a partial is a leaf");
                partials(self.kernel, leaf, memory, seed, &points, |terms| put(k, terms));
            }
        }
    }
}

impl<V: Number, C: StaticListing, const K: usize> Summands<'_, V, C, K> {
    /// Replaces the tangents of the sums of a chunk by those that the interpreter computes, in the same order of
    /// additions. The values stay, since numbers without tangents have the same ones.
    #[cold]
    #[inline(never)]
    fn exact_tangents(&self, row: [isize; 3], points: Range<isize>, mut sums: [V; K]) -> [V; K] {
        let (mut exact, mut terms) = ([[V::ZERO; SUMS]; K], [[V::ZERO; K]; SUMS]);
        for i in points.clone().step_by(SUMS) {
            let terms = &mut terms[..(points.end - i).min(SUMS.cast_signed()).unsigned_abs()];
            self.anywhere(row, i, terms);
            for (j, found) in terms.iter().enumerate() {
                exact.iter_mut().zip(found).for_each(|(exact, term)| exact[j] += *term);
            }
        }
        for (sum, exact) in sums.iter_mut().zip(exact.map(in_pairs)) {
            parts_mut(sum)[1..].copy_from_slice(&parts(&exact)[1..]);
        }
        sums
    }
}

/// Sums terms over a part of their range.
///
/// # Safety
///
/// `terms` have been checked for their range.
pub(crate) unsafe fn sum_of_terms<V: Number, C: StaticListing, const K: usize>(
    terms: &Summands<'_, V, C, K>,
    part: &IndexRange,
) -> [V; K] {
    let inner = &terms.inner();
    // SAFETY: promised by the caller.
    unsafe { V::dispatch(AddUp { terms, inner, part }) }
}

/// Task of [`sum_of_terms`].
///
/// Running the task is sound if the terms have been checked for their range, and at the points of `inner` all reads are
/// inside the views.
struct AddUp<'a, 't, V: Number, C, const K: usize> {
    terms: &'a Summands<'t, V, C, K>,
    inner: &'a IndexRange,
    part: &'a IndexRange,
}

impl<V: Number, C: StaticListing, const K: usize> SimdTask<V> for AddUp<'_, '_, V, C, K> {
    type Output = [V; K];
    #[inline(always)]
    unsafe fn run<L: SimdVector<Number = V>>(self) -> [V; K] {
        // SAFETY: promised by the caller.
        unsafe { add_rows::<V, L, C, K>(self.terms, self.inner, self.part) }
    }
}

/// # Safety
///
/// The conditions of [`AddUp`].
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn add_rows<V: Number, L: SimdVector<Number = V>, C: StaticListing, const K: usize>(
    terms: &Summands<'_, V, C, K>,
    inner: &IndexRange,
    part: &IndexRange,
) -> [V; K] {
    let captured = &Captures::of::<C>(&terms.kernel.constants);
    let (mut memory, mut seeds) = (*terms.memory, *terms.seeds);
    let mut total = [V::ZERO; K];
    each_row!(part, row => {
        // SAFETY: promised by the caller.
        unsafe { terms.enter(&mut memory, &mut seeds, row) }
        let here = &Summands { memory: &memory, seeds: &seeds, ..*terms };
        let bounds = if inner.has_row(row) { (inner.lo[3], inner.hi[3]) } else { (0, 0) };
        let mut from = part.lo[3];
        while from < part.hi[3] {
            let to = (from + CHUNK).min(part.hi[3]);
            // SAFETY: promised by the caller.
            let sums = unsafe { add_chunk::<V, L, C, K>((terms, here), captured, row, (from, to), bounds) };
            total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
            from = to;
        }
    });
    total
}

/// # Safety
///
/// The conditions of [`add_rows`], for the points of one row; those between the bounds read inside the views. `here`
/// are the terms of this row.
#[cfg_attr(not(debug_assertions), inline(always))]
unsafe fn add_chunk<V: Number, L: SimdVector<Number = V>, C: StaticListing, const K: usize>(
    (terms, here): (&Summands<'_, V, C, K>, &Summands<'_, V, C, K>),
    captured: &Captures<V>,
    row: [isize; 3],
    (from, to): (isize, isize),
    bounds: (isize, isize),
) -> [V; K] {
    const { assert!(SUMS.is_multiple_of(L::N), "the partial sums fill registers") };
    let (start, all) = (here.memory.at(row, 0), SUMS.cast_signed());
    let mut sums = [[L::zero(); SUMS]; K];
    let mut rest = [[V::ZERO; K]; SUMS];
    // Point `from` + 16·m + j is added to partial sum j, in registers or not, so that the order of additions is fixed.
    let mut i = from;
    while i + all <= to {
        if i >= bounds.0 && i + all <= bounds.1 {
            // SAFETY: promised by the caller.
            unsafe { here.add_lanes::<L, ALL>(captured, (row, start), i, &mut sums) }
        } else if const { C::WRAPS } {
            // SAFETY: promised by the caller; the points are in the range.
            unsafe { here.add_lanes::<L, WRAPPED>(captured, (row, start), i, &mut sums) }
        } else {
            terms.anywhere(row, i, &mut rest);
            add_singles::<V, L, K>(&mut sums, &rest);
        }
        i += all;
    }
    let mut single = [[V::ZERO; SUMS]; K];
    for (single, sums) in single.iter_mut().zip(&sums) {
        *single = singly::<V, L>(sums);
    }
    if i < to {
        let rest = &mut rest[..(to - i).unsigned_abs()];
        if i >= bounds.0 && to <= bounds.1 {
            // SAFETY: these points read inside the views.
            unsafe { terms.outside(here).singles::<ALL>(row, i, rest) }
        } else if const { C::WRAPS } {
            // SAFETY: promised by the caller; the points are in the range.
            unsafe { terms.outside(here).singles::<WRAPPED>(row, i, rest) }
        } else {
            terms.anywhere(row, i, rest);
        }
        for (j, found) in rest.iter().enumerate() {
            single.iter_mut().zip(found).for_each(|(single, term)| single[j] += *term);
        }
    }
    let sums = single.map(in_pairs);
    if L::LOOSE && sums.iter().any(|sum| !parts_are_finite(*sum)) {
        return terms.exact_tangents(row, from..to, sums);
    }
    sums
}

/// Stores the sums in registers to an array.
#[cfg_attr(not(debug_assertions), inline(always))]
fn singly<V: Number, L: SimdVector<Number = V>>(sums: &[L; SUMS]) -> [V; SUMS] {
    let mut single = [V::ZERO; SUMS];
    let mut k = 0;
    while k < SUMS / L::N {
        // SAFETY: the array has room for all sums.
        unsafe { sums[k].store(single.as_mut_ptr().add(k * L::N)) };
        k += 1;
    }
    single
}

/// Adds the terms of [`SUMS`] points to the sums in registers.
#[cfg_attr(not(debug_assertions), inline(always))]
fn add_singles<V: Number, L: SimdVector<Number = V>, const K: usize>(
    sums: &mut [[L; SUMS]; K],
    terms: &[[V; K]; SUMS],
) {
    for (term, sums) in sums.iter_mut().enumerate() {
        let single = terms.map(|terms| terms[term]);
        let mut k = 0;
        while k < SUMS / L::N {
            // SAFETY: the array has as many elements.
            sums[k] = sums[k] + unsafe { L::load(single.as_ptr().add(k * L::N)) };
            k += 1;
        }
    }
}

/// Sums the `K` expressions of a kernel over a part of the range.
///
/// # Safety
///
/// The operands have been checked for this kernel and grid, and they are still alive.
pub(crate) unsafe fn sum_part<V: Number, P: Kernel, const K: usize>(
    kernel: &BoundKernel<V>,
    grid: &Grid,
    memory: &Bindings<V>,
    part: &IndexRange,
) -> [V; OUTPUTS] {
    let (mut sums, seeds) = ([V::ZERO; OUTPUTS], Seeds::NONE);
    let terms = values_of::<V, P, K>(kernel, memory, &seeds, &grid.range);
    // SAFETY: promised by the caller.
    sums[..K].copy_from_slice(&unsafe { sum_of_terms(&terms, part) });
    sums
}

/// The values of a reduction as terms.
pub(crate) fn values_of<'a, V: Number, P: Kernel, const K: usize>(
    kernel: &'a BoundKernel<V>,
    memory: &'a Bindings<V>,
    seeds: &'a Seeds<V>,
    range: &'a IndexRange,
) -> Summands<'a, V, ValuesOf<P>, K> {
    Summands { kernel, memory, seeds, range, what: What::Values, steps: PhantomData }
}
