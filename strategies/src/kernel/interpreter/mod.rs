//! The interpreter: evaluates programs instruction by instruction, a few points at a time, wherever they read.
//!
//! * `instructions`: executes a list of instructions at up to 32 points.
//! * `points`: values and partial derivatives at points, and the adjoints of elements.
//! * `segments`: tangents at up to 128 points of a row, in SIMD registers, for numbers of one part. `tangents`:
//!   tangents at all points of a range: by segments where reads are inside the views and all is finite, else by points.
//! * `target`: [`Interpreter`], the target that evaluates all points so.
//!
//! Compiled once for each type of number, not for each kernel. Called by `registers` at boundaries, where values are
//! not finite, and for tangents. Nothing here may know of the room `registers`.

pub(crate) mod instructions;
pub(crate) mod points;
mod segments;
mod tangents;
pub(crate) mod target;

pub use target::Interpreter;
