//! The nodes of expression trees.
//!
//! `node` has leaves and the operations of one and two arguments, `tri` the operations of three arguments. `descend`
//! passes seeds from a node to its children; `in_lanes` limits partials to some lanes, for packs.

pub(crate) mod descend;
pub(crate) mod in_lanes;
pub(crate) mod node;
pub(crate) mod tri;
