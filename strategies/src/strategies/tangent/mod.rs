//! [`Tangent`]: forward mode, which records nothing: each variable carries its derivatives along some directions.
//!
//! `strategy` is the type with its `Taping`, `directions` the tangents of a variable, `sum` the tangent of a
//! statement. `launches` moves tangents through array kernels.

mod directions;
mod launches;
mod strategy;
mod sum;

pub use directions::Directions;
pub use strategy::{Forward, Tangent};
