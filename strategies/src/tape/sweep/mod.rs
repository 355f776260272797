//! Sweeps over records.
//!
//! * `reverse`: one adjoint vector, the hot loop of gradients; reads records by itself.
//! * `vector`: several adjoint vectors in one sweep (vector mode), adjacent for each variable.
//! * `outlined`: sweeps of either kind that leave out what their seeds do not reach.
//! * `forward`: tangents, and replays: values at other inputs.
//!
//! External functions and launches are records, too: a sweep that reaches one calls back to `recording::owned`, which
//! runs the rule or the launch.

pub(crate) mod forward;
pub(crate) mod outlined;
pub(crate) mod reverse;
pub(crate) mod vector;
