//! Jobs of targets: what is to be computed, with operands that have been checked.

use super::bindings::Bindings;
use super::kernel::{BoundKernel, Gather};
use super::operands::{Operand, bound};
use crate::Number;
use crate::kernel::ir::grid::{Grid, IndexRange};
use core::marker::PhantomData;

/// Values of a kernel, to be computed at all points of a range.
pub struct Evaluation<'a, V: 'static> {
    pub(crate) kernel: &'a BoundKernel<V>,
    pub(crate) grid: &'a Grid,
    pub(crate) memory: Bindings<V>,
    /// True if some operand is written in place, so that no point may be computed twice.
    pub(crate) in_place: bool,
    /// Operands are borrowed, those that are written exclusively; a job stays on its thread.
    operands: PhantomData<(&'a mut [V], *mut V)>,
}

impl<'a, V: Number> Evaluation<'a, V> {
    /// Checks the operands of a launch and describes what it computes.
    ///
    /// # Panics
    ///
    /// When an operand has another number of elements than the grid, or is read outside its view; when an operand that
    /// is read or written is missing; and when there are too many operands.
    #[track_caller]
    pub fn new(kernel: &'a BoundKernel<V>, grid: &'a Grid, operands: impl Iterator<Item = Operand<'a, V>>) -> Self {
        let (memory, in_place) = bound(kernel.plan(), grid, operands);
        Self { kernel, grid, memory, in_place, operands: PhantomData }
    }
}

/// Adjoints of elements, to be accumulated: for each operand, Σ seed·∂expression/∂element over the points that read the
/// element.
pub struct Accumulation<'a, V: 'static> {
    pub(crate) gather: &'a Gather<'a, V>,
    /// The elements whose adjoints may receive contributions.
    pub(crate) reached: IndexRange,
    /// The adjoints are borrowed exclusively; a job stays on its thread.
    adjoints: PhantomData<(&'a mut [V], *mut V)>,
}

impl<'a, V: Number> Accumulation<'a, V> {
    /// Describes the gather as a job.
    ///
    /// # Safety
    ///
    /// The gather has been checked for this grid; its arrays are still alive, nobody else uses those that receive
    /// contributions, and these are not seeds unless in place.
    pub(crate) unsafe fn new(gather: &'a Gather<'a, V>, grid: &Grid) -> Self {
        Self { gather, reached: gather.kernel.plan().reached(grid), adjoints: PhantomData }
    }
}
