//! The target of views on the host.

use super::several::gather_by_parts;
use crate::Number;
use crate::kernel::interpreter::Interpreter;
use crate::kernel::interpreter::points::slopes_of_scalars;
use crate::kernel::ir::access::{AccessSummary, OPERANDS};
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::targets::adapted::lanes::joined;
use crate::kernel::targets::blocks::{each_block, sum_of_blocks};
use crate::kernel::targets::counts::Region;
use crate::kernel::targets::jobs::{Accumulation, Accumulations, Evaluation, Propagation};
use crate::kernel::targets::kernel::{Found, Gather, LaunchLoop};
use crate::kernel::targets::rows::sum_of_rows;
use crate::kernel::targets::target::Target;
use core::array::from_fn;
use smallvec::SmallVec;

/// Loops that were compiled for each kernel, in the SIMD registers and on the threads of the host.
#[derive(Clone, Copy, Debug)]
pub struct Registers;

impl<V: Number> Target<V> for Registers {
    fn values(&self, job: Evaluation<'_, V>) {
        if job.memory.device.is_some() {
            return job.on_host(|job| self.values(job));
        }
        if V::LANES > 1 {
            return job.each_lane(|_, job| self.values(job));
        }
        let LaunchLoop::Values(fill) = job.kernel.table().launch else { wrong_loop() };
        // SAFETY: a job has been checked, and borrows its operands.
        unsafe { fill(job.kernel, job.grid, job.memory, job.in_place) }
    }

    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        if job.memory.device.is_some() {
            return job.on_host(|job| self.sums(job, sums));
        }
        if V::LANES > 1 {
            return sums_of_lanes(job, sums, |job, sums| self.sums(job, sums));
        }
        let LaunchLoop::Sum(sum) = job.kernel.table().launch else { wrong_loop() };
        // SAFETY: a job has been checked, and borrows its operands.
        let all = sum_of_blocks(&job.grid.range, |part| unsafe { sum(job.kernel, job.grid, job.memory, part) });
        sums.copy_from_slice(&all[..sums.len()]);
    }

    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut Buffer<V>) {
        if job.memory.device.is_some() {
            return job.on_host(|job| self.row_sums(job, sums));
        }
        if V::LANES > 1 {
            return sums.change(|sums| sums_of_lanes(job, sums, rows));
        }
        sums.change(|sums| rows(job, sums));
    }

    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>> {
        if job.memory.device.is_some() {
            return job.on_host(|job| self.extremum(job, largest));
        }
        if V::LANES > 1 {
            let mut found: SmallVec<[_; 8]> = SmallVec::new();
            job.each_lane(|_, job| found.push(self.extremum(job, largest)));
            return joined(&found);
        }
        let LaunchLoop::Extremum(find) = job.kernel.table().launch else { wrong_loop() };
        let entered = Region::begin();
        // SAFETY: a job has been checked, and borrows its operands.
        let found = unsafe { find(job.kernel, job.grid, job.memory, largest) };
        entered.end();
        found
    }

    fn gather(&self, job: Accumulation<'_, V>) {
        if job.gather.memory.device.is_some() {
            return job.on_host(|job| self.gather(job));
        }
        if V::LANES > 1 {
            return job.each_lane(|job| self.gather(job));
        }
        let (gather, reached) = (job.gather, &job.reached);
        let (table, plan) = (gather.kernel.table(), gather.kernel.plan());
        if let Some(along) = table.along {
            for k in (0..OPERANDS).filter(|k| AccessSummary::has(plan.partials.along & gather.views, *k)) {
                // SAFETY: a job has been checked, and borrows the adjoints.
                unsafe { along(gather, k) }
            }
        }
        if gather.views & plan.partials.views == 0 {
            return;
        }
        if let Some(singles) = table.singles
            && reached.is_short_row()
        {
            let ([a, b, c, first], entered) = (reached.lo, Region::begin());
            // SAFETY: a job has been checked, and borrows the adjoints.
            unsafe { singles(gather, [a, b, c], first..reached.hi[3]) };
            return entered.end();
        }
        let Some(all) = table.gather else { wrong_loop() };
        // SAFETY: a job has been checked, and borrows the adjoints. Parts are disjoint, and each element's adjoint is
        // written once.
        each_block(reached, 1, |part| unsafe { all(gather, part) });
    }

    fn tangents(&self, job: Propagation<'_, V>) {
        Interpreter.tangents(job);
    }

    fn shares_regions(&self) -> bool {
        V::LANES == 1
    }

    fn gather_several(&self, jobs: Accumulations<'_, V>) {
        match &*jobs.jobs {
            [_, _, ..] if V::LANES == 1 => gather_by_parts(&jobs),
            _ => jobs.into_iter().for_each(|job| self.gather(job)),
        }
    }

    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS] {
        if job.memory.device.is_some() {
            return job.read_on_host(|job| Target::scalars(self, job));
        }
        if V::LANES > 1 {
            let mut lanes: SmallVec<[_; 8]> = SmallVec::new();
            job.each_lane(|_, job| lanes.push(Target::scalars(self, job)));
            return from_fn(|operand| V::from_lanes(|k| lanes[k][operand]));
        }
        let Some(numbers) = job.kernel.table().numbers else { return [V::ZERO; OPERANDS] };
        // SAFETY: the operands of a gather have been checked.
        let sums = unsafe { numbers(job) };
        slopes_of_scalars(job, |k, _| sums[k])
    }
}

/// Sums the expression over each row.
fn rows<V: Number>(job: Evaluation<'_, V>, sums: &mut [V]) {
    let LaunchLoop::Sum(sum) = job.kernel.table().launch else { wrong_loop() };
    let (kernel, grid, memory) = (job.kernel, job.grid, job.memory);
    // SAFETY: a job has been checked, and borrows its operands.
    sum_of_rows(&grid.range, sums, |part| unsafe { sum(kernel, grid, memory, part) });
}

/// Computes sums lane by lane.
fn sums_of_lanes<V: Number>(
    job: Evaluation<'_, V>,
    sums: &mut [V],
    compute: impl Fn(Evaluation<'_, V::Lane>, &mut [V::Lane]),
) {
    let count = sums.len();
    let mut lanes = vec![V::Lane::ZERO; count * V::LANES];
    job.each_lane(|k, job| compute(job, &mut lanes[k * count..][..count]));
    sums.iter_mut().enumerate().for_each(|(at, sum)| *sum = V::from_lanes(|k| lanes[k * count + at]));
}

#[cold]
fn wrong_loop() -> ! {
    unreachable!("a job asks for the loop of its kernel")
}
