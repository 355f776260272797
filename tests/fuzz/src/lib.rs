//! A fuzzer of tapewright.
#![forbid(unsafe_code)]

mod event;
mod functions;
pub mod fuzz;
pub mod generate;
mod host;
mod loops;
mod oracle;
pub mod program;
pub mod random;
mod replay;
mod session;
pub mod shapes;
mod shrink;
mod stages;
pub mod subject;
