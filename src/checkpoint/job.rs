//! A loop that has its inputs, and what is done with it.

use super::fingerprint::digest;
use super::pool::TapePool;
use super::rerun;
use super::snapshots::Snapshots;
use super::time_loop::{Progress, TimeLoop};
use crate::expr::Real;
use crate::schedule::{Action, Level, Schedule};
use crate::tape::Tape;
use crate::variables::Variables;
use core::marker::PhantomData;
use core::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use tapewright_strategies::{External, Passive, Reverse, SweepError};

/// A loop that has been given its inputs. `C` and `X` are parameters and state as plain numbers.
pub(super) struct Job<T: Reverse, C, X, P, R> {
    pub(super) settings: TimeLoop<T>,
    pub(super) parameters: C,
    pub(super) start: X,
    /// Variables in the parameters and in the state.
    pub(super) counts: (usize, usize),
    pub(super) plain: P,
    pub(super) taped: R,
    pub(super) pool: TapePool<T>,
    /// The number of steps, once the loop has been run.
    pub(super) steps: Option<usize>,
    /// By step, the digest of the state after it, once the loop has been run.
    pub(super) prints: Vec<u64>,
}

/// A loop under way.
pub(super) struct Run<T: Reverse, C, X: Variables<Passive<T::Value>>> {
    pub(super) schedule: Box<dyn Schedule + Send>,
    /// The present state.
    pub(super) state: X,
    snapshots: Snapshots<X>,
    tapes: Vec<Option<Step<T>>>,
    progress: Progress,
    /// The digests of the first run, as far as it is.
    pub(super) prints: Vec<u64>,
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
    pub(super) fn begin(&self) -> Run<T, C, X> {
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
    pub(super) fn forward(&self, run: &mut Run<T, C, X>, go_on: &dyn Fn(usize, &X) -> bool) -> Result<(), SweepError> {
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
                run.state = run.snapshots.restore_from_disk(slot, &run.state, &self.settings.name)?;
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
pub(super) struct Rule<T: Reverse, C, X: Variables<Passive<T::Value>>, P, R> {
    pub(super) job: Job<T, C, X, P, R>,
    pub(super) prepared: Mutex<Option<Run<T, C, X>>>,
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
