//! Which recording a statement belongs to.

use super::{find_for_statement, listed, two_recordings};
use crate::{LinearId, Reverse, TapeNumber};

/// The recording that all active identifiers belong to; `None` if all are passive, or the recording is paused.
///
/// # Panics
///
/// When they belong to two recordings.
#[track_caller]
pub fn common_number<I: crate::IndexType>(ids: impl IntoIterator<Item = LinearId<I>>) -> Option<TapeNumber> {
    common(ids.into_iter().map(LinearId::number))
}

#[track_caller]
fn common(numbers: impl Iterator<Item = TapeNumber>) -> Option<TapeNumber> {
    let mut common = TapeNumber(0);
    for number in numbers {
        if number == TapeNumber(0) || number == common {
            continue;
        }
        if common != TapeNumber(0) {
            // What a barrier hides is the more likely mistake.
            find_for_statement(common);
            find_for_statement(number);
            two_recordings(common, number);
        }
        common = number;
    }
    if common == TapeNumber(0) {
        return None;
    }
    // SAFETY: listed headers are valid.
    match unsafe { listed(common).as_ref() } {
        Some(header) if header.pauses.get() > 0 => {
            // What a barrier hides must not be used, paused or not.
            find_for_statement(common);
            None
        }
        _ => Some(common),
    }
}

/// [`common_number`] for the identifiers of any strategy that can be swept.
///
/// # Panics
///
/// As there.
#[track_caller]
pub fn recording_of<'i, S: Reverse>(ids: impl IntoIterator<Item = &'i S::Id>) -> Option<TapeNumber> {
    let number = |id| S::locate(id).map_or(TapeNumber(0), |(number, _)| number);
    common(ids.into_iter().map(number))
}

/// The recording that all of these numbers, those that are not 0, and active identifiers belong to; `None` if there is none, or the
/// recording is paused.
///
/// # Panics
///
/// As [`common_number`].
#[track_caller]
pub fn recording_among<'i, S: Reverse>(
    numbers: impl IntoIterator<Item = TapeNumber>,
    ids: impl IntoIterator<Item = &'i S::Id>,
) -> Option<TapeNumber> {
    let number = |id| S::locate(id).map_or(TapeNumber(0), |(number, _)| number);
    common(numbers.into_iter().chain(ids.into_iter().map(number)))
}
