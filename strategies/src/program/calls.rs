//! External functions of programs, which have a state: what a rule keeps is of the scenario that was computed last.

use super::launches::together;
use super::spare::Spare;
use crate::external::Entry;
use crate::recording::OwnedTape;
use crate::{InRegisters, Instructions, Number, Scratch, SweepError};

/// An argument of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leaf<V> {
    /// The variable with this identifier.
    Variable(usize),
    /// A number.
    Passive(V),
}

/// A call of an external function.
pub(crate) struct Call<V> {
    /// Its index among all.
    pub(crate) index: usize,
    /// Its name in messages.
    pub(crate) name: String,
    pub(crate) inputs: Vec<Leaf<V>>,
    /// The identifiers of its results.
    pub(crate) results: Vec<usize>,
}

impl<V> Call<V> {
    /// The identifiers of the inputs that are variables.
    pub(crate) fn ids(&self) -> impl Iterator<Item = usize> + '_ {
        self.inputs.iter().filter_map(|leaf| if let Leaf::Variable(id) = leaf { Some(*id) } else { None })
    }
}

/// The calls of external functions in a recording, in their order. Launches that share views are one call.
#[derive(Default)]
pub struct Calls<V: Number> {
    pub(crate) entries: Vec<Entry<V>>,
    /// For each entry of the recording the call that it ends, if it does.
    places: Vec<Option<usize>>,
}

impl<V: InRegisters> Calls<V> {
    /// Takes the calls out of a recording.
    #[must_use]
    pub fn of(tape: &mut OwnedTape<Instructions<V>>) -> Self {
        let (entries, places) = together(tape.take_entries());
        Self { entries, places }
    }
}

impl<V: Number> Calls<V> {
    /// An entry of a recording as a step of a listing; `None` if it has none, as launches but the last one over the
    /// same views.
    ///
    /// # Errors
    ///
    /// [`SweepError::Unsupported`] when it is no instruction.
    pub(super) fn listed(&mut self, entry: usize) -> Result<Option<Call<V>>, SweepError> {
        let Some(index) = *self.places.get(entry).ok_or_else(|| SweepError::left_out(entry))? else { return Ok(None) };
        let entry = &mut self.entries[index];
        let is_empty = entry.inputs.len() == 0 || entry.outputs.len() == 0;
        let refuse = |why: &str| Err(SweepError::Unsupported { what: why.to_owned() });
        let name = match entry.function() {
            None => {
                return refuse(
                    "launches that cannot be replayed, stages of views that run apart, and messages are no instructions",
                );
            }
            Some(function) if !function.is_instruction() => {
                return refuse(&format!("{} is no instruction: it cannot be computed again", function.name()));
            }
            Some(function) if is_empty => {
                return refuse(&format!("{} is no instruction: it has no arguments or no results", function.name()));
            }
            Some(function) => function.name(),
        };
        let mut passive = entry.passive.iter();
        let leaf = |slot| match slot {
            0 => Leaf::Passive(*passive.next().expect("values of passive inputs are kept")),
            slot => Leaf::Variable(slot),
        };
        let (inputs, results) = (entry.inputs.iter().map(leaf).collect(), entry.outputs.iter().collect());
        Ok(Some(Call { index, name, inputs, results }))
    }

    /// Computes the results of a call, given the values of variables by identifier, and those that were recorded, from
    /// which functions start that look at old results.
    pub(super) fn compute(&mut self, index: usize, recorded: &[V], values: &mut [V]) -> Result<(), SweepError> {
        let entry = &mut self.entries[index];
        let inputs = entry.values_of_inputs(values);
        let mut results: Scratch<V> = Scratch::of(entry.outputs.iter().map(|id| recorded[id]));
        entry.function().expect("calls are functions").replay(&inputs, &mut results)?;
        entry.outputs.iter().zip(&*results).for_each(|(id, result)| values[id] = *result);
        Ok(())
    }

    /// Passes adjoints from the results of a call to its inputs, at the values that were computed last.
    pub(super) fn reverse(&self, index: usize, adjoints: &mut [V]) -> Result<(), SweepError> {
        self.entries[index].reverse(1, adjoints, &mut [])
    }
}

/// Calls that somebody uses, and returns when they are dropped.
pub struct Lent<V: Number> {
    pub(crate) calls: Calls<V>,
    to: Spare<Calls<V>>,
}

impl<V: Number> Lent<V> {
    pub(super) fn of(calls: Calls<V>, to: &Spare<Calls<V>>) -> Self {
        Self { calls, to: to.clone() }
    }
}

impl<V: Number> Drop for Lent<V> {
    fn drop(&mut self) {
        if !self.calls.entries.is_empty() {
            let calls = core::mem::take(&mut self.calls);
            self.to.give_back(calls);
        }
    }
}
