//! TODO

pub(crate) mod branches;
pub(crate) mod guarded;
pub(crate) mod messages;
pub(crate) mod reuse;
pub(crate) mod statement;
