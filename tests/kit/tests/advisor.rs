//! The advisor: what it predicts is what is measured, and what it recommends fits.

#[path = "advisor/budgets.rs"]
mod budgets;
#[path = "advisor/bytes.rs"]
mod bytes;
#[path = "advisor/comparisons.rs"]
mod comparisons;
#[path = "advisor/forward.rs"]
mod forward;
