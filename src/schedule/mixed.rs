//! Schedule with slots that hold either a snapshot or the recording of a step.

use super::blocks::advances;
use super::planner::{Planner, Splitting};
use super::snapshots::Snapshots;
use super::{Schedule, SlotCounts, forward_to_plan};

/// The schedule with the fewest step evaluations when a slot holds either a snapshot or the recording of one step.
///
/// In addition to the slots there is one recording, of the step to be swept next, as with [`Revolve`](super::Revolve).
/// In an evaluation a step is advanced over or recorded. With [`Mixed::evaluations`] m(n, s), for n steps from the
/// present state and s free slots,
///
/// * m(n, s) = n if n ≤ s + 1: all steps are recorded;
/// * m(n, s) = min over i of i + m(i, s) + m(n − i, s − 1) otherwise: store the state, advance over i steps, reverse
///   the steps after them, and come back. (To record the first step instead, 1 + m(n − 1, s − 1), is never better
///   then.)
///
/// # The closed form
///
/// m(n, s) − n, as a function of n, is 0 up to n = s + 1 and then consists of blocks. A block (r, k) covers k steps:
/// the first one costs r + 1, each other r. In zone r = 1, 2, … there are C(s − k + r − 1, r − 1) blocks of k steps for
/// k = s, s − 1, …, 1, in this order, and the zone ends at n = C(s + r + 1, s). By induction on n and s: in the
/// recurrence, the blocks (r, k) of m(n − i, s − 1) and the blocks (r − 1, k) of m(i, s), each dearer by 1 a step, are
/// all the blocks (r, k) of m(n, s), except (1, s), which is what the first s + 1 steps of i cost. To fill a given
/// number of steps from a set of blocks, each of which may be left unfinished, it costs least to take the smallest r
/// first, and then the largest k; and a choice of i exists that fills both parts in that order. Which i follows from
/// counting blocks, so a plan needs no table.
///
/// The claim that the recurrence itself cannot be beaten is checked by exhaustive search for small numbers only.
///
/// Choose it when the recording of a step takes about the memory of a state; at 1000 steps and 20 slots it evaluates
/// 2.82 steps for each step, and the binomial schedule 3.75.
///
/// Source of the problem and the recurrence: J. R. Maddison, *Step-based checkpointing with high-level algorithmic
/// differentiation*, Journal of Computational Science 82 (2024). The closed form is ours.
#[derive(Clone, Debug)]
pub struct Mixed {
    plan: Planner,
}

impl Mixed {
    /// The schedule for this many steps with this many slots.
    ///
    /// Slots are counted, not named: at each moment there are at most `slots` snapshots and `slots + 1` recordings, and
    /// `slots + 1` of both together. Snapshots and recordings have separate numbers, each from 0.
    ///
    /// # Panics
    ///
    /// If `slots` is 0.
    #[must_use]
    pub fn new(steps: usize, slots: usize) -> Self {
        assert!(slots > 0, "a mixed schedule needs one slot at least, for the first state");
        let most = match steps.checked_sub(1) {
            Some(others) if others > slots => SlotCounts { memory: slots, disk: 0, tapes: slots + 1 },
            _ => SlotCounts { memory: 0, disk: 0, tapes: steps },
        };
        let slots = slots.min(steps);
        Self { plan: Planner::new(Splitting::Mixed, steps, 1, Snapshots::in_memory(slots), most) }
    }

    /// Number of steps that are evaluated in all, advanced over or recorded; `usize::MAX` if there are more than that.
    ///
    /// # Panics
    ///
    /// If `slots` is 0.
    #[must_use]
    pub fn evaluations(steps: usize, slots: usize) -> usize {
        assert!(slots > 0, "a mixed schedule needs one slot at least, for the first state");
        usize::try_from(steps as u128 + advances(steps, slots.min(steps.max(1)))).unwrap_or(usize::MAX)
    }
}

forward_to_plan!(Mixed);
