//! TODO

pub(crate) mod copy;
pub(crate) mod dependencies;
pub(crate) mod entry;
pub(crate) mod extremum;
pub(crate) mod fold;
pub(crate) mod kernel;
pub(crate) mod pointwise;
pub(crate) mod replay;
pub(crate) mod row_sums;
pub(crate) mod slot;
pub(crate) mod sweeps;
