//! TODO

pub(crate) mod dual;
mod floats;
pub(crate) mod parts;
pub(crate) mod passed;
pub(crate) mod simd;
pub(crate) mod special;
pub(crate) mod traits;

pub use dual::Dual;
pub use parts::{agreed, bits, by_lanes, by_lanes2, counts, same};
pub(crate) use parts::{all_finite, any_nan};
pub use passed::Passed;
pub use traits::{Binary, Float, Number, Plain, Ternary, Unary, Whole};
