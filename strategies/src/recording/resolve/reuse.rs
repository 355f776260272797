//! Counts of variables per identifier, in recordings that reuse identifiers.

use super::messages::not_active;
use crate::error::Refusal;
use crate::identifier::{LinearId, RecordingId};
use crate::recording::current::list::{PoolOf, innermost_number};

/// Counts one more variable with this identifier; `first` is true if only one variable had it so far. Returns false if
/// the recording of the identifier is not active on this thread.
#[inline]
pub(crate) fn share(id: LinearId, first: bool) -> bool {
    PoolOf(id.number()).share(narrow(id), first).is_some()
}

/// Counts one variable less with this identifier; `shared` is true if other variables may have it. Does nothing if the
/// recording of the identifier is not active on this thread.
#[cold]
#[inline(never)]
pub(crate) fn release(id: LinearId, shared: bool) {
    let (pool, index) = (PoolOf(id.number()), narrow(id));
    _ = if shared { pool.release_shared(index) } else { pool.release(index) };
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "reused identifiers have 30 bits")]
fn narrow(id: LinearId) -> u32 {
    id.index() as u32
}

/// Returns the result of `f` on the identifiers of a recording that is active on this thread, even while its tape is
/// lent.
///
/// # Panics
///
/// When the recording is not active.
#[inline]
#[track_caller]
pub(crate) fn with_pool<R>(number: RecordingId, f: impl FnOnce(PoolOf) -> Option<R>) -> R {
    let Some(outcome) = f(PoolOf(number)) else { not_active(number, innermost_number()) };
    outcome
}

/// Takes an identifier of a recording that is active on this thread and reuses identifiers: a returned one, or `fresh`,
/// the next unused one. No identifier is larger than `largest`.
///
/// # Panics
///
/// When the recording is not active.
#[track_caller]
pub(crate) fn take_identifier(number: RecordingId, fresh: &mut u64, largest: u64) -> Result<u64, Refusal> {
    let end = largest + 1;
    if with_pool(number, |pool| pool.next(*fresh, end)).is_none() {
        if *fresh >= end {
            return Err(Refusal::OutOfIdentifiers { used: *fresh - 1, limit: largest, reused: true });
        }
        let length = usize::try_from((2 * *fresh).clamp(512, end)).unwrap_or(usize::MAX);
        with_pool(number, |pool| pool.grow(length))?;
    }
    let id = u64::from(with_pool(number, |pool| pool.next(*fresh, end)).expect("there is room for one more"));
    with_pool(number, |pool| pool.take(id, fresh));
    Ok(id)
}
