//! Sweeps from many outputs of a recording, one after the other.

use core::ops::Range;

/// The outputs of a sweep that finds the rows of a Jacobian matrix one after the other.
#[doc(hidden)]
pub struct RowSweep<'a, V> {
    /// Slots of the outputs, in descending order.
    pub outputs: &'a [usize],
    /// Exclusive upper bound of the slots of the inputs whose adjoints are wanted.
    pub inputs_end: usize,
    /// Number of lanes: 1, 2, 4 or 8.
    pub lanes: usize,
    /// Number of records after which the sweep gives up, at least 1.
    pub limit: usize,
    /// Called with the indices of some outputs, the adjoints of all variables, and the slots of all inputs that have
    /// adjoints, some several times. The adjoints of the first of these outputs are in lane 0, of the next one in lane
    /// 1, and so on. Sets the adjoints of these inputs to 0.
    pub done: &'a mut DoneRows<'a, V>,
}

/// Takes the rows of some outputs; see [`RowSweep`].
#[doc(hidden)]
pub type DoneRows<'a, V> = dyn FnMut(Range<usize>, &mut [V], &[usize]) + 'a;
