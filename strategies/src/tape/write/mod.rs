//! TODO

pub(crate) mod closures;
pub(crate) mod emit;
pub(crate) mod fast;
pub(crate) mod guard;
pub(crate) mod inputs;
pub(crate) mod policy;
pub(crate) mod slow;
pub(crate) mod variadic;
