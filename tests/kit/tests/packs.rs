//! Packs: each lane gives what its evaluation gives alone.

#[path = "packs/drivers.rs"]
mod drivers;
#[path = "packs/functions.rs"]
mod functions;
#[path = "packs/lanes.rs"]
mod lanes;
