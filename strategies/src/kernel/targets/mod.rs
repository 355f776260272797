//! Targets: what runs kernels, behind one interface.
//!
//! A launch checks its operands once and describes what is to be computed as a *job*: an [`Evaluation`], an
//! [`Accumulation`], a [`Propagation`], or a [`Movement`] of elements by indices. A [`Target`] carries jobs out, each
//! over a complete range. The program of a job is data: lists of instructions with constants (`ir`).
//!
//! ```text
//!            ┌──▶ registers    loops compiled for each kernel and instruction set; what views on the host use
//! launch ──▶ target ─▶ interpreter  instruction by instruction, 32 points at a time
//!            └──▶ …            a target of another crate, for which `text` writes the program as source code
//! ```
//!
//! * `target`: the trait [`Target`], and [`Space`], by which the type of a view names a target.
//! * `jobs`: what targets are given. `operands`: operands of launches, and the checks that the jobs rely on.
//! * `bindings`: raw pointers to the operands while a job runs.
//! * `kernel`: a kernel as a value: its program, its constants, and the loops that were compiled for it; and the
//!   arguments of its gather.
//! * `along`: adjoints of operands of lower rank, summed over the dimensions that they do not have.
//! * `adapted`: jobs over packs as jobs over each lane, and jobs on a device as jobs on the host.
//! * `blocks`: divides a range into blocks, the same for any number of threads, and lets threads share parts of other
//!   work. `rows`: the rows of a range. `sums`: the order of additions. `counts`: how many loops and parallel regions a
//!   thread has run.
//! * `transfers`: elements that are moved by indices. `scans`: scans as jobs.
//!
//! Called by `interpreter`, `registers` and `launch`. Nothing here may know of recordings, or of any one target.

pub(crate) mod adapted;
pub(crate) mod along;
pub(crate) mod bindings;
pub(crate) mod blocks;
pub(crate) mod counts;
pub(crate) mod jobs;
pub(crate) mod kernel;
pub(crate) mod operands;
pub(crate) mod rows;
pub(crate) mod scans;
pub(crate) mod sums;
pub(crate) mod target;
pub(crate) mod transfers;

pub use along::Division;
pub use counts::{LoopCounts, counted};
pub use jobs::{Accumulation, Accumulations, Adjoints, Destination, Evaluation, Propagation};
pub use kernel::{BoundKernel, Found, Gather, How, Inputs, Seed};
pub use operands::{KeptOperand, KeptScalar, Operand};
#[doc(hidden)]
pub use scans::Scan;
pub use target::{Space, Target};
pub use transfers::movement::{Moved, Movement, Side};
