//! Elementary functions of registers of `f64`.
//!
//! They are made of operations that round alike on every instruction set, so that their results have the same bits
//! everywhere. Elements whose arguments are outside the range of a formula are computed by the standard library, so a
//! result does not depend on the other elements of its register.
//!
//! * `pieces`: polynomials, sums of two numbers with twice the digits, and elements beside the range of a formula.
//! * `exponential`: exponential and hyperbolic functions. `logarithm`. `power`: general and whole powers.
//! * `circular`: sine, cosine and tangent. `angle`: their inverse functions. `error`: error functions.
//!
//! Each is inlined into its caller. [`Formula`](super::vector::Formula) makes functions of them that are called.

pub(crate) mod angle;
pub(crate) mod circular;
pub(crate) mod error;
pub(crate) mod exponential;
pub(crate) mod logarithm;
mod pieces;
pub(crate) mod power;
#[cfg(test)]
mod tests;
