//! Quantiles of the gamma and beta distributions, and the distribution functions of Student's t and the binomial
//! distribution, by the functions of `gamma`.

pub mod distribution;
pub mod quantile;
pub(crate) mod quantile_of_large;
pub mod student;
