//! Programs: each scenario gives what it gives alone, whatever the width of blocks, the threads and the branches.
#![allow(clippy::cast_precision_loss, reason = "scenarios are few")]
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels are closures of their operands")]

#[path = "programs/alone.rs"]
mod alone;
#[path = "programs/beside_tapes.rs"]
mod beside_tapes;
#[path = "programs/branches.rs"]
mod branches;
#[path = "programs/calls.rs"]
mod calls;
#[path = "programs/functions.rs"]
mod functions;
#[path = "programs/in_place.rs"]
mod in_place;
#[path = "programs/launches.rs"]
mod launches;
#[path = "programs/options.rs"]
mod options;
#[path = "programs/refusals.rs"]
mod refusals;
#[path = "programs/results.rs"]
mod results;
#[path = "programs/second.rs"]
mod second;
#[path = "programs/special.rs"]
mod special;
