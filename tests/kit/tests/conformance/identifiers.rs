//! Identifiers that count who has them.

use super::{Fault, has, lock, recording};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use tapewright::strategies::contract::Variable;
use tapewright::strategies::identifier::LinearId;

/// Slots of a recording that have been given back.
pub(crate) type Free = Arc<Mutex<Vec<usize>>>;

/// A recording and a slot, and a share in the slot unless it is never given to another variable.
pub(crate) struct Id {
    pub(crate) raw: LinearId,
    share: Option<Arc<Share>>,
}

/// Gives a slot back when the last variable that has it is gone.
struct Share {
    slot: usize,
    to: Free,
    returned: AtomicBool,
    /// Whether it is an input whose slot must not go back before the recording ends.
    input: bool,
    home: ThreadId,
}

impl Share {
    fn give_back(&self) {
        if self.returned.swap(true, Ordering::Relaxed) {
            return;
        }
        let latest = has(Fault::ReturnsToTheLatestRecording).then(recording::latest_free);
        let mut free = lock(latest.as_ref().unwrap_or(&self.to));
        free.push(self.slot);
        if has(Fault::ReturnsTwiceInAPanic) && thread::panicking() {
            free.push(self.slot);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Id {
    /// That of passive variables, or one whose slot is never given to another variable.
    pub(crate) const fn pinned(raw: LinearId) -> Self {
        Self { raw, share: None }
    }

    /// One whose slot goes back there.
    pub(crate) fn counted(raw: LinearId, to: &Free, input: bool) -> Self {
        let (returned, home) = (AtomicBool::new(false), thread::current().id());
        let share = Share { slot: slot(raw), to: Arc::clone(to), returned, input, home };
        Self { raw, share: Some(Arc::new(share)) }
    }
}

impl Clone for Id {
    fn clone(&self) -> Self {
        if has(Fault::CopiesOldVariablesAsPassive) && self.raw.number() != recording::latest() {
            return Self::pinned(LinearId::PASSIVE);
        }
        let elsewhere = |share: &Arc<Share>| share.home != thread::current().id();
        let uncounted = has(Fault::DoesNotCountCopiesElsewhere) && self.share.as_ref().is_some_and(elsewhere);
        Self { raw: self.raw, share: if uncounted { None } else { self.share.clone() } }
    }
}

impl Drop for Id {
    fn drop(&mut self) {
        let first = self.share.iter().filter(|share| has(Fault::ReturnsWithTheFirstCopy) || share.input);
        first.for_each(|share| share.give_back());
    }
}

/// The slot of an identifier in the adjoint vector.
pub(crate) fn slot(raw: LinearId) -> usize {
    usize::try_from(raw.index()).expect("identifiers fit")
}

/// A value with its identifier.
#[derive(Clone)]
pub(crate) struct Number {
    pub(crate) value: f64,
    pub(crate) id: Id,
}

impl Variable<f64, Id> for Number {
    #[allow(clippy::cast_possible_truncation, reason = "that is the mistake")]
    fn new(value: f64, id: Id) -> Self {
        Self { value: if has(Fault::RoundsValues) { f64::from(value as f32) } else { value }, id }
    }
    fn value(&self) -> f64 {
        self.value
    }
    fn id(&self) -> &Id {
        &self.id
    }
}
