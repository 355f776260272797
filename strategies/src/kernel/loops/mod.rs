//! TODO

pub(crate) mod argmax;
pub(crate) mod compile;
pub(crate) mod gather;
pub(crate) mod gather_setup;
pub(crate) mod map;
pub(crate) mod run;
pub(crate) mod sum;
