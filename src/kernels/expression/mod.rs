//! Expressions of kernels: the arguments of a closure, and its results.
//!
//! `token` stands for an operand inside the closure, `term` is an expression of tokens, and `functions` maps each
//! operator and function to an operation.

pub(crate) mod functions;
pub(crate) mod term;
pub(crate) mod token;
