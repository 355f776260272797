//! The nodes of expression trees.
//!
//! `node` has leaves and the operations of one and two arguments, `tri` those of three. `descend` passes adjoints from
//! a node to its children; `in_lanes` does it lane by lane, for packs.

pub(crate) mod descend;
pub(crate) mod in_lanes;
pub(crate) mod node;
pub(crate) mod tri;
