//! The advisor: what it predicts is what is measured, and what it says is of use.

#[path = "advisor/bytes.rs"]
mod bytes;
