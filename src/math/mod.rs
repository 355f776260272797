//! Derivative rules: one for each function, in its argument and its result.

mod methods;
mod rules;

pub use methods::{binary, smooth_max, smooth_min, unary};
pub use rules::{Binary, Unary};
pub(crate) use rules::{Function, Operator};
pub(crate) mod arithmetic;
mod beta;
pub(crate) mod exponential;
pub(crate) mod hyperbolic;
pub(crate) mod power;
pub(crate) mod selection;
pub(crate) mod special;
pub(crate) mod trigonometric;
pub(crate) use arithmetic::{Less, Modulo, Negative, Over, Plus, Times};
