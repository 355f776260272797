//! Number types of values, partial derivatives and adjoints.
//!
//! Tapes compute with a [`Number`]; derivative rules are written over a [`Float`]. This room holds the traits, their
//! implementations for `f64` and `f32`, the struct [`Dual`] and the SIMD registers that kernels run in (`simd`).
//! Numbers that need derivative rules, duals and packs, are implemented in `compound`, above `rules`; numbers that are
//! variables of another recording in `nested`, above recordings.
//!
//! Reading order: `traits`, `floats`, `dual`, then `simd`.

pub(crate) mod dual;
mod floats;
pub(crate) mod parts;
pub(crate) mod simd;
pub(crate) mod special;
pub(crate) mod traits;

pub use dual::Dual;
pub use parts::{agreed, bits, by_lanes, by_lanes2, counts, same};
pub(crate) use parts::{all_finite, parts_are_finite};
pub use traits::{Binary, Float, Number, Passed, Plain, Ternary, Unary, Whole};
