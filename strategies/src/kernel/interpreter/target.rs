//! The interpreter as a target: all points of all kernels.

use super::points::{careful_sum, fill_anywhere, partials, slopes_of_scalars, some_points, values};
use super::tangents::tangent;
use crate::Number;
use crate::kernel::ir::access::{Access, AccessSummary, OPERANDS, OUTPUTS};
use crate::kernel::ir::grid::IndexRange;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::targets::along::{Slopes, accumulate};
use crate::kernel::targets::bindings::Bindings;
use crate::kernel::targets::blocks::sum_of_blocks;
use crate::kernel::targets::counts::Region;
use crate::kernel::targets::jobs::{Accumulation, Evaluation, Propagation};
use crate::kernel::targets::kernel::{BoundKernel, Found, Gather};
use crate::kernel::targets::rows::sum_of_rows;
use crate::kernel::targets::sums::{Chunk, sum_of_chunks};
use crate::kernel::targets::target::Target;
use crate::number::agreed;

/// The interpreter of instruction lists, on the calling thread: slow, and compiled once for each type of number. Other
/// targets may pass on to it what they do not carry out themselves.
#[derive(Clone, Copy, Debug)]
pub struct Interpreter;

impl<V: Number> Target<V> for Interpreter {
    fn values(&self, job: Evaluation<'_, V>) {
        if job.memory.device.is_some() {
            return job.on_host(|job| self.values(job));
        }
        let entered = Region::begin();
        // SAFETY: a job has been checked, and borrows its operands.
        some_points(&job.grid.range, |points| unsafe { fill_anywhere(job.kernel, job.memory, points) });
        entered.end();
    }

    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]) {
        if job.memory.device.is_some() {
            return job.on_host(|job| self.sums(job, sums));
        }
        let (kernel, memory) = (job.kernel, job.memory);
        let all = sum_of_blocks(&job.grid.range, |part| sum_part(kernel, memory, part));
        sums.copy_from_slice(&all[..sums.len()]);
    }

    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut Buffer<V>) {
        if job.memory.device.is_some() {
            return job.on_host(|job| self.row_sums(job, sums));
        }
        let (kernel, memory) = (job.kernel, job.memory);
        sums.change(|sums| sum_of_rows(&job.grid.range, sums, |part| sum_part(kernel, memory, part)));
    }

    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>> {
        if job.memory.device.is_some() {
            return job.on_host(|job| self.extremum(job, largest));
        }
        let (entered, mut best) = (Region::begin(), None::<Found<V>>);
        some_points(&job.grid.range, |points| {
            values(job.kernel, job.memory, points, |_, found| {
                for (value, point) in found.iter().zip(points) {
                    if best.is_none_or(|best| is_better(largest, *value, best.value)) {
                        let element = job.grid.element(*point);
                        best = Some(Found { value: *value, element });
                    }
                }
            });
        });
        entered.end();
        best
    }

    fn gather(&self, job: Accumulation<'_, V>) {
        if job.gather.memory.device.is_some() {
            return job.on_host(|job| self.gather(job));
        }
        let (gather, plan) = (job.gather, job.gather.kernel.plan());
        for k in (0..OPERANDS).filter(|k| AccessSummary::has(plan.partials.along & gather.views, *k)) {
            let leaf =
                plan.scripts.leaf(Access::along(k, plan.leaves.dimensions[k])).expect("it is a partial derivative");
            // SAFETY: a job has been checked, and borrows the adjoints.
            unsafe { accumulate(gather, k, &Partials { gather, leaf }) }
        }
        if gather.views & plan.partials.views == 0 {
            return;
        }
        let entered = Region::begin();
        // SAFETY: a job has been checked, and borrows the adjoints.
        some_points(&job.reached, |points| unsafe { job.gather.compute(points) });
        entered.end();
    }

    fn tangents(&self, job: Propagation<'_, V>) {
        if job.memory.device.is_some() {
            return job.on_host(tangent);
        }
        tangent(job);
    }

    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS] {
        if job.memory.device.is_some() {
            return job.read_on_host(|job| Target::scalars(self, job));
        }
        slopes_of_scalars(job, |_, leaf| sum_of_blocks(&job.range, |part| sum_partials(job, leaf, part))[0])
    }
}

/// Returns true if `value` is larger, or smaller, than `other`, or `other` is NaN and `value` is not. Panics if the
/// lanes of a pack disagree.
fn is_better<V: Number>(largest: bool, value: V, other: V) -> bool {
    agreed::<V, _>(|k| {
        let (value, other) = (value.lane(k), other.lane(k));
        let is_first = other.as_f64().is_nan() && !value.as_f64().is_nan();
        is_first || if largest { value > other } else { value < other }
    })
}

/// Passes the points of a chunk to `work`, some at a time.
fn points_of(chunk: Chunk, work: impl FnMut(&[[isize; 4]])) {
    let [a, b, c] = chunk.row;
    some_points(&IndexRange { lo: [a, b, c, chunk.from], hi: [a + 1, b + 1, c + 1, chunk.to] }, work);
}

/// Sums the expressions over a part of the range.
fn sum_part<V: Number>(kernel: &BoundKernel<V>, memory: &Bindings<V>, part: &IndexRange) -> [V; OUTPUTS] {
    sum_of_chunks(part, |chunk, put| {
        points_of(chunk, |points| {
            let mut terms = [[V::ZERO; OUTPUTS]; super::instructions::WIDTH];
            values(kernel, memory, points, |k, found| {
                terms.iter_mut().zip(found).for_each(|(terms, value)| terms[k] = *value);
            });
            terms[..points.len()].iter().for_each(|terms| put(*terms));
        });
    })
}

/// Sums the partial derivatives for an access over a part of the range.
fn sum_partials<V: Number>(gather: &Gather<'_, V>, leaf: usize, part: &IndexRange) -> [V; 1] {
    sum_of_chunks(part, |chunk, put| {
        points_of(chunk, |points| {
            let seed = |k: usize, point: [isize; 4]| gather.seeds.at(k, &gather.memory, point);
            partials(gather.kernel, leaf, &gather.memory, seed, points, |found| {
                found.iter().for_each(|term| put([*term]));
            });
        });
    })
}

/// Partial derivatives for an operand of lower rank.
struct Partials<'a, 'g, V: Number> {
    gather: &'a Gather<'g, V>,
    leaf: usize,
}

impl<V: Number> Slopes<V> for Partials<'_, '_, V> {
    fn sum(&self, part: &IndexRange) -> V {
        sum_of_blocks(part, |part| sum_partials(self.gather, self.leaf, part))[0]
    }

    fn add_rows(&self, part: &IndexRange, to: &mut [V]) {
        let gather = self.gather;
        some_points(part, |points| {
            let seed = |k: usize, point: [isize; 4]| gather.seeds.at(k, &gather.memory, point);
            partials(gather.kernel, self.leaf, &gather.memory, seed, points, |found| {
                for (point, term) in points.iter().zip(found) {
                    to[(point[3] - part.lo[3]).unsigned_abs()] += *term;
                }
            });
        });
    }

    fn careful(&self, part: &IndexRange) -> V {
        careful_sum(self.gather, self.leaf, part)
    }
}
