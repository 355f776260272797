//! Adjoint vectors, and how their entries are asked for.
//!
//! `single` has the vector of a sweep with one seed, `several` those of vector mode, `aligned` their memory.

pub(crate) mod aligned;
pub(crate) mod several;
pub(crate) mod single;
