//! Sweeping forward: tangents of inputs in, tangents of all variables out.

use super::functions::{Sweep, values_of};
use super::read::Record;
use super::records::{Content, Records};
use super::upward::Climb;
use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::{AtExternal, IndexManager, Number, SweepError, counts};
use core::marker::PhantomData;

struct ForwardSweep<'a, V: 'static, R> {
    /// The tangents, in the place of adjoints.
    sweep: Sweep<'a, V>,
    /// The partials of the statement that is being visited.
    partials: &'a mut Vec<V>,
    records: PhantomData<R>,
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Sweeps from the first statement to the last; see [`Reverse::forward_through`](crate::Reverse::forward_through).
    pub(crate) fn forward_through(&self, tangents: &mut [V], at: &mut AtExternal<'_, V>) -> Result<(), SweepError> {
        self.check_length(tangents.len());
        let mut copy = self.values_to_restore();
        let sweep = self.sweep(tangents, &mut copy, at);
        let values = sweep.values;
        let mut partials = Scratch::<V>::new();
        let mut forward = ForwardSweep { sweep, partials: &mut partials, records: PhantomData::<Self> };
        // SAFETY: the values are a copy if they are written to, and as many as identifiers if records read them.
        unsafe { self.climb(values, &mut forward) }
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Climb<V> for ForwardSweep<'_, V, Records<V, M, L, K>> {
    /// # Safety
    ///
    /// As [`Climb::record`].
    unsafe fn record(&mut self, record: &Record<V>, number: usize) -> Result<(), SweepError> {
        // SAFETY: promised by the caller.
        if let Some(external) = unsafe { record.external() } {
            return self.sweep.meet(external, 1);
        }
        let tangents = &mut *self.sweep.adjoints;
        self.partials.clear();
        // SAFETY: promised by the caller; nothing writes to the values while they are read here.
        unsafe {
            let ids = record.ids::<M::Index>();
            if ids.clone().any(|id| !tangents[id].is_nought()) {
                let values = values_of(self.sweep.values, self.sweep.known);
                record.contributions(V::ONE, values, self.partials);
            }
            tangents[Records::<V, M, L, K>::result(record, number)] = dot(ids.zip(&*self.partials), tangents);
        }
        Ok(())
    }
}

/// Σ partial·tangent over the arguments, where zero times anything is zero.
#[inline(always)]
fn dot<'a, V: Number>(arguments: impl Iterator<Item = (usize, &'a V)>, tangents: &[V]) -> V {
    arguments.fold(V::ZERO, |sum, (id, partial)| {
        let tangent = tangents[id];
        if counts(tangent, *partial) { sum + tangent.contribution(*partial) } else { sum }
    })
}
