//! Bindings: the operands of a kernel as raw pointers, while its loops run.

use crate::Number;
use crate::kernel::ir::access::{AccessSummary, OPERANDS, OUTPUTS};
use crate::kernel::ir::grid::{Grid, IndexRange};
use crate::kernel::ir::instruction::CONSTANTS;
use crate::kernel::ir::listing::StaticListing;
use crate::number::simd::vector::SimdVector;
use core::mem::MaybeUninit;
use core::ptr;

/// Where the operands of a launch lie.
#[derive(Clone, Copy)]
pub(crate) struct Bindings<V> {
    /// The values that reads see.
    pub(crate) values: [*const V; OPERANDS],
    /// What is written.
    pub(crate) new: [*mut V; OPERANDS],
    /// The numbers that all points share.
    pub(crate) numbers: [V; OPERANDS],
    pub(crate) shape: [isize; 4],
    pub(crate) strides: [isize; 4],
}

// SAFETY: these are addresses, and numbers. Whoever runs the loops says that they may be used.
unsafe impl<V: Number> Sync for Bindings<V> {}

impl<V: Number> Bindings<V> {
    pub(crate) fn new(grid: &Grid) -> Self {
        Self { shape: grid.shape(), strides: grid.strides(), ..Self::nowhere() }
    }

    /// For programs that read nothing.
    pub(crate) fn nowhere() -> Self {
        Self {
            values: [ptr::null(); OPERANDS],
            new: [ptr::null_mut(); OPERANDS],
            numbers: [V::ZERO; OPERANDS],
            shape: [1; 4],
            strides: [1; 4],
        }
    }

    /// The place of a point.
    #[inline(always)]
    pub(crate) fn at(&self, row: [isize; 3], i: isize) -> isize {
        row[0] * self.strides[0] + row[1] * self.strides[1] + row[2] * self.strides[2] + i
    }

    /// How far elements at these shifts are away.
    #[inline(always)]
    pub(crate) fn shifted(&self, shift: [isize; 4]) -> isize {
        shift[0] * self.strides[0] + shift[1] * self.strides[1] + shift[2] * self.strides[2] + shift[3]
    }
}

/// Nothing of a script is masked: all that it reads is inside the views, and all adjoints are of points in the range.
pub(crate) const ALL: u8 = 0;
/// Points beside the range have adjoints 0, and reads with that border rule give 0 beside the views, all in rows of
/// both.
pub(crate) const COLUMNS: u8 = 1;
/// The same in any row.
pub(crate) const ROWS: u8 = 2;

/// Captured numbers, where stores cannot touch them, so that they stay in registers.
pub(crate) struct Captures<V>([MaybeUninit<V>; CONSTANTS]);

impl<V: Number> Captures<V> {
    /// The first numbers, as many as a script has.
    #[inline(always)]
    pub(crate) fn of<C: StaticListing>(numbers: &[V]) -> Self {
        const { assert!(C::CONSTANTS <= CONSTANTS, "a kernel captures at most 64 numbers") };
        assert!(numbers.len() >= C::CONSTANTS, "a kernel has all its numbers");
        let mut captured = [const { MaybeUninit::uninit() }; CONSTANTS];
        // SAFETY: there are as many numbers, and as many places.
        unsafe {
            ptr::copy_nonoverlapping(numbers.as_ptr(), captured.as_mut_ptr().cast::<V>(), C::CONSTANTS);
        }
        Self(captured)
    }

    /// # Safety
    ///
    /// The script has as many numbers.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, k: usize) -> V {
        // SAFETY: promised by the caller.
        unsafe { self.0[k].assume_init() }
    }
}

/// A place, from which a script reads.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'m, V> {
    pub(crate) memory: &'m Bindings<V>,
    pub(crate) seeds: &'m Seeds<V>,
    pub(crate) captured: &'m Captures<V>,
    /// The place among the elements.
    pub(crate) at: isize,
    /// In masked scripts the coordinates of the place, and the points whose adjoints count.
    pub(crate) row: [isize; 3],
    pub(crate) i: isize,
    pub(crate) range: &'m IndexRange,
}

impl<'m, V: Number> Cursor<'m, V> {
    /// A place for scripts that are not masked.
    #[inline(always)]
    pub(crate) fn inside(memory: &'m Bindings<V>, seeds: &'m Seeds<V>, captured: &'m Captures<V>, at: isize) -> Self {
        Self { memory, seeds, captured, at, row: [0; 3], i: 0, range: &IndexRange::NONE }
    }

    /// How far elements at these shifts are from the views' beginning. With `ROWS`, elements of rows that do not exist
    /// are replaced by elements of other rows.
    #[inline(always)]
    fn to<const MASK: u8>(&self, shift: [isize; 4]) -> isize {
        if MASK < ROWS {
            return self.at + self.memory.shifted(shift);
        }
        let row = |d: usize| (self.row[d] + shift[d]).clamp(0, self.memory.shape[d] - 1);
        self.memory.at([row(0), row(1), row(2)], self.i + shift[3])
    }

    /// An element of an operand at these shifts; beside the views 0, if it `fades` and is masked.
    ///
    /// # Safety
    ///
    /// The operand's buffer or its margin has it, and the elements of all lanes; with `ROWS`, of the place's row in all
    /// rows.
    #[inline(always)]
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

    /// The numbers at these shifts that lie between the bounds; 0 for the others. Only `ROWS` asks about rows.
    #[inline(always)]
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

    /// What has been written to an operand.
    ///
    /// # Safety
    ///
    /// As [`read`](Self::read).
    #[inline(always)]
    pub(crate) unsafe fn written<L: SimdVector<Number = V>, const MASK: u8>(
        &self,
        operand: usize,
        shift: [isize; 4],
    ) -> L {
        // SAFETY: promised by the caller.
        unsafe { L::load(self.memory.new[operand].wrapping_offset(self.to::<MASK>(shift))) }
    }

    /// The adjoint of an output; 0 beyond the range if it is masked.
    ///
    /// # Safety
    ///
    /// As [`read`](Self::read).
    #[inline(always)]
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

/// The adjoints of a launch's outputs.
#[derive(Clone, Copy)]
pub(crate) struct Seeds<V> {
    /// Null where all are the same.
    pub(crate) dense: [*const V; OUTPUTS],
    pub(crate) uniform: [V; OUTPUTS],
}

// SAFETY: as `Bindings`.
unsafe impl<V: Number> Sync for Seeds<V> {}

impl<V: Number> Seeds<V> {
    /// For scripts without adjoints.
    pub(crate) const NONE: Self = Self { dense: [ptr::null(); OUTPUTS], uniform: [V::ZERO; OUTPUTS] };
}

/// The points of the range at which all these reads lie inside the views; only reads with a border rule can lie
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
