//! Replays of a recording at other inputs.

use crate::error::refusal::catch_device_errors;
use crate::external::{Deed, Entry, Externals};
use crate::kernel::launch::{Launch, OperandView, ReplayResult, ReplayState};
use crate::kernel::memory::SharedArray;
use crate::kernel::not_kept;
use crate::policy::Policy;
use crate::recording::current::list::OwnedTape;
use crate::recording::current::singular::Singular;
use crate::scratch::Scratch;
use crate::singular::refuses_singular;
use crate::{Number, Replay, SweepError};
use core::panic::Location;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// New values of a view: its slot and the values.
pub(crate) type NewView<V> = (usize, SharedArray<V>);

impl<S: Replay> OwnedTape<S> {
    /// Switches on or off that later recordings keep data for a [`replay`](Self::replay) in addition to records: guards
    /// of comparisons, which a replay checks, and values of arrays that launches of kernels read.
    pub fn set_guards(&mut self, keep: bool) {
        self.state_mut().guarded = keep;
    }

    /// Recomputes the recording, external functions and launches included, with these values in these slots of
    /// variables and of views. All other inputs keep their values.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when a slot is not an input's, or a statement or launch cannot be recomputed from
    /// the kept data: nothing has been changed then. [`SweepError::BranchChanged`] when a comparison that left a guard
    /// comes out differently, and the errors of rules: the recording is then restored, recomputed at the old inputs.
    /// [`SweepError::Storage`] when records cannot be read back: values are then unspecified until a replay succeeds.
    ///
    /// # Panics
    ///
    /// When a rule panics: the recording is then restored, unless a rule panics at the old inputs, too. When a view is
    /// given another number of elements than it has.
    #[track_caller]
    pub fn replay(&mut self, inputs: &[(usize, S::Value)], views: Vec<NewView<S::Value>>) -> Result<(), SweepError> {
        let unguarded = self.state().unguarded;
        let (tape, externals) = self.parts_mut();
        S::can_be_replayed(tape)?;
        let uses = externals.check(unguarded)?;
        for (slot, _) in inputs {
            let computed = externals.list.iter().any(|entry| entry.outputs.iter().any(|output| output == *slot));
            if computed || !S::has_no_statement(tape, *slot)? {
                let what = format!("variable {slot} of the recording is no input: a replay cannot give it a value");
                return Err(SweepError::Unsupported { what });
            }
        }
        let places = externals.places_of(&views)?;
        let mut versions = externals.versions();
        views.iter().for_each(|(slot, values)| versions.put(*slot, values.clone()));
        let mut kept = Vec::new();
        let outcome = catch_device_errors(|| {
            compute::<S>(tape, &mut externals.list, inputs, |k, entry, values| {
                kept.push((k, entry.replay(values, &mut versions)?));
                uses.forget(k, entry, &mut versions);
                Ok(())
            })
        });
        if outcome.is_ok() {
            externals.accept(kept);
            places.into_iter().zip(views).for_each(|(k, (_, values))| externals.arrays.input_values[k].values = values);
            if refuses_singular::<S>() {
                let function = S::singular(tape)?;
                let location = Location::caller();
                self.set_singular(function.map(|function| Singular { function, location }));
            }
            S::Policy::tracing(|| self.look_again()).unwrap_or(Ok(()))?;
        }
        outcome
    }

    /// Returns the values of the view in this slot after the latest replay; `None` if there was no replay, or the view
    /// belongs to no launch or input.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when the launches up to the last one that writes the view cannot be recomputed.
    pub fn array_values(&self, slot: usize) -> Result<Option<SharedArray<S::Value>>, SweepError> {
        catch_device_errors(|| {
            let values = self.present_values(slot)?;
            // Elements on a device come to the host here, where that may fail.
            values.iter().for_each(|values| _ = values.part(0));
            Ok(values)
        })
    }

    fn present_values(&self, slot: usize) -> Result<Option<SharedArray<S::Value>>, SweepError> {
        let externals = self.externals();
        if !externals.arrays.replayed {
            return Ok(None);
        }
        let mut values =
            externals.arrays.input_values.iter().find(|input| input.slot == slot).map(|input| input.values.clone());
        let uses = externals.check(self.state().unguarded)?;
        let written = |entry: &Entry<S::Value>| slots(entry).any(|view| view.after == Some(slot));
        if let Some(last) = externals.list.iter().rposition(written) {
            let (mut versions, all) = (externals.versions(), S::values(self.tape()));
            for (k, entry) in externals.list[..=last].iter().enumerate() {
                if let Some(launch) = entry.launch() {
                    let mut outputs: Scratch<S::Value> = Scratch::of(entry.outputs.iter().map(|slot| all[slot]));
                    launch.replay(&entry.values_of_inputs(all), &mut outputs, &mut versions)?;
                }
                if k < last {
                    uses.forget(k, entry, &mut versions);
                }
            }
            values = Some(versions.get(slot));
        }
        Ok(values)
    }
}

/// Recomputes all variables with these values of inputs, and calls `replay` with each entry in turn, and its index.
/// After an error or a panic, restores all variables.
fn compute<S: Replay>(
    tape: &mut S::Tape,
    entries: &mut [Entry<S::Value>],
    inputs: &[(usize, S::Value)],
    mut replay: impl FnMut(usize, &mut Entry<S::Value>, &mut [S::Value]) -> Result<(), SweepError>,
) -> Result<(), SweepError> {
    let exchange = |tape: &mut S::Tape, (slot, value): (usize, S::Value)| {
        (slot, core::mem::replace(&mut S::values_mut(tape)[slot], value))
    };
    let old: Vec<_> = inputs.iter().map(|input| exchange(tape, *input)).collect();
    let (mut passed, mut outputs) = (0, Vec::new());
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        S::replay_through(tape, true, &mut |k, _, values| {
            let entry = entries.get_mut(k).ok_or_else(|| SweepError::left_out(k))?;
            outputs.extend(entry.outputs.iter().map(|slot| values[slot]));
            passed = k + 1;
            replay(k, entry, values)
        })
    }));
    if matches!(outcome, Ok(Ok(()))) {
        return Ok(());
    }
    old.into_iter().rev().for_each(|input| _ = exchange(tape, input));
    let mut outputs = outputs.into_iter();
    S::replay_through(tape, false, &mut |k, _, values| {
        if let Some(entry) = entries[..passed].get_mut(k) {
            let inputs = entry.values_of_inputs(values);
            let mut results: Scratch<S::Value> = Scratch::of(entry.outputs.iter().map(|slot| values[slot]));
            if let Some(rule) = entry.function() {
                // Its outcome is ignored: the results are known from the recording.
                let _ = rule.replay(&inputs, &mut results);
            }
            entry.outputs.iter().zip(&mut outputs).for_each(|(slot, value)| values[slot] = value);
        }
        Ok(())
    })?;
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

/// The views of an entry.
fn slots<V: Number>(entry: &Entry<V>) -> impl Iterator<Item = OperandView> + '_ {
    entry.launch().into_iter().flat_map(Launch::views)
}

/// The index of the last entry that uses each view, by slot.
struct Uses(Vec<Option<usize>>);

impl Uses {
    /// Forgets the versions of views that no later entry uses.
    fn forget<V: Number>(&self, k: usize, entry: &Entry<V>, versions: &mut ReplayState<V>) {
        let used = slots(entry).flat_map(|view| [view.before, view.after.unwrap_or(0)]);
        used.filter(|slot| self.0[*slot] == Some(k)).for_each(|slot| versions.forget(slot));
    }
}

impl<V: Number> Externals<V> {
    /// Checks that all launches can be recomputed. Returns the last use of each view.
    fn check(&self, unguarded: bool) -> Result<Uses, SweepError> {
        let mut known = vec![false; self.arrays.slots() + 1];
        let mut last = vec![None; known.len()];
        known[0] = true;
        self.arrays.input_values.iter().for_each(|input| known[input.slot] = true);
        for (k, entry) in self.list.iter().enumerate() {
            let Some(launch) = entry.launch() else { continue };
            if unguarded {
                return Err(not_kept());
            }
            if self.arrays.held.is_some() {
                let what = "a recording with launches of kernels cannot be replayed if its arrays may go to disk";
                return Err(SweepError::Unsupported { what: what.into() });
            }
            launch.can_be_replayed()?;
            let views = launch.views();
            if !views.iter().all(|view| known[view.before]) {
                return Err(not_kept());
            }
            for slot in views.iter().flat_map(|view| [view.before, view.after.unwrap_or(0)]) {
                (known[slot], last[slot]) = (true, Some(k));
            }
        }
        Ok(Uses(last))
    }

    /// The state of a replay at the beginning of the recording, with the input views.
    fn versions(&self) -> ReplayState<V> {
        let mut versions = ReplayState::new(self.arrays.pool.clone().unwrap_or_default());
        self.arrays.input_values.iter().for_each(|input| versions.put(input.slot, input.values.clone()));
        versions
    }

    /// Returns the indices of these views among the input views.
    fn places_of(&self, views: &[NewView<V>]) -> Result<Vec<usize>, SweepError> {
        let place = |(slot, values): &NewView<V>| {
            let found = self.arrays.input_values.iter().position(|input| input.slot == *slot);
            let what = "a view is no input of a recording that keeps what replays need: a replay cannot give it values (call \
                        `set_guards(true)` before it is recorded)";
            let found = found.ok_or_else(|| SweepError::Unsupported { what: what.into() })?;
            let (expected, found_length) = (self.arrays.input_values[found].values.len(), values.len());
            assert!(expected == found_length, "a view of {expected} elements is given {found_length}");
            Ok(found)
        };
        views.iter().map(place).collect()
    }

    /// Keeps the arrays that a replay has computed.
    fn accept(&mut self, kept: Vec<(usize, Option<ReplayResult<V>>)>) {
        for (k, kept) in kept {
            if let (Deed::Launch(launch), Some(kept)) = (&mut self.list[k].deed, kept) {
                launch.accept(kept);
            }
        }
        self.arrays.replayed = true;
    }
}
