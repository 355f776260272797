//! The loops of reverse sweeps: each adjoint element gathers what the points that read it contribute.
//!
//! No two points write to one element, so there is nothing to lock, and an element's adjoint is the same sum in the
//! same order however the elements are shared out.

use crate::Number;
use crate::kernel::exec::bindings::{Bindings, Seeds};
use crate::kernel::exec::operands::{check_needs, check_reads};
use crate::kernel::exec::points::{careful_slope, is_delicate};
use crate::kernel::exec::vtable::{BoundKernel, Gather, How};
use crate::kernel::ir::access::{Access, OPERANDS};
use crate::kernel::ir::grid::{Grid, IndexRange};
use crate::kernel::ir::kernel::KernelInfo;
use crate::kernel::memory::adjoint::Shadow;
use crate::kernel::memory::buffer::Buffer;
use crate::number::all_finite;
use core::ptr;

/// The elements whose adjoints get contributions.
fn reached(plan: &KernelInfo, grid: &Grid) -> IndexRange {
    let mut region = grid.range;
    if plan.partials.beside == 0 {
        return region;
    }
    let shape = grid.shape();
    let repeats = plan.partials.repeats;
    for d in 0..4 {
        let (least, most) = plan.partials.shifts[d];
        // Reads that wrap around can reach the other side.
        let whole = repeats && (least, most) != (0, 0);
        region.lo[d] = if whole { 0 } else { (region.lo[d] + least).max(0) };
        region.hi[d] = if whole { shape[d] } else { (region.hi[d] + most).min(shape[d]) };
    }
    region
}

/// Whether contributions of this kernel can reach every element of views. Without points they reach nothing.
pub(crate) fn reaches_all(plan: &KernelInfo, grid: &Grid) -> bool {
    if grid.range.is_empty() {
        return false;
    }
    let region = reached(plan, grid);
    (0..4).all(|d| region.lo[d] == 0 && region.hi[d] == grid.shape()[d])
}

impl<'a, V: Number> Gather<'a, V> {
    /// Of a kernel with operands that are still to be given.
    pub(crate) fn new(kernel: &'a BoundKernel<V>, grid: &Grid) -> Self {
        Self {
            kernel,
            is_delicate: grid.range.is_short_row() || is_delicate(kernel),
            memory: Bindings::new(grid),
            range: grid.range,
            is_clean: false,
            length: grid.elements(),
            seeds: Seeds::NONE,
            to: [ptr::null_mut(); OPERANDS],
            how: [How::Add; OPERANDS],
        }
    }

    #[track_caller]
    fn fits(&self, buffer: &Buffer<V>) {
        assert_eq!(buffer.len(), self.length, "all views of a launch have one shape");
    }

    /// Where the contributions for operand `k` go.
    ///
    /// # Panics
    ///
    /// When the array has another length than the grid, and when adjoints are to be replaced in place though the
    /// program reads beside the point, or does not write the operand.
    #[track_caller]
    pub(crate) fn add_to(&mut self, k: usize, how: How, buffer: &mut Buffer<V>) {
        self.fits(buffer);
        self.to[k] = buffer.start_mut();
        self.how[k] = how;
        if how == How::InPlace {
            let plan = self.kernel.plan();
            assert!(plan.is_local(), "adjoints are replaced in place where all reads are at the point");
            let output = plan.written.iter().position(|written| *written == k);
            self.seeds.dense[output.expect("it is written")] = self.to[k];
        }
    }

    /// The adjoint of output `k`, unless it is what an operand's contributions replace in place.
    ///
    /// # Panics
    ///
    /// When it has another length than the grid, and when it is no array though that is relied on.
    #[track_caller]
    pub(crate) fn seed(&mut self, k: usize, seed: &Shadow<V>) {
        match seed {
            _ if !self.seeds.dense[k].is_null() => {}
            Shadow::Dense(buffer) => {
                self.fits(buffer);
                self.seeds.dense[k] = buffer.start();
            }
            Shadow::Uniform(seed) => self.seeds.uniform[k] = *seed,
            Shadow::Unset => {}
        }
        let is_dense = !self.seeds.dense[k].is_null();
        assert!(is_dense || !self.kernel.plan().all_dense(), "the seeds of this kernel are arrays");
    }

    /// Adds Σ seed·∂output/∂element to the adjoints of each operand, and returns the adjoints of the numbers that all
    /// points share, 0 for the other operands. Zero times anything is zero.
    ///
    /// # Safety
    ///
    /// The arrays that were given are still there, nobody else uses those that contributions go to, and these are no
    /// seeds unless in place. The grid is the one it was made with.
    ///
    /// # Panics
    ///
    /// When values that the partials need are missing.
    #[track_caller]
    pub(crate) unsafe fn run(&self, grid: &Grid) -> [V; OPERANDS] {
        let plan = self.kernel.plan();
        check_needs(plan, &self.memory);
        check_reads(plan, grid);
        let mut numbers = [V::ZERO; OPERANDS];
        if !grid.range.is_empty() {
            // SAFETY: all that is read or written has as many elements as the grid; the rest is promised by the caller.
            unsafe {
                slopes(self, &mut numbers);
                if self.to.iter().any(|to| !to.is_null()) {
                    self.kernel.gather(self, &reached(plan, grid));
                }
            }
        }
        numbers
    }
}

/// The adjoints of the numbers that all points share.
///
/// # Safety
///
/// `gather` has been checked.
unsafe fn slopes<V: Number>(gather: &Gather<'_, V>, numbers: &mut [V; OPERANDS]) {
    // SAFETY: promised by the caller.
    let Some(sums) = (unsafe { gather.kernel.numbers(gather) }) else { return };
    let scripts = gather.kernel.plan().scripts;
    for (a, (number, sum)) in numbers.iter_mut().zip(sums).enumerate() {
        if let Some(leaf) = scripts.leaf(Access::number(a)) {
            *number = if all_finite(sum) { sum } else { careful_slope(gather, leaf) };
        }
    }
}
