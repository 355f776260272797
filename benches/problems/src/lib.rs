//! The workloads on which tapewright is tested, benchmarked and compared.
//!
//! Each is written three times: once generic over [`Taping`](tapewright::Taping), with references; once over plain
//! `f64`; and once as a hand-written adjoint. The three agree to rounding. At the default sizes, and for `ADBench`'s
//! own files, the value and the sum and the norm of the gradient agree with those of five C++ tools: see [`Checksums`].
#![forbid(unsafe_code)]
#![allow(clippy::cast_precision_loss, reason = "sizes and counts are far below 2^53")]

mod burgers;
mod error;
mod expsq;
mod gmm;
mod heston;
pub mod kernels;
mod laplacian;
mod libor;
mod lstm;
pub mod objects;
mod problem;
pub mod random;
mod repeated_sin;
mod samples;
mod text;

pub use burgers::{Burgers, Fields};
pub use error::Error;
pub use expsq::ExpSq;
pub use gmm::{Gmm, Prior};
pub use heston::{Heston, Path};
pub use laplacian::Laplacian;
pub use libor::Libor;
pub use lstm::Lstm;
pub use problem::{Checksums, Problem, Workload, total};
pub use repeated_sin::RepeatedSin;
pub use samples::Samples;
