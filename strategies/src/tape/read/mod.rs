//! Decoding records.
//!
//! * `cursor`: the one decoder, from the last record to the first or the other way. It has the unsafe code.
//! * `record`: one decoded record. `walk`: visits of all records, among them the report of their bytes.
//! * `steps`: statements that are computed one by one, the first one first, for replays and programs.
//! * `mark`: positions in a recording, and truncation to them. `outline`: which records a sweep may leave out.
//!
//! All code that reads records uses `cursor`, except the reverse sweep with one adjoint vector, and `steps`, which has
//! found them by `cursor`.

pub(crate) mod cursor;
pub(crate) mod mark;
pub(crate) mod outline;
pub(crate) mod record;
pub(crate) mod steps;
pub(crate) mod walk;
