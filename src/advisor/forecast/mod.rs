//! TODO

pub(crate) mod calibration;
pub(crate) mod plans;
pub(crate) mod prediction;
pub(crate) mod recommend;
pub(crate) mod recommendation;
