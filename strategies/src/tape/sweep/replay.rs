//! Replays: values of all variables at other inputs, from the first record to the last.

use crate::contract::AtExternal;
use crate::external::Mark;
use crate::storage::Layer;
use crate::tape::read::cursor::{Cursor, Values};
use crate::tape::store::recording::{Content, Records};
use crate::{IndexManager, Number, SweepError};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Fails if the recording has a statement of which only partials were kept.
    pub(crate) fn can_be_replayed(&self) -> Result<(), SweepError> {
        if self.first_partials >= self.next {
            return Ok(());
        }
        Err(SweepError::Unsupported {
            what: format!(
                "a recording whose variable {} is a function of slices with passive arguments, a block, or has partials that were \
                 given, cannot be replayed: its record says how to differentiate it, not how to compute it (make all \
                 arguments inputs); nor can one that keeps guards and whose variables are numbers of another recording",
                self.first_partials
            ),
        })
    }

    /// Returns the name of the first function that is singular, under the policy [`Checked`](crate::Checked).
    pub(crate) fn singular(&self) -> Result<Option<&'static str>, SweepError> {
        let mut first = None;
        Cursor::new(self).down(0, |record, _| {
            first = record.singular(self.values()).or(first);
        })?;
        Ok(first)
    }

    /// Returns true if the variable with this identifier has no statement. Found by walking over the records behind it
    /// in its segment, unless it is among the inputs that come before all statements.
    pub(crate) fn has_no_statement(&self, id: usize) -> Result<bool, SweepError> {
        let number = id as u64;
        if number < self.inputs || number >= self.next {
            return Ok(number < self.inputs);
        }
        let mut cursor = Cursor::new(self);
        // Recordings that are replayed have linear indices.
        cursor.go_to(Mark::new([number + 1, 0, 0, 0]), &mut Values::Lasting(&[]))?;
        if cursor.next() <= id {
            return Ok(true); // among several inputs
        }
        let mut is_input = false;
        cursor.down(id, |record, _| is_input = !record.is_statement())?;
        Ok(is_input)
    }

    /// Recomputes all values; see [`Replay::replay_through`](crate::Replay::replay_through).
    pub(crate) fn replay_through(&mut self, guarded: bool, at: &mut AtExternal<'_, V>) -> Result<(), SweepError> {
        assert!(K::VALUES && !M::REUSES, "values are kept, one for each identifier");
        let (records, values) = self.with_values();
        let mut checked = if guarded { 0 } else { records.guards.list.len() };
        records.up(&mut Values::Lasting(&[]), |record, number, _| {
            records.check_guards(&mut checked, number as u64, values)?;
            if let Some(external) = record.external {
                return at(external, 0..1, values);
            }
            // Others are constants.
            if record.is_statement() && record.arguments() > 0 {
                values[number] = record.value(values).expect("what can be replayed says how");
            }
            Ok(())
        })?;
        records.check_guards(&mut checked, u64::MAX, values)
    }

    /// Checks the guards from index `checked` up to the last one in front of the record with this number.
    fn check_guards(&self, checked: &mut usize, number: u64, values: &[V]) -> Result<(), SweepError> {
        while let Some(guard) = self.guards.list.get(*checked).filter(|guard| guard.number <= number) {
            *checked += 1;
            self.check_guard(guard, values)?;
        }
        Ok(())
    }
}
