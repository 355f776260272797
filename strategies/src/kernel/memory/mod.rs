//! TODO

pub(crate) mod adjoint;
pub(crate) mod buffer;
pub(crate) mod cache;
pub(crate) mod pool;
pub(crate) mod tangent;
pub(crate) mod version;
