//! TODO

pub(crate) mod guards;
pub(crate) mod identifiers;
pub(crate) mod recording;
pub(crate) mod resumed;
