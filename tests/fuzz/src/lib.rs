//! A fuzzer of tapewright.
#![forbid(unsafe_code)]

mod drivers;
mod event;
mod functions;
pub mod fuzz;
pub mod generate;
mod host;
pub mod launches;
mod loops;
mod oracle;
pub mod program;
pub mod programs;
mod replay;
mod session;
#[allow(clippy::eq_op, clippy::needless_borrows_for_generic_args, clippy::neg_multiply, reason = "all forms are tried")]
pub mod shapes;
mod shrink;
mod stages;
mod subject;

pub use oracle::functions::compare_rules;
