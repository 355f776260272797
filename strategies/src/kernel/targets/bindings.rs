//! Bindings: the operands of a kernel as raw pointers while it runs.

use crate::Number;
use crate::kernel::ir::access::{AccessSummary, DimensionBits, Needs, OPERANDS, OUTPUTS, OperandBits};
use crate::kernel::ir::grid::{Grid, IndexRange};
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::device::{Device, DeviceArray};
use crate::number::simd::planes::Place;
use std::sync::Arc;

/// Addresses of the operands of a launch.
#[derive(Clone, Copy)]
pub(crate) struct Bindings<V: Number> {
    /// Start of each operand's values, as reads see them.
    pub(crate) values: [Place<V>; OPERANDS],
    /// Start of each operand that is written.
    pub(crate) new: [Place<V>; OPERANDS],
    /// Values of the uniform scalars.
    pub(crate) numbers: [V; OPERANDS],
    pub(crate) shape: [isize; 4],
    pub(crate) strides: [isize; 4],
    /// Memory that the places are in: places on a device are addresses of [buffers](Buffer::place).
    pub(crate) device: Device,
}

// SAFETY: these are addresses and values; whoever runs the loops promises that the addresses may be used.
unsafe impl<V: Number> Sync for Bindings<V> {}

impl<V: Number> Bindings<V> {
    pub(crate) fn new(grid: &Grid, device: Device) -> Self {
        Self { shape: grid.shape(), strides: grid.strides(), device, ..Self::nowhere() }
    }

    /// Bindings for programs that read no operands.
    pub(crate) fn nowhere() -> Self {
        Self {
            values: [Place::NULL; OPERANDS],
            new: [Place::NULL; OPERANDS],
            numbers: [V::ZERO; OPERANDS],
            shape: [1; 4],
            strides: [1; 4],
            device: None,
        }
    }

    /// Address of an array on the host; null if the arrays are on a device.
    pub(super) fn address(&self, place: Place<V>) -> *mut V::Part {
        if self.device.is_some() { core::ptr::null_mut() } else { place.part(0) }
    }

    /// Array on a device; `None` if the arrays are on the host, or this is the place of nothing.
    pub(super) fn array(&self, place: Place<V>) -> Option<Arc<dyn DeviceArray>> {
        let memory = self.device.filter(|_| !place.is_null())?;
        let buffer = place.part(0).cast::<Buffer<V>>();
        // SAFETY: places on a device are addresses of buffers that have been bound, and are alive during a job.
        Some(unsafe { (*buffer).on_device(memory) })
    }

    /// Returns those of the needed values that are not bound.
    #[inline]
    pub(crate) fn missing(&self, needs: Needs) -> Needs {
        let mut missing = Needs::NONE;
        for k in (0..OPERANDS).take_while(|k| (needs.views | needs.new) >> k != 0) {
            missing.views |= OperandBits::from(self.values[k].is_null()) << k & needs.views;
            missing.new |= OperandBits::from(self.new[k].is_null()) << k & needs.new;
        }
        missing
    }

    /// Binds this array, whose values nobody asks for, in the place of those that are missing.
    pub(crate) fn fill_missing(&mut self, spare: Place<V>) {
        self.values.iter_mut().filter(|values| values.is_null()).for_each(|values| *values = spare);
        self.new.iter_mut().filter(|new| new.is_null()).for_each(|new| *new = spare);
    }

    /// Distance in elements between neighbors along each dimension in an operand of lower rank; 0 along the dimensions
    /// that it does not have.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn strides_along(&self, dimensions: DimensionBits) -> [isize; 4] {
        let (mut strides, mut next) = ([0; 4], 1);
        for d in (0..4).rev() {
            if dimensions >> d & 1 == 1 {
                strides[d] = next;
                next *= self.shape[d];
            }
        }
        strides
    }

    /// Moves the starts of operands of lower rank, taken from `whole`, to this row: an operand that lies along the last
    /// dimension is then read at the offset of the point, and another one at its start.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn enter(&mut self, whole: &Self, leaves: &AccessSummary, row: [isize; 3]) {
        let start = self.at(row, 0);
        for k in 0..OPERANDS {
            if AccessSummary::has(leaves.along, k) {
                let strides = self.strides_along(leaves.dimensions[k]);
                let at = row[0] * strides[0] + row[1] * strides[1] + row[2] * strides[2];
                self.values[k] = whole.values[k].wrapping_offset(if strides[3] == 0 { at } else { at - start });
            }
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

/// Adjoints of a launch's outputs.
#[derive(Clone, Copy)]
pub(crate) struct Seeds<V: Number> {
    /// Start of each output's adjoints; null if they are uniform.
    pub(crate) dense: [Place<V>; OUTPUTS],
    pub(crate) uniform: [V; OUTPUTS],
    /// Place of the adjoints of row sums, one for each row of the range; null if there are none.
    pub(super) rows: Place<V>,
    /// Offset among these adjoints of the row with coordinates 0, and distances along each dimension.
    pub(super) places: (isize, [isize; 3]),
}

// SAFETY: the reason given for `Bindings`.
unsafe impl<V: Number> Sync for Seeds<V> {}

impl<V: Number> Seeds<V> {
    /// Seeds for programs without adjoints.
    pub(crate) const NONE: Self = Self::of([Place::NULL; OUTPUTS], [V::ZERO; OUTPUTS]);

    /// Returns seeds that are arrays or, where these are null, uniform.
    pub(crate) const fn of(dense: [Place<V>; OUTPUTS], uniform: [V; OUTPUTS]) -> Self {
        Self { dense, uniform, rows: Place::NULL, places: (0, [0; 3]) }
    }

    /// Sets an adjoint for each row of the range, of which there are as many.
    pub(crate) fn set_rows(&mut self, (rows, count): (Place<V>, usize), range: &IndexRange) {
        let extent = |d: usize| range.hi[d] - range.lo[d];
        let strides = [extent(1) * extent(2), extent(2), 1];
        assert_eq!(count.cast_signed(), extent(0) * strides[0], "a seed for each row");
        self.places = (-(0..3).map(|d| range.lo[d] * strides[d]).sum::<isize>(), strides);
        self.rows = rows;
    }

    /// Makes the adjoint of this row uniform, if each row has one.
    ///
    /// # Safety
    ///
    /// The adjoints of the rows are still alive, and the row is in the range.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn enter(&mut self, row: [isize; 3]) {
        if !self.rows.is_null() {
            let (first, strides) = self.places;
            let at = first + row[0] * strides[0] + row[1] * strides[1] + row[2] * strides[2];
            // SAFETY: promised by the caller.
            self.uniform[0] = unsafe { self.rows.wrapping_offset(at).get() };
        }
    }
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

/// Returns the elements all of whose readers are in the range and read inside the views themselves. They are in the
/// range, too, since offsets begin at 0.
pub(crate) fn inner_elements(
    plan: &KernelInfo,
    range: &IndexRange,
    shape: [isize; 4],
    part: &IndexRange,
) -> IndexRange {
    let mut inner = *part;
    for d in 0..4 {
        let (least, most) = plan.partials.shifts[d];
        inner.lo[d] = inner.lo[d].max(range.lo[d] + most);
        inner.hi[d] = inner.hi[d].min(range.hi[d] + least);
        if plan.leaves.borders {
            // This leaves out both ends of a view, which boundary rules let further points read: if shifts are not all
            // 0, then `most − first` and `last − least` are at least 1.
            let (first, last) = plan.leaves.shifts[d];
            inner.lo[d] = inner.lo[d].max(most - first);
            inner.hi[d] = inner.hi[d].min(shape[d] + least - last);
        }
    }
    inner
}
