//! What a variable's number may be.

mod bytes;
mod dual;
mod dual_number;
mod given;
mod nested;
mod nested_number;
#[allow(clippy::module_inception, reason = "the trait of that name")]
mod number;
#[cfg(feature = "packs")]
mod pack;
mod parts;
mod passed;
mod scalar;
pub(crate) mod special;
#[cfg(feature = "packs")]
mod vector;

pub use dual::Dual;
pub use nested::Nested;
pub use number::{Binary, Float, Number, Plain, Ternary, Unary, Whole};
#[cfg(feature = "packs")]
pub use pack::Pack;
pub use parts::{agreed, bits, by_lanes, by_lanes2, counts, same};
pub(crate) use parts::{all_finite, any_nan};
pub use passed::Passed;
#[cfg(feature = "packs")]
pub use vector::Registered;
