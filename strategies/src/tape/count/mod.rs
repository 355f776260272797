//! The size of a recording, counted without recording: what [`Counting`](crate::Counting) is made of.
//!
//! `counters` counts while a program runs, from the same layouts that the tapes use; `counts` is the result, and what
//! each strategy would take for it.

pub(crate) mod counters;
pub(crate) mod counts;
