//! Recordings that know their lines.

#[path = "traced/callers.rs"]
mod callers;
#[path = "traced/non_finite.rs"]
mod non_finite;
#[path = "traced/same.rs"]
mod same;
#[path = "traced/silent.rs"]
mod silent;
#[path = "traced/texts.rs"]
mod texts;
