//! Jobs of targets: what is to be computed, with operands that have been checked.

use super::bindings::Bindings;
use super::kernel::{BoundKernel, Gather, How};
use super::operands::{Operand, bound};
use super::rows::Rows;
use super::sums::{chunks, total_of_chunks};
use crate::Number;
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::number::simd::planes::Place;
use core::marker::PhantomData;
use smallvec::SmallVec;

/// Values of a kernel, to be computed at all points of a range.
pub struct Evaluation<'a, V: Number> {
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
        Self::of(kernel, grid, memory, in_place)
    }

    /// A job with operands that have been checked.
    pub(super) const fn of(kernel: &'a BoundKernel<V>, grid: &'a Grid, memory: Bindings<V>, in_place: bool) -> Self {
        Self { kernel, grid, memory, in_place, operands: PhantomData }
    }
}

impl<V: Number> Evaluation<'_, V> {
    /// The kernel.
    #[must_use]
    pub const fn kernel(&self) -> &BoundKernel<V> {
        self.kernel
    }

    /// Shape of the views, and range of the points.
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        self.grid
    }

    /// Address of the values of operand `k` from before the launch; null if it is not a view. They are valid during the
    /// job, and as many as the grid has elements; an operand of lower rank has only one for each point of its own
    /// dimensions. For numbers of several parts these are the first parts; other parts
    /// lie [`stride`](Self::stride) behind them, and so on.
    #[must_use]
    pub fn values(&self, k: usize) -> *const V::Part {
        self.memory.values[k].part(0)
    }

    /// Distance between the planes of an array, as a number of parts; 0 for numbers of one part.
    #[must_use]
    pub fn stride(&self) -> isize {
        self.memory.stride()
    }

    /// Address that operand `k` is written to; null if it is not written. It may be that of its values.
    #[must_use]
    pub fn output(&self, k: usize) -> *mut V::Part {
        self.memory.new[k].part(0)
    }

    /// Value of operand `k`, a uniform scalar; 0 if it is a view.
    #[must_use]
    pub const fn scalar(&self, k: usize) -> V {
        self.memory.numbers[k]
    }

    /// Number of chunks in which the points are summed: each row of the range has one for every 4096 points, and one
    /// for the rest. The term at point m of a chunk is added to its partial sum m mod 16, and these are added in pairs,
    /// the last eight to the first eight, and so on.
    #[must_use]
    pub fn chunks(&self) -> usize {
        chunks(&self.grid.range)
    }

    /// Adds the sums of all chunks, in the order of their points, as every target must.
    ///
    /// # Panics
    ///
    /// When there are not as many sums as [`chunks`](Self::chunks).
    #[must_use]
    #[track_caller]
    pub fn total(&self, sums: &[V]) -> V {
        total_of_chunks(&self.grid.range, sums)
    }

    /// Adds the sums of the chunks of each row, in the order of their points.
    ///
    /// # Panics
    ///
    /// When there are not as many sums as [`chunks`](Self::chunks), or not as many totals as rows.
    #[track_caller]
    pub fn row_totals(&self, sums: &[V], totals: &mut [V]) {
        let (rows, range) = (Rows::of(&self.grid.range), &self.grid.range);
        assert!(totals.len() == rows.count(), "a total for each row");
        let each = sums.len() / totals.len().max(1);
        each_row!(range, row => {
            let number = rows.number(row);
            totals[number] = total_of_chunks(&rows.row(row), &sums[number * each..][..each]);
        });
    }
}

/// Adjoints of elements, to be accumulated: for each operand, Σ seed·∂expression/∂element over the points that read the
/// element.
pub struct Accumulation<'a, V: Number> {
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
        // SAFETY: promised by the caller.
        unsafe { Self::of(gather, gather.kernel.plan().reached(grid)) }
    }

    /// # Safety
    ///
    /// The conditions of [`new`](Self::new).
    pub(super) unsafe fn of(gather: &'a Gather<'a, V>, reached: IndexRange) -> Self {
        Self { gather, reached, adjoints: PhantomData }
    }

    /// Kernel, operands and seeds.
    #[must_use]
    pub const fn gather(&self) -> &Gather<'a, V> {
        self.gather
    }

    /// Address of the adjoints of operand `k`, and what becomes of those that are there; `None` if nobody asks for
    /// them.
    #[must_use]
    pub fn adjoints(&self, k: usize) -> Option<Adjoints<V>> {
        let start = self.gather.to[k];
        (!start.is_null()).then(|| Adjoints { start: start.part(0), stride: start.stride(), how: self.gather.how[k] })
    }
}

/// Adjoints of an operand that receive contributions.
#[derive(Clone, Copy, Debug)]
pub struct Adjoints<V: Number> {
    /// Address of the first part of the first one; they are valid during the job, and as many as the grid has elements.
    pub start: *mut V::Part,
    /// Distance between their planes, as a number of parts.
    pub stride: isize,
    /// Treatment of the adjoints that are there.
    pub how: How,
}

/// Accumulations of several launches, to be carried out in this order. At a point each of them reads and writes only
/// the adjoints of the elements there, so that all may be carried out for a part of the range before the next part is
/// begun.
pub struct Accumulations<'a, V: Number> {
    pub(crate) jobs: SmallVec<[Accumulation<'a, V>; 4]>,
    /// Arrays that a job fills and others read or add to, and that nobody needs afterwards.
    pub(crate) passing: SmallVec<[Place<V>; 4]>,
}

impl<'a, V: Number> Accumulations<'a, V> {
    /// Lists jobs of one shape.
    ///
    /// # Panics
    ///
    /// When a job does not go over the complete views, or accumulates adjoints of elements beside a point or of
    /// operands of lower rank, and when the shapes differ.
    pub(crate) fn new(jobs: SmallVec<[Accumulation<'a, V>; 4]>) -> Self {
        for job in &jobs {
            let (plan, grid) = (job.gather.kernel.plan(), &job.gather.grid);
            let is_at_points = plan.is_local() && plan.partials.along == 0;
            assert!(is_at_points && grid.is_all() && *grid == jobs[0].gather.grid, "launches at the same points");
        }
        Self { jobs, passing: SmallVec::new() }
    }

    /// Names an array that nobody needs after the jobs, so that it need not be written.
    ///
    /// # Safety
    ///
    /// The first job that uses the array writes all its elements without reading them.
    pub(crate) unsafe fn pass(&mut self, array: Place<V>) {
        self.passing.push(array);
    }
}

impl<'a, V: Number> IntoIterator for Accumulations<'a, V> {
    type Item = Accumulation<'a, V>;
    type IntoIter = smallvec::IntoIter<[Accumulation<'a, V>; 4]>;
    fn into_iter(self) -> Self::IntoIter {
        self.jobs.into_iter()
    }
}
