//! Derivative rules: one for each function, in its argument and its result.
//!
//! A rule is a type that implements [`Unary`](crate::Unary), [`Binary`](crate::Binary) or [`Ternary`](crate::Ternary):
//! value and partials over every number. `table` lists the functions that users call by name; numbers, variables and
//! kernels make their methods of its rows. `rule` has the macros that define rules, one row each.
//!
//! * `arithmetic`, `selection`, `elementary`: operators, minima and steps, powers, exponentials, angles.
//! * `special`, `tails`, `lambert`: error and gamma functions, tails of the normal distribution, Lambert's W.
//! * `gamma`: the beta function, incomplete gamma and beta functions, by all arguments. `distributions`: quantiles,
//!   Student's and the binomial distribution. `bessel`: Bessel functions of real order.
//! * `curvature`: in which arguments a function is not linear, for sparsity patterns.
//!
//! Rules know numbers, and neither variables nor strategies.

pub mod arithmetic;
pub mod bessel;
mod curvature;
pub(crate) mod distributions;
pub(crate) mod elementary;
pub(crate) mod gamma;
pub mod lambert;
mod rule;
pub mod selection;
pub mod special;
mod table;
pub mod tails;

pub use curvature::{Bend, Curvature, Products};
pub use distributions::{distribution, quantile, student};
pub use elementary::{exponential, hyperbolic, logarithmic, power, trigonometric};
pub use gamma::{gamma_ratio, incomplete_beta, incomplete_gamma};
#[doc(hidden)]
pub use rule::hash_name;
pub use rule::{Function, Operator};
#[doc(hidden)]
pub use table::FUNCTIONS;

/// The path of the rules, with which the names of their types begin.
pub const PATH: &str = module_path!();
