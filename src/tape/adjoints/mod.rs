//! TODO

pub(crate) mod aligned;
pub(crate) mod several;
pub(crate) mod single;
