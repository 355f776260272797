//! TODO

pub(crate) mod bindings;
pub(crate) mod compiled;
pub(crate) mod interpreter;
pub(crate) mod operands;
pub(crate) mod parallel;
pub(crate) mod points;
pub(crate) mod vtable;
