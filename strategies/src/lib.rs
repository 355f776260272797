//! Taping strategies for the reverse-mode automatic differentiation library `tapewright`.
//!
//! A *taping strategy* decides what is kept of each statement of a computation so that the computation can later be swept in
//! reverse. This crate holds the contract between the engine and a strategy ([`Taping`], [`Reverse`], [`Statement`]),
//! the arena that records live in, and the strategies themselves:
//!
//! | strategy | what a record keeps | bytes for `a` arguments, `c` `f64` operands, `p` passive arguments |
//! |---|---|---|
//! | [`Passive`] | nothing: plain arithmetic | 0 |
//! | [`Jacobian`] | the distinct partials, computed when the statement is | at most 1 + 12a |
//! | [`PrimalValue`] | the value and the means to recompute the partials | at most 17 + 4a + 8c + 8p |
//! | [`Continuation`] | a closure of its own that propagates adjoints | at most 20 + 12(a + p) |
//!
//! Users depend on `tapewright`, which re-exports all of this; authors of strategies depend on this crate alone and begin
//! at [`Taping`].

pub mod active;
mod arena;
mod continuation;
mod contract;
mod float;
mod identifier;
mod jacobian;
mod memory;
mod passive;
mod primal_value;
mod scratch;
pub mod shape;

pub use arena::{Continuations, Records};
pub use continuation::Continuation;
pub use contract::{
    Capacity, Load, Nary, Policy, Reverse, Rule, Sink, Statement, Store, Strategy, Strict, Taped, Taping, Tree, Twin,
    Variable,
};
pub use float::Float;
pub use identifier::{IndexType, LinearId, TapeNumber};
pub use jacobian::Jacobian;
pub use memory::{MemoryReport, MemoryUsage};
pub use passive::Passive;
pub use primal_value::PrimalValue;
#[doc(hidden)]
pub use scratch::Scratch;
pub use shape::Shape;
pub use {generic_array, num_traits, typenum};
