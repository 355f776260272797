//! Taping strategies for the reverse-mode automatic differentiation library `tapewright`.
//!
//! A *taping strategy* decides what is kept of each statement of a computation so that the computation can later be
//! swept in reverse. This crate holds the contract between the engine and a strategy ([`Taping`], [`Reverse`],
//! [`Statement`]), the tapes that records live on, and the strategies themselves:
//!
//! | strategy | what a record keeps | bytes with [`Linear`] indices, for `a` arguments, `c` `f64` operands, `p` passive ones |
//! |---|---|---|
//! | [`Passive`] | nothing: plain arithmetic | 0 |
//! | [`Tangent`] | nothing: variables carry their derivatives along some directions | 0 |
//! | [`Jacobian`] | the distinct partials, computed when the statement is | at most 1 + 12a |
//! | [`PrimalValue`] | the value and the means to recompute the partials | at most 17 + 4a + 8c + 8p |
//! | [`Hybrid`] | the smaller of the two, by type of statement | at most `PrimalValue`'s |
//! | [`Continuation`] | a closure of its own that propagates adjoints | at most 8 + 12(a + p) |
//!
//! With [`Reuse`], statements take 4 bytes more.
//!
//! Users depend on `tapewright`, which re-exports all of this; authors of strategies depend on this crate alone and
//! begin at [`Taping`].
#![cfg_attr(docsrs, feature(doc_cfg))]

mod compound;
pub mod contract;
mod error;
pub mod external;
pub mod identifier;
pub mod kernel;
mod level;
mod manager;
mod memory;
mod nested;
mod number;
mod outline;
pub mod policy;
mod pool;
#[doc(hidden)]
pub mod program;
pub mod recording;
mod rows;
pub mod rules;
mod scratch;
pub mod shape;
pub mod singular;
pub mod storage;
mod strategies;
pub mod tape;

pub use compound::InRegisters;
#[cfg(feature = "packs")]
pub use compound::{Pack, Registered};
#[doc(inline)]
pub use contract::{Capacity, Expression, Nary, Nests, Replay, Reverse, Spills, Statement, Strategy, Taping};
pub use error::SweepError;
#[doc(inline)]
pub use external::External;
pub use manager::{CountedId, IndexManager, Linear, Reuse};
pub use memory::{MemoryReport, MemoryUsage};
pub use nested::Nested;
pub use number::{Binary, Dual, Float, Number, Plain, Ternary, Unary};
#[doc(hidden)]
pub use number::{Passed, Whole, agreed, bits, by_lanes, by_lanes2, counts, same};
#[doc(hidden)]
pub use outline::{Entries, Outline, Passes, Touched};
pub use rows::{DoneRows, IsUntouched, RowGroup, RowGroups, RowSweep, untouched};
#[doc(hidden)]
pub use scratch::{Scratch, with_row};
#[doc(inline)]
pub use storage::{InMemory, Shared, Spilled};
pub use strategies::{
    Checked, Continuation, Counting, Directions, Forward, Hybrid, Instructions, Jacobian, Passive, PrimalValue,
    Subgradient, Tangent, Traced, WithPolicy,
};
pub use {generic_array, num_traits, typenum};
