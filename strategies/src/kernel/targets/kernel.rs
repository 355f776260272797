//! Kernels as values. Code that works on these is compiled once instead of once for each kernel.

use super::bindings::{Bindings, Seeds};
use super::operands::{check_needs, check_reads};
use super::rows::Rows;
use super::sums::{chunks, total_of_chunks};
use crate::Number;
use crate::kernel::ir::access::{AccessKind, AccessSummary, LEAVES, Needs, OPERANDS, OUTPUTS, OperandBits};
use crate::kernel::ir::grid::{Grid, IndexRange, each_row};
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::memory::adjoint::Shadow;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::device::{Device, DeviceArray, DeviceMemory};
use crate::kernel::memory::shared::NewArray;
use crate::number::simd::planes::{Place, parts, planes};
use core::any::Any;
use core::array::from_fn;
use core::ops::Range;
use smallvec::SmallVec;
use std::sync::Arc;

/// Captured constants of a kernel.
pub(crate) type Constants<V> = SmallVec<[V; 6]>;

/// A kernel as a value: its program, its captured constants, and the loops that were compiled for it.
#[derive(Clone, Debug)]
pub struct BoundKernel<V: Number> {
    /// Compiled loops; `None` until they are set.
    compiled: Option<&'static KernelTable<V>>,
    pub(crate) constants: Constants<V>,
}

impl<V: Number> Default for BoundKernel<V> {
    fn default() -> Self {
        Self { compiled: None, constants: Constants::new() }
    }
}

pub(crate) type FillIn<V> = unsafe fn(&BoundKernel<V>, &Grid, &Bindings<V>, bool);
pub(crate) type SumIn<V> = unsafe fn(&BoundKernel<V>, &Grid, &Bindings<V>, &IndexRange) -> [V; OUTPUTS];
pub(crate) type FindIn<V> = unsafe fn(&BoundKernel<V>, &Grid, &Bindings<V>, bool) -> Option<Found<V>>;
pub(crate) type GatherIn<V> = unsafe fn(&Gather<'_, V>, &IndexRange);
pub(crate) type SinglesOf<V> = unsafe fn(&Gather<'_, V>, [isize; 3], Range<isize>);
pub(crate) type NumbersOf<V> = unsafe fn(&Gather<'_, V>) -> [V; OPERANDS];
pub(crate) type AlongIn<V> = unsafe fn(&Gather<'_, V>, usize);
pub(crate) type Linear<V> = fn(&[V], &[V; OPERANDS], V) -> [V; LEAVES];

/// An extreme value, and where it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found<V> {
    /// The value.
    pub value: V,
    /// Position among the elements of the views.
    pub element: usize,
}

/// Compiled loop of a launch, by the kind of kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaunchLoop<V: Number> {
    /// Computes the values at all points, possibly in place.
    Values(FillIn<V>),
    /// Sums each expression over a part of the range.
    Sum(SumIn<V>),
    /// Searches for the largest or smallest value.
    Extremum(FindIn<V>),
    /// No launch has a kernel of this kind.
    Nothing,
}

/// Compiled loops of a kernel, for the host.
#[derive(Debug)]
pub(crate) struct KernelTable<V: Number> {
    pub(crate) plan: &'static KernelInfo,
    /// Loop of the launch.
    pub(crate) launch: LaunchLoop<V>,
    /// Gathers the adjoints of the elements in a range.
    pub(crate) gather: Option<GatherIn<V>>,
    /// Gathers the adjoints of a part of a row, for kernels that read operands only at the point itself.
    pub(crate) singles: Option<SinglesOf<V>>,
    /// Sums the adjoints of uniform scalars, by operand, if the kernel has any.
    pub(crate) numbers: Option<NumbersOf<V>>,
    /// Accumulates the adjoints of an operand of lower rank, if the kernel has any.
    pub(crate) along: Option<AlongIn<V>>,
    /// Partial derivatives of a linear kernel times a seed, by access.
    pub(crate) linear: Option<Linear<V>>,
    /// Returns the table of the lanes, a `KernelTable<V::Lane>`, if the number has several. There are no loops over
    /// such numbers: what is computed with them is computed lane by lane.
    pub(crate) lanes: Option<fn() -> &'static dyn Any>,
}

impl<V: Number> KernelTable<V> {
    /// Returns the loops over lanes.
    pub(crate) fn over_lanes(&self) -> &'static KernelTable<V::Lane> {
        self.lanes.and_then(|lanes| lanes().downcast_ref()).expect("a table of numbers with lanes has one of lanes")
    }
}

impl<V: Number> BoundKernel<V> {
    /// Operands that are uniform scalars with a partial derivative, in order.
    pub fn scalars(&self) -> impl Iterator<Item = usize> + use<V> {
        self.plan().scalars()
    }

    /// Operands of lower rank with a partial derivative, in order.
    pub fn along(&self) -> impl Iterator<Item = usize> + use<V> {
        let along = self.plan().partials.along;
        (0..OPERANDS).filter(move |k| AccessSummary::has(along, *k))
    }

    /// Number of expressions.
    #[must_use]
    pub fn expressions(&self) -> usize {
        self.plan().expressions
    }

    /// Sets the compiled loops, and forgets the constants of the kernel that was bound before.
    #[inline(always)]
    pub(crate) fn bind(&mut self, table: &'static KernelTable<V>) {
        self.compiled = Some(table);
        self.constants.clear();
    }

    #[inline(always)]
    pub(crate) fn table(&self) -> &'static KernelTable<V> {
        self.compiled.expect("a kernel has been bound")
    }

    /// Facts about the kernel that are known by compile time.
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    pub fn plan(&self) -> &'static KernelInfo {
        self.table().plan
    }

    /// Returns the partial derivatives for elements of a kernel that is linear in its views, by access, times a seed; 0
    /// for other accesses. `None` if the kernel is not linear.
    pub(crate) fn linear(&self, scalars: &[V; OPERANDS], seed: V) -> Option<[V; LEAVES]> {
        if V::LANES > 1 {
            let lane = |k: usize| self.lane(k).linear(&scalars.map(|scalar| scalar.lane(k)), seed.lane(k));
            let lanes: Option<SmallVec<[_; 8]>> = (0..V::LANES).map(lane).collect();
            return lanes.map(|lanes| from_fn(|n| V::from_lanes(|k| lanes[k][n])));
        }
        self.table().linear.map(|linear| linear(&self.constants, scalars, seed))
    }

    /// Returns true if launches of this kernel search for an extremum.
    pub(crate) fn is_extreme(&self) -> bool {
        match self.table().lanes {
            Some(_) => matches!(self.table().over_lanes().launch, LaunchLoop::Extremum(_)),
            None => matches!(self.table().launch, LaunchLoop::Extremum(_)),
        }
    }

    /// Returns true unless all parts of all partial derivatives for elements are the same ordinary numbers at all
    /// points. Where they are not, a zero seed may meet an infinite or NaN partial derivative, and their product must
    /// be taken as 0.
    fn is_delicate(&self, scalars: &[V; OPERANDS]) -> bool {
        let used = &self.plan().scripts.used;
        let is_read = |leaf: &usize| used.get(*leaf).kind() == AccessKind::Read;
        let is_ordinary =
            |leaf: usize, slopes: &[V; LEAVES]| parts(&slopes[leaf]).iter().all(|part| part.is_ordinary());
        let safe = |slopes| (0..used.len()).filter(is_read).all(|leaf| is_ordinary(leaf, &slopes));
        !self.linear(scalars, V::ONE).is_some_and(safe)
    }

    /// Returns Σ seed·∂/∂element for a reduction whose only partial derivative is the same constant at all points, else
    /// `None`.
    pub(crate) fn constant_slope(&self, seed: V) -> Option<V> {
        let plan = self.plan();
        let one = plan.scripts.used.len() == 1 && plan.partials.views != 0 && plan.is_local();
        let slope = self.linear(&[V::ZERO; OPERANDS], V::ONE).filter(|_| one)?[0];
        Some(if crate::counts(seed, slope) { seed.contribution(slope) } else { V::ZERO })
    }
}

/// Arguments of the gather loops.
pub struct Gather<'a, V: Number> {
    pub(crate) kernel: &'a BoundKernel<V>,
    /// True if a zero seed may meet a non-finite partial derivative; see [`BoundKernel::is_delicate`].
    pub(crate) is_delicate: bool,
    pub(crate) memory: Bindings<V>,
    pub(crate) grid: &'a Grid,
    pub(crate) range: IndexRange,
    /// True if all seeds are 0 outside the range.
    pub(crate) is_clean: bool,
    /// Number of elements of the arrays.
    pub(crate) length: usize,
    pub(crate) seeds: Seeds<V>,
    pub(crate) to: [Place<V>; OPERANDS],
    pub(crate) how: [How; OPERANDS],
    /// Operands that receive contributions.
    pub(crate) views: OperandBits,
    /// Uniform scalars whose adjoints are asked for.
    pub(crate) scalars: OperandBits,
}

// SAFETY: these are addresses and values; whoever runs the loops promises that the addresses may be used.
unsafe impl<V: Number> Sync for Gather<'_, V> {}

/// Inputs of a job: kernel, range, and values of the operands.
#[derive(Clone, Copy)]
pub struct Inputs<'a, V: Number> {
    kernel: &'a BoundKernel<V>,
    grid: &'a Grid,
    memory: &'a Bindings<V>,
}

impl<'a, V: Number> Inputs<'a, V> {
    pub(in crate::kernel) const fn of(kernel: &'a BoundKernel<V>, grid: &'a Grid, memory: &'a Bindings<V>) -> Self {
        Self { kernel, grid, memory }
    }

    /// The kernel.
    #[must_use]
    pub const fn kernel(&self) -> &'a BoundKernel<V> {
        self.kernel
    }

    /// Memory that the arrays of the job are in; `None` on the host.
    #[must_use]
    pub const fn memory(&self) -> Option<&'static dyn DeviceMemory> {
        self.memory.device
    }

    /// Shape of the views, and range of the points.
    #[must_use]
    pub const fn grid(&self) -> &'a Grid {
        self.grid
    }

    /// Address of the values of operand `k` from before the launch; null if it is not a view, or nobody needs them.
    /// Values are valid during the job, and as many as the grid has elements; an operand of lower rank has only one for
    /// each point of its own dimensions. For numbers of several parts these are the first parts; other parts lie
    /// [`stride`](Self::stride) behind them, and so on.
    #[must_use]
    pub fn values(&self, k: usize) -> *const V::Part {
        self.memory.address(self.memory.values[k])
    }

    /// Values of operand `k` from before the launch on the device of the target; `None` on the host, and if it is not a
    /// view, or nobody needs them.
    #[must_use]
    pub fn array(&self, k: usize) -> Option<Arc<dyn DeviceArray>> {
        self.memory.array(self.memory.values[k])
    }

    /// Distance between the planes of the arrays of operand `k`, as a number of parts; 0 for numbers of one part.
    #[must_use]
    pub fn stride(&self, k: usize) -> isize {
        let (values, new) = (self.memory.values[k], self.memory.new[k]);
        if values.is_null() { new.stride() } else { values.stride() }
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

/// Adjoint of an output.
#[derive(Clone, Debug)]
pub enum Seed<V: Number> {
    /// One value for all elements.
    Uniform(V),
    /// A value for each element.
    Dense {
        /// Address of the first part of the first one.
        start: *const V::Part,
        /// Distance between their planes, as a number of parts.
        stride: isize,
    },
    /// A value for each element, on the device of the target.
    Array(Arc<dyn DeviceArray>),
    /// Address of a value for each row of the range, in order: the seeds of sums of rows, whose kernels have one
    /// expression. Only numbers of one part have such seeds.
    Rows(*const V),
    /// A value for each row of the range, in order, on the device of the target.
    RowArray(Arc<dyn DeviceArray>),
}

/// Treatment of the adjoints that an operand has before the gather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Contributions are added to the existing adjoints.
    Add,
    /// Contributions replace the adjoints without reading them. Every element that the gather reaches is written; the
    /// others keep their value.
    Store,
    /// `Store` inside the range of the launch, which overwrites the view there, and `Add` outside.
    Replace,
    /// `Replace`, where the existing adjoints are also the seeds.
    InPlace,
}

impl<'a, V: Number> Gather<'a, V> {
    /// Prepares a gather whose operands are still to be given.
    pub(crate) fn new(kernel: &'a BoundKernel<V>, grid: &'a Grid, device: Device) -> Self {
        Self {
            kernel,
            is_delicate: true,
            memory: Bindings::new(grid, device),
            grid,
            range: grid.range,
            is_clean: false,
            length: grid.elements(),
            seeds: Seeds::NONE,
            to: [Place::NULL; OPERANDS],
            how: [How::Add; OPERANDS],
            views: 0,
            scalars: 0,
        }
    }

    #[track_caller]
    fn fits(&self, buffer: &Buffer<V>) {
        assert_eq!(buffer.len(), self.length, "all views of a launch have one shape");
    }

    /// Sets the array that receives the contributions for operand `k`.
    ///
    /// # Panics
    ///
    /// When the array has another length than the grid, and when adjoints are to be replaced in place though the
    /// program reads at an offset, or does not write the operand.
    #[track_caller]
    pub(crate) fn add_to(&mut self, k: usize, how: How, buffer: &mut NewArray<V>) {
        self.fits(buffer);
        self.to[k] = buffer.place_mut(self.memory.device);
        self.views |= 1 << k;
        self.how[k] = how;
        if how == How::InPlace {
            let plan = self.kernel.plan();
            assert!(plan.is_local(), "adjoints are replaced in place where all reads are at the point");
            let output = plan.written.iter().position(|written| *written == k);
            self.seeds.dense[output.expect("it is written")] = self.to[k];
        }
    }

    /// Sets the array that receives the contributions for operand `k`, of lower rank.
    ///
    /// # Panics
    ///
    /// When the array has another length than the operand.
    #[track_caller]
    pub(crate) fn add_along(&mut self, k: usize, grid: &Grid, buffer: &mut NewArray<V>) {
        assert_eq!(buffer.len(), self.kernel.plan().elements(k, grid), "an adjoint for each element");
        self.to[k] = buffer.place_mut(self.memory.device);
        self.views |= 1 << k;
    }

    /// Sets an adjoint for each row of the range, for a kernel that is summed along the last dimension.
    ///
    /// # Panics
    ///
    /// When there are not as many adjoints as rows, when the partial derivatives belong to elements of other rows, and
    /// when numbers have several parts.
    #[track_caller]
    pub(crate) fn seed_rows(&mut self, rows: &Buffer<V>) {
        let plan = self.kernel.plan();
        assert!(!plan.writes && plan.is_within_rows() && planes::<V>() == 1, "each row has its own adjoint");
        self.seeds.set_rows((rows.place(self.memory.device), rows.len()), &self.range);
    }

    /// Sets the adjoint of output `k`, unless the contributions of an operand replace it in place.
    ///
    /// # Panics
    ///
    /// When the adjoint has another length than the grid, and when it is not an array though the loops rely on one.
    #[track_caller]
    pub(crate) fn seed(&mut self, k: usize, seed: &Shadow<V>) {
        match seed {
            _ if !self.seeds.dense[k].is_null() => {}
            Shadow::Dense(buffer) => {
                self.fits(buffer);
                self.seeds.dense[k] = buffer.place(self.memory.device);
            }
            Shadow::Uniform(seed) => self.seeds.uniform[k] = *seed,
            Shadow::Unset => {}
        }
        let is_dense = !self.seeds.dense[k].is_null();
        assert!(is_dense || !self.kernel.plan().all_dense(), "the seeds of this kernel are arrays");
    }

    /// Kernel, range and values from before the launch; those that the derivatives do not need are not there.
    #[must_use]
    pub const fn inputs(&self) -> Inputs<'_, V> {
        Inputs::of(self.kernel, self.grid, &self.memory)
    }

    /// Address of the values of operand `k` from after the launch; null if the derivatives do not need them.
    #[must_use]
    pub fn new_values(&self, k: usize) -> *const V::Part {
        self.memory.address(self.memory.new[k])
    }

    /// Values of operand `k` from after the launch on the device of the target; `None` on the host, and if the
    /// derivatives do not need them.
    #[must_use]
    pub fn new_array(&self, k: usize) -> Option<Arc<dyn DeviceArray>> {
        self.memory.array(self.memory.new[k])
    }

    /// Returns true if the adjoint of operand `k`, a uniform scalar, is asked for.
    #[must_use]
    pub const fn asks_for_scalar(&self, k: usize) -> bool {
        AccessSummary::has(self.scalars, k)
    }

    /// Operand that output `k` is written to; `None` if there is no such output. A reduction writes none.
    #[must_use]
    pub fn written(&self, k: usize) -> Option<usize> {
        self.kernel.plan().written.get(k).copied()
    }

    /// Adjoint of output `k`; of the result of a reduction, with `k` = 0.
    #[must_use]
    pub fn seed_of(&self, k: usize) -> Seed<V> {
        let (dense, rows) = (self.seeds.dense[k], self.seeds.rows);
        match (self.memory.array(dense), self.memory.array(rows)) {
            (Some(array), _) => Seed::Array(array),
            (None, Some(array)) => Seed::RowArray(array),
            _ if !dense.is_null() => Seed::Dense { start: dense.part(0), stride: dense.stride() },
            _ if !rows.is_null() => Seed::Rows(rows.part(0).cast()),
            _ => Seed::Uniform(self.seeds.uniform[k]),
        }
    }

    /// Returns a copy that stores to arrays cannot alias.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn copied(&self) -> Self {
        Self { ..*self }
    }

    /// Checks everything that the loops rely on, once all operands are given. `spare` is called if a loop reads values
    /// that were not kept, since only derivatives that nobody asks for need them: it returns an array of as many
    /// elements, with any contents.
    ///
    /// # Panics
    ///
    /// When values are missing that the partial derivatives for an operand with adjoints need.
    #[track_caller]
    pub(crate) fn check(&mut self, grid: &Grid, spare: impl FnOnce() -> Place<V>) {
        let plan = self.kernel.plan();
        check_reads(plan, grid);
        let missing = self.memory.missing(plan.all_needs());
        if missing != Needs::NONE {
            self.fill_missing(missing, spare);
        }
        self.is_delicate = grid.range.is_short_row() || self.kernel.is_delicate(&self.memory.numbers);
    }

    /// Replaces missing values, all of which are needed for operands without adjoints only, where a loop reads them.
    #[cold]
    #[track_caller]
    fn fill_missing(&mut self, missing: Needs, spare: impl FnOnce() -> Place<V>) {
        let plan = self.kernel.plan();
        check_needs(plan.needs_kept(self.views | self.scalars), &self.memory);
        let group = |active: OperandBits, all: OperandBits| if active & all == 0 { 0 } else { all };
        let read = plan.needs_of(group(self.views, plan.partials.views) | group(self.scalars, plan.partials.numbers));
        if read.views & missing.views != 0 || read.new & missing.new != 0 {
            self.memory.fill_missing(spare());
        }
    }
}
