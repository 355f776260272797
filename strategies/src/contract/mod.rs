//! The contract between the engine and strategies.
//!
//! Authors of strategies implement [`Taping`], and [`Reverse`] if the strategy keeps a tape. The other types are what
//! the methods of these two traits take and return. The engine (crate `tapewright`) and the rooms `tape` and
//! `recording` call them.

mod branch;
mod capacity;
mod comparison;
mod flow;
mod fresh;
mod nary;
mod nests;
mod record;
mod reverse;
#[cfg(test)]
pub(crate) use reverse::lane_by_lane;
mod taping;
mod variable;

pub use branch::Branch;
#[doc(hidden)]
pub use branch::is_suspect;
pub use capacity::Capacity;
pub use comparison::Comparison;
pub use flow::{Dependence, Flow};
pub use nary::{Given, Nary};
pub use nests::Nests;
pub(crate) use nests::sealed::Sealed as SealedNests;
pub use record::{EachRecord, Order, RecordKind, RecordView};
pub use reverse::{AtExternal, Replay, Reverse, Spills};
pub use taping::{Expression, Load, Opaque, Sink, Statement, Store, Strategy, Taping, Tree, Twin};
pub use variable::{Taped, Variable};
