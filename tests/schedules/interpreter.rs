//! A driver that believes nothing: it carries out the actions on a toy loop and checks every rule.

use tapewright::schedule::{Action, Level, Schedule};

/// What a plan did.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) actions: usize,
    /// Steps advanced over up to `Turn`, and after it.
    pub(crate) forward: usize,
    pub(crate) backward: usize,
    /// The most times that a step was advanced over.
    pub(crate) repetitions: usize,
    pub(crate) records: usize,
    pub(crate) stores: usize,
    /// Stores and restores, by level.
    pub(crate) accesses: [usize; 2],
    pub(crate) refusals: usize,
    /// The most snapshots and recordings that were held at once.
    pub(crate) most_held: usize,
}

impl Report {
    pub(crate) fn advances(&self) -> usize {
        self.forward + self.backward
    }
    pub(crate) fn evaluations(&self) -> usize {
        self.advances() + self.records
    }
}

/// A step of the loop, which depends on time and is not commutative.
fn step(t: usize, state: u64) -> u64 {
    (state ^ t as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7)
}

/// When the loop tells a schedule that does not know it that the state is final.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ending {
    /// As soon as it is.
    Early,
    /// When asked for a step that is not there.
    Late,
}

pub(crate) struct Interpreter<F> {
    states: Vec<u64>,
    at: usize,
    state: u64,
    snapshots: [Vec<Option<(usize, u64)>>; 2],
    capacity: [usize; 2],
    lost: [usize; 2],
    tapes: Vec<Option<(usize, u64)>>,
    /// How often each step was advanced over.
    advanced: Vec<usize>,
    turned: bool,
    swept: usize,
    refuse: F,
    report: Report,
}

/// Carries out the whole plan for a loop of so many steps. `refuse` is asked before each store that the plan can do
/// without.
pub(crate) fn run(
    schedule: impl Schedule,
    length: usize,
    ending: Ending,
    refuse: impl FnMut(usize, Level) -> bool,
) -> Report {
    let mut states = vec![1];
    (0..length).for_each(|t| states.push(step(t, states[t])));
    let capacity = schedule.capacity();
    let slots = |count: usize| vec![None; count.min(length + 100)];
    let interpreter = Interpreter {
        states,
        at: 0,
        state: 1,
        snapshots: [slots(capacity.memory), slots(capacity.disk)],
        capacity: [capacity.memory, capacity.disk],
        lost: [0; 2],
        tapes: slots(capacity.tapes),
        advanced: vec![0; length],
        turned: false,
        swept: length,
        refuse,
        report: Report::default(),
    };
    interpreter.run(schedule, length, ending)
}

/// The whole plan, with nothing refused.
pub(crate) fn plain(schedule: impl Schedule, length: usize) -> Report {
    run(schedule, length, Ending::Early, |_, _| false)
}

impl<F: FnMut(usize, Level) -> bool> Interpreter<F> {
    fn run(mut self, mut schedule: impl Schedule, length: usize, ending: Ending) -> Report {
        let known = schedule.steps();
        assert!(known.is_none_or(|steps| steps == length));
        if known.is_none() && length == 0 && ending == Ending::Early {
            schedule.end(0);
        }
        while let Some(action) = schedule.next_action() {
            self.report.actions += 1;
            match action {
                Action::Store { step, slot, level } => self.store(&mut schedule, step, slot, level),
                Action::Restore { step, slot, level } => {
                    let (kept, state) = self.snapshots[level as usize][slot].expect("restored what is not stored");
                    assert_eq!(kept, step, "{action:?}");
                    (self.at, self.state) = (step, state);
                    self.report.accesses[level as usize] += 1;
                }
                Action::Discard { slot, level } => {
                    self.snapshots[level as usize][slot].take().expect("discarded what is not stored");
                }
                Action::Advance { from, to } => {
                    assert!(from == self.at && from < to, "{action:?} at {}", self.at);
                    let unknown = schedule.steps().is_none();
                    assert!(unknown || to < length, "a plan that knows the end records the last step");
                    self.advance(to.min(length));
                    if unknown && (to > length || to == length && ending == Ending::Early) {
                        schedule.end(length);
                        assert_eq!(schedule.steps(), Some(length));
                    }
                }
                Action::Record { step, tape } => self.record(step, tape),
                Action::Turn => {
                    assert!(self.at == length && !self.turned, "turned at {}", self.at);
                    self.turned = true;
                }
                Action::Sweep { step, tape } => {
                    let recorded = self.tapes[tape].take().expect("swept what is not recorded");
                    assert_eq!(recorded, (step, self.states[step]));
                    assert!(self.turned && step + 1 == self.swept, "swept {step} after {}", self.swept);
                    self.swept = step;
                }
            }
            self.check_capacity();
        }
        assert!(schedule.next_action().is_none(), "an end is for good");
        self.finish()
    }

    fn store(&mut self, schedule: &mut impl Schedule, step: usize, slot: usize, level: Level) {
        assert!(step == self.at, "stored the state before {step} at {}", self.at);
        assert!(self.snapshots[level as usize][slot].is_none(), "slot {slot} is occupied");
        if !schedule.indispensable() && (self.refuse)(step, level) {
            schedule.refused();
            assert!(!schedule.indispensable());
            self.lost[level as usize] += 1;
            self.report.refusals += 1;
            return;
        }
        self.snapshots[level as usize][slot] = Some((step, self.state));
        self.report.stores += 1;
        self.report.accesses[level as usize] += 1;
    }

    fn advance(&mut self, to: usize) {
        for t in self.at..to {
            self.state = step(t, self.state);
            self.advanced[t] += 1;
        }
        *if self.turned { &mut self.report.backward } else { &mut self.report.forward } += to - self.at;
        self.at = to;
    }

    fn record(&mut self, at: usize, tape: usize) {
        assert_eq!(at, self.at);
        assert!(self.tapes[tape].is_none(), "tape {tape} is occupied");
        assert_eq!(self.state, self.states[at], "the state before {at}");
        self.tapes[tape] = Some((at, self.state));
        self.state = step(at, self.state);
        self.at += 1;
        self.report.records += 1;
    }

    /// What was refused is gone, and no other slot is taken for it.
    fn check_capacity(&mut self) {
        let held = |slots: &[Option<_>]| slots.iter().flatten().count();
        let levels = [held(&self.snapshots[0]), held(&self.snapshots[1])];
        for (level, held) in levels.into_iter().enumerate() {
            assert!(held + self.lost[level] <= self.capacity[level], "more snapshots than are left");
        }
        self.report.most_held = self.report.most_held.max(levels[0] + levels[1] + held(&self.tapes));
    }

    fn finish(mut self) -> Report {
        assert!(self.turned && self.swept == 0);
        assert!(self.snapshots.iter().flatten().all(Option::is_none), "a snapshot is left");
        assert!(self.tapes.iter().all(Option::is_none), "a recording is left");
        self.report.repetitions = self.advanced.iter().copied().max().unwrap_or(0);
        self.report
    }
}
