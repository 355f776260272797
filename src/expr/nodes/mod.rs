//! TODO

pub(crate) mod descend;
pub(crate) mod in_lanes;
pub(crate) mod node;
pub(crate) mod tri;
