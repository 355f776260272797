//! A time loop together with its inputs, and the ways to carry it out.

use super::ledger::Ledger;
use super::run::{Adjoints, Run, Step, add};
use super::{Progress, TimeLoop};
use crate::checkpoint::fingerprint::digest;
use crate::checkpoint::pool::TapePool;
use crate::checkpoint::rerun;
use crate::checkpoint::snapshots::Slots;
use crate::checkpoint::snapshots::Snapshots;
use crate::exchange;
use crate::expr::Real;
use crate::schedule::{Action, Level};
use crate::variables::{Variables, ViewRef};
use core::marker::PhantomData;
use core::ops::ControlFlow;
use tapewright_strategies::kernel::memory::Shadow;
use tapewright_strategies::{Passive, Reverse, SweepError};

/// A step of a loop, given its number, the parameters and the state before it.
pub(super) type Stepper<C, X> = Box<dyn Fn(usize, &C, &X) -> X + Send + Sync>;

/// A time loop that has been given its inputs. `C` and `X` are parameters and state as plain floats. The steps are
/// behind pointers, so that all loops over the same types are compiled once.
pub(super) struct Job<T: Reverse, C: Variables<Passive<T::Value>>, X: Variables<Passive<T::Value>>> {
    pub(super) settings: TimeLoop<T>,
    pub(super) parameters: C,
    pub(super) start: X,
    /// Numbers of variables in the parameters and in the state.
    pub(super) counts: (usize, usize),
    /// Numbers of views in the parameters and in the state.
    pub(super) views: (usize, usize),
    pub(super) plain: Stepper<C, X>,
    pub(super) taped: Stepper<C::With<T>, X::With<T>>,
    pub(super) pool: TapePool<T>,
    /// The number of steps, once the loop has been run.
    pub(super) steps: Option<usize>,
    /// For each step, the digest of the state after it, once the loop has been run.
    pub(super) prints: Vec<u64>,
}

/// Returns true if a loop has another step, given its number and the state.
pub(super) type GoesOn<'a, X> = &'a dyn Fn(usize, &X) -> bool;

impl<T, C, X> Job<T, C, X>
where
    T: Reverse,
    C: Variables<Passive<T::Value>>,
    X: Variables<Passive<T::Value>, With<Passive<T::Value>> = X>,
    X::With<T>: Variables<T, With<Passive<T::Value>> = X>,
{
    /// A loop with these parameters and this first state, each with its numbers of variables and of views, with a step
    /// that is run without recording, and a step that is recorded. The loop has not been run.
    pub(super) fn new(
        settings: TimeLoop<T>,
        (parameters, start): (C, X),
        (of_parameters, of_state): ((usize, usize), (usize, usize)),
        plain: Stepper<C, X>,
        taped: Stepper<C::With<T>, X::With<T>>,
        pool: TapePool<T>,
    ) -> Self {
        let (counts, views) = ((of_parameters.0, of_state.0), (of_parameters.1, of_state.1));
        Self { settings, parameters, start, counts, views, plain, taped, pool, steps: None, prints: Vec::new() }
    }

    /// Runs the loop for the first time, up to its end, and keeps the number of steps and the digests of states.
    pub(super) fn first_run(&mut self, go_on: GoesOn<'_, X>) -> Result<Run<T, C, X>, SweepError> {
        let mut run = self.begin();
        exchange::in_a_plan(|| rerun::isolated::<T, _>(|| self.forward(&mut run, go_on)))??;
        self.steps = run.ledger.steps();
        self.prints = core::mem::take(&mut run.prints);
        self.prints.shrink_to_fit();
        Ok(run)
    }

    fn begin(&self) -> Run<T, C, X> {
        let schedule = (self.settings.plans)();
        let ledger = Ledger::new(&*schedule, self.steps);
        let progress = Progress {
            reversing: false,
            step: 0,
            steps: ledger.steps(),
            advanced: 0,
            recorded: 0,
            swept: 0,
            snapshots: 0,
            disk_bytes: 0,
        };
        Run {
            schedule,
            ledger,
            actions: 0,
            state: rerun::plain(&self.start),
            snapshots: Snapshots::new(&self.settings.disk),
            tapes: Slots::default(),
            progress,
            prints: Vec::new(),
            parameters: PhantomData,
        }
    }

    /// Carries out the schedule until the final state is computed.
    fn forward(&self, run: &mut Run<T, C, X>, go_on: GoesOn<'_, X>) -> Result<(), SweepError> {
        // A turn must come: the ledger lets no plan end before it.
        while let Some(action) = self.next(run)? {
            if action == Action::Turn {
                run.ledger.done(action);
                run.progress.reversing = true;
                run.progress.steps = run.ledger.steps();
                break;
            }
            self.carry_out(run, action, go_on)?;
        }
        Ok(())
    }

    /// Carries out the schedule from its turn on, if a prepared run is given, or from its beginning: see
    /// [`backward`](Self::backward).
    pub(super) fn reverse(
        &self,
        prepared: Option<Run<T, C, X>>,
        lanes: usize,
        outputs: (&[T::Value], Vec<Shadow<T::Value>>),
        inputs: &mut [T::Value],
    ) -> Result<Vec<Shadow<T::Value>>, SweepError> {
        let reverse = || {
            let run = if let Some(run) = prepared {
                run
            } else {
                let mut run = self.begin();
                self.forward(&mut run, &|_, _| true)?;
                run
            };
            self.backward(run, lanes, outputs, inputs)
        };
        exchange::in_a_plan(|| rerun::isolated::<T, _>(reverse))?
    }

    /// Carries out the rest of the schedule, from adjoints of the final state to adjoints of parameters and first
    /// state, which are added to `inputs`; adjoints of views are returned.
    fn backward(
        &self,
        mut run: Run<T, C, X>,
        lanes: usize,
        (outputs, views): (&[T::Value], Vec<Shadow<T::Value>>),
        inputs: &mut [T::Value],
    ) -> Result<Vec<Shadow<T::Value>>, SweepError> {
        let (parameters, state) = inputs.split_at_mut(self.counts.0 * lanes);
        let parameter_views = vec![Shadow::Unset; self.views.0];
        let (state_views, inputs) = (views, Vec::new());
        let mut adjoints =
            Adjoints { lanes, parameters, state: outputs.to_vec(), inputs, parameter_views, state_views };
        while let Some(action) = self.next(&mut run)? {
            match action {
                Action::Sweep { step, tape } => {
                    run.sweep(tape, &mut adjoints)?;
                    run.ledger.done(action);
                    self.report(&mut run, step)?;
                }
                action => self.carry_out(&mut run, action, &|_, _| true)?,
            }
        }
        add(state, &adjoints.state);
        adjoints.parameter_views.append(&mut adjoints.state_views);
        Ok(adjoints.parameter_views)
    }

    /// Records and sweeps forward one step after the other, from tangents of parameters and first state to tangents of
    /// the final state.
    pub(super) fn forward_tangents(
        &self,
        inputs: &[T::Value],
        mut views: Vec<Shadow<T::Value>>,
        outputs: &mut [T::Value],
    ) -> Result<Vec<Shadow<T::Value>>, SweepError> {
        let mut run = self.begin();
        let mut tangents = inputs.to_vec();
        outputs.copy_from_slice(&inputs[self.counts.0..]);
        for step in 0..self.steps.unwrap_or(0) {
            let mut recorded = self.record(&mut run, step)?;
            let (tape, ends) = recorded.parts();
            let after = rerun::sweep_forward(tape, ends, (&tangents, views.clone()), outputs)?;
            views.truncate(self.views.0);
            views.extend(after);
            tangents[self.counts.0..].copy_from_slice(outputs);
        }
        Ok(views.split_off(self.views.0))
    }

    /// The next action, after a check that it is possible, or `None` if all steps have been swept.
    fn next(&self, run: &mut Run<T, C, X>) -> Result<Option<Action>, SweepError> {
        let action = run.schedule.next_action();
        run.actions += 1;
        exchange::note_action(action);
        let verdict = run.ledger.check(action, run.schedule.steps());
        verdict.map_err(|why| self.faulty(run, action, why))?;
        Ok(action)
    }

    /// The error for a plan that continues with this action, or ends, without being allowed to.
    fn faulty(&self, run: &Run<T, C, X>, action: Option<Action>, why: String) -> SweepError {
        let action = match action {
            Some(action) => format!("action {}, {action:?}", run.actions),
            None => format!("its end, after action {}", run.actions - 1),
        };
        SweepError::FaultySchedule { time_loop: self.settings.name.clone(), action, why }
    }

    /// Carries out any action but `Turn` and `Sweep`, which the callers do.
    fn carry_out(&self, run: &mut Run<T, C, X>, action: Action, go_on: GoesOn<'_, X>) -> Result<(), SweepError> {
        match action {
            Action::Store { slot, level, .. } => {
                if !self.store(run, slot, level)? {
                    return Ok(());
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
                    if !self.goes_on(run, step, go_on) {
                        return self.end(run, action, step);
                    }
                    self.advance(run, step)?;
                }
            }
            Action::Record { step, .. } if !self.goes_on(run, step, go_on) => return self.end(run, action, step),
            Action::Record { step, tape } => {
                let recorded = self.record(run, step)?;
                run.tapes.insert(tape, recorded);
                run.progress.recorded += 1;
                self.report(run, step)?;
            }
            Action::Turn | Action::Sweep { .. } => {}
        }
        run.ledger.done(action);
        Ok(())
    }

    /// Stores the present state; returns false if the disk has refused it and the loop continues with fewer snapshots.
    fn store(&self, run: &mut Run<T, C, X>, slot: usize, level: Level) -> Result<bool, SweepError> {
        if level == Level::Memory {
            run.snapshots.store(slot, &run.state);
            return Ok(true);
        }
        match run.snapshots.store_on_disk(slot, &run.state, self.settings.checked) {
            Ok(()) => Ok(true),
            Err(error) if !self.settings.give_way || run.schedule.indispensable() => Err(error),
            Err(_) => {
                run.schedule.refused();
                Ok(false)
            }
        }
    }

    /// Returns true if there is another step; the number of steps may be known from an earlier run.
    fn goes_on(&self, run: &Run<T, C, X>, step: usize, go_on: GoesOn<'_, X>) -> bool {
        match self.steps {
            Some(steps) => step < steps,
            None => run.progress.reversing || go_on(step, &run.state),
        }
    }

    /// Tells the schedule that the loop ends with the present state, the state before `step`, during this action.
    fn end(&self, run: &mut Run<T, C, X>, action: Action, step: usize) -> Result<(), SweepError> {
        if let Some(steps) = run.ledger.steps() {
            self.settings.ends_early(step, steps);
        }
        run.schedule.end(step);
        let verdict = run.ledger.end(step, run.schedule.steps());
        verdict.map_err(|why| self.faulty(run, Some(action), why))
    }

    /// Computes a step without recording.
    fn advance(&self, run: &mut Run<T, C, X>, step: usize) -> Result<(), SweepError> {
        run.state = (self.plain)(step, &self.parameters, &run.state);
        run.progress.advanced += 1;
        let (found, expected) = (rerun::visited(&run.state), self.counts.1);
        assert!(
            found == expected,
            "step {step} of {} returned a state of {found} variables for one of {expected}: all states of a loop must \
             have the same shape",
            self.settings.name
        );
        let (made, first) = (run.state.views(), self.start.views());
        let same = made.iter().map(|view| view.shape()).eq(first.iter().map(|view| view.shape()));
        assert!(
            same,
            "step {step} of {} returned a state with other views than the first: all states of a loop must have \
             the same shape",
            self.settings.name
        );
        if self.prints.is_empty() && run.prints.len() == step {
            self.compare(run, step)?;
        }
        self.report(run, step)
    }

    /// Records a step at the present state, which is replaced by the state after the step.
    fn record(&self, run: &mut Run<T, C, X>, step: usize) -> Result<Step<T>, SweepError> {
        let mut tape = self.pool.lend();
        let (inputs, end, after, from, to) = rerun::isolated::<T, _>(|| {
            tape.record(|scope| {
                let inputs = scope.inputs(&self.inputs_at(&run.state));
                let (number, mut from) = (scope.number(), rerun::Slots::new());
                let (parameters, state) = inputs.split_at(self.counts.0);
                let mut view = |view: ViewRef<'_, T::Value>| rerun::input::<T>(number, view, &mut from);
                let parameters = rerun::rebuild_with(&self.parameters, parameters, &mut view, rerun::same_variables);
                let state = rerun::rebuild_with(&run.state, state, &mut view, rerun::same_variables);
                let after = (self.taped)(step, &parameters, &state);
                let end = rerun::own(number, &after, self.counts.1);
                (inputs, end, rerun::plain(&after), from, rerun::slots(&after))
            })
        })?;
        if end.len() != self.counts.1 || to.len() != self.views.1 {
            return Err(SweepError::NotReproducible { stage: self.name_of(step), outputs: 0..0 });
        }
        run.state = after;
        self.compare(run, step)?;
        Ok(Step { tape, inputs, end, from, to })
    }

    /// Values of the parameters and of a state.
    fn inputs_at(&self, state: &X) -> Vec<T::Value> {
        let mut values = Vec::with_capacity(self.counts.0 + self.counts.1);
        self.parameters.visit(&mut |slice| values.extend_from_slice(Real::floats(slice)));
        state.visit(&mut |slice| values.extend_from_slice(Real::floats(slice)));
        let (found, expected) = (values.len(), self.counts.0 + self.counts.1);
        if found != expected {
            rerun::contradiction::<(C, X)>(format_args!("`visit` gives {found} variables, and gave {expected} before"));
        }
        values
    }

    /// Compares the present state, the state after `step`, with the state in the first run; in the first run itself,
    /// notes it.
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
