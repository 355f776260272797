//! Computing the values of a recording again, at other inputs.

use super::read::{Cursor, Record};
use super::records::{Content, Records};
use super::upward::Climb;
use crate::storage::Layer;
use crate::{AtExternal, IndexManager, Mark, Number, SweepError};
use core::{ptr, slice};

struct Replaying<'a, 't, 's, V: 'static, M: IndexManager, L: Layer, K: Content> {
    records: &'a Records<V, M, L, K>,
    /// Guards that have been checked, if they are.
    checked: Option<usize>,
    at: &'t mut AtExternal<'s, V>,
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
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
                "a recording whose variable {} is a function of slices with passive arguments, a block, or has partials that were \
                 given, cannot be replayed: its record says how to differentiate it, not how to compute it (make all \
                 arguments inputs)",
                self.first_partials
            ),
        })
    }

    /// The name of the first function that is singular, under the policy [`Checked`](crate::Checked).
    pub(crate) fn singular(&self) -> Result<Option<&'static str>, SweepError> {
        let mut first = None;
        Cursor::new(self).down(0, |record, _| {
            // SAFETY: the record still lies there, and the values are its recording's.
            first = unsafe { record.singular(self.values()) }.or(first);
        })?;
        Ok(first)
    }

    /// Whether the variable with this identifier has no statement. Found by walking over the records behind it in its
    /// segment, unless it is among the inputs that come before all statements.
    pub(crate) fn has_no_statement(&self, id: usize) -> Result<bool, SweepError> {
        let number = id as u64;
        if number < self.inputs || number >= self.next {
            return Ok(number < self.inputs);
        }
        let mut cursor = Cursor::new(self);
        // SAFETY: with linear indices, which recordings that are replayed have, no values are written to.
        unsafe { cursor.go_to(Mark::new([number + 1, 0, 0, 0]), ptr::null_mut())? }
        if cursor.next() <= id {
            return Ok(true); // among several inputs
        }
        let mut is_input = false;
        cursor.down(id, |record, _| is_input = !record.is_statement())?;
        Ok(is_input)
    }

    /// Computes all values again; see [`Replay::replay_through`](crate::Replay::replay_through).
    pub(crate) fn replay_through(&mut self, guarded: bool, at: &mut AtExternal<'_, V>) -> Result<(), SweepError> {
        assert!(K::VALUES && !M::REUSES, "values are kept, one for each identifier");
        let records = &*self;
        let mut sweep = Replaying { records, checked: guarded.then_some(0), at };
        // SAFETY: values are not restored with linear indices.
        unsafe { records.climb(ptr::null_mut(), &mut sweep)? }
        sweep.check_before(u64::MAX)
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Replaying<'_, '_, '_, V, M, L, K> {
    /// Checks the guards up to the one in front of the record with this number.
    fn check_before(&mut self, number: u64) -> Result<(), SweepError> {
        let Some(checked) = &mut self.checked else { return Ok(()) };
        while let Some(guard) = self.records.guards.list.get(*checked).filter(|guard| guard.number <= number) {
            *checked += 1;
            self.records.check_guard(guard, self.records.values())?;
        }
        Ok(())
    }
}

impl<V: Number, M: IndexManager, L: Layer, K: Content> Climb<V> for Replaying<'_, '_, '_, V, M, L, K> {
    /// # Safety
    ///
    /// As [`Climb::record`].
    unsafe fn record(&mut self, record: &Record<V>, number: usize) -> Result<(), SweepError> {
        self.check_before(number as u64)?;
        // SAFETY: the record still lies there; `replay_through` borrows the tape exclusively, and nobody else uses the
        // values.
        unsafe {
            if let Some(external) = record.external() {
                let values = slice::from_raw_parts_mut(self.records.values, self.records.len());
                return (self.at)(external, 0..1, values);
            }
            let value = record.value(self.records.values()).expect("what can be replayed says how");
            self.records.values.add(number).write(value);
        }
        Ok(())
    }
}
