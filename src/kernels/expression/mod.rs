//! TODO

pub(crate) mod functions;
pub(crate) mod term;
pub(crate) mod token;
