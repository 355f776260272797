//! Runs of time loops, and their entries on the tapes of their inputs.

use super::TimeLoop;
use super::job::{GoesOn, Job};
use super::taped_loop::TapedLoop;
use crate::checkpoint::in_place;
use crate::checkpoint::placed;
use crate::checkpoint::pool::TapePool;
use crate::checkpoint::rerun;
use crate::error::Error;
use crate::exchange;
use crate::variables::Variables;
use std::sync::Mutex;
use tapewright_strategies::contract::Flow;
use tapewright_strategies::{Passive, Reverse, SweepError, Taping, recording};

type Plain<S> = Passive<<S as Taping>::Value>;

/// Makes the state after a step from its number and the state before it.
type Advance<'f, X> = &'f dyn Fn(usize, &X) -> X;

impl<T> TimeLoop<T> {
    /// Runs the loop, and puts it on the tape of its inputs, whose strategy is `S`. `plain` is a step under
    /// [`Passive`], `taped` the same step under `T`. Returns the final state.
    ///
    /// If all inputs are passive (or the recording is [paused](crate::pause)), the loop just runs: the final state is
    /// passive and nothing is kept. Under `Passive` it just runs, too. Under `Tangent` the steps are recorded, one by
    /// one, and swept forward.
    ///
    /// # Errors
    ///
    /// [`Error::Storage`] when a snapshot cannot be written to disk, [`Error::Sweep`] when the loop was canceled or
    /// its schedule is [faulty](SweepError::FaultySchedule). Nothing has been recorded then.
    ///
    /// # Panics
    ///
    /// When the schedule does not know the number of steps (use [`run_while`](Self::run_while)), when a step uses a
    /// variable that is not among its inputs, when a state has another number of variables than the first, and as
    /// [`Stage::run`](crate::checkpoint::Stage::run).
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
        let Some(steps) = (self.plans)().steps() else {
            panic!(
                "the schedule of {} does not know the number of steps: use `run_while`, which says when the loop ends",
                self.name
            )
        };
        if const { in_place::is_possible::<S, T>() }
            && self.hook.is_none()
            && let Some(end) = in_place::record_steps::<S, T, C, X>((parameters, state), steps, &taped)
        {
            return Ok(end);
        }
        self.run_while(parameters, state, |_, _| true, plain, taped)
    }

    /// [`run`](Self::run) for as long as `go_on` returns true, which is called before each step of the first run with
    /// the number of the step and the state: for loops whose number of steps is known only at the end, with a schedule
    /// such as [`Online`](crate::schedule::Online).
    ///
    /// # Errors
    ///
    /// The errors of [`run`](Self::run).
    ///
    /// # Panics
    ///
    /// When [`run`](Self::run) does, and when the schedule knows its number of steps and `go_on` ends the loop before.
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
        let (mut arguments, mut views) = (parameters.arguments(), parameters.views());
        let counts = (arguments.len(), views.len());
        arguments.extend(state.arguments());
        views.extend(state.views());
        let (of_parameters, of_state) = arguments.split_at(counts.0);
        let (at, start) = (rerun::plain_at(parameters, of_parameters), rerun::plain_at(state, of_state));
        let (_, active) = placed::flow::<S>(&arguments, &views, !views.is_empty(), false);
        // Steps may exchange something, which is not known before they have run.
        if !active && S::innermost() == Flow::Nowhere {
            return Ok(self.run_plainly::<S, X>(start, &go_on, &|step, state| plain(step, &at, state)));
        }
        let pool = S::keep::<TapePool<T>>(&placed::dependences(&views), &arguments).unwrap_or_default();
        let counts = (counts, (arguments.len() - counts.0, views.len() - counts.1));
        let mut job = Job::<T, _, _>::new(self, (at, start), counts, Box::new(plain), Box::new(taped), pool);
        let read = || {
            in_place::read(parameters);
            in_place::read(state);
        };
        let failed = |(_, run): &(bool, Result<_, SweepError>)| run.is_err() || counts.1 == (0, 0);
        let (exchanged, run) = in_place::apart::<S, _>(read, failed, || exchange::noticed(|| job.first_run(&go_on)));
        let run = run?;
        let end = rerun::plain(&run.state);
        let rule = TapedLoop { job, held: run.snapshots.held(), prepared: Mutex::new(Some(run)) };
        Ok(placed::put::<S, _, _>(&arguments, &views, &end, (Box::new(rule), exchanged)))
    }

    /// Runs the loop without recording, and returns the final state.
    fn run_plainly<S, X>(
        &self,
        mut state: X::With<Plain<S>>,
        go_on: GoesOn<'_, X::With<Plain<S>>>,
        step: Advance<'_, X::With<Plain<S>>>,
    ) -> X
    where
        S: Taping,
        X: Variables<S>,
        X::With<Plain<S>>: Variables<Plain<S>, With<S> = X>,
    {
        let steps = (self.plans)().steps();
        recording::isolated(|| {
            for number in 0..steps.unwrap_or(usize::MAX) {
                if !go_on(number, &state) {
                    if let Some(steps) = steps {
                        self.ends_early(number, steps);
                    }
                    break;
                }
                state = step(number, &state);
            }
        });
        rerun::constants::<_, S, _>(&state)
    }
}
