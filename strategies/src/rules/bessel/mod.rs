//! Bessel functions of real order: J, Y, I and K, and the scaled forms of I and K.
//!
//! `functions` has the rules. Values are computed by `series` or along a `contour`, whichever is accurate; `slopes` has
//! the derivatives by the order.

mod contour;
mod functions;
mod series;
mod slopes;

pub use functions::{BesselI, BesselIScaled, BesselJ, BesselK, BesselKScaled, BesselY};
