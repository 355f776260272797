//! Nonlinear least squares: residual blocks over parameter blocks, and their derivatives.
//!
//! A problem is written as its residual blocks, each a function of few parameters: the reprojection of one point into
//! one camera, the distance between two poses. Out come residuals, a sparse Jacobian matrix, the gradient and `JᵀJ`, as
//! solvers take them; the library has no solver.
//!
//! * [`Residual`]: a kind of residual block, a function generic over the strategy. [`Datum`]: its data.
//! * [`Problem`]: parameter blocks, some of them constant or on a [`Manifold`], and residual blocks with a [`Loss`].
//! * [`Linearization`]: results at a point. [`NormalMatrix`]: `JᵀJ` by blocks.
//!
//! Jacobian matrices are found by reverse sweeps. With the feature `packs`, one recording holds eight observations of a
//! kind, one in each lane. Observations that take another branch than the first of their eight are computed alone.
//! Matrices and costs have the same bits for any number of threads.

mod batch;
mod error;
mod evaluate;
mod kind;
mod linearization;
mod loss;
mod manifold;
mod normal;
mod problem;
mod residual;
mod room;

pub use error::ResidualError;
pub use linearization::Linearization;
pub use loss::{Cauchy, Huber, Loss, Rho, SoftL1, Trivial, Tukey};
pub use manifold::{Manifold, UnitQuaternion};
pub use normal::{NormalBlock, NormalMatrix};
pub use problem::Problem;
pub use residual::{Datum, Residual, datum};
