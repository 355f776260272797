//! Taping strategies for the reverse-mode automatic differentiation library `tapewright`.
//!
//! A *taping strategy* decides what is kept of each statement of a computation so that the computation can later be swept in
//! reverse. This crate holds the contract between the engine and a strategy ([`Taping`], [`Reverse`], [`Statement`]),
//! the arena that records live in, and the strategies themselves:
//!
//! | strategy | what a record keeps | bytes for `a` arguments, `c` `f64` operands, `p` passive arguments |
//! |---|---|---|
//! | [`Passive`] | nothing: plain arithmetic | 0 |
//! | [`Tangent`] | nothing: variables carry their derivatives along some directions | 0 |
//! | [`Jacobian`] | the distinct partials, computed when the statement is | at most 1 + 12a |
//! | [`PrimalValue`] | the value and the means to recompute the partials | at most 17 + 4a + 8c + 8p |
//! | [`Hybrid`] | the smaller of the two, by type of statement | at most that of `PrimalValue` |
//! | [`Continuation`] | a closure of its own that propagates adjoints | at most 20 + 12(a + p) |
//!
//! These are the bytes with [`Linear`] indices. With [`Reuse`], statements of all but `Continuation` take 4 more.
//!
//! Users depend on `tapewright`, which re-exports all of this; authors of strategies depend on this crate alone and begin
//! at [`Taping`].

pub mod active;
mod arena;
mod continuation;
mod contract;
mod external;
mod float;
mod hybrid;
mod identifier;
mod jacobian;
pub mod lanes;
mod level;
mod manager;
mod memory;
mod passive;
mod pool;
mod primal_value;
mod refusal;
mod reverse;
mod scratch;
pub mod shape;
mod shared_stack;
mod spill;
mod spilled_stack;
mod tangent;

/// The iterators of a [`SlabStack`].
pub mod slab_stack {
    pub use crate::arena::{Iter, IterMut, Slabs, SlabsMut};
}

pub use arena::{Continuations, InMemory, Layer, Records, Shared, SlabStack, SpillDefaults, Spilled, SystemDefaults};
pub use continuation::Continuation;
pub use contract::{
    Capacity, Comparison, Dependence, Flow, Load, Nary, Policy, Rule, Sink, Statement, Store, Strategy, Strict, Taped,
    Taping, Tree, Twin, Variable,
};
pub use external::{Arrays, Companion, External, Mark, SweepError};
pub use float::Float;
use float::counts;
pub use hybrid::Hybrid;
pub use identifier::{IndexType, LinearId, TapeNumber};
pub use jacobian::Jacobian;
pub use manager::{CountedId, IndexManager, Linear, Reuse};
pub use memory::{MemoryReport, MemoryUsage};
pub use passive::Passive;
pub use primal_value::PrimalValue;
pub use refusal::catch_storage_errors;
pub use reverse::{Replay, Reverse, Spills, Stop};
#[doc(hidden)]
pub use scratch::Scratch;
pub use shape::Shape;
pub use shared_stack::{Locked, Locking, SharedStack, Unlocked};
pub use spill::{ArrayFile, ScratchFile, SpillOptions, SpillUsage, StorageError};
pub use spilled_stack::{SpilledReader, SpilledStack};
pub use tangent::{Directions, Forward, Tangent, Tangents};
pub use {generic_array, num_traits, typenum};
