//! Linear algebra as single entries: products, solutions, determinants, inverses and eigenvalues with rules of their
//! own.
//!
//! An algorithm that is recorded statement by statement leaves n³ records; recorded as an entry it leaves one, and the
//! n² values that its rule needs. The matrix is factorized once, when the entry is recorded. The sweep solves with the
//! same factors, as often as it is run, for each adjoint vector, and so does forward mode.
//!
//! Matrices come from `nalgebra` (feature `nalgebra`) or `faer` (feature `faer`), their entries are
//! [`Closed`](crate::Closed) variables, and the same crate does the work: see [`Matrix`]. Functions that use them say
//! `S: Taping<Value = f64>`, or, for all numbers, `S: Taping<Value: Element>`: see [`Element`]. Passive matrices are
//! constants: a matrix none of whose entries moves is not an input of the entry.
//!
//! [`matmul`] and [`contract`] multiply [views](crate::kernels::View), by the same libraries. They are launches:
//! replays compute them again, and views that do not fit are a panic, as for other launches.
//!
//! ```
//! # #[cfg(feature = "nalgebra")] {
//! use nalgebra::{DMatrix, DVector};
//! use tapewright::{Closed, linalg::Cholesky, prelude::*};
//!
//! /// 2·ln p(r) of a normal distribution, up to a constant: −rᵀ·Σ⁻¹·r − ln det Σ, with one factorization.
//! fn log_density<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
//!     let x = Closed::wrap_slice(x);
//!     let sigma = DMatrix::from_column_slice(2, 2, &x[..4]);
//!     let r = DVector::from_column_slice(&x[4..]);
//!     let factors = Cholesky::new(&sigma).expect("positive definite");
//!     let solved = factors.solve(&r).expect("two rows");
//!     (-r.dot(&solved) - factors.ln_det()).open()
//! }
//!
//! let slope = gradient::<Jacobian>(log_density, &[2.0, 1.0, 1.0, 3.0, 0.5, -0.5]);
//! let by_hand = -2.0 * (3.0 * 0.5 + 0.5) / 5.0; // −2·Σ⁻¹·r
//! assert!((slope[4] - by_hand).abs() < 1e-15);
//! # }
//! ```
//!
//! # Errors and panics
//!
//! Matrices that do not fit, that are singular or not positive definite, or not finite, are an [`Err`](LinalgError).
//! Entries for matrices panic when [`external`](crate::external()) does. A [replay](crate::Tape::replay) at new inputs,
//! and a [program](crate::programs), computes them again, and fails where the matrix is singular or not definite.

mod backend;
mod cholesky;
mod eigen;
mod element;
mod error;
mod functions;
mod libraries;
mod lu;
mod matrix;
mod multiply;
mod numbers;
mod product;
mod solution;
#[cfg(feature = "faer")]
mod sparse;
mod system;
mod views;

pub use backend::{Backend, Block, Factors};
pub use cholesky::Cholesky;
pub use eigen::{symmetric_eigen, symmetric_eigenvalues};
pub use element::Element;
#[cfg(feature = "nalgebra")]
pub(crate) use element::Plain;
pub use error::LinalgError;
pub use functions::{
    Alignment, align, determinant, eigenvalues, least_squares, nearest_orthogonal, nearest_rotation, pseudo_inverse,
    singular_values, symmetric_exp, symmetric_function, symmetric_inverse_sqrt, symmetric_ln, symmetric_sqrt,
};
#[cfg(feature = "faer")]
pub use libraries::Faer;
#[cfg(feature = "nalgebra")]
pub use libraries::Nalgebra;
pub use lu::{Lu, solve};
pub use matrix::Matrix;
pub use product::product;
#[cfg(feature = "faer")]
pub use sparse::{SparseCholesky, SparseLu};
#[cfg(feature = "faer")]
pub use system::SparsePattern;
pub(crate) use system::{Dense, System};
pub use views::{Factor, RightFactor, Transposed, contract, matmul};
