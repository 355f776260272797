//! A time loop as an external function on the tape.

use super::job::Job;
use super::run::Run;
use crate::checkpoint::placed::Nested;
use crate::checkpoint::rerun;
use crate::variables::{Variables, ViewRef};
use std::sync::{Mutex, PoisonError};
use tapewright_strategies::kernel::memory::Shadow;
use tapewright_strategies::{External, MemoryUsage, Number, Passive, Reverse, SweepError};

/// Count of the elements of these views.
fn elements<V: Number>(views: Vec<ViewRef<'_, V>>) -> usize {
    views.iter().map(|view| view.len()).sum()
}

/// A time loop on the tape, with its first run, which has stopped at the turn.
pub(super) struct TapedLoop<T: Reverse, C: Variables<Passive<T::Value>>, X: Variables<Passive<T::Value>>> {
    pub(super) job: Job<T, C, X>,
    /// Number of snapshots in memory at the turn. There are never more of them.
    pub(super) held: usize,
    pub(super) prepared: Mutex<Option<Run<T, C, X>>>,
}

impl<T, C, X> External<T::Value> for TapedLoop<T, C, X>
where
    T: Reverse,
    C: Variables<Passive<T::Value>> + Send + Sync + 'static,
    X: Variables<Passive<T::Value>, With<Passive<T::Value>> = X> + Send + Sync + 'static,
    X::With<T>: Variables<T, With<Passive<T::Value>> = X>,
{
    fn name(&self) -> String {
        self.job.settings.name.clone()
    }

    fn reverse(&self, outputs: &[T::Value], inputs: &mut [T::Value]) -> Result<(), SweepError> {
        self.reverse_lanes(1, outputs, inputs)
    }

    fn reverse_lanes(&self, lanes: usize, outputs: &[T::Value], inputs: &mut [T::Value]) -> Result<(), SweepError> {
        self.job.reverse(self.take(), lanes, (outputs, Vec::new()), inputs).map(drop)
    }

    fn forward(&self, inputs: &[T::Value], outputs: &mut [T::Value]) -> Result<(), SweepError> {
        self.forward_views(inputs, Vec::new(), outputs).map(drop)
    }

    fn keeps_zeros(&self) -> bool {
        true
    }

    fn owned_bytes(&self) -> usize {
        // The first state, and in a run the present one.
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let (states, tapes) = prepared.as_ref().map_or((1, 0), |run| (2, run.tape_bytes()));
        let parameters = self.job.counts.0 + elements(self.job.parameters.views());
        let numbers = parameters + states * self.state();
        numbers * size_of::<T::Value>() + self.job.prints.capacity() * size_of::<u64>() + tapes
    }

    fn snapshots(&self) -> MemoryUsage {
        let prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = |states: usize| states * self.state() * size_of::<T::Value>();
        MemoryUsage { used: bytes(prepared.as_ref().map_or(0, |run| run.snapshots.held())), reserved: bytes(self.held) }
    }
}

impl<T: Reverse, C: Variables<Passive<T::Value>>, X: Variables<Passive<T::Value>>> TapedLoop<T, C, X> {
    /// Count of the numbers of a state.
    fn state(&self) -> usize {
        self.job.counts.1 + elements(self.job.start.views())
    }

    /// Takes the first run, for the first sweep.
    fn take(&self) -> Option<Run<T, C, X>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T, C, X> Nested<T::Value> for TapedLoop<T, C, X>
where
    T: Reverse,
    C: Variables<Passive<T::Value>> + Send + Sync + 'static,
    X: Variables<Passive<T::Value>, With<Passive<T::Value>> = X> + Send + Sync + 'static,
    X::With<T>: Variables<T, With<Passive<T::Value>> = X>,
{
    fn reverse_views(
        &self,
        outputs: &[T::Value],
        views: Vec<Shadow<T::Value>>,
        inputs: &mut [T::Value],
    ) -> Result<Vec<Shadow<T::Value>>, SweepError> {
        self.job.reverse(self.take(), 1, (outputs, views), inputs)
    }

    fn forward_views(
        &self,
        inputs: &[T::Value],
        views: Vec<Shadow<T::Value>>,
        outputs: &mut [T::Value],
    ) -> Result<Vec<Shadow<T::Value>>, SweepError> {
        rerun::isolated::<T, _>(|| self.job.forward_tangents(inputs, views, outputs))?
    }
}
