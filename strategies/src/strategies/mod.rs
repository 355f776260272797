//! The strategies, one file each.
//!
//! Every file has the same order: the type, its `Taping`, its `Reverse` if it keeps a tape. The strategies call the
//! writers in `tape`. `tangent` is a room: forward mode moves tangents through launches and non-finite values itself.

mod continuation;
mod counting;
mod hybrid;
mod instructions;
mod jacobian;
mod passive;
mod primal_value;
mod tangent;
mod with_policy;

pub use continuation::Continuation;
pub use counting::Counting;
pub use hybrid::Hybrid;
pub use instructions::Instructions;
pub use jacobian::Jacobian;
pub use passive::Passive;
pub use primal_value::PrimalValue;
pub use tangent::{Directions, Forward, Tangent};
pub use with_policy::{Checked, Subgradient, Traced, WithPolicy};
