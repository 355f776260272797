//! Programs as source code, for compilers of other devices.
//!
//! `emitter` writes the lists of a kernel. Called by the engine. Nothing here may know how a list is executed.

pub(crate) mod emitter;

pub use emitter::{Table, text};
