//! Checkpointing schedules: plans for the reversal of a time loop in less memory than the recording of all its steps.
//!
//! A loop `state = step(t, state)`, t = 0..n, is reversed by sweeping the recordings of its steps, last step first. The
//! recordings of all steps together may not fit into memory. A schedule keeps states instead, *snapshots*, from which
//! steps are recomputed when their turn has come. A schedule is a pure plan, a sequence of [`Action`]s that some driver
//! carries out; it knows nothing of states and tapes.
//!
//! | schedule | knows the length | steps advanced over, for n steps | holds at most |
//! |---|---|---|---|
//! | [`FullTape`] | yes | 0 | n recorded steps |
//! | [`Equidistant`] | yes | less than n | ⌈n/d⌉ − 1 snapshots, d recorded steps |
//! | [`Revolve`] | yes | r·n − C(c + r, c + 1), the least there is | c snapshots, 1 recorded step |
//! | [`Multistage`] | yes | as `Revolve` with all its snapshots | snapshots in memory and on disk, 1 recorded step |
//! | [`Online`] | no | n, and then at most as many as `Revolve` | c snapshots, 1 recorded step |
//! | [`Mixed`] | yes | m(n, s) − n, the least there is | s snapshots or recorded steps in any mixture, 1 recorded step more |
//!
//! All schedules record each step once. r is the number of repetitions, the smallest with n ≤ C(c + r, c).
//!
//! A plan is made as it is carried out. It takes memory in proportion to the snapshots held, whatever the number of
//! steps. An action takes constant time, except that a [`Store`](Action::Store) or an [`Advance`](Action::Advance)
//! takes time in proportion to r, and with `Mixed` to the number of free slots, and that `Online` may move its list of
//! snapshots when it replaces one.
//!
//! # Examples
//!
//! A driver carries out actions, here with y = sin(sin(… sin(x))) and the derivative written by hand in place of a
//! tape:
//!
//! ```
//! use tapewright::schedule::{Action, Revolve, Schedule};
//!
//! let (x, steps) = (0.5_f64, 1000);
//! let mut schedule = Revolve::new(steps, 10);
//! let mut snapshots = vec![0.0; schedule.capacity().memory];
//! let mut tapes = vec![0.0; schedule.capacity().tapes]; // the partial derivative of a step
//! let (mut state, mut adjoint) = (x, 0.0);
//! for action in schedule.actions() {
//!     match action {
//!         Action::Store { slot, .. } => snapshots[slot] = state,
//!         Action::Restore { slot, .. } => state = snapshots[slot],
//!         Action::Discard { .. } => {}
//!         Action::Advance { from, to } => state = (from..to).fold(state, |state, _| state.sin()),
//!         Action::Record { tape, .. } => (tapes[tape], state) = (state.cos(), state.sin()),
//!         Action::Turn => adjoint = 1.0,
//!         Action::Sweep { tape, .. } => adjoint *= tapes[tape],
//!     }
//! }
//!
//! let (_, tangent) = (0..steps).fold((x, 1.0), |(x, dx), _| (x.sin(), x.cos() * dx));
//! assert!((adjoint - tangent).abs() < 1e-12 * tangent);
//! ```

mod binomial;
mod blocks;
mod equidistant;
mod mixed;
mod multistage;
mod online;
mod planner;
mod revolve;
mod snapshots;

pub use equidistant::{Equidistant, FullTape};
pub use mixed::Mixed;
pub use multistage::Multistage;
pub use online::Online;
pub use revolve::Revolve;

/// Level of storage on which a snapshot is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// In memory.
    Memory,
    /// In a file.
    Disk,
}

/// Next action of a driver. Slots are numbered from 0 on each level, and tapes from 0, up to [`Schedule::capacity`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Keep the present state, which is the state before `step`, in a free slot. The driver may
    /// [refuse](Schedule::refused).
    Store {
        /// The first step that starts from this state.
        step: usize,
        /// Number of the slot.
        slot: usize,
        /// The level that the slot belongs to.
        level: Level,
    },
    /// Make the state in this slot, the state before `step`, the present one. The snapshot stays; if it is not needed
    /// any more, the next action discards it.
    Restore {
        /// The first step that starts from this state.
        step: usize,
        /// Number of the slot.
        slot: usize,
        /// The level that the slot belongs to.
        level: Level,
    },
    /// Forget the snapshot in this slot.
    Discard {
        /// Number of the slot.
        slot: usize,
        /// The level that the slot belongs to.
        level: Level,
    },
    /// Compute the steps `from..to` without recording: the present state becomes the state before `to`.
    Advance {
        /// The first step; the present state is the state before it.
        from: usize,
        /// The step after the last one.
        to: usize,
    },
    /// Record `step` on a free tape, and keep the recording: the present state becomes the state before `step + 1`.
    Record {
        /// The step; the present state is the state before it.
        step: usize,
        /// Number of the tape.
        tape: usize,
    },
    /// The present state is the final state: outputs are known, adjoints are seeded now. Occurs once.
    Turn,
    /// Sweep the recording of `step`, from adjoints of the state after it to adjoints of the state before it. The tape
    /// is free afterwards.
    Sweep {
        /// The step, which precedes the step of the previous sweep; after `Turn`, the last step.
        step: usize,
        /// Number of the tape.
        tape: usize,
    },
}

/// Numbers of snapshots and recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotCounts {
    /// Number of snapshots in memory.
    pub memory: usize,
    /// Number of snapshots on disk.
    pub disk: usize,
    /// Number of recorded steps.
    pub tapes: usize,
}

/// A plan for the reversal of a loop.
///
/// The present state is the state before step 0 at first. Every state that is in a snapshot is discarded in the end.
///
/// # Implementing one
///
/// The duties of a plan stand at each [`Action`]. A [`TimeLoop`](crate::checkpoint::TimeLoop) enforces them: it returns
/// [`SweepError::FaultySchedule`](crate::SweepError::FaultySchedule), with the action, its position in the plan and the
/// reason, when
///
/// * an action starts from a state that is not the present one, or a step is beyond the end of the loop or swept
///   already;
/// * a slot or tape is beyond the [`capacity`](Self::capacity), not free when something is to be kept there, or does
///   not hold the step that the action names;
/// * `Turn` comes before the last step has been computed, or twice;
/// * a sweep comes before `Turn`, or is not of the last step that is left;
/// * the plan ends before step 0 has been swept, or leaves a snapshot or recording behind;
/// * [`steps`](Self::steps) changes, except from `None` to the argument of [`end`](Self::end).
///
/// A plan that passes gives the right derivatives. The check does not find plans that never end.
pub trait Schedule {
    /// Returns the next action, or `None` when all steps have been swept, and from then on.
    ///
    /// While the number of steps is not known, there is always a next action.
    fn next_action(&mut self) -> Option<Action>;

    /// Says that the last action, a [`Store`](Action::Store), was not carried out, for instance because the disk is
    /// full. The plan continues with one snapshot less on that level; nothing is restored that was not stored, and
    /// nothing needed is lost.
    ///
    /// # Panics
    ///
    /// If the last action was no `Store`, or was [`indispensable`](Self::indispensable).
    fn refused(&mut self);

    /// Returns true if the last action was a [`Store`](Action::Store) without which the loop cannot be reversed: the
    /// store of the first state, with no other slot for it. If such a store fails, the driver has to give up.
    fn indispensable(&self) -> bool;

    /// Says that the present state is final: `steps` steps have been computed, which may be fewer than the last
    /// [`Advance`](Action::Advance) asked for; if the last action was a [`Record`](Action::Record), it was not carried
    /// out. Called once, for schedules that do not know their number of steps.
    ///
    /// # Panics
    ///
    /// If the number of steps is known already, or if `steps` is not possible after the actions that were returned.
    fn end(&mut self, steps: usize);

    /// The number of steps, `None` while it is not known.
    fn steps(&self) -> Option<usize>;

    /// Largest numbers of snapshots and recordings that are held simultaneously.
    fn capacity(&self) -> SlotCounts;

    /// All actions, as an iterator, which does not end if the number of steps is not known.
    fn actions(self) -> Actions<Self>
    where
        Self: Sized,
    {
        Actions(self)
    }
}

/// The actions of a schedule, one after the other.
#[derive(Clone, Debug)]
pub struct Actions<S>(pub S);

impl<S: Schedule> Iterator for Actions<S> {
    type Item = Action;

    fn next(&mut self) -> Option<Action> {
        self.0.next_action()
    }
}

impl<S: Schedule> std::iter::FusedIterator for Actions<S> {}

/// Implements [`Schedule`] for a type, by forwarding to its `plan`.
macro_rules! forward_to_plan {
    ($($schedule:ident)*) => {$(
        impl Schedule for $schedule {
            fn next_action(&mut self) -> Option<super::Action> { self.plan.next_action() }
            fn refused(&mut self) { self.plan.refused(); }
            fn indispensable(&self) -> bool { self.plan.indispensable() }
            fn end(&mut self, steps: usize) { self.plan.end(steps); }
            fn steps(&self) -> Option<usize> { self.plan.steps() }
            fn capacity(&self) -> SlotCounts { self.plan.capacity() }
        }
    )*};
}
use forward_to_plan;

impl<S: Schedule + ?Sized> Schedule for &mut S {
    fn next_action(&mut self) -> Option<Action> {
        (**self).next_action()
    }
    fn refused(&mut self) {
        (**self).refused();
    }
    fn indispensable(&self) -> bool {
        (**self).indispensable()
    }
    fn end(&mut self, steps: usize) {
        (**self).end(steps);
    }
    fn steps(&self) -> Option<usize> {
        (**self).steps()
    }
    fn capacity(&self) -> SlotCounts {
        (**self).capacity()
    }
}
