//! TODO

pub(crate) mod branches;
pub(crate) mod messages;
pub(crate) mod reuse;
pub(crate) mod singular;
pub(crate) mod statement;
