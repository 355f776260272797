//! Programs as source code, for compilers of other devices.
//!
//! * `source`: the source of a kernel, for the engine and for targets. `calls`: the functions of a source that carry
//!   out a job, with their arguments and numbers of work items.
//! * `emitter` writes the functions: values, sums, extrema, the gather of adjoints, the adjoints of uniform scalars and
//!   of operands of lower rank, tangents. `parameters`: their names and parameters. `lines`: lists of instructions.
//!   `array`: arrays that are parameters. `scans`: functions and calls of scans.
//! * `dialect`: the words in which C, OpenCL C and CUDA C differ, and literals. `prelude`: definitions in front of the
//!   kernels. `functions`: the table of functions in C.
//!
//! Called by the engine and by targets of other crates. Nothing here may know how a list is executed.

pub(crate) mod array;
pub(crate) mod calls;
pub(crate) mod dialect;
pub(crate) mod emitter;
pub(crate) mod functions;
pub(crate) mod lines;
pub(crate) mod parameters;
pub(crate) mod prelude;
pub(crate) mod scans;
pub(crate) mod source;

pub use crate::kernel::memory::device::Precision;
pub use array::Array;
pub use calls::{Call, Calls, Purpose};
pub use dialect::Dialect;

pub use source::{NoText, source};
