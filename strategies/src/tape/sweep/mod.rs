//! TODO

pub(crate) mod forward;
pub(crate) mod prefetch;
pub(crate) mod replay;
pub(crate) mod reverse;
pub(crate) mod vector;
