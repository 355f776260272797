//! TODO

pub(crate) mod access;
pub(crate) mod body;
pub(crate) mod builder;
pub(crate) mod differentiate;
pub(crate) mod expression;
pub(crate) mod function;
pub(crate) mod grid;
pub(crate) mod instruction;
pub(crate) mod kernel;
pub(crate) mod listing;
pub(crate) mod program;
