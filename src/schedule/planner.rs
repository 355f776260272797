//! The plan that all schedules of known length share: a stack of snapshots, and a rule for the position of the next
//! one.

use super::snapshots::Snapshots;
use super::{Action, Schedule, SlotCounts, binomial, blocks};

/// Rule by which a stretch of units is divided.
#[derive(Clone, Copy, Debug)]
pub(super) enum Splitting {
    /// One unit at a time is recorded; slots hold snapshots.
    Binomial,
    /// Slots hold snapshots or recordings.
    Mixed,
}

impl Splitting {
    /// Returns true if this many units are recorded in one stretch when this many slots are free.
    fn records(self, units: usize, free: usize) -> bool {
        match self {
            Self::Binomial => units <= 1,
            Self::Mixed => units - 1 <= free,
        }
    }
    /// Distance to advance from a snapshot, for this many units, with this many slots, including the snapshot's own.
    fn split(self, units: usize, slots: usize) -> usize {
        match self {
            Self::Binomial => binomial::split(units, slots),
            Self::Mixed => blocks::split(units, slots),
        }
    }
}

/// Phase of the plan, which determines the next action.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The present state is in no snapshot: record, or store it.
    Arrived,
    /// The present state is in a snapshot, or may not be stored: continue.
    Leave,
    /// The present state comes from the newest snapshot, which is not needed any more.
    Release,
    Record(usize),
    Turn,
    Sweep(usize),
    /// All units from `end` on have been swept: return to the newest snapshot.
    Back,
}

#[derive(Clone, Debug)]
pub(super) struct Planner {
    splitting: Splitting,
    steps: usize,
    /// Steps in a unit; the last unit may be shorter.
    unit: usize,
    snapshots: Snapshots,
    /// Unit that starts from the present state.
    at: usize,
    /// The first unit that has been swept, or the number of units.
    end: usize,
    turned: bool,
    phase: Phase,
    /// True if the last action was a `Store`.
    stored: bool,
    most: SlotCounts,
}

impl Planner {
    /// The plan for this many steps in units of `unit` steps.
    pub(super) fn new(splitting: Splitting, steps: usize, unit: usize, snapshots: Snapshots, most: SlotCounts) -> Self {
        let phase = if steps == 0 { Phase::Turn } else { Phase::Arrived };
        let end = steps.div_ceil(unit);
        Self { splitting, steps, unit, snapshots, at: 0, end, turned: false, phase, stored: false, most }
    }

    /// The plan for a run that has ended, and has left these snapshots.
    pub(super) fn reversing(steps: usize, snapshots: Snapshots, most: SlotCounts) -> Self {
        let plan = Self::new(Splitting::Binomial, steps, 1, snapshots, most);
        Self { turned: true, phase: Phase::Back, ..plan }
    }

    /// First step of a unit; for the unit after the last, the number of steps.
    fn first_step(&self, unit: usize) -> usize {
        unit.saturating_mul(self.unit).min(self.steps)
    }

    fn arrive(&mut self) -> Action {
        let free = self.snapshots.free();
        if self.splitting.records(self.end - self.at, free) {
            self.record(self.first_step(self.at))
        } else if free == 0 {
            self.leave()
        } else {
            self.phase = Phase::Leave;
            self.stored = true;
            let snapshot = self.snapshots.push(self.at);
            Action::Store { step: self.first_step(self.at), slot: snapshot.slot, level: snapshot.level }
        }
    }

    /// Advances from the present state, which the newest snapshot has, or whose store was refused.
    fn leave(&mut self) -> Action {
        let newest = self.snapshots.held().last().expect("only what is stored is left").at;
        let there = newest + self.splitting.split(self.end - newest, self.snapshots.free() + 1);
        let from = self.first_step(self.at);
        self.at = there.max(self.at + 1);
        self.phase = Phase::Arrived;
        Action::Advance { from, to: self.first_step(self.at) }
    }

    fn record(&mut self, step: usize) -> Action {
        self.phase = if step + 1 < self.first_step(self.end) {
            Phase::Record(step + 1)
        } else if self.turned {
            Phase::Sweep(step)
        } else {
            Phase::Turn
        };
        Action::Record { step, tape: step - self.first_step(self.at) }
    }

    fn turn(&mut self) -> Action {
        self.turned = true;
        self.phase = self.steps.checked_sub(1).map_or(Phase::Back, Phase::Sweep);
        Action::Turn
    }

    fn sweep(&mut self, step: usize) -> Action {
        let first = self.first_step(self.at);
        if step == first {
            self.end = self.at;
            self.phase = Phase::Back;
        } else {
            self.phase = Phase::Sweep(step - 1);
        }
        Action::Sweep { step, tape: step - first }
    }

    fn back(&mut self) -> Option<Action> {
        let newest = *self.snapshots.held().last()?;
        self.at = newest.at;
        // The snapshot's own slot will be free for the recordings.
        let records = self.splitting.records(self.end - self.at, self.snapshots.free() + 1);
        self.phase = if records { Phase::Release } else { Phase::Leave };
        Some(Action::Restore { step: self.first_step(self.at), slot: newest.slot, level: newest.level })
    }

    fn release(&mut self) -> Option<Action> {
        let newest = self.snapshots.pop()?;
        self.phase = Phase::Record(self.first_step(self.at));
        Some(Action::Discard { slot: newest.slot, level: newest.level })
    }
}

impl Schedule for Planner {
    fn next_action(&mut self) -> Option<Action> {
        self.stored = false;
        match self.phase {
            Phase::Arrived => Some(self.arrive()),
            Phase::Leave => Some(self.leave()),
            Phase::Release => self.release(),
            Phase::Record(step) => Some(self.record(step)),
            Phase::Turn => Some(self.turn()),
            Phase::Sweep(step) => Some(self.sweep(step)),
            Phase::Back => self.back(),
        }
    }

    fn refused(&mut self) {
        assert!(self.stored, "refused() after an action that is no Store");
        self.stored = false;
        self.snapshots.lose_newest();
        // The first state is stored in another slot; a later state is not necessary.
        self.phase = if self.snapshots.held().is_empty() { Phase::Arrived } else { Phase::Leave };
    }

    fn indispensable(&self) -> bool {
        self.stored && self.snapshots.newest_is_last_resort()
    }

    fn end(&mut self, steps: usize) {
        panic!("end({steps}) of a run whose number of steps, {}, is known", self.steps);
    }

    fn steps(&self) -> Option<usize> {
        Some(self.steps)
    }

    fn capacity(&self) -> SlotCounts {
        self.most
    }
}
