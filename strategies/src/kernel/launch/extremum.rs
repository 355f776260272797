//! Largest and smallest value over a range.

use super::dependencies::{Dependencies, OperandView};
use super::entry::{Inspection, Launch};
use super::kernel::KernelLaunch;
use super::replay::{ReplayResult, ReplayState};
use crate::kernel::exec::operands::{Operand, memory};
use crate::kernel::exec::vtable::BoundKernel;
use crate::kernel::ir::grid::Grid;
use crate::kernel::ir::kernel::Kernel;
use crate::kernel::loops::argmax::find;
use crate::kernel::memory::adjoint::Shadows;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use crate::{Number, SweepError};
use smallvec::SmallVec;

/// Returns the largest or smallest value of a kernel's expression over the grid, and its position among the elements;
/// at a tie the first one. NaN is ignored unless all values are NaN. `None` for an empty range.
///
/// # Panics
///
/// The conditions of [`run`](crate::kernel::run).
#[track_caller]
pub fn extremum<'m, V: Number, P: Kernel>(
    program: &P,
    grid: &Grid,
    operands: impl Iterator<Item = Operand<'m, V>>,
    largest: bool,
) -> Option<(V, usize)> {
    assert!(!P::WRITES, "a reduction has one expression, which is not written");
    let (memory, _) = memory::<V>(P::PLAN, grid, operands);
    // SAFETY: checked above.
    unsafe { find::<V, P>(&BoundKernel::of(program), grid, &memory, largest) }
}

/// Recorded search for the largest or smallest value over a range. Sweeps use the launch at the single point that was
/// found; replays search the complete range.
#[derive(Debug)]
pub struct Extremum<V: 'static> {
    launch: KernelLaunch<V>,
    range: Grid,
    largest: bool,
}

impl<V: Number> Extremum<V> {
    /// Combines the range of the search with the launch at the point that was found.
    #[must_use]
    pub const fn new(launch: KernelLaunch<V>, range: Grid, largest: bool) -> Self {
        Self { launch, range, largest }
    }
}

impl<V: Number> Launch<V> for Extremum<V> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        self.launch.reverse(outputs, inputs, shadows)
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        self.launch.views()
    }

    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        Launch::links(&self.launch)
    }

    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        fetched: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        self.launch.forward(inputs, outputs, views, results, fetched)
    }

    fn hold(&mut self, each: &mut dyn FnMut(&mut Version<V>)) {
        self.launch.hold(each);
    }

    fn can_be_replayed(&self) -> Result<(), SweepError> {
        self.launch.has_all_operands()
    }

    fn replay(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        versions: &mut ReplayState<V>,
    ) -> Result<ReplayResult<V>, SweepError> {
        let mut found = None;
        let kept = self.launch.compute_reduction(&self.range, inputs, versions, |kernel, memory| {
            // SAFETY: the operands have been checked for this range, and are alive during the call.
            found = unsafe { kernel.find(&self.range, memory, self.largest) };
        })?;
        let (value, element) = found.expect("a maximum or minimum is taken over one point at least");
        outputs[0] = value;
        Ok(ReplayResult { found: Some(self.range.at(element)), ..kept })
    }

    fn accept(&mut self, replayed: ReplayResult<V>) {
        replayed.found.into_iter().for_each(|found| self.launch.grid = found);
        self.launch.accept(replayed);
    }

    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        self.launch.arrays(each);
    }

    fn bytes(&self) -> usize {
        self.launch.bytes()
    }

    fn inspect(&self) -> Inspection {
        self.launch.inspect()
    }
}
