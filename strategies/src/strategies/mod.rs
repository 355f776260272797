//! The strategies, one file each.
//!
//! Every file has the same order: the type, its `Taping`, its `Reverse` if it keeps a tape. The strategies call the
//! recorders in `tape`; `directions`, `careful` and `carry` belong to `tangent`.

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
