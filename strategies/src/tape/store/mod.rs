//! The memory of one recording.
//!
//! * `recording`: [`Records`](crate::tape::Records), the segments of records with their counts; the struct to which all
//!   other rooms of tapes add methods.
//! * `identifiers`: the identifiers in use, and the values of variables.
//! * `steps`: statements in the order in which they were recorded, computed one by one.
//! * `lengths`: the lengths of records, kept for walks from the first to the last.
//! * `prefetch`: hints to the processor's caches, for code that writes or reads records in order.

pub(crate) mod identifiers;
pub(crate) mod lengths;
pub(crate) mod prefetch;
pub(crate) mod recording;
pub(crate) mod steps;
