//! Nonlinear least squares: residual blocks over parameter blocks, and their derivatives.
//!
//! A problem is written as its residual blocks, each a function of few parameters: the reprojection of one point into
//! one camera, the distance between two poses. Out come residuals, a sparse Jacobian matrix, the gradient and `JᵀJ`, as
//! solvers take them; the library has no solver.
//!
//! * [`Residual`]: a kind of residual block, a function generic over the strategy.
//! * [`Problem`]: parameter blocks, some of them constant or on a [`Manifold`], and residual blocks with a [`Loss`].
//! * [`Linearization`]: results at a point. [`NormalMatrix`]: `JᵀJ` by blocks.
//!
//! A kind is recorded once, as a [program](crate::programs) that computes values and a reverse sweep from each residual
//! for 64 observations at a time. Observations that branch otherwise have a recording of their own; those beyond 16
//! recordings, and kinds that a program refuses, are computed one by one. Matrices and costs have the same bits for any
//! number of threads.

mod batch;
mod error;
mod evaluate;
mod kind;
mod linearization;
mod loss;
mod manifold;
mod normal;
mod piece;
mod problem;

pub use error::ResidualError;
pub use kind::Residual;
pub use linearization::Linearization;
pub use loss::{Cauchy, Huber, Loss, Rho, SoftL1, Trivial, Tukey};
pub use manifold::{Euclidean, Manifold, Product, UnitQuaternion};
pub use normal::{NormalBlock, NormalMatrix};
pub use problem::Problem;
