//! [`Tangent`]: forward mode, which records nothing: each variable carries its derivatives along some directions.
//!
//! `strategy` is the type with its `Taping`, `directions` the tangents of a variable. `non_finite` sums tangents that
//! are infinite or NaN, or belong to several evaluations, and `launches` moves tangents through array kernels.

mod directions;
mod launches;
mod non_finite;
mod strategy;

pub use directions::Directions;
pub use strategy::{Forward, Tangent};
