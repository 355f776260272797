//! Scenarios by subject.

pub mod activity;
pub mod formulas;
pub mod isolation;
pub mod lifetimes;
pub mod memory;
pub mod misuse;
pub mod outputs;
pub mod recordings;
pub mod statements;
pub mod sweeps;
