//! Register of the active recordings of all threads that keep guards.

use crate::identifier::RecordingId;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

static GUARDED: Mutex<Vec<RecordingId>> = Mutex::new(Vec::new());
/// Length of `GUARDED`, readable without the lock.
static GUARDING: AtomicUsize = AtomicUsize::new(0);

/// Adds a recording that keeps guards to the register, or removes it.
#[cold]
pub(crate) fn announce(number: RecordingId, begins: bool) {
    let mut guarded = GUARDED.lock().unwrap_or_else(PoisonError::into_inner);
    guarded.retain(|known| *known != number);
    if begins {
        guarded.push(number);
    }
    GUARDING.store(guarded.len(), Ordering::Relaxed);
}

/// Returns true if the recording is registered.
pub(crate) fn is_announced(number: RecordingId) -> bool {
    GUARDED.lock().unwrap_or_else(PoisonError::into_inner).contains(&number)
}

/// Returns true if any recording is registered.
#[inline(always)]
pub(crate) fn some_announced() -> bool {
    GUARDING.load(Ordering::Relaxed) != 0
}
