//! Reverse-mode automatic differentiation in which the taping strategy is a type parameter.
#![forbid(unsafe_code)]

#[cfg(feature = "conformance")]
pub mod conformance;
mod drivers;
mod error;
mod expr;
mod math;
mod nary;
mod tape;

pub mod prelude;

pub use drivers::{gradient, jacobian, value_and_gradient, vjp};
pub use error::Error;
pub use expr::{Ex, Operand, Real};
pub use math::{Binary, Unary, binary, smooth_max, smooth_min, unary};
pub use nary::{dot, linear_combination, logsumexp, nary, sum};
pub use tape::{Adjoints, Recording, Scope, Tape};
pub use tapewright_strategies as strategies;
pub use tapewright_strategies::{
    Capacity, Float, Jacobian, MemoryReport, MemoryUsage, Nary, Passive, PrimalValue, Reverse, Rule, Statement,
    Strategy, Taping,
};
