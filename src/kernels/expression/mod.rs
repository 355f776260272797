//! Expressions of kernels: what a closure gets, and what it returns.
//!
//! `token` stands for an operand inside the closure, `term` is an expression of tokens, and `functions` says which
//! operation each operator and function becomes.

pub(crate) mod functions;
pub(crate) mod term;
pub(crate) mod token;
