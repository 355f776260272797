//! Tables of functions, and the functions by name.
//!
//! A line of a table is `name x [y [z]] | f | f_x [f_y [f_z]] | f_xx f_xy …`: the arguments, which are doubles exactly,
//! the value, the first derivatives and the upper triangle of the second ones by rows. `#` begins a comment.
#![forbid(unsafe_code)]

mod rules;
mod table;

pub use rules::{Derivatives, Function, function};
pub use table::{Row, rows};

/// How far a number may be from the one in the table, for a value and first derivatives.
pub const TOLERANCE: f64 = 2e-13;
/// The same for second derivatives.
pub const TOLERANCE_OF_SECOND: f64 = 1e-11;

/// What comes of the result's rounding where it is hardly a number: some of the smallest numbers.
const SMALLEST: f64 = 1e-305;

/// |error| in units of what is allowed: more than 1 is too much. `size` and `conditioning` are the size of the number
/// and the change that a relative change of the arguments by 1 would make to it.
#[must_use]
pub fn excess(found: f64, expected: f64, conditioning: f64, tolerance: f64) -> f64 {
    if found == expected || expected.is_nan() {
        return if expected.is_nan() && !found.is_nan() { f64::INFINITY } else { 0.0 };
    }
    let limit = tolerance * (expected.abs() + conditioning.abs() + SMALLEST);
    let excess = (found - expected).abs() / limit;
    if excess.is_nan() { f64::INFINITY } else { excess }
}
