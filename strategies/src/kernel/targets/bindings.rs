//! Bindings: the operands of a kernel as raw pointers while it runs.

use crate::Number;
use crate::kernel::ir::access::{AccessSummary, Needs, OPERANDS, OUTPUTS, OperandBits};
use crate::kernel::ir::grid::{Grid, IndexRange};
use crate::number::simd::planes::Place;

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
            values: [Place::NULL; OPERANDS],
            new: [Place::NULL; OPERANDS],
            numbers: [V::ZERO; OPERANDS],
            shape: [1; 4],
            strides: [1; 4],
        }
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

    /// Distance between the planes of the arrays.
    pub(crate) fn stride(&self) -> isize {
        let bound = self.values.iter().chain(&self.new).find(|place| !place.is_null());
        bound.map_or(0, |place| place.stride())
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
}

// SAFETY: the reason given for `Bindings`.
unsafe impl<V: Number> Sync for Seeds<V> {}

impl<V: Number> Seeds<V> {
    /// Seeds for programs without adjoints.
    pub(crate) const NONE: Self = Self { dense: [Place::NULL; OUTPUTS], uniform: [V::ZERO; OUTPUTS] };
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
