//! Launches: values of a program, and their sum.

use super::map::fill;
use super::sum::total;
use crate::Number;
use crate::kernel::exec::operands::{Operand, memory};
use crate::kernel::exec::vtable::BoundKernel;
use crate::kernel::ir::grid::Grid;
use crate::kernel::ir::kernel::Kernel;

/// Computes the program at all points of the grid, and writes its values. `begun` says afterwards, also after a panic,
/// whether something may have been written.
///
/// # Panics
///
/// When an operand has not as many elements as the grid, or is read beyond it, or is missing.
#[track_caller]
pub fn run<'m, V: Number, P: Kernel>(
    program: &P,
    grid: &Grid,
    operands: impl Iterator<Item = Operand<'m, V>>,
    begun: &mut bool,
) {
    assert!(P::WRITES, "a reduction writes to no operand");
    let (memory, in_place) = memory::<V>(P::PLAN, grid, operands);
    *begun = true;
    // SAFETY: checked above; outputs are borrowed exclusively, and only those that are updated are read as well, at the
    // point itself.
    unsafe { fill::<V, P>(&BoundKernel::of(program), grid, &memory, in_place) }
}

/// The sum of a program's expression over the grid. It is the same at every level and for any number of threads: the
/// points of a row are added in fixed groups, and the groups in order.
///
/// # Panics
///
/// As [`run`].
#[track_caller]
pub fn sum<'m, V: Number, P: Kernel>(program: &P, grid: &Grid, operands: impl Iterator<Item = Operand<'m, V>>) -> V {
    assert!(!P::WRITES, "a reduction has one expression, which is not written");
    let (memory, _) = memory::<V>(P::PLAN, grid, operands);
    // SAFETY: checked above.
    unsafe { total::<V, P>(&BoundKernel::of(program), grid, &memory) }
}
