//! TODO

#[cfg(feature = "ndarray")]
pub(crate) mod arrays;
pub(crate) mod collection;
pub(crate) mod view;
