//! The trait of targets, and spaces, which name a target in the type of a view.

use super::jobs::{Accumulation, Accumulations, Evaluation, Propagation};
use super::kernel::{Found, Gather};
use super::scans::Scan;
use super::transfers::movement::Movement;
use crate::Number;
use crate::kernel::ir::access::OPERANDS;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::device::DeviceMemory;
use core::fmt;

/// Executor of kernels: registers of the processor, an interpreter, or compiled source code of another crate.
///
/// Each method carries out a job over a complete range, in whatever order and on as many threads as the target has.
/// Jobs are made by launches, which have checked everything that a job says of its operands, and are passed by value,
/// so that no job is carried out by two threads. A target may pass a job on to another one, such as
/// [`Interpreter`](crate::kernel::Interpreter), which carries out every job of every kernel.
///
/// Results are defined to the last bit for programs without rules: values and adjoints are rounded operation by
/// operation (no fused multiplication and addition), and sums are formed in the groups of
/// [`Inputs::chunks`](super::kernel::Inputs::chunks).
pub trait Target<V: Number>: fmt::Debug + Send + Sync + 'static {
    /// Returns the memory in which jobs get their arrays; `None` if they get addresses on the host.
    fn memory(&self) -> Option<&'static dyn DeviceMemory> {
        None
    }

    /// Computes the expressions at all points of the range, and writes them to their operands.
    fn values(&self, job: Evaluation<'_, V>);

    /// Sums each expression over the range; `sums` has an entry for each expression.
    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]);

    /// Sums the expression over each row of the range; `sums` has an element for each row, and unspecified contents.
    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut Buffer<V>);

    /// Returns the largest or smallest value of the expression and the first element that has it; `None` without
    /// points. NaN is ignored unless all values are NaN.
    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>>;

    /// Accumulates Σ seed·∂expression/∂element in the adjoints of the elements. A product with zero is zero.
    fn gather(&self, job: Accumulation<'_, V>);

    /// Computes the tangents of the expressions from those of the operands: what forward sweeps need of a launch.
    fn tangents(&self, job: Propagation<'_, V>);

    /// Moves elements between arrays by indices: what `gather`, `scatter` and slices of views do, and their sweeps. The
    /// loops of the host do it unless a target has its own.
    fn transfer(&self, job: Movement<'_, V>) {
        job.carry_out();
    }

    /// Carries out a scan in groups, or a sweep through one, and returns true; or returns false, as the default does:
    /// then the host does it. Called only if the target has a memory.
    #[doc(hidden)]
    fn scan(&self, job: Scan<'_, V>) -> bool {
        let _ = job;
        false
    }

    /// Returns true if the target can carry out accumulations of several launches in one parallel region, which the
    /// default cannot. Launches wait for one another only where it can.
    fn shares_regions(&self) -> bool {
        false
    }

    /// Carries out accumulations of several launches, in this order at each element, which the default does one after
    /// the other.
    fn gather_several(&self, jobs: Accumulations<'_, V>) {
        jobs.into_iter().for_each(|job| self.gather(job));
    }

    /// Sums the adjoints of uniform scalars, by operand. A product with zero is zero.
    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS];
}

/// Memory space of a view together with the target that runs its launches, as a type: `View<S, R, M>`.
#[diagnostic::on_unimplemented(
    message = "views in the space `{Self}` cannot have numbers of the type `{V}`",
    label = "a space for these numbers is needed here",
    note = "devices compute with `f64` and `f32`; duals and packs need the space `Host`: `view.in_space::<Host>()`"
)]
pub trait Space<V: Number>: 'static {
    /// Returns the target.
    fn target() -> &'static dyn Target<V>;
}
