//! Sweeps from many outputs of a recording, one after the other.

use crate::Number;
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
    /// The groups of outputs that are swept from together.
    pub groups: RowGroups<'a, V>,
    /// Called with the indices of some outputs, the adjoints of all variables, and the slots of all inputs that have
    /// adjoints, some several times; no slots if groups are known. The adjoints of the first of these outputs are in
    /// lane 0, of the next one in lane 1, and so on. Sets the adjoints of these inputs to 0; if groups are known, to −0
    /// those that are wanted of these outputs.
    pub done: &'a mut DoneRows<'a, V>,
}

/// Takes the rows of some outputs; see [`RowSweep`].
#[doc(hidden)]
pub type DoneRows<'a, V> = dyn FnMut(Range<usize>, &mut [V], &[usize]) + 'a;

/// The groups of outputs in a [`RowSweep`]: each depends on inputs and on records of its own.
#[doc(hidden)]
pub enum RowGroups<'a, V> {
    /// To be found, and listed; none are listed if some records belong to several groups.
    Unknown(&'a mut Vec<RowGroup>),
    /// As they were found before, perhaps in another recording; the sweep gives up if they are wrong. That shows in
    /// adjoints that arrive where none should: all are −0 where nothing has been added, and no sum of other numbers is
    /// −0 again. The function returns true if the adjoints that are wanted of these outputs are [`untouched`].
    Known(&'a [RowGroup], &'a mut IsUntouched<'a, V>),
}

/// Looks at adjoints; see [`RowGroups`].
#[doc(hidden)]
pub type IsUntouched<'a, V> = dyn FnMut(Range<usize>, &[V]) -> bool + 'a;

/// Some outputs, and the least number of a record that they depend on.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct RowGroup {
    pub outputs: Range<usize>,
    pub lowest: usize,
}

/// Returns true if all of these adjoints are −0: nothing but −0 has been added to what was −0.
#[doc(hidden)]
#[inline(always)]
#[must_use]
pub fn untouched<V: Number>(adjoints: &[V]) -> bool {
    const UNTOUCHED: u64 = (-0.0_f64).to_bits();
    adjoints.iter().fold(0, |other, adjoint| other | (adjoint.part(0).to_bits() ^ UNTOUCHED)) == 0
}
