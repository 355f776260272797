//! The size of a recording, counted without recording: the basis of [`Counting`](crate::Counting).
//!
//! `counters` counts while a program runs, from the same layouts that the tapes use. `counts` holds the counts, and
//! computes the bytes that each strategy would take.

pub(crate) mod counters;
pub(crate) mod counts;
