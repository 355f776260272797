//! TODO

pub(crate) mod reader;
pub(crate) mod slab;
pub(crate) mod slab_file;
pub(crate) mod worker;
pub(crate) mod writer;
