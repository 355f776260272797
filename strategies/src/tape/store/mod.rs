//! The memory of one recording.
//!
//! * `recording`: [`Records`](crate::Records), the segments of records with their counts; the struct that all other
//!   rooms of tapes add methods to.
//! * `identifiers`: which identifiers are in use, and the values beside them.
//! * `prefetch`: hints to the processor's caches, for whoever writes or reads records in order.

pub(crate) mod identifiers;
pub(crate) mod prefetch;
pub(crate) mod recording;
