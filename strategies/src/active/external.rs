//! What a tape keeps beside its records.

use super::trace::note_entry;
use super::{Place, two_recordings, with_parts};
use crate::external::{Arrays, Deed, Entry, Externals, Slots};
use crate::lanes::{Launched, OPERANDS, SharedArray};
use crate::refusal::Refusal;
use crate::{Companion, External, Policy, Reverse, TapeNumber};
use core::panic::Location;
use smallvec::SmallVec;

/// Records an external function on the tape of strategy `S` that records under `number` on this thread, behind its last
/// statement: `inputs` are the values and identifiers of its arguments, `outputs` the values of its results, each of
/// which becomes a variable that `each` is given, in order.
///
/// # Panics
///
/// As [`with`](super::with), and when the tape is out of identifiers, or an input is not a variable of this recording.
/// Nothing has been recorded then except variables that are used nowhere, and `rule` is dropped.
#[track_caller]
pub fn record_external<S: Reverse>(
    number: TapeNumber,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    rule: Box<dyn External<S::Value>>,
    each: impl FnMut(S::Value, S::Id),
) {
    let from = S::Policy::tracing(|| with_parts::<S, _>(number, |tape, _| S::next_record(tape)));
    record_entry::<S>(number, inputs, outputs, |_| Deed::Function(rule), each);
    note_traced::<S>(number, from, inputs, outputs);
}

/// Notes where the records from this number on were made, if it is noted.
#[inline(always)]
#[track_caller]
fn note_traced<S: Reverse>(
    number: TapeNumber,
    from: Option<usize>,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
) {
    let here = Location::caller();
    S::Policy::tracing(|| from.map(|from| note_entry::<S>(number, from, outputs, Some(inputs), here)));
}

/// [`record_external`] for a launch over arrays of this recording, which `write` writes where it is kept.
///
/// # Panics
///
/// As [`record_external`].
#[track_caller]
pub fn record_launch<S: Reverse>(
    number: TapeNumber,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    write: impl FnOnce(&mut Launched<S::Value>),
    each: impl FnMut(S::Value, S::Id),
) {
    let write = |externals: &mut Externals<S::Value>| {
        let mut launch = Launched::within(externals.spare.pop());
        write(&mut launch);
        externals.spare.extend(launch.unused());
        Deed::Launch(launch)
    };
    let from = S::Policy::tracing(|| with_parts::<S, _>(number, |tape, _| S::next_record(tape)));
    record_entry::<S>(number, inputs, outputs, write, each);
    note_traced::<S>(number, from, inputs, outputs);
}

/// Writes arrays that the recording of strategy `S` under `number` keeps to disk, until the others fit into memory.
///
/// # Panics
///
/// As [`with`](super::with), and as [`catch_storage_errors`](crate::catch_storage_errors) catches it, when they cannot
/// be written: what is not written stays in memory.
#[track_caller]
pub fn make_room<S: Reverse>(number: TapeNumber) {
    let outcome = with_parts::<S, _>(number, |tape, externals| externals.arrays.make_room(S::array_file(tape)));
    if let Err(error) = outcome {
        Refusal::Storage(error).raise();
    }
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

/// Keeps the values of a view that is an input of the recording of strategy `S` under `number` on this thread, for
/// replays.
///
/// # Panics
///
/// As [`with`](super::with).
#[track_caller]
pub fn keep_input<S: Reverse>(number: TapeNumber, slot: usize, values: SharedArray<S::Value>) {
    with_parts::<S, _>(number, |_, externals| externals.keep_input(slot, values));
}

#[track_caller]
fn record_entry<S: Reverse>(
    number: TapeNumber,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    make: impl FnOnce(&mut Externals<S::Value>) -> Deed<S::Value>,
    mut each: impl FnMut(S::Value, S::Id),
) {
    let slot = |(_, id): &(S::Value, &S::Id)| match S::locate(id) {
        None => 0,
        Some((of, slot)) if of == number => slot,
        Some((of, _)) => two_recordings(number, of),
    };
    let (mut slots, mut passive) = (SmallVec::<[usize; OPERANDS]>::new(), Vec::new());
    for input in inputs {
        slots.push(slot(input));
        if slots.last() == Some(&0) {
            passive.push(input.0);
        }
    }
    let mut results = SmallVec::<[(S::Id, usize); 1]>::new();
    with_parts::<S, _>(number, |tape, externals| {
        let known = S::identifiers(tape);
        assert!(
            slots.iter().all(|slot| *slot < known),
            "an input of this external function is a variable that recording {number} never made"
        );
        let mut deed = make(externals);
        if S::SPILLS
            && let Deed::Launch(launch) = &mut deed
        {
            externals.arrays.hold(launch, S::array_file(tape));
        }
        let external = u32::try_from(externals.list.len()).expect("a recording has fewer than 2^32 external functions");
        // Last, so that there is no record of what was not listed.
        S::external(tape, external, outputs, &mut |id| {
            let slot = S::locate(&id).map_or(0, |(_, slot)| slot);
            results.push((id, slot));
        });
        let to: SmallVec<[usize; 1]> = results.iter().map(|(_, slot)| *slot).collect();
        let (inputs, outputs) = (Slots::new(&slots), Slots::new(&to));
        externals.list.push(Entry { inputs, passive: passive.into_boxed_slice(), outputs, deed });
    });
    outputs.iter().zip(results).for_each(|(value, (id, _))| each(*value, id));
}

/// Gives `f` what the tape of strategy `S` that records under `number` on this thread keeps of this type, made if there
/// is none yet.
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
