//! What a tape keeps beside its records.

use super::{Place, two_recordings, with_parts};
use crate::external::{Arrays, Deed, Entry, Slots};
use crate::lanes::Launch;
use crate::{Companion, External, Reverse, TapeNumber};

/// Records an external function on the tape of strategy `S` that records under `number` on this thread, behind its last
/// statement: `inputs` are the values and identifiers of its arguments, `outputs` the values of its results, each of which becomes a variable that `each` is given, in order.
///
/// # Panics
///
/// As [`with`](super::with), and when the tape is out of identifiers, or an input is not a variable of this recording. Nothing has been
/// recorded then, but for variables that are used nowhere, and `rule` is dropped.
#[track_caller]
pub fn record_external<S: Reverse>(
    number: TapeNumber,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    rule: Box<dyn External<S::Value>>,
    each: impl FnMut(S::Value, S::Id),
) {
    record_deed::<S>(number, inputs, outputs, Deed::Function(rule), each);
}

/// [`record_external`] for a kernel that was launched over arrays of this recording.
///
/// # Panics
///
/// As there.
#[track_caller]
pub fn record_launch<S: Reverse>(
    number: TapeNumber,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    launch: Box<dyn Launch<S::Value>>,
    each: impl FnMut(S::Value, S::Id),
) {
    record_deed::<S>(number, inputs, outputs, Deed::Launch(launch), each);
}

/// Gives `f` the arrays of the recording of strategy `S` under `number` on this thread.
///
/// # Panics
///
/// As [`with`](super::with).
#[track_caller]
pub fn with_arrays<S: Reverse, R>(number: TapeNumber, f: impl FnOnce(&mut Arrays<S::Value>) -> R) -> R {
    with_parts::<S, _>(number, |_, externals| f(&mut externals.arrays))
}

#[track_caller]
fn record_deed<S: Reverse>(
    number: TapeNumber,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    rule: Deed<S::Value>,
    mut each: impl FnMut(S::Value, S::Id),
) {
    let slot = |(_, id): &(S::Value, &S::Id)| match S::locate(id) {
        None => 0,
        Some((of, slot)) if of == number => slot,
        Some((of, _)) => two_recordings(number, of),
    };
    let slots: Vec<usize> = inputs.iter().map(slot).collect();
    let passive = inputs.iter().zip(&slots).filter(|(_, slot)| **slot == 0).map(|((value, _), _)| *value).collect();
    let mut results = Vec::with_capacity(outputs.len());
    let mut rule = Some(rule);
    with_parts::<S, _>(number, |tape, externals| {
        let known = S::identifiers(tape);
        assert!(
            slots.iter().all(|slot| *slot < known),
            "an input of this external function is a variable that recording {number} never made"
        );
        results.extend(outputs.iter().map(|value| S::intermediate(tape, *value)));
        let slot = |id: &S::Id| S::locate(id).map_or(0, |(_, slot)| slot);
        let outputs: Vec<usize> = results.iter().map(slot).collect();
        externals.list.push(Entry {
            mark: S::mark(tape),
            inputs: Slots::new(&slots),
            passive,
            outputs: Slots::new(&outputs),
            rule: rule.take().expect("it is moved once"),
        });
    });
    outputs.iter().zip(results).for_each(|(value, id)| each(*value, id));
}

/// Gives `f` what the tape of strategy `S` that records under `number` on this thread keeps of this type, made if there is
/// none yet.
///
/// # Panics
///
/// As [`with`](super::with).
#[track_caller]
pub fn with_companion<S: Reverse, C: Companion + Default, R>(number: TapeNumber, f: impl FnOnce(&mut C) -> R) -> R {
    with_parts::<S, _>(number, |_, externals| f(externals.companion()))
}

/// The place behind the last statement of the recording of strategy `S` under `number`, which is active on this thread.
///
/// # Panics
///
/// As [`with`](super::with).
#[must_use]
#[track_caller]
pub fn place<S: Reverse>(number: TapeNumber) -> Place {
    with_parts::<S, _>(number, |tape, externals| Place::new::<S>(number, tape, externals))
}
