//! Replays: values of all variables at other inputs, from the first record to the last.

use crate::contract::AtExternal;
use crate::external::Mark;
use crate::storage::Layer;
use crate::tape::read::cursor::{Cursor, Values};
use crate::tape::store::recording::{Content, Records};
use crate::tape::store::steps::Stop;
use crate::{IndexManager, Number, SweepError};

impl<V: Number, M: IndexManager, L: Layer, K: Content> Records<V, M, L, K> {
    /// Fails if the recording has a statement of which only partials were kept.
    pub(crate) fn can_be_replayed(&self) -> Result<(), SweepError> {
        if self.first_partials >= self.next {
            return Ok(());
        }
        Err(SweepError::Unsupported {
            what: format!(
                "cannot replay this recording: the record of variable {} says how to differentiate it, not how to \
                 compute it. That is so for `with_partials`, `preaccumulate` and `statement`, for functions of slices \
                 with passive arguments (make all of them inputs), and, in a recording with guards, for variables that \
                 are numbers of another recording",
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
        let mut steps = core::mem::take(&mut self.steps);
        let (records, values) = self.with_values();
        let outcome = records.up_by_steps(&mut steps, values, |stop, values| match stop {
            Stop::Guard(guard) if guarded => records.check_guard(&records.guards.list[guard], values),
            Stop::Guard(_) => Ok(()),
            Stop::External(external) => at(external, 0..1, values),
        });
        self.steps = steps;
        outcome
    }
}
