//! Programs as source code, for compilers of other devices.
//!
//! * `emitter` writes the lists of a kernel: values, sums, the gather of adjoints, the adjoints of uniform scalars and
//!   of operands of lower rank.
//! * `dialect`: the words in which C, OpenCL C and CUDA C differ, and literals. `prelude`: definitions in front of the
//!   kernels. `functions`: the table of functions in C.
//! * `source`: the source of a kernel, for the engine and for targets.
//!
//! Called by the engine and by targets of other crates. Nothing here may know how a list is executed.

pub(crate) mod dialect;
pub(crate) mod emitter;
pub(crate) mod functions;
pub(crate) mod prelude;
pub(crate) mod source;

pub use crate::kernel::memory::device::Precision;
pub use dialect::Dialect;
pub use source::{NoText, source};
