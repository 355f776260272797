//! Binomial checkpointing on two levels.

use super::planner::{Planner, Splitting};
use super::snapshots::Snapshots;
use super::{Action, Revolve, Schedule, SlotCounts, forward_to_plan};

/// The binomial schedule on snapshots in memory and on disk.
///
/// The plan and the number of steps advanced over are the same as for [`Revolve`] with `memory + disk` snapshots. Its
/// snapshots are a stack. The positions of the stack that are written and read most often are in memory, so no other
/// choice of levels for the positions has fewer accesses to the disk. To count the accesses, [`new`](Multistage::new)
/// goes through the plan once.
///
/// Choose it when the snapshots that fit into memory are too few, and reading one from disk takes less time than the
/// steps that it saves.
///
/// After a refused store, the positions that are free are distributed again by the same counts, which are the counts of
/// the plan without refusals. If the first state is refused on disk, it is stored in memory.
///
/// Source: P. Stumm and A. Walther, *Multistage approaches for optimal offline checkpointing*, SIAM Journal on
/// Scientific Computing 31 (2009).
#[derive(Clone, Debug)]
pub struct Multistage {
    plan: Planner,
}

impl Multistage {
    /// The schedule for this many steps with this many snapshots in memory and on disk, including the snapshot of the
    /// first state.
    ///
    /// Takes time in proportion to the number of actions.
    ///
    /// # Panics
    ///
    /// If there is no snapshot.
    #[must_use]
    pub fn new(steps: usize, memory: usize, disk: usize) -> Self {
        let snapshots = memory.saturating_add(disk).min(steps.saturating_sub(1).max(1));
        let mut accesses = vec![0; Revolve::new(steps, snapshots).capacity().memory];
        for action in Revolve::new(steps, snapshots).actions() {
            // In a stack on one level, the slot is the position.
            if let Action::Store { slot, .. } | Action::Restore { slot, .. } = action {
                accesses[slot] += 1;
            }
        }
        let memory = memory.min(accesses.len());
        let most = SlotCounts { memory, disk: accesses.len() - memory, tapes: steps.min(1) };
        Self { plan: Planner::new(Splitting::Binomial, steps, 1, Snapshots::on_two_levels(memory, accesses), most) }
    }
}

forward_to_plan!(Multistage);
