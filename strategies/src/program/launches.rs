//! Launches of kernels in programs: those that share views are one external function of variables.

use crate::error::refusal::catch_device_errors;
use crate::external::{Deed, Entry, External, Slots};
use crate::kernel::launch::{Launch, OperandView, ReplayState};
use crate::kernel::memory::Shadows;
use crate::{Number, Scratch, SweepError};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// Memory that all launches of a program on one thread use, one call after the other. Slots are those of the recording.
struct Memory<V> {
    versions: ReplayState<V>,
    shadows: Vec<Shadows<V>>,
}

impl<V: Number> Default for Memory<V> {
    fn default() -> Self {
        Self { versions: ReplayState::new(Arc::default()), shadows: Vec::new() }
    }
}

/// Launches over views that begin and end in variables.
struct Launches<V: 'static> {
    /// In their order. Variables have slots of their own here, from 1 on: first those that are read, then those that
    /// are results.
    entries: Vec<Entry<V>>,
    /// Numbers of variables that are read, and of results.
    variables: (usize, usize),
    /// For each launch the views that no later one uses.
    last_uses: Vec<Vec<usize>>,
    /// Taken out while it is in use, so that what an error or a panic leaves there is dropped.
    memory: SharedMemory<V>,
}

/// Memory that several functions share.
type SharedMemory<V> = Arc<Mutex<Option<Memory<V>>>>;

/// Calls `f` with the memory, in which it leaves nothing of its launches.
fn with<V: Number>(
    memory: &SharedMemory<V>,
    f: impl FnOnce(&mut Memory<V>) -> Result<(), SweepError>,
) -> Result<(), SweepError> {
    let shared = || memory.lock().unwrap_or_else(PoisonError::into_inner);
    let mut own = shared().take().unwrap_or_default();
    f(&mut own)?;
    *shared() = Some(own);
    Ok(())
}

impl<V: Number> External<V> for Launches<V> {
    fn name(&self) -> String {
        "a launch of a kernel".into()
    }

    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        self.reverse_lanes(1, outputs, inputs)
    }

    fn reverse_lanes(&self, lanes: usize, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let mut adjoints = Scratch::<V>::new();
        adjoints.resize((1 + self.variables.0) * lanes, V::ZERO);
        adjoints.extend_from_slice(outputs);
        with(&self.memory, |Memory { shadows, .. }| {
            shadows.resize_with(shadows.len().max(lanes), Shadows::new);
            let shadows = &mut shadows[..lanes];
            catch_device_errors(|| {
                let mut entries = self.entries.iter().rev();
                entries.try_for_each(|entry| entry.reverse(lanes, &mut adjoints, shadows))
            })?;
            for slot in self.last_uses.iter().flatten() {
                shadows.iter_mut().for_each(|shadows| drop(shadows.take(*slot)));
            }
            Ok(())
        })?;
        let found = &adjoints[lanes..][..inputs.len()];
        inputs.iter_mut().zip(found).filter(|(_, found)| !found.is_nought()).for_each(|(to, found)| *to += *found);
        Ok(())
    }

    fn replay(&mut self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let mut values = Scratch::<V>::new();
        values.push(V::ZERO);
        values.extend_from_slice(inputs);
        values.extend_from_slice(outputs);
        let Self { entries, last_uses, memory, .. } = self;
        with(memory, |Memory { versions, .. }| {
            catch_device_errors(|| {
                for (entry, last) in entries.iter_mut().zip(&*last_uses) {
                    let kept = entry.replay(&mut values, versions)?;
                    if let (Deed::Launch(launch), Some(kept)) = (&mut entry.deed, kept) {
                        launch.accept(kept);
                    }
                    last.iter().for_each(|view| versions.forget(*view));
                }
                Ok(())
            })
        })?;
        outputs.copy_from_slice(&values[1 + self.variables.0..]);
        Ok(())
    }

    fn is_instruction(&self) -> bool {
        true
    }

    fn keeps_zeros(&self) -> bool {
        true
    }
}

/// Puts launches together that share views. Returns the functions, and for each entry the index of the function that it
/// ends; launches without results are left out. Launches that cannot be computed again stay as they are.
pub(super) fn together<V: Number>(entries: Vec<Entry<V>>) -> (Vec<Entry<V>>, Vec<Option<usize>>) {
    let (groups, memory) = (groups(&entries), Arc::default());
    let mut parts: Vec<Vec<Entry<V>>> = entries.iter().map(|_| Vec::new()).collect();
    let mut functions = Vec::new();
    let places = entries.into_iter().zip(groups).enumerate().map(|(k, (entry, (first, last)))| {
        parts[first].push(entry);
        if k < last {
            return None;
        }
        let all = core::mem::take(&mut parts[first]);
        if can_be_together(&all) {
            if all.iter().all(|entry| entry.outputs.len() == 0) {
                return None;
            }
            functions.push(as_function(all, &memory));
        } else {
            functions.extend(all.into_iter().next());
        }
        Some(functions.len() - 1)
    });
    let places = places.collect();
    (functions, places)
}

/// The first entry of a group, to which each of its entries leads, by way of others.
fn first(to: &mut [usize], mut k: usize) -> usize {
    while to[k] != k {
        to[k] = to[to[k]];
        k = to[k];
    }
    k
}

/// For each entry the first and the last one of its group.
fn groups<V: Number>(entries: &[Entry<V>]) -> Vec<(usize, usize)> {
    // Each entry leads to an earlier one of its group, and the first one to itself.
    let (mut to, mut user): (Vec<usize>, _) = ((0..entries.len()).collect(), HashMap::new());
    for (k, entry) in entries.iter().enumerate() {
        for slot in views(entry).flat_map(used) {
            let ends = [*user.entry(slot).or_insert(k), k].map(|k| first(&mut to, k));
            to[ends[0].max(ends[1])] = ends[0].min(ends[1]);
        }
    }
    let of: Vec<usize> = (0..entries.len()).map(|k| first(&mut to, k)).collect();
    let mut last = vec![0; of.len()];
    of.iter().enumerate().for_each(|(k, first)| last[*first] = k);
    of.iter().map(|first| (*first, last[*first])).collect()
}

/// The views of an entry.
fn views<V: Number>(entry: &Entry<V>) -> impl Iterator<Item = OperandView> {
    entry.launch().map(Launch::views).into_iter().flatten()
}

/// The slots of a view.
fn used(view: OperandView) -> impl Iterator<Item = usize> {
    [view.before, view.after.unwrap_or(0)].into_iter().filter(|slot| *slot != 0)
}

/// True if all are launches that can be computed again, and whose views come from variables.
fn can_be_together<V: Number>(entries: &[Entry<V>]) -> bool {
    let mut written = HashSet::from([0]);
    entries.iter().all(|entry| {
        let known = views(entry).all(|view| written.contains(&view.before));
        written.extend(views(entry).filter_map(|view| view.after));
        known && entry.launch().is_some_and(|launch| !launch.always() && launch.can_be_replayed().is_ok())
    })
}

/// Launches as one function of variables.
fn as_function<V: Number>(mut entries: Vec<Entry<V>>, memory: &SharedMemory<V>) -> Entry<V> {
    let results: Vec<usize> = entries.iter().flat_map(|entry| entry.outputs.iter().collect::<Vec<_>>()).collect();
    let mut inputs: Vec<usize> = entries.iter().flat_map(|entry| entry.inputs.iter().collect::<Vec<_>>()).collect();
    let own: HashSet<usize> = results.iter().copied().chain([0]).collect();
    inputs.retain(|slot| !own.contains(slot));
    inputs.sort_unstable();
    inputs.dedup();
    let places: HashMap<usize, usize> =
        inputs.iter().chain(&results).enumerate().map(|(k, slot)| (*slot, k + 1)).chain([(0, 0)]).collect();
    let mut last_of = HashMap::new();
    for (k, entry) in entries.iter_mut().enumerate() {
        for slots in [&mut entry.inputs, &mut entry.outputs] {
            let own: Vec<usize> = slots.iter().map(|slot| places[&slot]).collect();
            *slots = Slots::of(own.len(), &|k| own[k]);
        }
        views(entry).flat_map(used).for_each(|slot| _ = last_of.insert(slot, k));
    }
    let mut last_uses = vec![Vec::new(); entries.len()];
    last_of.into_iter().for_each(|(slot, k)| last_uses[k].push(slot));
    let variables = (inputs.len(), results.len());
    let deed = Deed::Function(Box::new(Launches { entries, variables, last_uses, memory: Arc::clone(memory) }));
    let slots = |slots: &[usize]| Slots::of(slots.len(), &|k| slots[k]);
    Entry { inputs: slots(&inputs), passive: Box::default(), outputs: slots(&results), deed }
}
