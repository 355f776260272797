//! TODO

pub(crate) mod counters;
pub(crate) mod counts;
