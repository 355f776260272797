//! TODO

pub(crate) mod code;
pub(crate) mod code_table;
pub(crate) mod common;
pub(crate) mod entry_points;
pub(crate) mod kind;
pub(crate) mod layout;
pub(crate) mod lengths;
pub(crate) mod operands;
pub(crate) mod partials;
pub(crate) mod variadic;
