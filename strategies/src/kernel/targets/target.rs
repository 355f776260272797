//! The trait of targets, and spaces, which name a target in the type of a view.

use super::jobs::{Accumulation, Accumulations, Evaluation};
use super::kernel::{Found, Gather};
use crate::Number;
use crate::kernel::ir::access::OPERANDS;
use core::fmt;

/// What runs kernels: registers of the processor, an interpreter, or compiled source code of another crate.
///
/// Each method carries out a job over a complete range, in whatever order and on as many threads as the target has.
/// Jobs are made by launches, which have checked everything that a job says of its operands, and are passed by value,
/// so that no job is carried out by two threads. A target may pass a job on to another one, such as
/// [`Interpreter`](crate::kernel::Interpreter), which carries out every job of every kernel.
///
/// Results are defined to the last bit for programs without rules: values and adjoints are rounded operation by
/// operation (no fused multiplication and addition), and sums are formed in the groups of
/// [`Evaluation::chunks`].
pub trait Target<V: Number>: fmt::Debug + Send + Sync + 'static {
    /// Computes the expressions at all points of the range, and writes them to their operands.
    fn values(&self, job: Evaluation<'_, V>);

    /// Sums each expression over the range; `sums` has an entry for each expression.
    fn sums(&self, job: Evaluation<'_, V>, sums: &mut [V]);

    /// Sums the expression over each row of the range; `sums` has an entry for each row.
    fn row_sums(&self, job: Evaluation<'_, V>, sums: &mut [V]);

    /// Returns the largest or smallest value of the expression and the first element that has it; `None` without
    /// points. NaN is ignored unless all values are NaN.
    fn extremum(&self, job: Evaluation<'_, V>, largest: bool) -> Option<Found<V>>;

    /// Accumulates Σ seed·∂expression/∂element in the adjoints of the elements. A product with zero is zero.
    fn gather(&self, job: Accumulation<'_, V>);

    /// Returns true if the target can carry out accumulations of several launches in one parallel region, which the
    /// default cannot.
    #[doc(hidden)]
    fn shares_regions(&self) -> bool {
        false
    }

    /// Carries out accumulations of several launches, which the default does one after the other.
    #[doc(hidden)]
    fn gather_several(&self, jobs: Accumulations<'_, V>) {
        jobs.into_iter().for_each(|job| self.gather(job));
    }

    /// Returns true if the target knows seeds that are one value for each row. They are spread to an array otherwise,
    /// which is the default.
    #[doc(hidden)]
    fn knows_row_seeds(&self) -> bool {
        false
    }

    /// Sums the adjoints of uniform scalars, by operand. A product with zero is zero.
    fn scalars(&self, job: &Gather<'_, V>) -> [V; OPERANDS];
}

/// Memory space of a view together with the target that runs its launches, as a type: `View<S, R, M>`.
pub trait Space<V: Number>: 'static {
    /// Returns the target.
    fn target() -> &'static dyn Target<V>;
}
