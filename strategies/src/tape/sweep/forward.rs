//! Sweeping forward: tangents of inputs in, tangents of all variables out.

use crate::scratch::Scratch;
use crate::storage::Layer;
use crate::tape::store::recording::{Content, Records};
use crate::{AtExternal, IndexManager, Number, SweepError, counts};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Sweeps from the first statement to the last; see [`Reverse::forward_through`](crate::Reverse::forward_through).
    pub(crate) fn forward_through(&self, tangents: &mut [V], at: &mut AtExternal<'_, V>) -> Result<(), SweepError> {
        self.check_length(tangents.len());
        let mut partials = Scratch::<V>::new();
        self.up(&mut self.walked_values(), |record, number, values| {
            if let Some(external) = record.external {
                return at(external, 0..1, tangents);
            }
            if record.is_statement() {
                partials.clear();
                let ids = record.ids();
                if ids.clone().any(|id| !tangents[id].is_nought()) {
                    record.contributions(V::ONE, values, &mut partials);
                }
                tangents[Self::result(record, number)] = dot(ids.zip(&**partials), tangents);
            }
            Ok(())
        })
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
