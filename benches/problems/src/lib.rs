//! The workloads on which tapewright is tested, benchmarked and compared.
//!
//! Each is written three times: once generic over [`Taping`], with references; once over plain `f64`; and once as a
//! hand-written adjoint. The three agree to rounding, and at the default sizes the value, the sum and the norm of the
//! gradient agree with those of five C++ tools.

mod burgers;
mod problem;

pub use burgers::Burgers;
pub use problem::{Checksums, Problem};
