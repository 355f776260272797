//! TODO

pub(crate) mod cursor;
pub(crate) mod mark;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod walk;
