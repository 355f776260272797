//! Binomial checkpointing.

use super::planner::{Planner, Splitting};
use super::snapshots::Snapshots;
use super::{Schedule, SlotCounts, binomial, forward_to_plan};

/// The binomial schedule, which advances over the fewest steps that a given number of snapshots allows.
///
/// With c snapshots, including the snapshot of the first state, l steps are reversed with
///
/// r·l − C(c + r, c + 1), where r is the number with C(c + r − 1, c) < l ≤ C(c + r, c),
///
/// steps advanced over ([`Revolve::advances`]), including the forward run, and each step is recorded once, on the same
/// tape. No step is advanced over more than r times. Among the schedules with that cost this schedule stores the fewest
/// snapshots.
///
/// Choose it when the number of steps is known, all snapshots are in memory, and the recording of a step is much larger
/// than a state. Otherwise [`Mixed`](super::Mixed) has fewer steps computed.
///
/// Source: A. Griewank and A. Walther, *Algorithm 799: revolve*, ACM Transactions on Mathematical Software 26 (2000).
///
/// # Examples
///
/// ```
/// use tapewright::schedule::{Action, Revolve, Schedule};
///
/// let advanced = |action| if let Action::Advance { from, to } = action { to - from } else { 0 };
/// let total: usize = Revolve::new(1000, 20).actions().map(advanced).sum();
/// assert_eq!(total, 2747);
/// assert_eq!(Revolve::advances(1000, 20), 2747);
/// ```
#[derive(Clone, Debug)]
pub struct Revolve {
    plan: Planner,
}

impl Revolve {
    /// The schedule for this many steps with this many snapshots, including the snapshot of the first state.
    ///
    /// # Panics
    ///
    /// If `snapshots` is 0.
    #[must_use]
    pub fn new(steps: usize, snapshots: usize) -> Self {
        assert!(snapshots > 0, "a binomial schedule needs one snapshot at least, that of the first state");
        let memory = snapshots.min(steps.saturating_sub(1));
        let most = SlotCounts { memory, disk: 0, tapes: steps.min(1) };
        Self { plan: Planner::new(Splitting::Binomial, steps, 1, Snapshots::in_memory(memory), most) }
    }

    /// Number of steps that the schedule advances over in all, without recordings; `usize::MAX` if there are more than
    /// that.
    ///
    /// # Panics
    ///
    /// If `snapshots` is 0.
    #[must_use]
    pub fn advances(steps: usize, snapshots: usize) -> usize {
        assert!(snapshots > 0, "a binomial schedule needs one snapshot at least, that of the first state");
        usize::try_from(binomial::advances(steps, snapshots)).unwrap_or(usize::MAX)
    }
}

forward_to_plan!(Revolve);
