//! Derivative rules: one for each function, in its argument and its result.

pub mod arithmetic;
pub mod bessel;
mod bessel_contour;
mod bessel_series;
mod bessel_slopes;
mod beta;
mod curvature;
mod beta_bends;
mod beta_bends_of_large;
pub mod distribution;
pub mod exponential;
mod gamma_bends;
pub mod gamma_ratio;
pub mod hyperbolic;
pub mod incomplete_beta;
pub mod incomplete_gamma;
pub mod lambert;
pub mod logarithmic;
pub mod power;
mod quadrature;
pub mod quantile;
mod quantile_of_large;
mod rule;
pub mod selection;
pub mod special;
pub mod student;
mod table;
mod tail;
pub mod tails;
pub mod trigonometric;

pub use curvature::{Bend, Curvature, Products};
#[doc(hidden)]
pub use rule::hash_name;
pub use rule::{Function, Operator};
#[doc(hidden)]
pub use table::FUNCTIONS;

/// The path of the rules, with which the names of their types begin.
pub const PATH: &str = module_path!();
