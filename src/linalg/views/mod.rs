//! Products of [views](crate::kernels::View), by the same libraries as products of matrices.
//!
//! A view is a matrix row after row, which a [`Block`](super::Block) takes for the transpose of a matrix column after
//! column: nothing is copied. `product` has the rule, and `matmul` of matrices and vectors; `contract` sums products
//! along any two dimensions by the same rule.

mod contract;
mod product;

pub use contract::contract;
pub use product::{Factor, RightFactor, Transposed, matmul};
