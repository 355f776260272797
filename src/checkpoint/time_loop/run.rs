//! State of a time loop that is running, and the passage of adjoints over one of its steps.

use super::Progress;
use super::ledger::Ledger;
use crate::checkpoint::pool::Lent;
use crate::checkpoint::rerun::{self, Ends};
use crate::checkpoint::snapshots::Slots;
use crate::checkpoint::snapshots::Snapshots;
use crate::expr::Real;
use crate::schedule::Schedule;
use crate::tape::Tape;
use crate::variables::Variables;
use core::marker::PhantomData;
use tapewright_strategies::kernel::memory::Shadow;
use tapewright_strategies::{Number, Passive, Reverse, SweepError};

/// A time loop that is running.
pub(super) struct Run<T: Reverse, C, X: Variables<Passive<T::Value>>> {
    pub(super) schedule: Box<dyn Schedule + Send>,
    pub(super) ledger: Ledger,
    /// Number of actions that the schedule has given, including its end.
    pub(super) actions: usize,
    /// The present state.
    pub(super) state: X,
    pub(super) snapshots: Snapshots<X>,
    /// Recorded step for each tape of the schedule. On drop, tapes are returned to the pool.
    pub(super) tapes: Slots<Step<T>>,
    pub(super) progress: Progress,
    /// Digests of the states in the first run, up to the present step.
    pub(super) prints: Vec<u64>,
    pub(super) parameters: PhantomData<fn() -> C>,
}

impl<T: Reverse, C, X: Variables<Passive<T::Value>>> Run<T, C, X> {
    /// Bytes of the tapes of recorded steps.
    pub(super) fn tape_bytes(&self) -> usize {
        self.tapes.values().map(|step| step.tape.memory().total().reserved).sum()
    }

    /// Carries the adjoints over the step that is recorded on this tape.
    pub(super) fn sweep(&mut self, tape: usize, adjoints: &mut Adjoints<'_, T::Value>) -> Result<(), SweepError> {
        let mut recorded = self.tapes.remove(&tape).expect("the ledger has the step");
        adjoints.inputs.clear();
        adjoints.inputs.resize(recorded.inputs.len() * adjoints.lanes, zero());
        let (tape, ends) = recorded.parts();
        if adjoints.lanes == 1 {
            let seeds = (&adjoints.state[..], core::mem::take(&mut adjoints.state_views));
            let mut found = rerun::sweep(tape, ends, seeds, &mut adjoints.inputs)?;
            adjoints.state_views = found.split_off(adjoints.parameter_views.len());
            adjoints.parameter_views.iter_mut().zip(found).for_each(|(sum, view)| rerun::add_shadow(sum, view));
        } else {
            rerun::sweep_lanes(tape, ends, &adjoints.state, &mut adjoints.inputs, adjoints.lanes)?;
        }
        let (of_parameters, of_state) = adjoints.inputs.split_at(adjoints.parameters.len());
        add(adjoints.parameters, of_parameters);
        adjoints.state.clear();
        adjoints.state.extend_from_slice(of_state);
        self.progress.swept += 1;
        Ok(())
    }
}

/// A step that has been recorded.
pub(super) struct Step<T: Reverse> {
    pub(super) tape: Lent<T>,
    pub(super) inputs: Vec<Real<T>>,
    pub(super) end: Vec<Real<T>>,
    /// Slots of views among the inputs, and in the state after the step.
    pub(super) from: rerun::Slots,
    pub(super) to: rerun::Slots,
}

impl<T: Reverse> Step<T> {
    /// The tape of the step, and both ends of the recording on it.
    pub(super) fn parts(&mut self) -> (&mut Tape<T>, Ends<'_, T>) {
        let Self { tape, inputs, end, from, to } = self;
        (tape, Ends { inputs, outputs: end, from, to })
    }
}

/// Adjoints on their way through a loop.
pub(super) struct Adjoints<'a, V: 'static> {
    /// Number of adjoints of each variable.
    pub(super) lanes: usize,
    /// Adjoints of the parameters, to which each step adds.
    pub(super) parameters: &'a mut [V],
    /// Adjoints of the present state.
    pub(super) state: Vec<V>,
    /// Adjoints of the inputs of a step.
    pub(super) inputs: Vec<V>,
    /// Shadows of the views among the parameters, to which each step adds.
    pub(super) parameter_views: Vec<Shadow<V>>,
    /// Shadows of the views of the present state.
    pub(super) state_views: Vec<Shadow<V>>,
}

fn zero<V: Number>() -> V {
    V::ZERO
}

/// Adds `from` to `to`, element by element.
pub(super) fn add<V: Number>(to: &mut [V], from: &[V]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += *from);
}
