//! Transfers: elements that are moved between arrays by indices.
//!
//! * `selection`: ranges with steps. `indexing`: lists of elements and ranges, and the loops of the host that move
//!   elements by them.
//! * `movement`: a transfer as a job for a target.

pub(crate) mod indexing;
pub(crate) mod movement;
pub(crate) mod selection;
