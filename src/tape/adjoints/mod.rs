//! Adjoint vectors, and access to their entries.
//!
//! `single` has the vector of a sweep with one seed, `several` the vectors of vector mode, `aligned` their memory.

pub(crate) mod aligned;
pub(crate) mod several;
pub(crate) mod single;
