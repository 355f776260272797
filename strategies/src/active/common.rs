//! Which recording a statement belongs to.

use super::singular::Singular;
use super::{Barrier, find_for_statement, innermost, listed, two_recordings};
use crate::{Dependence, Flow, LinearId, Reverse, TapeNumber};
use core::any::TypeId;

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
    let mut common = TapeNumber::NONE;
    for number in numbers {
        if number == TapeNumber::NONE || number == common {
            continue;
        }
        if common != TapeNumber::NONE {
            // What a barrier hides is the more likely mistake.
            find_for_statement(common);
            find_for_statement(number);
            two_recordings(common, number);
        }
        common = number;
    }
    if common == TapeNumber::NONE {
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
/// As [`common_number`].
#[track_caller]
pub fn recording_of<'i, S: Reverse>(ids: impl IntoIterator<Item = &'i S::Id>) -> Option<TapeNumber> {
    let number = |id| S::locate(id).map_or(TapeNumber::NONE, |(number, _)| number);
    common(ids.into_iter().map(number))
}

/// Where the derivatives of a launch over these arrays and variables go: to the recording that all of them belong to,
/// unless it is paused or there is none.
///
/// # Panics
///
/// As [`common_number`].
#[must_use]
#[track_caller]
pub fn flow_of<S: Reverse>(arrays: &[&Dependence<S::Value>], inputs: &[(S::Value, &S::Id)]) -> Flow {
    let of_id = |(_, id): &(S::Value, &S::Id)| S::locate(id).map_or(TapeNumber::NONE, |(number, _)| number);
    let of_array = |array: &&Dependence<S::Value>| match array {
        Dependence::Recorded { number, .. } => *number,
        _ => TapeNumber::NONE,
    };
    common(arrays.iter().map(of_array).chain(inputs.iter().map(of_id))).map_or(Flow::Nowhere, Flow::Recorded)
}

/// The innermost recording of strategy `S` on this thread, as where derivatives go, unless it is paused. What a stage
/// must not see is not found.
#[must_use]
pub fn innermost_flow<S: Reverse>() -> Flow {
    let mut at = innermost();
    // SAFETY: every listed header is valid, and the list ends in `END`, whose `outer` is null.
    while let Some(header) = unsafe { at.as_ref() } {
        if header.kind == TypeId::of::<Barrier>() {
            break;
        }
        if header.kind == TypeId::of::<S>() {
            let is_paused = header.pauses.get() > 0;
            return if is_paused { Flow::Nowhere } else { Flow::Recorded(header.number.get()) };
        }
        at = header.outer.get();
    }
    Flow::Nowhere
}

/// Notes that the caller's statement, which the recording with this number has just recorded, has a function that is
/// singular. The first of a recording is kept, and every sweep over the recording fails with it.
///
/// For strategies that take the policy [`Checked`](crate::Checked). If there is no such recording on this thread,
/// nothing is done.
#[cold]
#[track_caller]
pub fn note_singular(number: TapeNumber, function: &'static str) {
    // SAFETY: listed headers are valid.
    if let Some(header) = unsafe { listed(number).as_ref() }.filter(|header| header.singular.get().is_none()) {
        header.singular.set(Some(Singular::here(function)));
    }
}
