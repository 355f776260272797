//! Schedule for a run whose length is not known.

use super::binomial::{advances, beta};
use super::planner::Planner;
use super::snapshots::{Snapshot, Snapshots};
use super::{Action, Schedule, SlotCounts};

/// Chooses snapshots while the number of steps is unknown, and reverses by the binomial schedule when it is known.
///
/// The forward run continues, with an [`Action::Advance`] to the step of the next snapshot after the other, until
/// [`end`](Schedule::end) is called, which can be done at any time. With β(c, r) = C(c + r, c) and c snapshots, the
/// snapshots during phase r, which is from β(c, r − 1) to β(c, r) steps, are at the same steps as in a binomial
/// schedule for β(c, r) steps: the second snapshot is at β(c, r − 1), the next ones β(c − 1, r − 1), β(c − 2, r − 1), …
/// further on each. When phase r + 1 begins, the second snapshot belongs at the present state. The snapshots before it
/// are not needed any more then: they are kept as spares, and the latest spare is replaced when a slot is needed.
///
/// At the end, the spares that would cost more as occupied slots than they save are discarded; then each stretch
/// between two snapshots is reversed by the binomial schedule, with all slots that are free at that time.
///
/// # Cost
///
/// Steps 0..n are advanced over in the forward run, the last one too. After it, n steps are reversed with
/// r·n − C(c + r, c + 1) steps advanced over at most ([`Revolve::advances`](super::Revolve::advances)). By induction on
/// c: the stretch before the second snapshot costs advances(β(c, r − 1), c), and the k = n − β(c, r − 1) steps after it
/// at most advances(k, c − 1) ≤ r·k, which add up to that number. Tests find at most 1.3 × the evaluations of the best
/// positions in hindsight for up to 8 snapshots and 700 steps, and 1.06 × on average.
///
/// A store that is refused costs its slot. The other snapshots are not at the steps at which fewer slots would have
/// them, so the bound is not promised any more.
///
/// The idea that snapshots can be reused in this way, without going beyond the optimal number of repetitions, is due to
/// Q. Wang, P. Moin and G. Iaccarino, *Minimal repetition dynamic checkpointing algorithm for unsteady adjoint
/// calculation*, SIAM Journal on Scientific Computing 31 (2009). Their algorithm considers a snapshot after every step;
/// the steps considered here are far fewer.
///
/// # Examples
///
/// ```
/// use tapewright::schedule::{Action, Online, Schedule};
///
/// let mut schedule = Online::new(4);
/// let (mut time, mut swept) = (0, 0);
/// while let Some(action) = schedule.next_action() {
///     match action {
///         Action::Advance { to, .. } if schedule.steps().is_none() => {
///             time = to.min(50); // the loop finds out that there is no step 50
///             if time == 50 {
///                 schedule.end(50);
///             }
///         }
///         Action::Sweep { .. } => swept += 1,
///         _ => {}
///     }
/// }
/// assert_eq!((time, swept), (50, 50));
/// ```
#[derive(Clone, Debug)]
pub struct Online {
    run: Run,
    most: SlotCounts,
}

#[derive(Clone, Debug)]
enum Run {
    Forward(Forward),
    /// Snapshots to be discarded; true if `Turn` is still to come; the plan after it.
    Reverse(Vec<Snapshot>, bool, Planner),
}

#[derive(Clone, Debug)]
struct Forward {
    /// The first state, then the spares, then the snapshots of this phase.
    snapshots: Snapshots,
    spares: usize,
    phase: usize,
    /// Range of the steps that have been computed.
    computed: (usize, usize),
    stored: bool,
    /// True if the present state cannot be stored, because that was refused.
    refused: bool,
}

impl Online {
    /// The schedule with this many snapshots, including the snapshot of the first state.
    ///
    /// # Panics
    ///
    /// If `snapshots` is 0.
    #[must_use]
    pub fn new(snapshots: usize) -> Self {
        assert!(snapshots > 0, "an online schedule needs one snapshot at least, that of the first state");
        let forward = Forward {
            snapshots: Snapshots::in_memory(snapshots),
            spares: 0,
            phase: 1,
            computed: (0, 0),
            stored: false,
            refused: false,
        };
        Self { run: Run::Forward(forward), most: SlotCounts { memory: snapshots, disk: 0, tapes: 1 } }
    }
}

impl Forward {
    fn next_action(&mut self) -> Action {
        self.stored = false;
        let at = self.computed.1;
        if self.snapshots.held().is_empty() {
            return self.store(at);
        }
        let next = self.next_place(at);
        if at < next || self.refused {
            self.refused = false;
            self.computed = (at, next.max(at + 1));
            Action::Advance { from: at, to: self.computed.1 }
        } else if self.snapshots.free() == 0 {
            let spare = self.snapshots.remove(self.spares);
            self.spares -= 1;
            self.computed = (at, at);
            Action::Discard { slot: spare.slot, level: spare.level }
        } else {
            self.store(at)
        }
    }

    fn store(&mut self, at: usize) -> Action {
        let snapshot = self.snapshots.push(at);
        self.stored = true;
        self.computed = (at, at);
        Action::Store { step: at, slot: snapshot.slot, level: snapshot.level }
    }

    /// Step at which the next snapshot is due, which may be the present step or an earlier one. Begins the next phase
    /// if the present one is over.
    fn next_place(&mut self, at: usize) -> usize {
        let slots = self.snapshots.held().len() + self.snapshots.free();
        let needed = self.snapshots.held().len() - self.spares;
        let newest = if needed == 1 { 0 } else { self.snapshots.held().last().map_or(0, |newest| newest.at) };
        if needed < slots {
            return after(newest, slots - needed + 1, self.phase - 1);
        }
        let over = after(newest, 1, self.phase);
        if at < over {
            return over;
        }
        self.spares += needed - 1;
        while beta(slots, self.phase - 1) < at as u128 {
            self.phase += 1;
        }
        if slots == 1 { after(0, 1, self.phase) } else { after(0, slots, self.phase - 1) }
    }

    /// Ends the run after this many steps: discards the snapshots that are not needed, and plans with the others.
    fn reverse(mut self, steps: usize, most: SlotCounts) -> Run {
        let mut needless = Vec::new();
        if self.snapshots.held().last().is_some_and(|newest| newest.at >= steps) {
            needless.extend(self.snapshots.pop());
        }
        if self.spares > 0 {
            let kept = self.spares_worth_keeping(steps);
            needless.extend((kept + 1..=self.spares).rev().map(|place| self.snapshots.remove(place)));
        }
        Run::Reverse(needless, true, Planner::reversing(steps, self.snapshots, most))
    }

    /// Number of spares, counted from the earliest, that make the reversal cheapest if they are kept.
    fn spares_worth_keeping(&self, steps: usize) -> usize {
        let held = self.snapshots.held();
        let slots = held.len() + self.snapshots.free();
        let ends = |place: usize| held.get(place).map_or(steps, |snapshot| snapshot.at);
        let mut before = 0;
        let mut best = (u128::MAX, 0);
        for kept in 0..=self.spares {
            let next = self.spares + 1;
            let stretch = advances(ends(next) - held[kept].at, slots - kept);
            let beyond = (next..held.len()).map(|p| advances(ends(p + 1) - ends(p), slots - kept - (p - self.spares)));
            best = best.min((before + stretch + beyond.sum::<u128>(), kept));
            if kept < self.spares {
                before += advances(held[kept + 1].at - held[kept].at, slots - kept);
            }
        }
        best.1
    }
}

/// The step β(slots, r) steps after this one.
fn after(step: usize, slots: usize, r: usize) -> usize {
    usize::try_from(beta(slots, r)).map_or(usize::MAX, |distance| step.saturating_add(distance))
}

impl Schedule for Online {
    fn next_action(&mut self) -> Option<Action> {
        match &mut self.run {
            Run::Forward(forward) => Some(forward.next_action()),
            Run::Reverse(needless, turn, plan) => needless
                .pop()
                .map(|snapshot| Action::Discard { slot: snapshot.slot, level: snapshot.level })
                .or_else(|| std::mem::take(turn).then_some(Action::Turn))
                .or_else(|| plan.next_action()),
        }
    }

    fn refused(&mut self) {
        match &mut self.run {
            Run::Forward(forward) => {
                assert!(forward.stored, "refused() after an action that is no Store");
                forward.stored = false;
                forward.snapshots.lose_newest();
                forward.refused = !forward.snapshots.held().is_empty();
            }
            Run::Reverse(.., plan) => plan.refused(),
        }
    }

    fn indispensable(&self) -> bool {
        match &self.run {
            Run::Forward(forward) => forward.stored && forward.snapshots.newest_is_last_resort(),
            Run::Reverse(.., plan) => plan.indispensable(),
        }
    }

    fn end(&mut self, steps: usize) {
        let Run::Forward(forward) = &self.run else {
            panic!("end({steps}) of a run that has ended already");
        };
        let (from, to) = forward.computed;
        assert!(
            (from..=to).contains(&steps),
            "end({steps}) of a run of which no fewer than {from} and no more than {to} steps have been computed"
        );
        self.run = forward.clone().reverse(steps, self.most);
    }

    fn steps(&self) -> Option<usize> {
        match &self.run {
            Run::Forward(_) => None,
            Run::Reverse(.., plan) => plan.steps(),
        }
    }

    fn capacity(&self) -> SlotCounts {
        self.most
    }
}
