//! Sparse Jacobian and Hessian matrices: patterns, colorings, and matrices whose zeros cost nothing.
//!
//! ```
//! use tapewright::prelude::*;
//! use tapewright::sparse::sparse_jacobian;
//!
//! /// The Laplacian of a function on a line.
//! fn f<S: Strategy>(x: &[Real<S>]) -> Vec<Real<S>> {
//!     (0..x.len())
//!         .map(|i| {
//!             let (left, right) = (i.checked_sub(1).map_or(Real::from(0.0), |i| x[i]), x.get(i + 1));
//!             (left + *right.unwrap_or(&Real::from(0.0)) - 2.0 * x[i]).into()
//!         })
//!         .collect()
//! }
//! let (_, matrix) = sparse_jacobian::<Jacobian>(f, &[1.0; 1000])?;
//! assert_eq!(matrix.pattern().entries(), 2998);
//! assert_eq!(matrix.get(500, 499), Some(1.0));
//! # Ok::<(), tapewright::Error>(())
//! ```

mod coloring;
mod hessian;
mod jacobian;
mod matrix;
mod probe;
mod rows;
mod stars;

pub use crate::pattern::Pattern;
pub use coloring::Coloring;
pub use hessian::{SparseHessian, WithColumns, sparse_hessian};
pub(crate) use jacobian::prefers_forward;
pub use jacobian::{SparseJacobian, sparse_jacobian};
pub use matrix::SparseMatrix;
pub(crate) use probe::weight;
