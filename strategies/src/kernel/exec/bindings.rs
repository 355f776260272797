//! Bindings: the operands of a kernel as raw pointers while its loops run.

use crate::Number;
use crate::kernel::ir::access::{AccessSummary, OPERANDS, OUTPUTS};
use crate::kernel::ir::grid::{Grid, IndexRange};
use crate::kernel::ir::instruction::CONSTANTS;
use crate::kernel::ir::listing::StaticListing;
use crate::number::simd::vector::SimdVector;
use core::mem::MaybeUninit;
use core::ptr;

/// Addresses of the operands of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Bindings<V> {
    /// Start of each operand's values, as reads see them.
    pub(crate) values: [*const V; OPERANDS],
    /// Start of each operand that is written.
    pub(crate) new: [*mut V; OPERANDS],
    /// Values of the uniform scalars.
    pub(crate) numbers: [V; OPERANDS],
    pub(crate) shape: [isize; 4],
    pub(crate) strides: [isize; 4],
}

// SAFETY: these are addresses and values; whoever runs the loops promises that the addresses may be used.
unsafe impl<V: Number> Sync for Bindings<V> {}

impl<V: Number> Bindings<V> {
    pub(crate) fn new(grid: &Grid) -> Self {
        Self { shape: grid.shape(), strides: grid.strides(), ..Self::nowhere() }
    }

    /// Bindings for programs that read no operands.
    pub(crate) fn nowhere() -> Self {
        Self {
            values: [ptr::null(); OPERANDS],
            new: [ptr::null_mut(); OPERANDS],
            numbers: [V::ZERO; OPERANDS],
            shape: [1; 4],
            strides: [1; 4],
        }
    }

    /// Offset of a point among the elements.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn at(&self, row: [isize; 3], i: isize) -> isize {
        row[0] * self.strides[0] + row[1] * self.strides[1] + row[2] * self.strides[2] + i
    }

    /// Distance in elements between a point and the element at this offset along each dimension.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn shifted(&self, shift: [isize; 4]) -> isize {
        shift[0] * self.strides[0] + shift[1] * self.strides[1] + shift[2] * self.strides[2] + shift[3]
    }
}

/// No masking: all reads are inside the views, and all adjoints belong to points in the range.
pub(crate) const ALL: u8 = 0;
/// Masking along the last dimension: adjoints outside the range and reads outside the view with
/// `Boundary::Zero` are 0. Rows must lie inside the range and the views.
pub(crate) const COLUMNS: u8 = 1;
/// Masking along all dimensions, so that rows may lie outside range and views, too.
pub(crate) const ROWS: u8 = 2;

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
pub(crate) struct Cursor<'m, V> {
    pub(crate) memory: &'m Bindings<V>,
    pub(crate) seeds: &'m Seeds<V>,
    pub(crate) captured: &'m Captures<V>,
    /// Offset of the position among the elements.
    pub(crate) at: isize,
    /// First three coordinates of the position; used in masked programs only.
    pub(crate) row: [isize; 3],
    /// Last coordinate of the position; used in masked programs only.
    pub(crate) i: isize,
    /// Points whose adjoints count; used in masked programs only.
    pub(crate) range: &'m IndexRange,
}

impl<'m, V: Number> Cursor<'m, V> {
    /// Position for programs that are not masked.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn inside(memory: &'m Bindings<V>, seeds: &'m Seeds<V>, captured: &'m Captures<V>, at: isize) -> Self {
        Self { memory, seeds, captured, at, row: [0; 3], i: 0, range: &IndexRange::NONE }
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
    /// The operand's buffer or its margin contains the elements of all lanes; with `ROWS`, in all rows.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn read<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        operand: usize,
        shift: [isize; 4],
        fades: bool,
    ) -> L {
        // SAFETY: promised by the caller.
        let number = unsafe { L::load(self.memory.values[operand].wrapping_offset(self.to::<MASK>(shift))) };
        if MASK == ALL || !fades {
            return number;
        }
        self.within::<L, MASK>(number, shift, [0; 4], self.memory.shape)
    }

    /// Keeps the lanes whose coordinates at `shift` lie between `lo` and `hi`, and sets the other lanes to 0. Only
    /// `ROWS` checks the coordinates of the row.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn within<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        numbers: L,
        shift: [isize; 4],
        lo: [isize; 4],
        hi: [isize; 4],
    ) -> L {
        let inside = |d: usize| {
            let i = self.row[d] + shift[d];
            i >= lo[d] && i < hi[d]
        };
        let i = self.i + shift[3];
        let to = if MASK < ROWS || inside(0) && inside(1) && inside(2) { hi[3] - i } else { 0 };
        L::select(L::within(lo[3] - i, to), numbers, L::zero())
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
    ) -> L {
        // SAFETY: promised by the caller.
        unsafe { L::load(self.memory.new[operand].wrapping_offset(self.to::<MASK>(shift))) }
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
    ) -> L {
        let dense = self.seeds.dense[k];
        let seed = if all_dense || !dense.is_null() {
            // SAFETY: promised by the caller.
            unsafe { L::load(dense.wrapping_offset(self.to::<MASK>(shift))) }
        } else {
            L::splat(self.seeds.uniform[k])
        };
        if MASK == ALL { seed } else { self.within::<L, MASK>(seed, shift, self.range.lo, self.range.hi) }
    }
}

/// Adjoints of a launch's outputs.
#[derive(Clone, Copy)]
pub(crate) struct Seeds<V> {
    /// Start of each output's adjoints; null if they are uniform.
    pub(crate) dense: [*const V; OUTPUTS],
    pub(crate) uniform: [V; OUTPUTS],
}

// SAFETY: the reason given for `Bindings`.
unsafe impl<V: Number> Sync for Seeds<V> {}

impl<V: Number> Seeds<V> {
    /// Seeds for programs without adjoints.
    pub(crate) const NONE: Self = Self { dense: [ptr::null(); OUTPUTS], uniform: [V::ZERO; OUTPUTS] };
}

/// Returns the points of the range at which all reads lie inside the views. Only reads with a boundary rule can reach
/// outside.
pub(crate) fn inner(leaves: &AccessSummary, shape: [isize; 4], range: &IndexRange) -> IndexRange {
    let mut inner = *range;
    if leaves.borders {
        for d in 0..4 {
            let (least, most) = leaves.shifts[d];
            inner.lo[d] = inner.lo[d].max(-least);
            inner.hi[d] = inner.hi[d].min(shape[d] - most);
        }
    }
    inner
}
