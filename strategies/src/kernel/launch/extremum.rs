//! Largest and smallest value over a range.

use super::dependencies::{Dependencies, OperandView};
use super::entry::{Inspection, Launch};
use super::kernel::KernelLaunch;
use super::replay::{ReplayResult, ReplayState};
use crate::kernel::ir::grid::Grid;
use crate::kernel::memory::adjoint::Shadows;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use crate::kernel::targets::jobs::Evaluation;
use crate::kernel::targets::kernel::Found;
use crate::{Number, SweepError};
use smallvec::SmallVec;

/// Recorded search for the largest or smallest value over a range. Sweeps use the launch at the single point that was
/// found; replays search the complete range.
#[derive(Debug)]
pub struct Extremum<V: Number> {
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
        let (mut found, target) = (None, self.launch.target());
        let search = |job: Evaluation<'_, V>| found = target.extremum(job, self.largest);
        let kept = self.launch.reduce_again(&self.range, inputs, versions, search)?;
        let Found { value, element } = found.expect("a maximum or minimum is taken over one point at least");
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
