//! Sweeping forward: tangents of inputs in, tangents of all variables out.

use super::layers::Layer;
use super::plans::{How, Plans};
use super::records::{Records, usize_of};
use super::table::Kind;
use super::upward::{Climb, Found};
use super::walk::{read, values_of};
use crate::{Float, IndexManager, IndexType, Mark, Stop, SweepError, counts};

/// Σ partial·tangent over the arguments, where zero times anything is zero.
#[inline(always)]
pub(super) fn dot<V: Float>(arguments: impl Iterator<Item = (usize, V)>, tangents: &[V]) -> V {
    arguments.fold(V::zero(), |sum, (id, partial)| {
        let tangent = tangents[id];
        if counts(tangent, partial) { sum + partial * tangent } else { sum }
    })
}

struct ForwardSweep<'a, 't, 's, V: 'static, M: IndexManager, L: Layer, const VALUES: bool> {
    records: &'a Records<V, M, L, VALUES>,
    tangents: &'t mut [V],
    at: &'t mut Stop<'s, V>,
    values: *mut V,
    known: usize,
    plans: Plans<V>,
    /// The partials of the statement that is being visited, and those of one of a special kind with its arguments.
    partials: Vec<V>,
    list: Vec<(usize, V)>,
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// Sweeps from the first statement to the last; see [`Reverse::forward_through`](crate::Reverse::forward_through).
    pub(crate) fn forward_through(
        &self,
        tangents: &mut [V],
        stops: &mut dyn Iterator<Item = Mark>,
        at: &mut Stop<'_, V>,
    ) -> Result<(), SweepError> {
        self.check_length(tangents.len());
        let mut copy = self.values_to_restore();
        let (values, known) = self.values_for_sweep(&mut copy);
        let (plans, partials, list) = (Plans::new(), Vec::new(), Vec::new());
        let mut sweep = ForwardSweep { records: self, tangents, at, values, known, plans, partials, list };
        // SAFETY: the values are a copy if they are written to, and as many as identifiers if records read them.
        unsafe { self.climb(values, stops, &mut sweep) }
    }
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Climb<V> for ForwardSweep<'_, '_, '_, V, M, L, VALUES> {
    /// # Safety
    ///
    /// As [`Climb::record`].
    unsafe fn record(&mut self, Found { code, number, end }: Found) -> Result<(), SweepError> {
        let records = self.records;
        let plan = self.plans.get::<M::Index>(&records.table, code);
        if plan.how == How::Special {
            // SAFETY: promised by the caller.
            unsafe { self.special(Found { code, number, end }) }
            return Ok(());
        }
        // SAFETY: the record ends there, and is as long as the plan says; its identifiers are below the recording's length.
        unsafe {
            let (id, data_end) = Records::<V, M, L, VALUES>::assigned(end, number);
            let record = data_end.sub(plan.bytes);
            let ids = read::<M::Index>(record.add(plan.payload), plan.leaves).map(|id| usize_of(id.widen()));
            let one = V::one();
            let tangent = if plan.how == How::Partials {
                let leaves = self.plans.leaves(plan).iter();
                dot(ids.zip(leaves.map(|leaf| leaf.partial(record, &one))), self.tangents)
            } else if ids.clone().all(|id| self.tangents[id] == V::zero()) {
                V::zero()
            } else {
                let rerun = records.table.layout(code).rerun.expect("records without partials are rebuilt");
                self.partials.resize(plan.leaves.max(self.partials.len()), V::zero());
                rerun(record, (self.values, self.known), self.partials.as_mut_ptr());
                dot(ids.zip(self.partials.iter().copied()), self.tangents)
            };
            self.tangents[id] = tangent;
        }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), SweepError> {
        (self.at)(self.tangents)
    }
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> ForwardSweep<'_, '_, '_, V, M, L, VALUES> {
    /// # Safety
    ///
    /// As [`Climb::record`].
    #[inline(never)]
    unsafe fn special(&mut self, Found { code, number, end }: Found) {
        let records = self.records;
        let kind = records.table.kind(code);
        if kind == Kind::Input {
            return; // its tangent is given
        }
        // SAFETY: promised by the caller; nothing writes to the values while they are borrowed.
        let id = unsafe {
            self.list.clear();
            records.list(code, end, values_of(self.values, self.known), &mut self.list);
            Records::<V, M, L, VALUES>::assigned(end, number).0
        };
        self.tangents[id] = dot(self.list.iter().copied(), self.tangents);
    }
}
