//! Least-squares problems: residual blocks, their Jacobian matrices, and what goes wrong.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

#[path = "residuals/branches.rs"]
mod branches;
#[path = "residuals/bundle.rs"]
mod bundle;
#[path = "residuals/kinds.rs"]
mod kinds;
#[path = "residuals/losses.rs"]
mod losses;
#[path = "residuals/manifolds.rs"]
mod manifolds;
#[path = "residuals/matrices.rs"]
mod matrices;
#[path = "residuals/recordings.rs"]
mod recordings;
#[path = "residuals/refusals.rs"]
mod refusals;
#[cfg(feature = "threads")]
#[path = "residuals/threads.rs"]
mod threads;
