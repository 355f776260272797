//! TODO

pub(crate) mod table;
pub(crate) mod units;
