//! State of a driver at a point of a plan, and a check of the actions that are possible there.

use crate::checkpoint::snapshots::Slots;
use crate::schedule::{Action, Level, Schedule, SlotCounts};

/// Checks a plan, action by action. A plan that ends without an error has swept each step once, the last step first,
/// each from a recording of that step at its own state.
///
/// Checking an action takes constant time.
#[cfg_attr(test, derive(Clone))]
pub(super) struct Ledger {
    /// Step that starts from the present state.
    at: usize,
    /// The number of steps, once it is known.
    steps: Option<usize>,
    /// Number of steps that are still to be swept, which are the first ones; `None` before the turn.
    left: Option<usize>,
    capacity: SlotCounts,
    /// Step that starts from the state in each slot: of memory, and of the disk.
    snapshots: [Slots<usize>; 2],
    /// Step that is recorded on each tape.
    tapes: Slots<usize>,
}

/// Result of a check, with the reason if the action is not possible.
type Verdict = Result<(), String>;

fn unless(wrong: bool, why: impl FnOnce() -> String) -> Verdict {
    if wrong { Err(why()) } else { Ok(()) }
}

impl Ledger {
    /// Start of a plan for a loop whose number of steps may be known from an earlier run.
    pub(super) fn new(schedule: &dyn Schedule, earlier: Option<usize>) -> Self {
        let known = schedule.steps();
        Self {
            at: 0,
            steps: if known.is_some() && earlier.is_some() { earlier } else { known },
            left: None,
            capacity: schedule.capacity(),
            snapshots: Default::default(),
            tapes: Slots::default(),
        }
    }

    /// The number of steps, once it is known.
    pub(super) const fn steps(&self) -> Option<usize> {
        self.steps
    }

    /// Checks that the plan may continue with this action, or end if it is `None`. `steps` is the schedule's own number
    /// of steps.
    pub(super) fn check(&self, action: Option<Action>, steps: Option<usize>) -> Verdict {
        unless(steps != self.steps, || format!("`steps()` is {steps:?}, and has to be {:?}", self.steps))?;
        match action {
            Some(Action::Store { step, slot, level }) => self.can_store(step, slot, level),
            Some(Action::Restore { step, slot, level }) => match self.snapshots[level as usize].get(&slot) {
                Some(kept) => unless(*kept != step, || holds_state(*kept)),
                None => Err(String::from("the slot is empty")),
            },
            Some(Action::Discard { slot, level }) => {
                unless(!self.snapshots[level as usize].contains_key(&slot), || String::from("the slot is empty"))
            }
            Some(Action::Advance { from, to }) => {
                self.is_here(from)?;
                unless(to < from, || String::from("it goes backwards"))?;
                self.is_ahead(to)
            }
            Some(Action::Record { step, tape }) => self.can_record(step, tape),
            Some(Action::Turn) => self.can_turn(),
            Some(Action::Sweep { step, tape }) => self.can_sweep(step, tape),
            None => self.can_end(),
        }
    }

    fn can_store(&self, step: usize, slot: usize, level: Level) -> Verdict {
        self.is_here(step)?;
        let (slots, field) = match level {
            Level::Memory => (self.capacity.memory, "memory"),
            Level::Disk => (self.capacity.disk, "disk"),
        };
        unless(slot >= slots, || format!("`capacity().{field}` is {slots}"))?;
        self.snapshots[level as usize].get(&slot).map_or(Ok(()), |kept| Err(holds_state(*kept)))
    }

    fn can_record(&self, step: usize, tape: usize) -> Verdict {
        self.is_here(step)?;
        self.is_ahead(step.saturating_add(1))?;
        let tapes = self.capacity.tapes;
        unless(tape >= tapes, || format!("`capacity().tapes` is {tapes}"))?;
        self.tapes.get(&tape).map_or(Ok(()), |kept| Err(holds_step(*kept)))
    }

    fn can_turn(&self) -> Verdict {
        unless(self.left.is_some(), || String::from("the turn was before"))?;
        let steps = self.steps.ok_or("the number of steps is not known")?;
        unless(self.at != steps, || format!("the present state is that before step {}, of {steps} steps", self.at))
    }

    fn can_sweep(&self, step: usize, tape: usize) -> Verdict {
        let left = self.left.ok_or("the turn has not been")?;
        let next = left.checked_sub(1).ok_or("all steps have been swept")?;
        unless(step != next, || format!("the step to be swept now is {next}"))?;
        match self.tapes.get(&tape) {
            Some(kept) => unless(*kept != step, || holds_step(*kept)),
            None => Err(String::from("the tape is empty")),
        }
    }

    fn can_end(&self) -> Verdict {
        let left = self.left.ok_or("the turn has not been")?;
        unless(left > 0, || format!("step {} has not been swept", left - 1))?;
        let snapshots = self.snapshots.iter().map(Slots::len).sum::<usize>();
        unless(snapshots > 0, || format!("snapshots that have not been discarded: {snapshots}"))?;
        unless(!self.tapes.is_empty(), || format!("recorded steps that have not been swept: {}", self.tapes.len()))
    }

    fn is_here(&self, step: usize) -> Verdict {
        unless(step != self.at, || format!("the present state is that before step {}", self.at))
    }

    /// Checks that the plan may compute all steps before `end`.
    fn is_ahead(&self, end: usize) -> Verdict {
        match (self.left, self.steps) {
            (Some(left), _) => unless(end > left, || format!("only the steps before {left} are still to be swept")),
            (None, Some(steps)) => unless(end > steps, || format!("the loop has {steps} steps")),
            (None, None) => Ok(()),
        }
    }

    /// Notes that an action, which has been checked, was carried out.
    pub(super) fn done(&mut self, action: Action) {
        match action {
            Action::Store { step, slot, level } => drop(self.snapshots[level as usize].insert(slot, step)),
            Action::Restore { step, .. } => self.at = step,
            Action::Discard { slot, level } => drop(self.snapshots[level as usize].remove(&slot)),
            Action::Advance { to, .. } => self.at = to,
            Action::Record { step, tape } => {
                self.tapes.insert(tape, step);
                self.at = step + 1;
            }
            Action::Turn => self.left = self.steps,
            Action::Sweep { step, tape } => {
                self.tapes.remove(&tape);
                self.left = Some(step);
            }
        }
    }

    /// Notes that the loop has ended with the state before `step`; `steps` is the number that the schedule gives after
    /// it has been told.
    pub(super) fn end(&mut self, step: usize, steps: Option<usize>) -> Verdict {
        (self.at, self.steps) = (step, Some(step));
        unless(steps != Some(step), || format!("`steps()` is {steps:?} after `end({step})`"))
    }
}

fn holds_state(step: usize) -> String {
    format!("the slot holds the state before step {step}")
}

fn holds_step(step: usize) -> String {
    format!("the tape holds step {step}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::Revolve;

    const STEPS: usize = 2;

    /// State of a driver without a ledger: each value is the step that starts from a state, if the state is right.
    #[derive(Clone, Default)]
    struct Driver {
        state: Option<usize>,
        slot: Option<usize>,
        tapes: [Option<usize>; 2],
        /// Step that starts from the state whose adjoints are known, if they are right.
        adjoints: Option<usize>,
    }

    impl Driver {
        /// Carries out an action, whatever its step says of the present state.
        fn carry_out(&mut self, action: Action) {
            match action {
                Action::Store { .. } => self.slot = self.state,
                Action::Restore { .. } => self.state = self.slot,
                Action::Discard { .. } => self.slot = None,
                Action::Advance { from, to } => {
                    self.state = self.state.filter(|at| *at == from && to >= from).map(|_| to);
                }
                Action::Record { step, tape } => {
                    self.tapes[tape] = self.state.filter(|at| *at == step);
                    self.state = self.tapes[tape].map(|step| step + 1);
                }
                Action::Turn => self.adjoints = self.state.filter(|at| *at == STEPS),
                Action::Sweep { tape, .. } => {
                    let step = self.tapes[tape].take();
                    self.adjoints = step.filter(|step| self.adjoints == Some(step + 1));
                }
            }
        }
    }

    /// All actions with these slots, tapes and steps, possible or not.
    fn actions() -> Vec<Action> {
        let (slot, level) = (0, Level::Memory);
        let mut actions = vec![Action::Turn, Action::Discard { slot, level }];
        for step in 0..=STEPS {
            actions.extend([Action::Store { step, slot, level }, Action::Restore { step, slot, level }]);
            actions.extend((0..=STEPS + 1).map(|to| Action::Advance { from: step, to }));
            for tape in 0..2 {
                actions.extend([Action::Record { step, tape }, Action::Sweep { step, tape }]);
            }
        }
        actions
    }

    /// Tries all plans of at most this many actions, and counts the plans that the ledger allows to end.
    fn complete_plans(ledger: &Ledger, driver: &Driver, more: usize) -> usize {
        let ends = usize::from(ledger.check(None, Some(STEPS)).is_ok());
        if ends == 1 {
            assert_eq!(driver.adjoints, Some(0), "the adjoints of the first state");
            assert!(driver.slot.is_none() && driver.tapes == [None; 2]);
        }
        if more == 0 {
            return ends;
        }
        let possible = actions().into_iter().filter(|action| ledger.check(Some(*action), Some(STEPS)).is_ok());
        let plans = possible.map(|action| {
            let (mut ledger, mut driver) = (ledger.clone(), driver.clone());
            ledger.done(action);
            driver.carry_out(action);
            assert_eq!(driver.state, Some(ledger.at), "the present state is right, and the one that the ledger has");
            complete_plans(&ledger, &driver, more - 1)
        });
        ends + plans.sum::<usize>()
    }

    #[test]
    fn plans_that_come_to_their_end_have_swept_everything_in_order() {
        let mut ledger = Ledger::new(&Revolve::new(STEPS, 1), None);
        ledger.capacity.tapes = 2;
        let driver = Driver { state: Some(0), ..Driver::default() };
        // Two recordings, the turn and two sweeps are the shortest.
        assert_eq!(complete_plans(&ledger, &driver, 4), 0);
        assert_eq!(complete_plans(&ledger, &driver, 5), 2);
        assert!(complete_plans(&ledger, &driver, 8) > 100);
    }

    #[test]
    fn an_earlier_run_knows_the_number_of_steps() {
        let ledger = Ledger::new(&Revolve::new(3, 1), Some(2));
        assert_eq!(ledger.check(None, Some(3)), Err(String::from("`steps()` is Some(3), and has to be Some(2)")));
    }
}
