//! Sweeps over records.
//!
//! * `reverse`: one adjoint vector, the hot loop of gradients; reads records by itself.
//! * `vector`: several adjoint vectors at once (vector mode), side by side for each variable.
//! * `forward`: tangents, and replays: values at other inputs.
//!
//! External functions and launches are records, too: a sweep that comes to one calls back, and `recording::owned` does
//! what is to be done there.

pub(crate) mod forward;
pub(crate) mod reverse;
pub(crate) mod vector;
