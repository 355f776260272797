//! Loops that are reversed by schedules: gradients, costs, and everything that can go wrong.

#[path = "seed_x/everywhere.rs"]
mod everywhere;
#[path = "../../../strategies/tests/common/files.rs"]
mod files;

#[path = "time_loops/plans.rs"]
mod plans;

#[path = "time_loops/costs.rs"]
mod costs;
#[path = "time_loops/disk.rs"]
mod disk;
#[path = "time_loops/edges.rs"]
mod edges;
#[path = "time_loops/interruptions.rs"]
mod interruptions;
#[path = "time_loops/shapes.rs"]
mod shapes;
#[cfg(not(target_os = "linux"))]
#[path = "../../../strategies/tests/common/skipped.rs"]
mod skipped;
#[path = "time_loops/spilled.rs"]
mod spilled;
