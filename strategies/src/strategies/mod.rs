//! The strategies, a file each.

mod careful;
mod carry;
mod continuation;
mod counting;
mod directions;
mod hybrid;
mod jacobian;
mod passive;
mod primal_value;
mod tangent;
mod traced;

pub use continuation::Continuation;
pub use counting::Counting;
pub use directions::Directions;
pub use hybrid::Hybrid;
pub use jacobian::Jacobian;
pub use passive::Passive;
pub use primal_value::PrimalValue;
pub use tangent::{Forward, Tangent};
pub use traced::{Traceable, Traced};
