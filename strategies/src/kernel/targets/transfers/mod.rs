//! Transfers: elements that are moved between arrays by indices.
//!
//! * `selection`: ranges with steps. `indexing`: lists of elements and ranges, and the loops of the host that move
//!   elements by them.
//! * `sent`: lists on devices.
//! * `movement`: a transfer as a job for a target.

pub(crate) mod indexing;
pub(crate) mod movement;
pub(crate) mod selection;
#[cfg(any(feature = "opencl", feature = "cuda"))]
pub(crate) mod sent;
