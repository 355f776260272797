//! The beta function, ratios of gamma functions, and the incomplete gamma and beta functions, with derivatives by every
//! argument.
//!
//! `gamma_ratio`, `incomplete_gamma` and `incomplete_beta` have the rules. Values come from libraries; slopes by a
//! shape are integrals (`quadrature`) or sums without cancellation (`beta`), and `tail` swaps a tail for the other one
//! where that is the smaller. The files named `…bends` have second derivatives by the shapes.

pub(crate) mod beta;
pub(crate) mod beta_bends;
pub(crate) mod beta_bends_of_large;
pub(crate) mod gamma_bends;
pub mod gamma_ratio;
pub mod incomplete_beta;
pub mod incomplete_gamma;
pub(crate) mod quadrature;
pub(crate) mod tail;
