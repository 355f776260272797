//! Views: arrays whose elements are variables.
//!
//! `view` is the type, `collection` makes it a part of the variables of a stage, and `arrays` converts to and from the
//! crate `ndarray`.

#[cfg(feature = "ndarray")]
pub(crate) mod arrays;
pub(crate) mod collection;
pub(crate) mod view;
