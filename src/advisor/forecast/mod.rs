//! Forecasts of bytes and times from one counted run, and recommendations for a memory budget.
//!
//! `prediction` counts a program and predicts each strategy, with the speed of this machine by `calibration`.
//! `recommend` chooses for a budget, with `plans` of checkpointing where no tape fits.

pub(crate) mod calibration;
pub(crate) mod plans;
pub(crate) mod prediction;
pub(crate) mod recommend;
pub(crate) mod recommendation;
