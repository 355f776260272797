//! The target of views on the host: loops in SIMD registers, generic in the kernel and in the instruction set, on the
//! threads of the host.
//!
//! * `target`: [`Registers`], the target. It calls the loops through the table of the kernel.
//! * `table`: the compiled loops of one kernel as function pointers, so that their callers are compiled once.
//! * `program`: a list of instructions monomorphized into SIMD code. `cursor`: the position it reads from.
//! * `map` computes values at all points. `sum` adds them, in an order that depends on the range only. `extremum`
//!   searches for the largest or smallest one.
//! * `gather` is the reverse sweep: each element collects the contributions of its readers, so no two threads write to
//!   one element, and no atomic operation is needed. `several` runs the gathers of several launches part by part.
//!
//! Points at boundaries go to the interpreter, unless groups can be masked or read around the ends of the views (see
//! `cursor`), and so do points where a group gave a non-finite value. Called by `launch` through the trait. Everything
//! that is compiled for each kernel of a user is instantiated here: keep it small.

pub(crate) mod along;
pub(crate) mod cursor;
pub(crate) mod extremum;
pub(crate) mod gather;
pub(crate) mod map;
pub(crate) mod program;
pub(crate) mod several;
pub(crate) mod sum;
pub(crate) mod table;
pub(crate) mod target;

pub use target::Registers;
