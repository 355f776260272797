//! Register of the recordings of all threads that keep guards and have not ended.

use crate::RecordingId;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

static GUARDED: Mutex<Vec<RecordingId>> = Mutex::new(Vec::new());
/// How many there are.
static GUARDING: AtomicUsize = AtomicUsize::new(0);

/// Makes a recording that keeps guards known to other threads, or forgets it.
#[cold]
pub(crate) fn announce(number: RecordingId, begins: bool) {
    let mut guarded = GUARDED.lock().unwrap_or_else(PoisonError::into_inner);
    guarded.retain(|known| *known != number);
    if begins {
        guarded.push(number);
    }
    GUARDING.store(guarded.len(), Ordering::Relaxed);
}

/// Whether this one is known.
pub(crate) fn is_announced(number: RecordingId) -> bool {
    GUARDED.lock().unwrap_or_else(PoisonError::into_inner).contains(&number)
}

/// Whether one is.
#[inline(always)]
pub(crate) fn some_announced() -> bool {
    GUARDING.load(Ordering::Relaxed) != 0
}
