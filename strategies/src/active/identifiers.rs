//! The identifiers of recordings that reuse them.

use super::{innermost, listed, not_active};
use crate::pool::Pool;
use crate::refusal::Refusal;
use crate::{LinearId, TapeNumber};

/// Counts one more variable with this identifier, which only one had so far if this is the `first` copy; false if its
/// recording is not active on this thread.
#[inline]
pub(crate) fn share(id: LinearId, first: bool) -> bool {
    // SAFETY: listed headers are valid; counting runs no code of users.
    unsafe {
        let header = listed(id.number()).as_ref();
        header.map(|header| header.pool.with(|pool| pool.share(narrow(id), first))).is_some()
    }
}

/// Returns the identifier in `bits` if it is the innermost recording's and has no mark, `mark` being the lowest one;
/// else false.
#[inline(always)]
pub(crate) fn release_unshared(bits: u64, mark: u64) -> bool {
    // SAFETY: the innermost header is always valid on its own thread; returning an identifier runs no code of users.
    unsafe {
        let header = innermost();
        // Counted from 1, so that no passive variable passes for one of the end of the list, which all threads share.
        let rest = bits.wrapping_sub((*header).number.get().first_bits());
        if rest >= mark - 1 {
            return false;
        }
        (*header).pool.with(|pool| pool.release(narrow(LinearId::from_bits(rest + 1))));
    }
    true
}

/// Counts one variable less with this identifier, which others may have if it is `shared`; does nothing if its
/// recording is not active on this thread.
#[cold]
#[inline(never)]
pub(crate) fn release(id: LinearId, shared: bool) {
    let index = narrow(id);
    // SAFETY: as in `share`.
    unsafe {
        if let Some(header) = listed(id.number()).as_ref() {
            header.pool.with(|pool| if shared { pool.release_shared(index) } else { pool.release(index) });
        }
    }
}

#[inline(always)]
#[allow(clippy::cast_possible_truncation, reason = "reused identifiers have 30 bits")]
fn narrow(id: LinearId) -> u32 {
    id.index() as u32
}

/// Gives `f` the identifiers of a recording that is active on this thread, whether or not its tape is lent out.
///
/// # Panics
///
/// When it is not active.
///
/// # Safety
///
/// As [`PoolCell::with`].
#[track_caller]
pub(crate) unsafe fn with_pool<R>(number: TapeNumber, f: impl FnOnce(&mut Pool) -> R) -> R {
    // SAFETY: listed headers are valid; the caller vouches for `f`.
    unsafe {
        match listed(number).as_ref() {
            Some(header) if number != TapeNumber::NONE => header.pool.with(f),
            _ => not_active(number),
        }
    }
}

/// Takes an identifier of a recording that is active on this thread and reuses them: one that was returned, or `fresh`,
/// the next that has not been used. None is larger than `largest`.
///
/// # Panics
///
/// When the recording is not active.
#[track_caller]
pub(crate) fn take_identifier(number: TapeNumber, fresh: &mut u64, largest: u64) -> Result<u64, Refusal> {
    // SAFETY: these are methods of the pool, and numbers.
    unsafe {
        with_pool(number, |pool| {
            let end = largest + 1;
            if pool.next(*fresh, end).is_none() {
                if *fresh >= end {
                    return Err(Refusal::OutOfIdentifiers { used: *fresh - 1, limit: largest, reused: true });
                }
                pool.grow(usize::try_from((2 * *fresh).clamp(512, end)).unwrap_or(usize::MAX))?;
            }
            let id = u64::from(pool.next(*fresh, end).expect("there is room for one more"));
            pool.take(id, fresh);
            Ok(id)
        })
    }
}
