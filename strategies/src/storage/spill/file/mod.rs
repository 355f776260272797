//! TODO

pub(crate) mod checksum;
pub(crate) mod disk;
pub(crate) mod extents;
pub(crate) mod options;
pub(crate) mod scratch;
pub(crate) mod store;
pub(crate) mod stored;
