//! Sweeps over records.
//!
//! * `single`: one adjoint vector, the hot loop of gradients, or one vector of tangents; reads records by itself.
//! * `vector`: several adjoint vectors in one sweep (vector mode), adjacent for each variable.
//! * `rows`: many outputs one after the other, each over the records that it depends on.
//! * `outlined`: sweeps of either kind that leave out what their seeds do not reach.
//! * `forward`: tangents along one or several directions.
//! * `replay`: values at other inputs.
//!
//! External functions and launches are records, too: a sweep that reaches one calls back to `recording::owned`, which
//! runs the rule or the launch.

pub(crate) mod forward;
pub(crate) mod outlined;
pub(crate) mod replay;
pub(crate) mod rows;
pub(crate) mod single;
pub(crate) mod vector;
