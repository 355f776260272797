//! Sums along the last dimension, one for each row.

use super::dependencies::{Dependencies, OperandView};
use super::entry::{Inspection, Launch};
use super::kernel::Goal;
use super::kernel::KernelLaunch;
use super::replay::{ReplayResult, ReplayState};
use crate::kernel::exec::bindings::Seeds;
use crate::kernel::exec::operands::{Operand, memory};
use crate::kernel::exec::parallel::{POINTS, each_block, sum_of_blocks};
use crate::kernel::exec::vtable::BoundKernel;
use crate::kernel::ir::access::OUTPUTS;
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::kernel::ir::kernel::Kernel;
use crate::kernel::loops::sum::{sum_of_terms, values_of};
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use crate::{Number, SweepError};
use core::cell::Cell;
use smallvec::SmallVec;

/// Sums a kernel's expression over each row of the grid's range, in order. Threads share the rows, or the points of
/// each row if rows are very long.
///
/// # Panics
///
/// When the number of rows is not the number of sums, and under the conditions of [`run`](crate::kernel::run).
#[track_caller]
pub fn row_sums<'m, V: Number, P: Kernel>(
    program: &P,
    grid: &Grid,
    operands: impl Iterator<Item = Operand<'m, V>>,
    sums: &mut [V],
) {
    assert!(!P::WRITES, "a reduction has one expression, which is not written");
    let (memory, _) = memory::<V>(P::PLAN, grid, operands);
    let (kernel, seeds) = (&BoundKernel::of(program), Seeds::NONE);
    sums.fill(V::ZERO);
    let rows = Rows::of(&grid.range);
    assert!(sums.len() == rows.count(), "a sum for each row");
    let terms = &values_of::<V, P>(kernel, (&memory, &seeds), &grid.range);
    // SAFETY: checked above.
    let sum = |row| sum_of_blocks(&rows.row(row), |part| unsafe { sum_of_terms(terms, part) })[0];
    if rows.length() > POINTS {
        each_row!(&grid.range, row => { sums[rows.number(row)] = sum(row) });
        return;
    }
    let sums = Shared(Cell::from_mut(sums).as_slice_of_cells());
    let sums = &sums;
    each_block(&grid.range, |part| {
        each_row!(part, row => {
            // SAFETY: parts consist of complete rows, which are no longer than a part may be, so nobody else uses this
            // sum.
            unsafe { sums.set(rows.number(row), sum(row)) }
        });
    });
}

/// Sums that several threads write, each its own elements.
struct Shared<'a, V>(&'a [Cell<V>]);

// SAFETY: the caller of `set` promises that nobody else uses the element.
unsafe impl<V: Number> Sync for Shared<'_, V> {}

impl<V: Number> Shared<'_, V> {
    /// # Safety
    ///
    /// Nobody else uses this element.
    unsafe fn set(&self, k: usize, sum: V) {
        self.0[k].set(sum);
    }
}

/// The rows of a range, in order.
struct Rows<'a>(&'a IndexRange);

impl<'a> Rows<'a> {
    const fn of(range: &'a IndexRange) -> Self {
        Self(range)
    }

    fn extent(&self, d: usize) -> isize {
        (self.0.hi[d] - self.0.lo[d]).max(0)
    }

    fn length(&self) -> isize {
        self.extent(3)
    }

    fn count(&self) -> usize {
        (0..3).map(|d| self.extent(d).unsigned_abs()).product()
    }

    fn number(&self, row: [isize; 3]) -> usize {
        (0..3).fold(0, |number, d| number * self.extent(d) + row[d] - self.0.lo[d]).unsigned_abs()
    }

    fn row(&self, row: [isize; 3]) -> IndexRange {
        let [a, b, c] = row;
        IndexRange { lo: [a, b, c, self.0.lo[3]], hi: [a + 1, b + 1, c + 1, self.0.hi[3]] }
    }
}

/// Recorded launch of row sums, stored as a launch that sums everything. Its sweeps use a seed for each row.
#[derive(Debug)]
pub struct RowSums<V: 'static> {
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
        let (grid, rows) = (&self.all.grid, Rows::of(&self.all.grid.range));
        assert!(seed.len() == rows.count(), "a seed for each row");
        let mut seeds = [const { Shadow::Unset }; OUTPUTS];
        let mut spread = shadows.any(grid.elements());
        each_row!(&grid.range, row => {
            let alone = grid.with(rows.row(row));
            alone.inside(|piece| spread[piece].fill(seed[rows.number(row)]));
        });
        seeds[0] = Shadow::Dense(spread);
        self.all.reverse_from(seeds, inputs, shadows)
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
        let grid = &self.all.grid;
        let rows = Rows::of(&grid.range);
        each_row!(&grid.range, row => {
            let alone = grid.with(rows.row(row));
            results[0][rows.number(row)] = self.all.tangent_over(&alone, inputs, views, &mut [], fetched)?;
        });
        Ok(())
    }

    fn can_be_replayed(&self) -> Result<(), SweepError> {
        self.all.can_be_replayed()
    }

    fn replay(&self, inputs: &[V], _: &mut [V], versions: &mut ReplayState<V>) -> Result<ReplayResult<V>, SweepError> {
        let (grid, mut sums) = (&self.all.grid, versions.buffer(self.to.length));
        let rows = Rows::of(&grid.range);
        let kept = self.all.compute_reduction(grid, inputs, versions, |kernel, memory| {
            each_row!(&grid.range, row => {
                // SAFETY: the operands have been checked for the complete grid, and are alive during the call.
                let sum = unsafe { kernel.compute(&grid.with(rows.row(row)), memory, false) };
                sums[rows.number(row)] = sum.expect("a sum");
            });
        })?;
        versions.put(self.to.after.expect("it is written"), sums.share());
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
