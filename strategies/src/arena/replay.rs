//! Computing the values of a recording again, at other inputs.

use super::layers::{Layer, Reader, Segments};
use super::layout::Partials;
use super::plans::{How, Plans};
use super::records::Records;
use super::table::Kind;
use super::upward::{Climb, Found};
use crate::scratch::Scratch;
use crate::{Float, IndexManager, Mark, Stop, SweepError};
use core::{ptr, slice};
use smallvec::SmallVec;

struct Replaying<'a, 't, 's, V: 'static, M: IndexManager, L: Layer, const VALUES: bool> {
    records: &'a Records<V, M, L, VALUES>,
    /// Guards that have been checked, if they are.
    checked: Option<usize>,
    at: &'t mut Stop<'s, V>,
    plans: Plans<V>,
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Records<V, M, L, VALUES> {
    /// The value of each variable, by identifier.
    pub(crate) fn all_values(&self) -> &[V] {
        self.values()
    }

    /// The value of each variable, by identifier.
    pub(crate) fn all_values_mut(&mut self) -> &mut [V] {
        if self.values.is_null() {
            return &mut [];
        }
        // SAFETY: elements 0..len have been written, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.values, self.len()) }
    }

    /// Fails if the recording has a statement of which only partials were kept.
    pub(crate) fn can_be_replayed(&self) -> Result<(), SweepError> {
        if self.first_partials >= self.next {
            return Ok(());
        }
        Err(SweepError::Unsupported {
            what: format!(
                "a recording whose variable {} is a function of slices with passive arguments, or has partials that were \
                 given, cannot be replayed: its record says how to differentiate it, not how to compute it (make all \
                 arguments inputs)",
                self.first_partials
            ),
        })
    }

    /// Whether the variable with this identifier has no statement.
    pub(crate) fn has_no_statement(&self, id: usize) -> Result<bool, SweepError> {
        let number = id as u64;
        if number < self.inputs || number >= self.next {
            return Ok(number < self.inputs);
        }
        let at = self.spans.partition_point(|span| span.first <= number) - 1;
        let mut reader = self.segments.reader();
        let start = reader.segment(at)?;
        // SAFETY: the code with this number is in this span.
        let code = unsafe { *self.spans[at].codes_at(start).wrapping_sub(id) };
        Ok(self.table.kind(code) == Kind::Input)
    }

    /// Computes all values again; see [`Replay::replay_through`](crate::Replay::replay_through).
    pub(crate) fn replay_through(
        &mut self,
        guarded: bool,
        stops: &mut dyn Iterator<Item = Mark>,
        at: &mut Stop<'_, V>,
    ) -> Result<(), SweepError> {
        assert!(VALUES && !M::REUSES, "values are kept, one for each identifier");
        let records = &*self;
        let mut sweep = Replaying { records, checked: guarded.then_some(0), at, plans: Plans::new() };
        // SAFETY: values are not restored with linear indices.
        unsafe { records.climb(ptr::null_mut(), stops, &mut sweep)? }
        sweep.check_before(u64::MAX)
    }
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Replaying<'_, '_, '_, V, M, L, VALUES> {
    /// Checks the guards in front of the record with this number.
    fn check_before(&mut self, number: u64) -> Result<(), SweepError> {
        let Some(checked) = &mut self.checked else { return Ok(()) };
        while let Some(guard) = self.records.guards.list.get(*checked).filter(|guard| guard.number <= number) {
            *checked += 1;
            self.records.check_guard(guard, self.records.values())?;
        }
        Ok(())
    }
}

impl<V: Float, M: IndexManager, L: Layer, const VALUES: bool> Climb<V> for Replaying<'_, '_, '_, V, M, L, VALUES> {
    /// # Safety
    ///
    /// As [`Climb::record`].
    unsafe fn record(&mut self, Found { code, number, end }: Found) -> Result<(), SweepError> {
        self.check_before(number as u64)?;
        let records = self.records;
        let plan = self.plans.get::<M::Index>(&records.table, code);
        if plan.how == How::Rerun {
            let rerun = records.table.layout(code).rerun.expect("records without partials are rebuilt");
            // SAFETY: the record ends there, and is as long as the plan says; its identifiers are below its own, and so below
            // the number of values. `replay_through` borrows the tape exclusively, and nobody else uses the values.
            unsafe {
                let value = rerun(end.sub(plan.bytes), (records.values, records.len()), ptr::null_mut());
                records.values.add(number).write(value);
            }
            return Ok(());
        }
        let kind = records.table.kind(code);
        if kind == Kind::Input {
            return Ok(());
        }
        // SAFETY: promised by the caller; `special` describes the record.
        let (special, (payload, ids)) = unsafe {
            let special = records.special(code, kind, end);
            let parts = special.parts::<M::Index>();
            (special, parts)
        };
        let layout = special.layout.expect("what can be replayed has a layout");
        let value = {
            let values = records.values();
            if kind == Kind::Nary {
                let value_of = layout.nary_value.expect("the layout of an n-ary record has the rule");
                let n = special.arguments;
                let all: Scratch<V> = Scratch::of(ids.map(|id| values[id]).chain(payload));
                value_of(&all[..n], &all[n..])
            } else {
                let passive = special.payload - layout.payload;
                let payload: SmallVec<[V; 128]> = payload.collect();
                let arguments: Partials<V> =
                    layout.values_at(ids, payload[..passive].iter().copied(), values).collect();
                layout.value_at::<M::Index>(&payload[passive..], &arguments)
            }
        };
        // SAFETY: as above; what was borrowed is not used any more.
        unsafe { records.values.add(number).write(value) }
        Ok(())
    }

    fn stop(&mut self) -> Result<(), SweepError> {
        // SAFETY: there are so many values, and `replay_through` borrows the tape exclusively.
        let values = unsafe { slice::from_raw_parts_mut(self.records.values, self.records.len()) };
        (self.at)(values)
    }
}
