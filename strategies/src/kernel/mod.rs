//! Array kernels: an expression that is evaluated at every point of a range, several points at once in SIMD registers,
//! and the loops that gather its adjoints.
//!
//! The engine's `kernels` module builds expressions from closures, and knows which views they belong to; here they run.
//!
//! ```text
//! closure ──▶ ir::expression ──▶ ir::body ──▶ ir::program                        all by compile time
//!             a type              all lists     values, tangents,
//!                                 of operations adjoints by access
//!
//! launch            launch::* ──▶ targets::jobs (checks) ──▶ a target: registers, interpreter, of another crate
//! reverse sweep     launch::* ──▶ targets::jobs          ──▶ the target of the launch
//! forward sweep     launch::* ──▶ targets::jobs          ──▶ the target of the launch
//! replay            launch::* ──▶ as a launch, with the arrays of launch::replay
//! ```
//!
//! Rooms, each importing from those before it only: `ir`, `memory`, `targets`, `interpreter`, `registers`, `launch`;
//! `text`, which writes a program as source code; and `devices`, where source code runs. SIMD registers are in
//! `crate::number::simd`. Read `ir::expression`, `ir::instruction` and `ir::program` first, then `targets::target`,
//! `registers::map` and `registers::program`.
//!
//! Unsafe code is in the loops and in the bindings they read through: the bounds of every access are checked once per
//! launch, and the loops read without further checks. The accesses of an expression are constants of its type, so the
//! traits of expressions are sealed.

#![allow(clippy::needless_range_loop, reason = "loops over the four dimensions index several arrays")]

#[cfg(any(feature = "opencl", feature = "cuda"))]
pub mod devices;
pub(crate) mod host;
pub(crate) mod interpreter;
pub mod ir;
pub mod launch;
pub mod memory;
pub(crate) mod registers;
pub mod targets;
pub mod text;

/// Rules of functions in kernels that are called number by number.
pub mod rule {
    pub use crate::number::simd::rule::{Part, Rule, ScalarRule, ScalarRule3, Slope, TernaryRule};
}

pub use crate::number::simd::dispatch::InstructionSet;
pub use host::Host;
pub use interpreter::Interpreter;
pub(crate) use launch::entry::flow;
pub(crate) use launch::replay::not_kept;
pub(crate) use memory::buffer::Arena;
pub(crate) use memory::version::HeldVersions;
pub use registers::Registers;
pub use targets::{KeptOperand, Operand};
