//! A loop of steps that is reversed within a budget of snapshots.

use super::fingerprint::digest;
use super::pool::TapePool;
use super::rerun;
use super::snapshots::Snapshots;
use crate::error::Error;
use crate::expr::Real;
use crate::external;
use crate::schedule::{Action, Level, Schedule};
use crate::tape::Tape;
use crate::variables::Variables;
use core::fmt;
use core::marker::PhantomData;
use core::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use tapewright_strategies::{External, Passive, Reverse, SpillOptions, SweepError, Taping, active};

/// How far a [`TimeLoop`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Whether outputs are known and steps are being swept.
    pub reversing: bool,
    /// The step that was computed, recorded or swept last.
    pub step: usize,
    /// The number of steps, once it is known.
    pub steps: Option<usize>,
    /// Steps computed without recording so far, repetitions included.
    pub advanced: u64,
    /// Steps recorded so far.
    pub recorded: u64,
    /// Steps swept so far.
    pub swept: u64,
    /// Snapshots in memory at the moment.
    pub snapshots: usize,
    /// Bytes of the file with the snapshots on disk.
    pub disk_bytes: u64,
}

type Hook = Arc<dyn Fn(&Progress) -> ControlFlow<()> + Send + Sync>;
type Plans = Arc<dyn Fn() -> Box<dyn Schedule + Send> + Send + Sync>;

/// A loop `state = step(t, parameters, state)`, t = 0, 1, …, as one entry on the tape, reversed by a [schedule](crate::schedule).
///
/// The loop runs without recording, and keeps some of the states. When a sweep gets to it, steps are recorded under the
/// strategy `T` and swept, last step first, from states that were kept or are computed again. How many are kept where, and how
/// often a step is computed again, is the schedule's decision.
///
/// What a step depends on is its number, the parameters and the state; there is no other way for derivatives. State and
/// parameters are [`Variables`] of any shape; `()` stands for no parameters.
///
/// All states of a loop have as many variables. Snapshots on disk hold numbers only, so a state that goes there must keep its
/// shape, too, and its other fields (those behind the semicolon of [`variables!`](crate::variables)); if they change, the
/// sweep returns an error. A recorded step has a tape of its own until it is swept, of some 80 kB at least: schedules that keep many
/// recorded steps are for steps that are larger than that.
///
/// A second sweep of the same recording is right, too. It has to run the loop again, because the first one has used up the
/// snapshots.
///
/// ```
/// use tapewright::{TimeLoop, prelude::*, schedule::Revolve};
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
    plans: Plans,
    disk: SpillOptions,
    name: String,
    checked: bool,
    give_way: bool,
    hook: Option<Hook>,
    strategy: PhantomData<fn() -> T>,
}

impl<T> TimeLoop<T> {
    /// A loop that is reversed by this schedule.
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

    /// The directory for snapshots on disk, and how many bytes they may take there. The memory budget of the options has no
    /// meaning here: the schedule says how many snapshots stay in memory.
    #[must_use]
    pub fn disk(mut self, options: SpillOptions) -> Self {
        self.disk = options;
        self
    }

    /// Whether to go on with fewer snapshots when one cannot be written to disk, instead of returning the error, which is the
    /// default. Steps are then computed more often.
    #[must_use]
    pub const fn give_way(mut self, give_way: bool) -> Self {
        self.give_way = give_way;
        self
    }

    /// Whether to compare the state after each step that is recorded with that of the first run, bit for bit, which is the
    /// default. It takes 8 bytes for each step, and the time to read the state twice.
    #[must_use]
    pub const fn checked(mut self, checked: bool) -> Self {
        self.checked = checked;
        self
    }

    /// Calls `hook` after each step that was computed, recorded or swept. If it returns [`ControlFlow::Break`], the loop, or the
    /// sweep, ends with [`SweepError::Cancelled`]; everything is as it was before, and a later sweep begins anew.
    #[must_use]
    pub fn progress(mut self, hook: impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static) -> Self {
        self.hook = Some(Arc::new(hook));
        self
    }

    /// Runs the loop, and puts it on the tape of its inputs, whose strategy is `S`. `plain` is a step under [`Passive`], `taped`
    /// the same step under `T`. Returns the final state.
    ///
    /// If all inputs are passive (or the recording is [paused](crate::pause)), the loop just runs: the final state is passive and
    /// nothing is kept. So it is under `Passive`. Under `Tangent` the steps are recorded, one by one, and swept forward.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`] when a snapshot cannot be written to disk, [`Error::Sweep`] when the loop was cancelled. Nothing has been
    /// recorded then.
    ///
    /// # Panics
    ///
    /// When the schedule does not know the number of steps (use [`run_while`](Self::run_while)), when a step uses a variable that
    /// is not among its inputs, when a state has another number of variables than the first, and as
    /// [`Stage::run`](crate::Stage::run).
    #[track_caller]
    pub fn run<S, C, X>(
        self,
        parameters: &C,
        state: &X,
        plain: impl Fn(usize, &C::With<Plain<S>>, &X::With<Plain<S>>) -> X::With<Plain<S>> + Send + Sync + 'static,
        taped: impl Fn(usize, &C::With<T>, &X::With<T>) -> X::With<T> + Send + Sync + 'static,
    ) -> Result<X, Error>
    where
        S: Taping,
        T: Reverse<Value = S::Value>,
        C: Variables<S>,
        X: Variables<S>,
        X::With<T>: Variables<T, With<Plain<S>> = X::With<Plain<S>>>,
        C::With<Plain<S>>: Variables<Plain<S>, With<T> = C::With<T>> + Send + Sync + 'static,
        X::With<Plain<S>>: Variables<Plain<S>, With<T> = X::With<T>> + Send + Sync + 'static,
        X::With<Plain<S>>: Variables<Plain<S>, With<S> = X>,
        X::With<Plain<S>>: Variables<Plain<S>, With<Plain<S>> = X::With<Plain<S>>>,
    {
        assert!(
            (self.plans)().steps().is_some(),
            "the schedule of {} does not know the number of steps: use `run_while`, which says when the loop ends",
            self.name
        );
        self.run_while(parameters, state, |_, _| true, plain, taped)
    }

    /// [`run`](Self::run) for as long as `go_on` says so, which is called before each step with its number and the state: for
    /// loops whose number of steps is known only at the end, with a schedule such as [`Online`](crate::schedule::Online).
    ///
    /// # Errors
    ///
    /// As `run`.
    ///
    /// # Panics
    ///
    /// As `run`, and when the schedule knows its number of steps and `go_on` ends the loop before.
    #[track_caller]
    pub fn run_while<S, C, X>(
        self,
        parameters: &C,
        state: &X,
        go_on: impl Fn(usize, &X::With<Plain<S>>) -> bool,
        plain: impl Fn(usize, &C::With<Plain<S>>, &X::With<Plain<S>>) -> X::With<Plain<S>> + Send + Sync + 'static,
        taped: impl Fn(usize, &C::With<T>, &X::With<T>) -> X::With<T> + Send + Sync + 'static,
    ) -> Result<X, Error>
    where
        S: Taping,
        T: Reverse<Value = S::Value>,
        C: Variables<S>,
        X: Variables<S>,
        X::With<T>: Variables<T, With<Plain<S>> = X::With<Plain<S>>>,
        C::With<Plain<S>>: Variables<Plain<S>, With<T> = C::With<T>> + Send + Sync + 'static,
        X::With<Plain<S>>: Variables<Plain<S>, With<T> = X::With<T>> + Send + Sync + 'static,
        X::With<Plain<S>>: Variables<Plain<S>, With<S> = X>,
        X::With<Plain<S>>: Variables<Plain<S>, With<Plain<S>> = X::With<Plain<S>>>,
    {
        let mut arguments = parameters.arguments();
        arguments.extend(state.arguments());
        let (at, mut start) = (rerun::plain(parameters), rerun::plain(state));
        if !S::is_active(&arguments) {
            let steps = (self.plans)().steps();
            let goes_on = |step: usize, state: &X::With<Plain<S>>| steps.is_none_or(|n| step < n) && go_on(step, state);
            active::isolated(|| {
                let mut step = 0;
                while goes_on(step, &start) {
                    start = plain(step, &at, &start);
                    step += 1;
                }
            });
            return Ok(start.map::<S>(&mut |x| Real::constant(x.value())));
        }
        let mut job = Job::<T, _, _, _, _> {
            settings: self,
            parameters: at,
            start,
            counts: (parameters.count(), state.count()),
            plain,
            taped,
            pool: S::keep::<TapePool<T>>(&arguments).unwrap_or_default(),
            steps: None,
            prints: Vec::new(),
        };
        let mut run = job.begin();
        rerun::isolated::<T, _>(|| job.forward(&mut run, &go_on))??;
        let (values, end) = (run.state.values(), rerun::plain(&run.state));
        job.steps = run.schedule.steps();
        job.prints = core::mem::take(&mut run.prints);
        job.prints.shrink_to_fit();
        let rule = Rule { job, prepared: Mutex::new(Some(run)) };
        let variables = external::record::<S>(&arguments, &values, rule);
        Ok(rerun::rebuild(&end, &mut variables.into_iter()))
    }
}

type Plain<S> = Passive<<S as Taping>::Value>;

impl<T> fmt::Debug for TimeLoop<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeLoop {}", self.name)
    }
}

/// A loop that has been given its inputs. `C` and `X` are parameters and state as plain numbers.
struct Job<T: Reverse, C, X, P, R> {
    settings: TimeLoop<T>,
    parameters: C,
    start: X,
    /// Variables in the parameters and in the state.
    counts: (usize, usize),
    plain: P,
    taped: R,
    pool: TapePool<T>,
    /// The number of steps, once the loop has been run.
    steps: Option<usize>,
    /// By step, the digest of the state after it, once the loop has been run.
    prints: Vec<u64>,
}

/// A loop under way.
struct Run<T: Reverse, C, X: Variables<Passive<T::Value>>> {
    schedule: Box<dyn Schedule + Send>,
    /// The present state.
    state: X,
    snapshots: Snapshots<X>,
    tapes: Vec<Option<Step<T>>>,
    progress: Progress,
    /// The digests of the first run, as far as it is.
    prints: Vec<u64>,
    parameters: PhantomData<fn() -> C>,
}

/// A step that has been recorded.
struct Step<T: Reverse> {
    tape: Tape<T>,
    inputs: Vec<Real<T>>,
    end: Vec<Real<T>>,
}

impl<T, C, X, P, R> Job<T, C, X, P, R>
where
    T: Reverse,
    C: Variables<Passive<T::Value>>,
    X: Variables<Passive<T::Value>, With<Passive<T::Value>> = X>,
    P: Fn(usize, &C, &X) -> X,
    X::With<T>: Variables<T, With<Passive<T::Value>> = X>,
    R: Fn(usize, &C::With<T>, &X::With<T>) -> X::With<T>,
{
    fn begin(&self) -> Run<T, C, X> {
        let schedule = (self.settings.plans)();
        let steps = schedule.steps();
        Run {
            schedule,
            state: rerun::plain(&self.start),
            snapshots: Snapshots::new(&self.settings.disk),
            tapes: Vec::new(),
            progress: Progress {
                reversing: false,
                step: 0,
                steps,
                advanced: 0,
                recorded: 0,
                swept: 0,
                snapshots: 0,
                disk_bytes: 0,
            },
            prints: Vec::new(),
            parameters: PhantomData,
        }
    }

    /// Carries out the schedule until the final state is there.
    fn forward(&self, run: &mut Run<T, C, X>, go_on: &dyn Fn(usize, &X) -> bool) -> Result<(), SweepError> {
        loop {
            match self.next(run) {
                Action::Turn => {
                    run.progress.reversing = true;
                    run.progress.steps = run.schedule.steps();
                    return Ok(());
                }
                Action::Sweep { .. } => unreachable!("a schedule sweeps after the turn"),
                action => self.carry_out(run, action, go_on)?,
            }
        }
    }

    /// Carries out the rest of the schedule, from adjoints of the final state to those of parameters and first state, which are
    /// added to `inputs`.
    fn backward(
        &self,
        mut run: Run<T, C, X>,
        lanes: usize,
        outputs: &[T::Value],
        inputs: &mut [T::Value],
    ) -> Result<(), SweepError> {
        let (parameters, state) = inputs.split_at_mut(self.counts.0 * lanes);
        let mut adjoints = outputs.to_vec();
        let mut before = Vec::new();
        while let Some(action) = run.schedule.next_action() {
            let Action::Sweep { step, tape } = action else {
                self.carry_out(&mut run, action, &|_, _| true)?;
                continue;
            };
            let mut recorded = run.tapes[tape].take().expect("a schedule sweeps what it has recorded");
            before.clear();
            before.resize(recorded.inputs.len() * lanes, zero());
            let ends = (&recorded.inputs[..], &recorded.end[..]);
            rerun::sweep(&mut recorded.tape, ends, &adjoints, &mut before, lanes)?;
            self.pool.give_back(recorded.tape);
            let (of_parameters, of_state) = before.split_at(parameters.len());
            add(parameters, of_parameters);
            adjoints.clear();
            adjoints.extend_from_slice(of_state);
            run.progress.swept += 1;
            self.report(&mut run, step)?;
        }
        add(state, &adjoints);
        Ok(())
    }

    /// Records and sweeps forward one step after the other, from tangents of parameters and first state to those of the final
    /// state.
    fn forward_tangents(&self, inputs: &[T::Value], outputs: &mut [T::Value]) -> Result<(), SweepError> {
        let mut run = self.begin();
        let mut tangents = inputs.to_vec();
        outputs.copy_from_slice(&inputs[self.counts.0..]);
        for step in 0..self.steps.unwrap_or(0) {
            let mut recorded = self.record(&mut run, step)?;
            let ends: Vec<&Real<T>> = recorded.end.iter().collect();
            rerun::sweep_forward(&mut recorded.tape, (&recorded.inputs, &tangents), (&ends, outputs))?;
            tangents[self.counts.0..].copy_from_slice(outputs);
            self.pool.give_back(recorded.tape);
        }
        Ok(())
    }

    /// The next action, of which there are more.
    fn next(&self, run: &mut Run<T, C, X>) -> Action {
        let action = run.schedule.next_action();
        action.unwrap_or_else(|| panic!("the schedule of {} ends before the turn", self.settings.name))
    }

    /// Carries out anything but `Turn` and `Sweep`.
    fn carry_out(
        &self,
        run: &mut Run<T, C, X>,
        action: Action,
        go_on: &dyn Fn(usize, &X) -> bool,
    ) -> Result<(), SweepError> {
        match action {
            Action::Store { slot, level: Level::Memory, .. } => run.snapshots.store(slot, &run.state),
            Action::Store { slot, level: Level::Disk, .. } => {
                if let Err(error) = run.snapshots.store_on_disk(slot, &run.state, self.settings.checked) {
                    if !self.settings.give_way || run.schedule.indispensable() {
                        return Err(error);
                    }
                    run.schedule.refused();
                }
            }
            Action::Restore { slot, level: Level::Memory, .. } => run.state = run.snapshots.restore(slot),
            Action::Restore { slot, level: Level::Disk, .. } => {
                run.state = run.snapshots.restore_from_disk(slot, &run.state)?;
            }
            Action::Discard { slot, level: Level::Memory } => run.snapshots.discard(slot),
            Action::Discard { slot, level: Level::Disk } => run.snapshots.discard_from_disk(slot),
            Action::Advance { from, to } => {
                for step in from..to {
                    if !run.progress.reversing && !self.goes_on(run, step, go_on) {
                        run.schedule.end(step);
                        break;
                    }
                    run.state = (self.plain)(step, &self.parameters, &run.state);
                    run.progress.advanced += 1;
                    let (found, expected) = (run.state.count(), self.counts.1);
                    assert!(
                        found == expected,
                        "step {step} of {} returned a state of {found} variables for one of {expected}: all states of a loop \
                         must have the same shape",
                        self.settings.name
                    );
                    if self.prints.is_empty() && run.prints.len() == step {
                        self.compare(run, step)?;
                    }
                    self.report(run, step)?;
                }
            }
            Action::Record { step, tape } => {
                let recorded = self.record(run, step)?;
                if run.tapes.len() <= tape {
                    run.tapes.resize_with(tape + 1, || None);
                }
                run.tapes[tape] = Some(recorded);
                run.progress.recorded += 1;
                self.report(run, step)?;
            }
            Action::Turn | Action::Sweep { .. } => unreachable!("handled by the callers"),
        }
        Ok(())
    }

    /// Whether there is another step; the number of steps may be known from an earlier run.
    fn goes_on(&self, run: &Run<T, C, X>, step: usize, go_on: &dyn Fn(usize, &X) -> bool) -> bool {
        match self.steps {
            Some(steps) => step < steps,
            None => go_on(step, &run.state),
        }
    }

    /// Records a step at the present state, which becomes that after it.
    fn record(&self, run: &mut Run<T, C, X>, step: usize) -> Result<Step<T>, SweepError> {
        let mut tape = self.pool.take();
        let (inputs, end, after) = rerun::isolated::<T, _>(|| {
            tape.record(|scope| {
                let mut values = self.parameters.values();
                run.state.visit(&mut |slice| values.extend_from_slice(Real::floats(slice)));
                let inputs = scope.inputs(&values);
                let mut variables = inputs.iter().cloned();
                let parameters = rerun::rebuild(&self.parameters, &mut variables);
                let state = rerun::rebuild(&run.state, &mut variables);
                let after = (self.taped)(step, &parameters, &state);
                let end = rerun::own(scope.number(), &after, self.counts.1);
                (inputs, end, rerun::plain(&after))
            })
        })?;
        if end.len() != run.state.count() {
            return Err(SweepError::NotReproducible { stage: self.name_of(step), outputs: 0..0 });
        }
        run.state = after;
        self.compare(run, step)?;
        Ok(Step { tape, inputs, end })
    }

    /// Compares the present state, that after `step`, with that of the first run, which this may be.
    fn compare(&self, run: &mut Run<T, C, X>, step: usize) -> Result<(), SweepError> {
        if !self.settings.checked {
            return Ok(());
        }
        let print = digest(&run.state);
        match self.prints.get(step).or_else(|| run.prints.get(step)) {
            None => run.prints.push(print),
            Some(first) if *first == print => {}
            Some(_) => {
                return Err(SweepError::NotReproducible { stage: self.name_of(step), outputs: 0..self.counts.1 });
            }
        }
        Ok(())
    }

    fn name_of(&self, step: usize) -> String {
        format!("step {step} of {}", self.settings.name)
    }

    fn report(&self, run: &mut Run<T, C, X>, step: usize) -> Result<(), SweepError> {
        let Some(hook) = &self.settings.hook else { return Ok(()) };
        run.progress.step = step;
        run.progress.snapshots = run.snapshots.held();
        run.progress.disk_bytes = run.snapshots.file_bytes();
        match hook(&run.progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SweepError::Cancelled { what: self.settings.name.clone() }),
        }
    }
}

fn zero<V: tapewright_strategies::Float>() -> V {
    V::zero()
}

fn add<V: tapewright_strategies::Float>(to: &mut [V], from: &[V]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
}

/// A loop on the tape, and how far its first run went: to the turn.
struct Rule<T: Reverse, C, X: Variables<Passive<T::Value>>, P, R> {
    job: Job<T, C, X, P, R>,
    prepared: Mutex<Option<Run<T, C, X>>>,
}

impl<T, C, X, P, R> External<T::Value> for Rule<T, C, X, P, R>
where
    T: Reverse,
    C: Variables<Passive<T::Value>> + Send + Sync + 'static,
    X: Variables<Passive<T::Value>, With<Passive<T::Value>> = X> + Send + Sync + 'static,
    P: Fn(usize, &C, &X) -> X + Send + Sync + 'static,
    X::With<T>: Variables<T, With<Passive<T::Value>> = X>,
    R: Fn(usize, &C::With<T>, &X::With<T>) -> X::With<T> + Send + Sync + 'static,
{
    fn name(&self) -> String {
        self.job.settings.name.clone()
    }

    fn reverse(&self, outputs: &[T::Value], inputs: &mut [T::Value]) -> Result<(), SweepError> {
        self.reverse_lanes(1, outputs, inputs)
    }

    fn reverse_lanes(&self, lanes: usize, outputs: &[T::Value], inputs: &mut [T::Value]) -> Result<(), SweepError> {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner).take();
        rerun::isolated::<T, _>(|| {
            let run = if let Some(run) = prepared {
                run
            } else {
                let mut run = self.job.begin();
                self.job.forward(&mut run, &|_, _| true)?;
                run
            };
            self.job.backward(run, lanes, outputs, inputs)
        })?
    }

    fn forward(&self, inputs: &[T::Value], outputs: &mut [T::Value]) -> Result<(), SweepError> {
        rerun::isolated::<T, _>(|| self.job.forward_tangents(inputs, outputs))?
    }

    fn owned_bytes(&self) -> usize {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let (states, rest) = prepared.as_ref().map_or((0, 0), |run| {
            let tapes = run.tapes.iter().flatten().map(|step| step.tape.memory().total().reserved).sum::<usize>();
            (1 + run.snapshots.held(), tapes)
        });
        let numbers = self.job.counts.0 + (1 + states) * self.job.counts.1;
        numbers * size_of::<T::Value>() + self.job.prints.capacity() * size_of::<u64>() + rest
    }
}
