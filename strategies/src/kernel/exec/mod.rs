//! Execution of programs at points.
//!
//! * `operands`: checks shapes and aliasing once for each launch, then binds operands to memory.
//! * `bindings`: raw pointers to the operands while loops run: all unsafe reads and writes of elements go through them.
//! * `compiled`: a program monomorphised into SIMD code. `interpreter`: the same program, instruction by instruction.
//! * `points`: single points by the interpreter: at boundaries, where a group of points gave a non-finite value, and
//!   along tangents.
//! * `parallel`: divides a range into blocks, the same for any number of threads.
//! * `vtable`: the compiled loops of a kernel as function pointers, so that their callers are compiled once.
//!
//! Called by `loops`. Nothing here may know of recordings.

pub(crate) mod bindings;
pub(crate) mod compiled;
pub(crate) mod interpreter;
pub(crate) mod operands;
pub(crate) mod parallel;
pub(crate) mod points;
pub(crate) mod vtable;
