//! Array kernels: an expression that is evaluated at every point of a range, several points at once in SIMD registers,
//! and the loops that gather its adjoints.
//!
//! The engine's `kernels` module builds expressions from closures, and knows which views they belong to; here they run.
//!
//! ```text
//! closure ──▶ ir::expression ──▶ ir::body ──▶ ir::program ──▶ exec::compiled     all by compile time
//!             a type              all lists     values, tangents,   SIMD code, one
//!                                 of operations adjoints by access  copy per instruction set
//!
//! launch            launch::* ──▶ exec::operands (checks) ──▶ exec::vtable ──▶ loops::map | sum | argmax
//! reverse sweep     launch::* ──▶ loops::gather            ──▶ exec::vtable
//! forward sweep     launch::* ──▶ exec::points (interpreter)
//! replay            launch::* ──▶ as a launch, with the arrays of launch::replay
//! ```
//!
//! Rooms, each importing from those before it only: `ir`, `memory`, `exec`, `loops`, `launch`; and `c_source`, which
//! writes a kernel as C. SIMD registers are in `crate::number::simd`. Read `ir::expression`, `ir::instruction` and
//! `ir::program` first, then `loops::map` and `exec::compiled`.
//!
//! Unsafe code is in the loops and in the bindings they read through: the bounds of every access are checked once per
//! launch, and the loops read without further checks. The accesses of an expression are constants of its type, so the
//! traits of expressions are sealed.

#![allow(clippy::needless_range_loop, reason = "loops over the four dimensions index several arrays")]

pub(crate) mod c_source;
pub(crate) mod exec;
pub mod ir;
pub mod launch;
pub(crate) mod loops;
pub mod memory;

/// Rules of functions in kernels that are called number by number.
pub mod rule {
    pub use crate::number::simd::rule::{Part, Rule, ScalarRule, ScalarRule3, Slope, TernaryRule};
}

pub use crate::number::simd::dispatch::InstructionSet;
pub use c_source::{Table, text};
pub use exec::operands::{KeptOperand, Operand};
pub(crate) use launch::entry::flow;
pub(crate) use launch::replay::not_kept;
pub use loops::map::{run, sum};
pub(crate) use memory::buffer::Arena;
pub(crate) use memory::version::HeldVersions;
