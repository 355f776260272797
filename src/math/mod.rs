//! Derivative rules: one for each function, in its argument and its result.

mod methods;
mod rules;

pub use methods::{binary, smooth_max, smooth_min, unary};
pub use rules::{Binary, Unary};
pub use rules::{Function, Operator};
pub mod arithmetic;
mod beta;
pub mod exponential;
pub mod hyperbolic;
pub mod power;
pub mod selection;
pub mod special;
pub mod trigonometric;
/// The path of the rules, with which the names of their types begin.
pub(crate) const PATH: &str = module_path!();

pub(crate) use arithmetic::{Less, Modulo, Negative, Over, Plus, Times};
