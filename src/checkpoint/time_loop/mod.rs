//! A loop of steps that is reversed within a budget of snapshots.

mod job;
mod ledger;
mod on_tape;
mod run;
mod taped_loop;

use crate::schedule::Schedule;
#[cfg(doc)]
use crate::variables::Variables;
use core::fmt;
use core::marker::PhantomData;
use core::ops::ControlFlow;
use std::sync::Arc;
#[cfg(doc)]
use tapewright_strategies::SweepError;
use tapewright_strategies::storage::SpillOptions;

/// Progress of a [`TimeLoop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// True when the final state is known and steps are being swept.
    pub reversing: bool,
    /// The step that was computed, recorded or swept last.
    pub step: usize,
    /// The number of steps, once it is known.
    pub steps: Option<usize>,
    /// Steps computed without recording so far, repetitions included.
    pub advanced: usize,
    /// Steps recorded so far.
    pub recorded: usize,
    /// Steps swept so far.
    pub swept: usize,
    /// Snapshots in memory at the moment.
    pub snapshots: usize,
    /// Bytes of the file with the snapshots on disk.
    pub disk_bytes: u64,
}

type Hook = Arc<dyn Fn(&Progress) -> ControlFlow<()> + Send + Sync>;
type Plans = Arc<dyn Fn() -> Box<dyn Schedule + Send> + Send + Sync>;

/// A loop `state = step(t, parameters, state)`, t = 0, 1, …, as one entry on the tape, reversed by a
/// [schedule](crate::schedule).
///
/// The loop runs without recording, and keeps some of the states. When a sweep reaches it, steps are recorded under the
/// strategy `T` and swept, last step first, from states that were kept or are recomputed. The schedule decides how many
/// states are kept, where they are kept, and how often a step is recomputed.
///
/// A step depends only on its number, the parameters and the state; derivatives have no other way. State and parameters
/// are [`Variables`] of any shape; `()` stands for no parameters.
///
/// All states of a loop have the same number of variables. Snapshots on disk hold values of variables only, so a state
/// that goes there must keep its shape, too, and its other fields (the fields after the semicolon of
/// [`variables!`](crate::variables!)); if they change, the sweep returns an error. A recorded step has a tape of its
/// own until it is swept, of some 20 kB at least: schedules that keep many recorded steps are for steps that are larger
/// than that.
///
/// In a recording for a [program](crate::programs), or one that keeps [guards](crate::Tape::set_guards) for replays, a
/// loop with a known number of steps, without a [`progress`](Self::progress) closure, is recorded as it runs, if `T` is
/// the strategy of the tape and the recording then has up to a million numbers: a loop that keeps snapshots cannot be
/// computed again.
///
/// A second sweep of the same recording is right, too. It has to run the loop again, because the first sweep has used
/// up the snapshots.
///
/// # What is checked
///
/// *The schedule*, action by action: a plan that leaves a step out, confuses states or recordings, or ends early is an
/// error, [`SweepError::FaultySchedule`], never another gradient. The check does not find plans that never end.
///
/// *The values*, unless [`checked`](Self::checked) is false: the state after each recorded step must equal the state of
/// the first run, bit for bit. A digest of 64 bits stands for each state, so one difference in 2⁶⁴ is missed.
///
/// *Not the slopes.* Only the taped step has derivatives, so there is nothing to compare them with. They are wrong
/// without an error when the taped step agrees with the plain one in the value alone: when it takes another branch on
/// something that is not an input, and both branches give the same value there; when it is another formula that gives
/// the same value there, such as `x.floor()` for an integer x; when it uses `x.value()`, which is a constant to the
/// derivative. Give one generic function twice, and test its derivative with
/// [`check_gradient!`](macro@crate::check_gradient).
///
/// ```
/// use tapewright::{checkpoint::TimeLoop, prelude::*, schedule::Revolve};
///
/// fn step<S: Strategy>(k: &Real<S>, u: &[Real<S>]) -> Vec<Real<S>> {
///     let n = u.len();
///     (0..n).map(|i| (u[i] + k * (u[(i + 1) % n] - 2.0 * u[i] + u[(i + n - 1) % n])).into()).collect()
/// }
///
/// let mut tape = Tape::<Jacobian>::new();
/// let (k, u, energy) = tape.record(|scope| {
///     let k = scope.input(0.1);
///     let u = scope.inputs(&[1.0, 2.0, 4.0, 8.0]);
///     let end = TimeLoop::<Jacobian>::new(Revolve::new(1000, 10))
///         .run(&k, &u, |_, k, u| step(k, u), |_, k, u| step(k, u))?;
///     let energy = tapewright::dot(&end, &end);
///     Ok::<_, tapewright::Error>((k, u, energy))
/// })?;
/// let adjoints = tape.sweep(&[(&energy, 1.0)])?;
/// // All the heat is spread evenly in the end, so each cell has the same influence.
/// assert!(u.iter().all(|u| (adjoints.of(u).unwrap() - 7.5).abs() < 1e-12));
/// assert!(adjoints.of(&k)?.abs() < 1e-12);
/// # Ok::<(), tapewright::Error>(())
/// ```
pub struct TimeLoop<T> {
    pub(super) plans: Plans,
    pub(super) disk: SpillOptions,
    pub(super) name: String,
    pub(super) checked: bool,
    pub(super) give_way: bool,
    pub(super) hook: Option<Hook>,
    pub(super) strategy: PhantomData<fn() -> T>,
}

impl<T> TimeLoop<T> {
    /// A time loop that is reversed by this schedule.
    #[must_use]
    pub fn new(schedule: impl Schedule + Clone + Send + Sync + 'static) -> Self {
        Self {
            plans: Arc::new(move || Box::new(schedule.clone())),
            disk: SpillOptions::default(),
            name: String::from("a time loop"),
            checked: true,
            give_way: false,
            hook: None,
            strategy: PhantomData,
        }
    }

    /// A name for messages.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the directory for snapshots on disk, and how many bytes they may take there. The memory budget of the
    /// options has no meaning here: the schedule says how many snapshots stay in memory.
    #[must_use]
    pub fn disk(mut self, options: SpillOptions) -> Self {
        self.disk = options;
        self
    }

    /// Sets if the loop continues with fewer snapshots when one cannot be written to disk, instead of returning the
    /// error, which is the default. Steps are then computed more often.
    #[must_use]
    pub const fn give_way(mut self, give_way: bool) -> Self {
        self.give_way = give_way;
        self
    }

    /// Sets if the state after each recorded step is compared with the state of the first run, bit for bit, which is
    /// the default. The comparison takes 8 bytes for each step, and the time to read the state twice. It compares
    /// values, not slopes: see [what is checked](Self#what-is-checked). The schedule is checked in any case.
    #[must_use]
    pub const fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }

    /// Calls `hook` after each step that was computed, recorded or swept. If `hook` returns [`ControlFlow::Break`], the
    /// loop, or the sweep, ends with [`SweepError::Cancelled`]; everything is as it was before, and a later sweep
    /// starts anew.
    #[must_use]
    pub fn progress(mut self, hook: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.hook = Some(Arc::new(hook));
        self
    }

    /// Panics because the loop has ended before the schedule's number of steps.
    pub(super) fn ends_early(&self, after: usize, steps: usize) -> ! {
        panic!("{} ends after {after} steps, and its schedule is for another number of steps, {steps}", self.name)
    }
}

impl<T> fmt::Debug for TimeLoop<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeLoop {}", self.name)
    }
}
