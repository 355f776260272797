//! TODO

pub(crate) mod dependencies;
pub(crate) mod entries;
pub(crate) mod lifecycle;
pub(crate) mod non_finite;
pub(crate) mod replay;
pub(crate) mod sweep;
pub(crate) mod trace;
