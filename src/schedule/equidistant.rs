//! Schedules with snapshots at equal distances, and with none.

use super::planner::{Planner, Splitting};
use super::snapshots::Snapshots;
use super::{Schedule, SlotCounts, forward_to_plan};

/// A snapshot every `distance` steps; each stretch between two snapshots is recorded completely.
///
/// The run is cut into ⌈steps/distance⌉ stretches. The forward run stores the state before each stretch but the last,
/// which is recorded immediately: its state is in no snapshot, and it is not computed twice. Then stretch after stretch
/// is restored, recorded and swept. Every step is recorded once, and all steps before the last stretch are advanced
/// over once.
///
/// Choose it when there is memory for ⌈steps/distance⌉ − 1 snapshots and `distance` recorded steps. If the recording of
/// a step is p times as large as a state, the total is least for a distance of √(steps/p).
///
/// After a refused store, stretches are reversed by the binomial schedule on the slots that are left; the number of
/// recorded steps does not grow.
#[derive(Clone, Debug)]
pub struct Equidistant {
    plan: Planner,
}

impl Equidistant {
    /// A schedule of this many steps, with a snapshot every `distance` steps.
    ///
    /// # Panics
    ///
    /// If `distance` is 0.
    #[must_use]
    pub fn new(steps: usize, distance: usize) -> Self {
        assert!(distance > 0, "the distance of two snapshots must be one step or more");
        let memory = steps.div_ceil(distance).saturating_sub(1);
        let most = SlotCounts { memory, disk: 0, tapes: distance.min(steps) };
        Self { plan: Planner::new(Splitting::Binomial, steps, distance, Snapshots::in_memory(memory), most) }
    }
}

/// No snapshot: all steps are recorded, then swept.
///
/// No step is computed twice, and all recordings are held simultaneously.
#[derive(Clone, Debug)]
pub struct FullTape {
    plan: Planner,
}

impl FullTape {
    /// The schedule for this many steps.
    #[must_use]
    pub fn new(steps: usize) -> Self {
        Self { plan: Equidistant::new(steps, steps.max(1)).plan }
    }
}

forward_to_plan!(Equidistant FullTape);
