//! Recording of external functions, launches and input views: the entries of a recording outside its tape.

use super::trace::note_entry;
use crate::contract::Variable;
use crate::error::Refusal;
use crate::external::{Arrays, Deed, Entry, Externals, Slots, TapeCache};
use crate::identifier::RecordingId;
use crate::kernel::launch::LaunchSlot;
use crate::kernel::memory::SharedArray;
use crate::policy::Policy;
use crate::recording::current::state::Place;
use crate::recording::resolve::messages::two_recordings;
use crate::recording::resolve::statement::{recording_of, visible, with_parts};
use crate::{External, Reverse};
use core::panic::Location;
use smallvec::SmallVec;

/// Records an external function on the tape of strategy `S` that records under `number` on this thread, behind its last
/// statement. `inputs` are the values and identifiers of its arguments, `outputs` the values of its results; each
/// result becomes a variable, with whose value and identifier `each` is called, in order.
///
/// # Panics
///
/// In the cases listed at [`with`](crate::recording::with); when the tape is out of identifiers; when an input is not a
/// variable of this recording. Nothing has been recorded then except variables that are used nowhere, and `rule` is
/// dropped.
#[track_caller]
pub fn record_external<S: Reverse>(
    number: RecordingId,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    rule: Box<dyn External<S::Value>>,
    each: &mut dyn FnMut(S::Value, S::Id),
) {
    record_entry::<S>(number, inputs, outputs, |_| Deed::Function(rule), each);
}

/// Returns the recording that the first active identifier belongs to, unless it is paused. The identifiers behind it
/// are checked here only if the result is `None`: otherwise the caller records a function, and checks them then.
#[track_caller]
fn recording_of_first<'i, S: Reverse>(ids: impl Iterator<Item = &'i S::Id> + Clone) -> Option<RecordingId> {
    recording_of::<S>(ids.clone().find(|id| S::locate(id).is_some())).or_else(|| recording_of::<S>(ids))
}

/// Implements [`Taping::are_active`](crate::Taping::are_active) for strategies that can be swept.
#[track_caller]
pub(crate) fn are_active<S: Reverse>(pieces: &[&[S::Variable]]) -> bool {
    recording_of_first::<S>(pieces.iter().copied().flatten().map(Variable::id)).is_some()
}

/// Implements [`Taping::record_external_of`](crate::Taping::record_external_of) for strategies that can be swept.
#[track_caller]
pub(crate) fn record_external_of<S: Reverse>(
    pieces: &[&[S::Variable]],
    outputs: &[S::Value],
    rule: Box<dyn External<S::Value>>,
    each: &mut dyn FnMut(S::Value, S::Id),
) {
    let variables = || pieces.iter().copied().flatten();
    match recording_of_first::<S>(variables().map(Variable::id)) {
        Some(number) => {
            let inputs: Vec<_> = variables().map(|variable| (variable.value(), variable.id())).collect();
            record_entry::<S>(number, &inputs, outputs, |_| Deed::Function(rule), each);
        }
        None => outputs.iter().for_each(|value| each(*value, S::passive())),
    }
}

/// Records a launch over arrays of this recording, as [`record_external`] records a function; `write` writes it into
/// the slot where the recording keeps it.
///
/// # Panics
///
/// In the cases listed at [`record_external`].
#[track_caller]
pub fn record_launch<S: Reverse>(
    number: RecordingId,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    write: &mut dyn FnMut(&mut LaunchSlot<'_, S::Value>),
    each: &mut dyn FnMut(S::Value, S::Id),
) {
    let write = |externals: &mut Externals<S::Value>| {
        let mut slot = LaunchSlot::within(externals.spare_launches());
        write(&mut slot);
        Deed::Launch(slot.into_launch())
    };
    record_entry::<S>(number, inputs, outputs, write, each);
}

/// Writes arrays that the recording of strategy `S` under `number` keeps to disk, until the remaining ones fit into
/// memory.
///
/// # Panics
///
/// In the cases listed at [`with`](crate::recording::with); and when the arrays cannot be written, with an error that
/// [`catch_storage_errors`](crate::error::catch_storage_errors) catches. Arrays that were not written stay in memory.
#[track_caller]
pub fn make_room<S: Reverse>(number: RecordingId) {
    let outcome = with_parts::<S, _>(number, |tape, externals| externals.arrays.make_room(S::array_file(tape)));
    if let Err(error) = outcome {
        Refusal::Storage(error).raise();
    }
}

/// Calls `f` with the arrays of the recording of strategy `S` under `number` on this thread.
///
/// # Panics
///
/// In the cases listed at [`with`](crate::recording::with).
#[track_caller]
pub fn with_arrays<S: Reverse, R>(number: RecordingId, f: impl FnOnce(&mut Arrays<S::Value>) -> R) -> R {
    with_parts::<S, _>(number, |_, externals| f(&mut externals.arrays))
}

/// Keeps, for replays, the values of an input view of the recording of strategy `S` under `number` on this thread.
///
/// # Panics
///
/// In the cases listed at [`with`](crate::recording::with).
#[track_caller]
pub fn keep_input<S: Reverse>(number: RecordingId, slot: usize, values: SharedArray<S::Value>) {
    with_parts::<S, _>(number, |_, externals| externals.keep_input(slot, values));
}

/// Lists the entry that `make` returns and makes a record of it; notes the caller's source location under `Tracing`.
#[track_caller]
fn record_entry<S: Reverse>(
    number: RecordingId,
    inputs: &[(S::Value, &S::Id)],
    outputs: &[S::Value],
    make: impl FnOnce(&mut Externals<S::Value>) -> Deed<S::Value>,
    each: &mut dyn FnMut(S::Value, S::Id),
) {
    let from = S::Policy::tracing(|| with_parts::<S, _>(number, |tape, _| S::next_record(tape)));
    let ids = with_parts::<S, _>(number, |tape, externals| {
        let slots = Slots::of(inputs.len(), &|k| slot_in::<S>(number, inputs[k].1));
        let mut passive = Vec::new();
        for (k, (value, _)) in inputs.iter().enumerate() {
            if slots.get(k) == 0 {
                passive.push(*value);
            }
        }
        assert!(
            slots.largest() < S::identifiers(tape),
            "an input of this external function is a variable that recording {number} never made"
        );
        let mut deed = make(externals);
        if S::SPILLS
            && let Deed::Launch(launch) = &mut deed
        {
            externals.arrays.hold(&mut **launch, S::array_file(tape));
        }
        let (ids, outputs) = record_results::<S>(tape, externals.list.len(), outputs);
        externals.list.push(Entry { inputs: slots, passive: passive.into_boxed_slice(), outputs, deed });
        ids
    });
    for (value, id) in outputs.iter().zip(ids) {
        each(*value, id);
    }
    let here = Location::caller();
    S::Policy::tracing(|| from.map(|from| note_entry::<S>(number, from, outputs, Some(inputs), here)));
}

/// Makes the record of the entry with this index, and returns the identifiers of its results and their slots. Called
/// after all else that can fail, so that no record exists of an entry that was not listed.
fn record_results<S: Reverse>(tape: &mut S::Tape, index: usize, outputs: &[S::Value]) -> (SmallVec<[S::Id; 1]>, Slots) {
    let external = u32::try_from(index).expect("a recording has fewer than 2^32 external functions");
    let (mut ids, mut slots) = (SmallVec::<[S::Id; 1]>::new(), SmallVec::<[usize; 1]>::new());
    S::external(tape, external, outputs, &mut |id| {
        slots.push(S::locate(&id).map_or(0, |(_, slot)| slot));
        ids.push(id);
    });
    (ids, Slots::of(slots.len(), &|k| slots[k]))
}

/// The slot of an argument in the recording with this id; 0 if the argument is passive. Panics if it belongs to another
/// recording.
#[track_caller]
fn slot_in<S: Reverse>(number: RecordingId, id: &S::Id) -> usize {
    match S::locate(id) {
        None => 0,
        Some((of, slot)) if of == number => slot,
        Some((of, _)) => {
            // A use of a recording that a barrier hides is the more likely mistake, and is reported first.
            visible(number);
            visible(of);
            two_recordings(number, of)
        }
    }
}

/// Calls `f` with the cache of type `C` in the tape of strategy `S` that records under `number` on this thread, and
/// makes the cache if there is none yet.
///
/// # Panics
///
/// In the cases listed at [`with`](crate::recording::with).
#[track_caller]
pub fn with_cache<S: Reverse, C: TapeCache + Default, R>(number: RecordingId, f: impl FnOnce(&mut C) -> R) -> R {
    with_parts::<S, _>(number, |_, externals| f(externals.cache()))
}

/// Returns the position behind the last statement of the recording of strategy `S` under `number`, which is active on
/// this thread.
///
/// # Panics
///
/// In the cases listed at [`with`](crate::recording::with).
#[must_use]
#[track_caller]
pub fn place<S: Reverse>(number: RecordingId) -> Place {
    with_parts::<S, _>(number, |tape, externals| Place::new::<S>(number, tape, externals))
}
