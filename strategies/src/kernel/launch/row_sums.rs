//! Sums along the last dimension, one for each row.

use super::dependencies::{Dependencies, OperandView};
use super::entry::{Inspection, Launch};
use super::kernel::{Goal, KernelLaunch, Results};
use super::replay::{ReplayResult, ReplayState};
use crate::kernel::ir::access::OUTPUTS;
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use crate::kernel::targets::rows::Rows;
use crate::number::simd::planes::planes;
use crate::{Number, SweepError};
use smallvec::SmallVec;

/// Recorded launch of row sums, stored as a launch that sums everything. Its sweeps use a seed for each row.
#[derive(Debug)]
pub struct RowSums<V: Number> {
    all: KernelLaunch<V>,
    to: OperandView,
}

impl<V: Number> RowSums<V> {
    /// Combines the launch that would sum everything with the view of the sums.
    #[must_use]
    pub const fn new(all: KernelLaunch<V>, to: OperandView) -> Self {
        Self { all, to }
    }
}

impl<V: Number> Launch<V> for RowSums<V> {
    fn reverse(&self, _: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let shadow = shadows.take(self.to.after.expect("it is written"));
        let seed = match shadow {
            Shadow::Unset => return Ok(()),
            // Dense even if uniform, because kernels may rely on dense seeds.
            shadow => shadows.dense(shadow, self.to.length),
        };
        let grid = &self.all.grid;
        assert!(seed.len() == Rows::of(&grid.range).count(), "a seed for each row");
        let mut seeds = [const { Shadow::Unset }; OUTPUTS];
        if planes::<V>() == 1 && self.all.plan().is_within_rows() {
            return self.all.reverse_from(&mut seeds, Some(&seed), inputs, shadows);
        }
        // Readers of an element are in several rows, each with its own seed; or the parts of numbers lie in planes.
        let mut spread = shadows.any(grid.elements());
        spread.fill_rows(&seed, grid);
        seeds[0] = Shadow::Dense(spread);
        self.all.reverse_from(&mut seeds, None, inputs, shadows)
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        let mut views = self.all.views();
        views.push(self.to);
        views
    }

    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        Ok(self.all.statements(Goal::Rows(self.to)))
    }

    fn forward(
        &self,
        inputs: &[V],
        _: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        fetched: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        self.all.tangent_to(Results::Rows(results[0]), inputs, views, fetched)
    }

    fn can_be_replayed(&self) -> Result<(), SweepError> {
        self.all.can_be_replayed()
    }

    fn replay(&self, inputs: &[V], _: &mut [V], versions: &mut ReplayState<V>) -> Result<ReplayResult<V>, SweepError> {
        let (mut to, target) = (versions.buffer(self.to.length), self.all.target());
        let kept = self.all.reduce_again(&self.all.grid, inputs, versions, |job| target.row_sums(job, &mut to))?;
        versions.put(self.to.after.expect("it is written"), to.share());
        Ok(kept)
    }

    fn accept(&mut self, replayed: ReplayResult<V>) {
        self.all.accept(replayed);
    }

    fn hold(&mut self, each: &mut dyn FnMut(&mut Version<V>)) {
        self.all.hold(each);
    }

    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        self.all.arrays(each);
    }

    fn bytes(&self) -> usize {
        self.all.bytes()
    }

    fn inspect(&self) -> Inspection {
        self.all.inspect()
    }
}
