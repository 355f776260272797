//! Cursors: positions from which compiled programs read and to which they write.

use crate::Number;
use crate::kernel::ir::access::{DimensionBits, LAST};
use crate::kernel::ir::grid::IndexRange;
use crate::kernel::ir::instruction::CONSTANTS;
use crate::kernel::ir::listing::StaticListing;
use crate::kernel::targets::bindings::{Bindings, Seeds};
use crate::number::simd::planes::Place;
use crate::number::simd::vector::{MOST, SimdValue, SimdVector};
use core::cell::Cell;
use core::mem::MaybeUninit;
use core::ptr;

/// No masking: all reads are inside the views, and all adjoints belong to points in the range.
pub(crate) const ALL: u8 = 0;
/// Masking along the last dimension: adjoints outside the range and reads outside the view with
/// `Boundary::Zero` are 0. Rows must lie inside the range and the views.
pub(crate) const COLUMNS: u8 = 1;
/// Masking along all dimensions, so that rows may lie outside range and views, too.
pub(crate) const ROWS: u8 = 2;
/// Reading around the ends of all dimensions, as on a torus; adjoints outside the range are 0. Only for programs all of
/// whose boundary rules are periodic: then the reader of an element is found by its offset alone, and so is what the
/// reader reads. A read without a rule stays inside the view; followed from an element backwards around an end, it
/// comes to a point outside the range.
pub(crate) const WRAPPED: u8 = 3;

/// Copy of the captured constants. Stores through operands cannot alias it, so the constants stay in registers.
pub(crate) struct Captures<V>([MaybeUninit<V>; CONSTANTS]);

impl<V: Number> Captures<V> {
    /// Copies the first constants, as many as the list has.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn of<C: StaticListing>(numbers: &[V]) -> Self {
        const { assert!(C::CONSTANTS <= CONSTANTS, "a kernel captures at most 64 numbers") };
        assert!(numbers.len() >= C::CONSTANTS, "a kernel has all its numbers");
        let mut captured = [const { MaybeUninit::uninit() }; CONSTANTS];
        // SAFETY: there are at least as many constants, and as much memory for them.
        unsafe {
            ptr::copy_nonoverlapping(numbers.as_ptr(), captured.as_mut_ptr().cast::<V>(), C::CONSTANTS);
        }
        Self(captured)
    }

    /// # Safety
    ///
    /// The list has more than `k` constants.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn get(&self, k: usize) -> V {
        // SAFETY: promised by the caller.
        unsafe { self.0[k].assume_init() }
    }
}

/// Position from which a program reads: one point, or the first of a SIMD group.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'m, V: Number> {
    pub(crate) memory: &'m Bindings<V>,
    pub(crate) seeds: &'m Seeds<V>,
    pub(crate) captured: &'m Captures<V>,
    /// Offset of the position among the elements.
    pub(crate) at: isize,
    /// First three coordinates of the position; used by masked programs, and by programs with coordinates.
    pub(crate) row: [isize; 3],
    /// Last coordinate of the position, used as `row` is.
    pub(crate) i: isize,
    /// Points whose adjoints count; used in masked programs only.
    pub(crate) range: &'m IndexRange,
    /// Pass over the tangents of the elements; used if there are several.
    pub(crate) pass: usize,
}

/// Bound below which `f32` has all whole numbers.
const EXACT: isize = 1 << 24;

#[cfg_attr(not(debug_assertions), inline(always))]
#[allow(clippy::cast_precision_loss, reason = "the nearest number is meant")]
fn whole<V: Number>(coordinate: isize) -> V {
    V::from_f64(coordinate as f64)
}

/// Returns a register of whole numbers that count up from the first.
#[cfg_attr(not(debug_assertions), inline(always))]
fn counted<L: SimdVector>(first: isize) -> L {
    let next = Cell::new(first);
    L::zero().map2(L::zero(), |_, _| whole(next.replace(next.get() + 1)))
}

impl<'m, V: Number> Cursor<'m, V> {
    /// Position for programs that are not masked, and read nothing from memory.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn nowhere(memory: &'m Bindings<V>, seeds: &'m Seeds<V>, captured: &'m Captures<V>) -> Self {
        Self { memory, seeds, captured, at: 0, row: [0; 3], i: 0, range: &IndexRange::NONE, pass: 0 }
    }

    /// Position for programs that are not masked: point `i` of a row that starts at offset `start`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn inside(
        memory: &'m Bindings<V>,
        seeds: &'m Seeds<V>,
        captured: &'m Captures<V>,
        (row, start): ([isize; 3], isize),
        i: isize,
    ) -> Self {
        Self { at: start + i, row, i, ..Self::nowhere(memory, seeds, captured) }
    }

    /// Returns the coordinates of the lanes along a dimension, moved by `shift`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn coordinate<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        dimension: usize,
        shift: isize,
    ) -> L::Pass {
        if dimension < 3 {
            let coordinate = self.row[dimension] + shift;
            let around = MASK == WRAPPED;
            return self.splat::<L>(whole(if around { self.around(dimension, coordinate) } else { coordinate }));
        }
        // Sums of whole numbers are exact below 2^24 in `f32`, and always in `f64`: there are not that many elements.
        let is_exact =
            |first: isize| whole::<V>(EXACT + 1).lane(0).as_f64() > 16_777_216.0 || first < EXACT - MOST.cast_signed();
        let from = |first: isize| {
            if is_exact(first) {
                self.splat::<L>(whole(first)) + counted::<L::Pass>(0)
            } else {
                counted::<L::Pass>(first)
            }
        };
        if MASK == WRAPPED { self.around_row::<L>(shift, from) } else { from(self.i + shift) }
    }

    /// Returns a coordinate, counted around the ends of its dimension.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn around(&self, dimension: usize, coordinate: isize) -> isize {
        let length = self.memory.shape[dimension];
        if (0..length).contains(&coordinate) { coordinate } else { coordinate.rem_euclid(length) }
    }

    /// Returns the offset from the views' start of the first element of the row at `shift`, counted around the ends of
    /// the first three dimensions.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn row_around(&self, shift: [isize; 4]) -> isize {
        let row = |d: usize| self.around(d, self.row[d] + shift[d]);
        self.memory.at([row(0), row(1), row(2)], 0)
    }

    /// Joins what the lanes find at `shift` of them, counted around the ends of a row. `take` returns a register of
    /// what lies from a place of the row on. Places that it is called with are less than the lanes before the row, or
    /// in the row; of what lies outside the row nothing is used.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn around_row<L: SimdVector<Number = V>>(&self, shift: isize, take: impl Fn(isize) -> L::Pass) -> L::Pass {
        let (n, length, first) = (L::N.cast_signed(), self.memory.shape[3], self.around(3, self.i + shift));
        let (mut all, mut next) = (take(first), length - first);
        while next < n {
            // The row begins anew at lane `next`.
            all = L::Pass::select(L::within(next, n), take(-next), all);
            next += length;
        }
        all
    }

    /// Reads elements of an array at an offset, counted around the ends of all dimensions.
    ///
    /// # Safety
    ///
    /// The array has all elements of the views, and margins with as many elements as there are lanes.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn load_around<L: SimdVector<Number = V>>(&self, array: Place<V>, shift: [isize; 4]) -> L::Pass {
        let row = array.wrapping_offset(self.row_around(shift));
        // SAFETY: the row is one of the views, and registers begin in it, or less than their lanes before it: what they
        // hold is in the array or its margins.
        self.around_row::<L>(shift[3], |i| unsafe { self.load::<L>(row.wrapping_offset(i)) })
    }

    /// Returns the offset from the views' start of the element at `shift`. With `ROWS`, a row outside the view is
    /// replaced by the nearest row inside, so that the address is valid; the value is masked out.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn to<const MASK: u8>(&self, shift: [isize; 4]) -> isize {
        if MASK < ROWS {
            return self.at + self.memory.shifted(shift);
        }
        let row = |d: usize| (self.row[d] + shift[d]).clamp(0, self.memory.shape[d] - 1);
        self.memory.at([row(0), row(1), row(2)], self.i + shift[3])
    }

    /// Reads elements of an operand at an offset. In a masked program with `fades`, elements outside the view are 0.
    ///
    /// # Safety
    ///
    /// The operand's buffer or its margin contains the elements of all lanes; with `ROWS`, in all rows. With `WRAPPED`
    /// the position is in the views.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn read<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        operand: usize,
        shift: [isize; 4],
        fades: bool,
    ) -> L::Pass {
        if MASK == WRAPPED {
            // SAFETY: operands have all elements, and margins for the largest registers.
            return unsafe { self.load_around::<L>(self.memory.values[operand], shift) };
        }
        // SAFETY: promised by the caller.
        let number = unsafe { self.load::<L>(self.memory.values[operand].wrapping_offset(self.to::<MASK>(shift))) };
        if MASK == ALL || !fades {
            return number;
        }
        self.within::<L, MASK>(number, shift, [0; 4], self.memory.shape)
    }

    /// Reads what the pass needs of elements.
    ///
    /// # Safety
    ///
    /// The elements may be read.
    #[cfg_attr(not(debug_assertions), inline(always))]
    unsafe fn load<L: SimdVector<Number = V>>(&self, from: Place<V>) -> L::Pass {
        // SAFETY: promised by the caller.
        unsafe { L::take_pass(from, self.pass) }
    }

    /// Returns what the pass needs of a uniform number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn splat<L: SimdVector<Number = V>>(&self, number: V) -> L::Pass {
        L::splat_pass(number, self.pass)
    }

    /// Reads elements of an operand of lower rank, whose start is that of the position's row, at an offset.
    ///
    /// # Safety
    ///
    /// The conditions of [`read`](Self::read).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn along<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        operand: usize,
        dimensions: DimensionBits,
        shift: [isize; 4],
    ) -> L::Pass {
        let strides = self.memory.strides_along(dimensions);
        let rows = |d: usize| match MASK {
            ROWS => (self.row[d] + shift[d]).clamp(0, self.memory.shape[d] - 1) - self.row[d],
            WRAPPED => self.around(d, self.row[d] + shift[d]) - self.row[d],
            _ => shift[d],
        };
        let to = rows(0) * strides[0] + rows(1) * strides[1] + rows(2) * strides[2];
        let start = self.memory.values[operand].wrapping_offset(to);
        // SAFETY: promised by the caller.
        unsafe {
            if dimensions & LAST == 0 {
                self.splat::<L>(start.get())
            } else if MASK == WRAPPED {
                let row = start.wrapping_offset(self.at - self.i);
                self.around_row::<L>(shift[3], |i| self.load::<L>(row.wrapping_offset(i)))
            } else {
                self.load::<L>(start.wrapping_offset(self.at + shift[3]))
            }
        }
    }

    /// Keeps the lanes whose coordinates at `shift` lie between `lo` and `hi`, and sets the other lanes to 0. Only
    /// `ROWS` checks the coordinates of the row.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn within<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        numbers: L::Pass,
        shift: [isize; 4],
        lo: [isize; 4],
        hi: [isize; 4],
    ) -> L::Pass {
        let inside = |d: usize| {
            let i = self.row[d] + shift[d];
            i >= lo[d] && i < hi[d]
        };
        let i = self.i + shift[3];
        let to = if MASK < ROWS || inside(0) && inside(1) && inside(2) { hi[3] - i } else { 0 };
        L::Pass::select(L::within(lo[3] - i, to), numbers, L::Pass::zero())
    }

    /// Reads values that the launch has written to an operand.
    ///
    /// # Safety
    ///
    /// The conditions of [`read`](Self::read).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn written<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        operand: usize,
        shift: [isize; 4],
    ) -> L::Pass {
        let new = self.memory.new[operand];
        if MASK == WRAPPED {
            // SAFETY: operands have all elements, and margins for the largest registers.
            return unsafe { self.load_around::<L>(new, shift) };
        }
        // SAFETY: promised by the caller.
        unsafe { self.load::<L>(new.wrapping_offset(self.to::<MASK>(shift))) }
    }

    /// Reads the adjoint of an output; in a masked program 0 outside the range.
    ///
    /// # Safety
    ///
    /// The conditions of [`read`](Self::read).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn seed<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        k: usize,
        shift: [isize; 4],
        all_dense: bool,
    ) -> L::Pass {
        let dense = self.seeds.dense[k];
        if MASK == WRAPPED {
            let (range, row) = (self.range, dense.wrapping_offset(self.row_around(shift)));
            let is_inside = (0..3).all(|d| {
                let coordinate = self.around(d, self.row[d] + shift[d]);
                coordinate >= range.lo[d] && coordinate < range.hi[d]
            });
            let (lo, hi) = if is_inside { (range.lo[3], range.hi[3]) } else { (0, 0) };
            return self.around_row::<L>(shift[3], |i| {
                let seed = if all_dense || !dense.is_null() {
                    // SAFETY: as in `load_around`: an output's adjoints have all its elements.
                    unsafe { self.load::<L>(row.wrapping_offset(i)) }
                } else {
                    self.splat::<L>(self.seeds.uniform[k])
                };
                L::Pass::select(L::within(lo - i, hi - i), seed, L::Pass::zero())
            });
        }
        let seed = if all_dense || !dense.is_null() {
            // SAFETY: promised by the caller.
            unsafe { self.load::<L>(dense.wrapping_offset(self.to::<MASK>(shift))) }
        } else {
            self.splat::<L>(self.seeds.uniform[k])
        };
        if MASK == ALL { seed } else { self.within::<L, MASK>(seed, shift, self.range.lo, self.range.hi) }
    }
}
