//! Loops that are reversed by schedules: gradients, costs, and everything that can go wrong.
//!
//! Loops do the same under every strategy: what depends on it is what stands on the tape, and what sweeps leave there.
//! So most tests run under one strategy, and share the functions that make a loop, each of which takes long to compile.

#[path = "time_loops/plans.rs"]
mod plans;

#[path = "time_loops/contradictions.rs"]
mod contradictions;
#[path = "time_loops/costs.rs"]
mod costs;
#[path = "time_loops/disk.rs"]
mod disk;
#[path = "time_loops/edges.rs"]
mod edges;
#[path = "time_loops/faulty_schedules.rs"]
mod faulty_schedules;
#[path = "time_loops/interruptions.rs"]
mod interruptions;
#[path = "time_loops/mutants.rs"]
mod mutants;
#[path = "time_loops/shapes.rs"]
mod shapes;
#[cfg(not(target_os = "linux"))]
#[path = "time_loops/spilled.rs"]
mod spilled;
#[path = "time_loops/states.rs"]
mod states;
