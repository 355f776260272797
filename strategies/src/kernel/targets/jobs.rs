//! Jobs of targets: what is to be computed, with operands that have been checked.

use super::along::Division;
use super::bindings::Bindings;
use super::kernel::{BoundKernel, Gather, How, Inputs};
use super::operands::{Operand, bind};
use crate::Number;
use crate::kernel::ir::grid::{Grid, IndexRange};
use crate::kernel::memory::device::{Device, DeviceArray};
use crate::number::simd::planes::Place;
use core::marker::PhantomData;
use smallvec::SmallVec;
use std::sync::Arc;

/// Values of a kernel, to be computed at all points of a range.
pub struct Evaluation<'a, V: Number> {
    pub(crate) kernel: &'a BoundKernel<V>,
    pub(crate) grid: &'a Grid,
    pub(crate) memory: &'a Bindings<V>,
    /// True if some operand is written in place, so that no point may be computed twice.
    pub(crate) in_place: bool,
    /// Operands are borrowed, those that are written exclusively; a job stays on its thread.
    operands: PhantomData<(&'a mut [V], *mut V)>,
}

impl<'a, V: Number> Evaluation<'a, V> {
    /// Checks the operands of a launch, and passes what it computes to `carry_out`; the target that is given the job
    /// uses the memory of this device.
    ///
    /// # Panics
    ///
    /// When an operand has another number of elements than the grid, or is read outside its view; when an operand that
    /// is read or written is missing; and when there are too many operands.
    #[inline]
    #[track_caller]
    pub fn with<R>(
        (kernel, grid): (&'a BoundKernel<V>, &'a Grid),
        device: Device,
        operands: impl Iterator<Item = Operand<'a, V>>,
        carry_out: impl FnOnce(Evaluation<'_, V>) -> R,
    ) -> R {
        let mut memory = Bindings::new(grid, device);
        let in_place = bind(kernel.plan(), grid, operands, &mut memory);
        carry_out(Evaluation::of(kernel, grid, &memory, in_place))
    }

    /// A job with operands that have been checked.
    pub(super) const fn of(
        kernel: &'a BoundKernel<V>,
        grid: &'a Grid,
        memory: &'a Bindings<V>,
        in_place: bool,
    ) -> Self {
        Self { kernel, grid, memory, in_place, operands: PhantomData }
    }
}

impl<V: Number> Evaluation<'_, V> {
    /// Kernel, range and values from before the launch.
    #[must_use]
    pub const fn inputs(&self) -> Inputs<'_, V> {
        Inputs::of(self.kernel, self.grid, self.memory)
    }

    /// Address that operand `k` is written to; null if it is not written. It may be that of its values.
    #[must_use]
    pub fn output(&self, k: usize) -> *mut V::Part {
        self.memory.address(self.memory.new[k])
    }

    /// Array on the device of the target that operand `k` is written to; `None` on the host, and if it is not written.
    /// It may be that of its values.
    #[must_use]
    pub fn output_array(&self, k: usize) -> Option<Arc<dyn DeviceArray>> {
        self.memory.array(self.memory.new[k])
    }
}

/// Tangents of a kernel's expressions, to be computed at all points of a range: Σ ∂expression/∂access·tangent over what
/// a point reads. A product with zero is zero.
pub struct Propagation<'a, V: Number> {
    pub(crate) kernel: &'a BoundKernel<V>,
    pub(crate) grid: &'a Grid,
    pub(crate) memory: &'a Bindings<V>,
    /// Tangents of operands, null where all are zero, of uniform scalars, and of operands that are written. Of a launch
    /// that writes none, operand 0 is bound to the tangents of sums of rows.
    pub(crate) tangents: &'a Bindings<V>,
    pub(crate) to: Destination<'a, V>,
    /// The results are borrowed exclusively; a job stays on its thread.
    results: PhantomData<(&'a mut [V], *mut V)>,
}

/// Destination of the tangents of a kernel's expressions.
#[derive(Debug)]
pub enum Destination<'a, V> {
    /// The tangents of the operands that are written, at the points of the range.
    Views,
    /// A sum over the range for each expression.
    Sums(&'a mut [V]),
    /// An array of sums over each row of the range, in order, of the first expression.
    Rows,
}

impl<'a, V: Number> Propagation<'a, V> {
    /// Describes tangents as a job.
    ///
    /// # Safety
    ///
    /// The operands have been checked for this kernel and grid, and what the tangents need is bound; the arrays are
    /// still alive, and nobody else uses those that are written.
    pub(crate) const unsafe fn new(
        (kernel, grid): (&'a BoundKernel<V>, &'a Grid),
        (memory, tangents): (&'a Bindings<V>, &'a Bindings<V>),
        to: Destination<'a, V>,
    ) -> Self {
        Self { kernel, grid, memory, tangents, to, results: PhantomData }
    }

    /// Kernel, range and values from before the launch; those that the tangents do not need are not there.
    #[must_use]
    pub const fn inputs(&self) -> Inputs<'a, V> {
        Inputs::of(self.kernel, self.grid, self.memory)
    }

    /// Address of the values of operand `k` from after the launch; null if the tangents do not need them.
    #[must_use]
    pub fn new_values(&self, k: usize) -> *const V::Part {
        self.memory.address(self.memory.new[k])
    }

    /// Values of operand `k` from after the launch on the device of the target; `None` on the host, and if the tangents
    /// do not need them.
    #[must_use]
    pub fn new_array(&self, k: usize) -> Option<Arc<dyn DeviceArray>> {
        self.memory.array(self.memory.new[k])
    }

    /// Returns true unless the tangents of operand `k` are all zero: then they are no array.
    #[must_use]
    pub const fn moves(&self, k: usize) -> bool {
        !self.tangents.values[k].is_null()
    }

    /// Address of the tangents of operand `k` from before the launch, as many as its values; null if all are zero.
    #[must_use]
    pub fn tangents(&self, k: usize) -> *const V::Part {
        self.tangents.address(self.tangents.values[k])
    }

    /// Tangents of operand `k` from before the launch on the device of the target; `None` on the host, and if all are
    /// zero.
    #[must_use]
    pub fn tangents_array(&self, k: usize) -> Option<Arc<dyn DeviceArray>> {
        self.tangents.array(self.tangents.values[k])
    }

    /// Tangent of operand `k`, a uniform scalar; 0 if it is a view.
    #[must_use]
    pub const fn tangent_of_scalar(&self, k: usize) -> V {
        self.tangents.numbers[k]
    }

    /// Address that the tangents of operand `k` after the launch are written to; null if it is not written. It is never
    /// that of tangents from before. Of operand 0 for [`Destination::Rows`], that of the sums.
    #[must_use]
    pub fn output(&self, k: usize) -> *mut V::Part {
        self.tangents.address(self.tangents.new[k])
    }

    /// Array on the device of the target in the place of [`output`](Self::output); `None` on the host.
    #[must_use]
    pub fn output_array(&self, k: usize) -> Option<Arc<dyn DeviceArray>> {
        self.tangents.array(self.tangents.new[k])
    }

    /// Destination of the tangents.
    #[must_use]
    pub const fn destination(&self) -> &Destination<'a, V> {
        &self.to
    }

    /// Returns the sums that the tangents go to, to be written; none for views and rows.
    #[must_use]
    pub fn into_sums(self) -> &'a mut [V] {
        match self.to {
            Destination::Sums(sums) => sums,
            Destination::Views | Destination::Rows => &mut [],
        }
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

    /// Division of the points for the adjoints of operand `k`, of lower rank. Within a block the points are added one
    /// after the other if the operand lies along the last dimension, else in [chunks](Inputs::chunks).
    #[must_use]
    pub fn division(&self, k: usize) -> Division {
        Division::of(&self.gather.range, self.gather.kernel.plan().leaves.dimensions[k])
    }

    /// Address of the adjoints of operand `k`, and what becomes of those that are there; `None` if nobody asks for
    /// them.
    #[must_use]
    pub fn adjoints(&self, k: usize) -> Option<Adjoints<V>> {
        let (start, memory) = (self.gather.to[k], &self.gather.memory);
        let (array, how) = (memory.array(start), self.gather.how[k]);
        (!start.is_null()).then(|| Adjoints { start: memory.address(start), stride: start.stride(), array, how })
    }
}

/// Adjoints of an operand that receive contributions.
#[derive(Clone, Debug)]
pub struct Adjoints<V: Number> {
    /// Address of the first part of the first one; they are valid during the job, and as many as the values. Null on a
    /// device.
    pub start: *mut V::Part,
    /// The adjoints on the device of the target; `None` on the host.
    pub array: Option<Arc<dyn DeviceArray>>,
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
            assert!(job.gather.memory.device.is_none(), "launches with arrays on a device have regions of their own");
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
