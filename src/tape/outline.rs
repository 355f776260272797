//! The outline of a recording that is swept again and again from some of its variables.

use std::sync::{Arc, Mutex, PoisonError};
use tapewright_strategies::identifier::RecordingId;
use tapewright_strategies::recording::OwnedTape;
use tapewright_strategies::{Outline, Reverse};

/// Recordings of fewer records are always swept from their end.
const LEAST: usize = 1024;
/// A sweep is taken to pass at least one in this many records in vain, so that a recording which is swept often enough
/// gets an outline.
const LEAST_IN_VAIN: usize = 4;
/// An outline costs as much as so many sweeps: 6.5 under `Jacobian`, 5 under `PrimalValue`, with 200,000 records.
const COST: usize = 6;

/// The outline of the latest recording, made when sweeps have passed as many records in vain as it costs.
#[derive(Debug, Default)]
pub(crate) struct Outlined(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The id of the recording, and the number of its records.
    of: (RecordingId, usize),
    /// Number of records that sweeps have passed in vain.
    vain: usize,
    outline: Option<Arc<Outline>>,
}

impl Outlined {
    /// Returns the outline of the recording for one more sweep of it from these slots, if there is to be one. `swept`
    /// is the recording that the adjoint vector was used for last, and becomes this one.
    #[inline(always)]
    pub(crate) fn for_sweep<S: Reverse>(
        &self,
        swept: &mut RecordingId,
        owned: &OwnedTape<S>,
        slots: &mut dyn Iterator<Item = usize>,
    ) -> Option<Arc<Outline>> {
        let again = core::mem::replace(swept, owned.number()) == owned.number();
        if again && S::next_record(owned.tape()) > LEAST { self.of_recording(owned, slots) } else { None }
    }

    #[inline(never)]
    fn of_recording<S: Reverse>(
        &self,
        owned: &OwnedTape<S>,
        slots: &mut dyn Iterator<Item = usize>,
    ) -> Option<Arc<Outline>> {
        let records = S::next_record(owned.tape());
        // Other threads sweep meanwhile without an outline.
        let mut state = self.0.try_lock().ok()?;
        if state.of != (owned.number(), records) {
            *state = State { of: (owned.number(), records), vain: 0, outline: None };
        }
        if state.outline.is_none() && state.vain < COST * records {
            state.vain += S::records_behind(owned.tape(), slots).max(records / LEAST_IN_VAIN);
            if state.vain >= COST * records {
                // Records that cannot be read back are reported by the sweep.
                state.outline = owned.outline().ok().flatten().map(Arc::new);
            }
        }
        state.outline.clone()
    }

    /// Bytes that the allocator gave.
    pub(crate) fn bytes(&self) -> usize {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.outline.as_ref().map_or(0, |outline| outline.bytes())
    }
}
