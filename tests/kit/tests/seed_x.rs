//! Checkpointing as its seed describes it: stages that are run without recording, and recorded one by one when the
//! sweep gets to them; callbacks and nested recordings, of which such stages can be made by hand.
//!
//! Row X20, schedules, is in `schedules.rs`; the rows on allocations, X3 and X14, are in `nested_allocations.rs`.

#[path = "seed_x/everywhere.rs"]
mod everywhere;

#[path = "seed_x/callbacks.rs"]
mod callbacks;
#[path = "seed_x/levels.rs"]
mod levels;
#[path = "seed_x/lifetimes.rs"]
mod lifetimes;
#[path = "seed_x/nested.rs"]
mod nested;
#[path = "seed_x/repeated_sin.rs"]
mod repeated_sin;
#[path = "seed_x/rules.rs"]
mod rules;
#[path = "seed_x/stages.rs"]
mod stages;
#[path = "seed_x/undeclared.rs"]
mod undeclared;
