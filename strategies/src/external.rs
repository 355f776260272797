//! Functions whose derivatives their author supplies: many inputs, many outputs, owned data.
//!
//! A recording keeps them beside its records, each with its place among them. A sweep goes through the records down to that
//! place, hands the adjoints of the outputs to the function's rule, adds what the rule leaves to those of the inputs, and
//! goes on. So records know nothing of them, and every strategy that has marks ([`Reverse::mark`](crate::Reverse::mark)) has
//! external functions.

use crate::lanes::{
    HeldVersions, Launch, Launched, NewArray, OPERANDS, Pool, Recorded, Replayed, Shadows, SharedArray, Versions, flow,
};
use crate::scratch::Scratch;
use crate::{ArrayFile, Float, MemoryUsage, StorageError, counts};
use core::any::Any;
use core::fmt;
use core::ops::Range;
use smallvec::SmallVec;
use std::collections::HashSet;
use std::sync::Arc;

/// A place in a recording, between two statements.
///
/// Marks of one recording are ordered as the statements are. What the numbers mean is the strategy's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark([u64; 4]);

impl Mark {
    /// A mark of these numbers. Marks are compared by the first number, then the second, and so on.
    #[must_use]
    pub const fn new(numbers: [u64; 4]) -> Self {
        Self(numbers)
    }

    /// The numbers that it was made of.
    #[must_use]
    pub const fn numbers(self) -> [u64; 4] {
        self.0
    }
}

/// A function that is differentiated by rules of its author, and the data that they need.
///
/// The value owns its data. A recording keeps it until the next recording begins, or the tape is dropped, and then drops it
/// once. Recordings may be swept by several threads at once, hence `Send` and `Sync`.
///
/// All slices are parallel to the lists of inputs and outputs with which the function was recorded.
pub trait External<V: Float>: Send + Sync + 'static {
    /// A name for messages.
    fn name(&self) -> String {
        core::any::type_name::<Self>().to_owned()
    }

    /// Reverse rule: adds Σₖ outputsₖ·∂outputₖ/∂inputⱼ to `inputs[j]`, given the adjoints of the outputs. `inputs` is 0 at first.
    /// Entries of passive inputs are ignored.
    ///
    /// Called once in each sweep that passes the function's place, unless there are outputs and all their adjoints are 0. An
    /// infinite or NaN adjoint is not passed on, because 0·∞ would be NaN in most rules: the rule is called once with the other
    /// adjoints, if they are not all 0, and once for each such output, with 1 for it and 0 for the others. What it leaves then is
    /// multiplied by the adjoint, where zero times anything is zero. See [`keeps_zeros`](Self::keeps_zeros).
    ///
    /// # Errors
    ///
    /// The sweep ends with the error. The recording stays as it is.
    fn reverse(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError>;

    /// [`reverse`](Self::reverse) for several adjoint vectors: entry `l` of output `k` is `outputs[k·lanes + l]`. Calls
    /// `reverse` for each of them, unless there is something better to do.
    ///
    /// # Errors
    ///
    /// As `reverse`.
    fn reverse_lanes(&self, lanes: usize, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        each_lane(lanes, outputs, inputs, |from, to| apply(true, from, to, |from, to| self.reverse(from, to)))
    }

    /// Forward rule: writes Σⱼ inputsⱼ·∂outputₖ/∂inputⱼ to `outputs[k]`, which are 0 at first, given the tangents of the inputs, not
    /// all of which are 0. A recording with a function that has none cannot be swept forward. Infinite and NaN tangents are
    /// passed as adjoints are to [`reverse`](Self::reverse).
    ///
    /// # Errors
    ///
    /// The sweep ends with the error.
    fn forward(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let _ = (inputs, outputs);
        Err(SweepError::NoRule { function: self.name(), rule: "forward" })
    }

    /// Computes the outputs at new inputs, passive ones included; `outputs` are the old ones at first. Without it a recording with this function cannot be replayed.
    ///
    /// Later sweeps call the reverse rule, which must then be that at the new inputs.
    ///
    /// # Errors
    ///
    /// The replay ends with the error.
    fn replay(&self, inputs: &[V], outputs: &mut [V]) -> Result<(), SweepError> {
        let _ = (inputs, outputs);
        Err(SweepError::NoRule { function: self.name(), rule: "replay" })
    }

    /// Whether the rules take infinite and NaN adjoints and tangents as they are, because they themselves keep to the convention
    /// that zero times anything is zero: for rules that sweep a recording.
    fn keeps_zeros(&self) -> bool {
        false
    }

    /// Whether the rules are for a function with this number of inputs and this number of outputs. It is asked once,
    /// before the function is recorded.
    ///
    /// # Errors
    ///
    /// Why they are not; nothing is recorded then.
    fn check(&self, inputs: usize, outputs: usize) -> Result<(), String> {
        let _ = (inputs, outputs);
        Ok(())
    }

    /// Bytes that the value owns beside its own size, for memory reports.
    fn owned_bytes(&self) -> usize {
        0
    }
}

/// Calls a linear rule with these seeds, and adds what it leaves to `results`, which are 0 at first. Seeds that are not finite are
/// replaced by 1, each in a call of its own, and multiply its results, where zero times anything is zero; unless the rule takes
/// them as they are. It is not called for seeds that are all 0.
pub(crate) fn apply<V: Float>(
    takes_all: bool,
    seeds: &[V],
    results: &mut [V],
    mut rule: impl FnMut(&[V], &mut [V]) -> Result<(), SweepError>,
) -> Result<(), SweepError> {
    if !seeds.is_empty() && seeds.iter().all(|seed| *seed == V::zero()) {
        return Ok(());
    }
    if takes_all || seeds.iter().all(|seed| seed.is_finite()) {
        return rule(seeds, results);
    }
    let mut finite: Vec<V> = seeds.iter().map(|seed| if seed.is_finite() { *seed } else { V::zero() }).collect();
    if finite.iter().any(|seed| *seed != V::zero()) {
        rule(&finite, results)?;
    }
    let mut found = vec![V::zero(); results.len()];
    for (k, seed) in seeds.iter().enumerate().filter(|(_, seed)| !seed.is_finite()) {
        finite.fill(V::zero());
        finite[k] = V::one();
        found.fill(V::zero());
        rule(&finite, &mut found)?;
        let partials = results.iter_mut().zip(&found).filter(|(_, partial)| counts(*seed, **partial));
        partials.for_each(|(result, partial)| *result += *seed * *partial);
    }
    Ok(())
}

/// Calls `f` for each of several vectors that lie interlaced, with a copy of the vector and one for its result.
pub(crate) fn each_lane<V: Float>(
    lanes: usize,
    from: &[V],
    to: &mut [V],
    mut f: impl FnMut(&[V], &mut [V]) -> Result<(), SweepError>,
) -> Result<(), SweepError> {
    let mut result = vec![V::zero(); to.len().checked_div(lanes).unwrap_or(0)];
    for lane in 0..lanes {
        let vector: Vec<V> = from.iter().copied().skip(lane).step_by(lanes).collect();
        result.fill(V::zero());
        f(&vector, &mut result)?;
        to.iter_mut().skip(lane).step_by(lanes).zip(&result).for_each(|(to, result)| *to = *result);
    }
    Ok(())
}

/// Why a sweep over a recording ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepError {
    /// Records, or snapshots of a computation, could not be written to disk or read back.
    Storage(StorageError),
    /// A function that is differentiated by rules of its author has no rule for this kind of sweep.
    NoRule {
        /// The function's name.
        function: String,
        /// The rule: `"forward"` or `"replay"`.
        rule: &'static str,
    },
    /// A rule failed.
    Rule {
        /// The function's name.
        function: String,
        /// What it said.
        message: String,
    },
    /// A stage of a computation that was run again, to be recorded this time, computed something else than before.
    NotReproducible {
        /// The stage.
        stage: String,
        /// The outputs among which the first that came out differently is, counted from 0; empty if their number changed.
        outputs: Range<usize>,
    },
    /// The plan for the reversal of a time loop cannot be carried out, or would not reverse it.
    FaultySchedule {
        /// The loop's name.
        time_loop: String,
        /// The action of the plan with its place, counted from 1; or that the plan ended.
        action: String,
        /// What is wrong with it.
        why: String,
    },
    /// Somebody asked for the computation to stop.
    Cancelled {
        /// What was stopped.
        what: String,
    },
    /// At the new inputs of a replay a comparison came out differently, so that the program would take another branch.
    BranchChanged {
        /// The file with the comparison.
        file: String,
        /// The line in it.
        line: u32,
    },
    /// Under the policy [`Checked`](crate::Checked): a statement of the recording has a function that has no derivative
    /// at its arguments.
    Singular {
        /// The name of its rule.
        function: String,
        /// The file with the statement; after a replay, with the call of that.
        file: String,
        /// The line in it.
        line: u32,
    },
    /// The strategy, or this recording, cannot do this.
    Unsupported {
        /// What was asked for, and why it cannot be done.
        what: String,
    },
}

impl SweepError {
    /// An error of a rule, in words.
    pub fn rule(function: impl Into<String>, message: impl fmt::Display) -> Self {
        Self::Rule { function: function.into(), message: message.to_string() }
    }
}

impl From<StorageError> for SweepError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl fmt::Display for SweepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(error) => fmt::Display::fmt(error, f),
            Self::NoRule { function, rule } => write!(f, "the external function {function} has no {rule} rule"),
            Self::Rule { function, message } => {
                write!(f, "the rule of the external function {function} failed: {message}")
            }
            Self::NotReproducible { stage, outputs } => {
                write!(f, "{stage} is not reproducible: run again on the same inputs, it computed ")?;
                match outputs.len() {
                    0 => f.write_str("another number of outputs")?,
                    1 => write!(f, "another output {}", outputs.start)?,
                    _ => write!(f, "another output among {} to {}", outputs.start, outputs.end - 1)?,
                }
                f.write_str(" (random numbers, clocks and changing globals must be inputs)")
            }
            Self::FaultySchedule { time_loop, action, why } => {
                write!(f, "the schedule of {time_loop} is faulty at {action}: {why}")
            }
            Self::Cancelled { what } => write!(f, "{what} was cancelled"),
            Self::BranchChanged { file, line } => write!(
                f,
                "the comparison at {file}:{line} comes out differently at the new inputs: the recording is not that of the \
                 branch that would be taken, so record again"
            ),
            Self::Singular { function, file, line } => {
                write!(f, "the statement at {file}:{line} has no derivative: {function} is singular at its arguments")
            }
            Self::Unsupported { what } => f.write_str(what),
        }
    }
}

impl core::error::Error for SweepError {}

/// Something that a tape keeps from recording to recording beside its records, such as tapes for nested recordings.
pub trait Companion: Any + Send + Sync {
    /// Bytes obtained from the allocator.
    fn reserved(&self) -> usize;
}

/// Slots in an adjoint vector.
#[derive(Debug)]
pub(crate) enum Slots {
    /// The first one and how many there are, one after the other.
    Row(usize, usize),
    Narrow(Box<[u32]>),
    Wide(Box<[usize]>),
}

impl Slots {
    pub(crate) fn new(slots: &[usize]) -> Self {
        let first = slots.first().copied().unwrap_or(0);
        if slots.iter().enumerate().all(|(k, slot)| *slot == first + k) {
            return Self::Row(first, slots.len());
        }
        let narrow: Option<Box<[u32]>> = slots.iter().map(|slot| u32::try_from(*slot).ok()).collect();
        narrow.map_or_else(|| Self::Wide(slots.into()), Self::Narrow)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Row(_, n) => *n,
            Self::Narrow(slots) => slots.len(),
            Self::Wide(slots) => slots.len(),
        }
    }

    pub(crate) fn get(&self, k: usize) -> usize {
        match self {
            Self::Row(first, _) => first + k,
            Self::Narrow(slots) => slots[k] as usize,
            Self::Wide(slots) => slots[k],
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.len()).map(|k| self.get(k))
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Row(..) => 0,
            Self::Narrow(slots) => size_of_val(&**slots),
            Self::Wide(slots) => size_of_val(&**slots),
        }
    }
}

/// One function with its place in a recording. Slot 0 stands for passive inputs.
pub(crate) struct Entry<V: 'static> {
    pub(crate) mark: Mark,
    pub(crate) inputs: Slots,
    /// The values of passive inputs.
    pub(crate) passive: Box<[V]>,
    pub(crate) outputs: Slots,
    pub(crate) deed: Deed<V>,
}

/// What happened at a place.
pub(crate) enum Deed<V: 'static> {
    /// An external function was called.
    Function(Box<dyn External<V>>),
    /// A kernel was launched over arrays.
    Launch(Launched<V>),
}

impl<V: Float> Entry<V> {
    /// Reverses the launch in the adjoints of variables, of which each has so many, and of as many shadows of arrays.
    fn reverse_launch(
        &self,
        launch: &dyn Launch<V>,
        lanes: usize,
        adjoints: &mut [V],
        arrays: &mut [Shadows<V>],
    ) -> Result<(), SweepError> {
        for lane in 0..arrays.len() {
            let at = |slot: usize| slot * lanes + lane;
            let (mut outputs, mut inputs) = (SmallVec::<[V; 2]>::new(), SmallVec::<[V; OPERANDS]>::new());
            for k in 0..self.outputs.len() {
                outputs.push(core::mem::replace(&mut adjoints[at(self.outputs.get(k))], V::zero()));
            }
            inputs.resize(self.inputs.len(), V::zero());
            launch.reverse(&outputs, &mut inputs, &mut arrays[lane])?;
            for (k, contribution) in inputs.iter().enumerate().filter(|(_, sum)| **sum != V::zero()) {
                adjoints[at(self.inputs.get(k))] += *contribution;
            }
            // What has been read back for one of them serves the others.
            if let [this, next, ..] = &mut arrays[lane..] {
                this.hand_over(next);
            }
        }
        if let [first, .., last] = arrays {
            last.hand_over(first);
        }
        arrays.iter_mut().take(1).for_each(Shadows::end_launch);
        Ok(())
    }

    /// Reverses the function in these adjoints, of which each variable has so many.
    pub(crate) fn reverse(
        &self,
        lanes: usize,
        adjoints: &mut [V],
        arrays: &mut [Shadows<V>],
    ) -> Result<(), SweepError> {
        let rule = match &self.deed {
            Deed::Function(rule) => rule,
            Deed::Launch(launch) => return self.reverse_launch(launch.get(), lanes, adjoints, arrays),
        };
        let mut outputs = Scratch::<V>::new();
        for slot in self.outputs.iter() {
            for adjoint in &mut adjoints[slot * lanes..][..lanes] {
                outputs.push(core::mem::replace(adjoint, V::zero()));
            }
        }
        if !outputs.is_empty() && outputs.iter().all(|adjoint| *adjoint == V::zero()) {
            return Ok(());
        }
        let mut inputs = Scratch::<V>::new();
        inputs.resize(self.inputs.len() * lanes, V::zero());
        let keeps = rule.keeps_zeros();
        if lanes == 1 {
            apply(keeps, &outputs, &mut inputs, |outputs, inputs| rule.reverse(outputs, inputs))?;
        } else if keeps || outputs.iter().all(|adjoint| adjoint.is_finite()) {
            rule.reverse_lanes(lanes, &outputs, &mut inputs)?;
        } else {
            each_lane(lanes, &outputs, &mut inputs, |outputs, inputs| {
                apply(false, outputs, inputs, |outputs, inputs| rule.reverse(outputs, inputs))
            })?;
        }
        // A lane in which nothing arrives is not touched, as in a sweep of its own: adding 0 could change the sign of a zero.
        let arrives = |lane| outputs.is_empty() || outputs[lane..].iter().step_by(lanes).any(|o| *o != V::zero());
        let reached: Scratch<bool> = Scratch::of((0..lanes).map(arrives));
        for (slot, contributions) in self.inputs.iter().zip(inputs.chunks_exact(lanes)) {
            let adjoints = adjoints[slot * lanes..][..lanes].iter_mut().zip(contributions);
            adjoints.zip(&*reached).filter(|(_, reached)| **reached).for_each(|((to, from), _)| *to += *from);
        }
        Ok(())
    }
}

impl<V: Float> Entry<V> {
    /// Computes it again, a launch from these versions of views. Returns what a launch is to keep.
    pub(crate) fn replay(
        &self,
        values: &mut [V],
        versions: &mut Versions<V>,
    ) -> Result<Option<Replayed<V>>, SweepError> {
        let inputs = self.values_of_inputs(values);
        let mut outputs: Scratch<V> = Scratch::of(self.outputs.iter().map(|slot| values[slot]));
        let kept = match &self.deed {
            Deed::Function(rule) => rule.replay(&inputs, &mut outputs).map(|()| None)?,
            Deed::Launch(launch) => Some(launch.get().replay(&inputs, &mut outputs, versions)?),
        };
        self.outputs.iter().zip(&*outputs).for_each(|(slot, value)| values[slot] = *value);
        Ok(kept)
    }

    /// The values of all inputs, when these are the values of variables.
    pub(crate) fn values_of_inputs(&self, values: &[V]) -> Scratch<V> {
        let mut passive = self.passive.iter();
        let value_of = |slot: usize| if slot == 0 { passive.next().copied() } else { Some(values[slot]) };
        Scratch::of(self.inputs.iter().map(value_of).map(|value| value.expect("values of passive inputs are kept")))
    }

    /// The launch, if it is one.
    pub(crate) fn launch(&self) -> Option<&dyn Launch<V>> {
        match &self.deed {
            Deed::Launch(launch) => Some(launch.get()),
            Deed::Function(_) => None,
        }
    }

    /// Propagates tangents through the function.
    pub(crate) fn forward(&self, tangents: &mut [V], arrays: &mut Shadows<V>) -> Result<(), SweepError> {
        let inputs: Scratch<V> = Scratch::of(self.inputs.iter().map(|slot| tangents[slot]));
        let mut outputs = Scratch::<V>::new();
        outputs.resize(self.outputs.len(), V::zero());
        match &self.deed {
            Deed::Function(rule) if !inputs.is_empty() => {
                apply(rule.keeps_zeros(), &inputs, &mut outputs, |inputs, outputs| rule.forward(inputs, outputs))?;
            }
            Deed::Function(_) => {}
            Deed::Launch(launch) => flow(launch.get(), &inputs, &mut outputs, arrays)?,
        }
        self.outputs.iter().zip(&*outputs).for_each(|(slot, tangent)| tangents[slot] = *tangent);
        Ok(())
    }
}

/// The functions of one recording, in the order of their places, and what its tape keeps beside its records.
pub(crate) struct Externals<V: 'static> {
    pub(crate) list: Vec<Entry<V>>,
    pub(crate) companions: Vec<Box<dyn Companion>>,
    pub(crate) arrays: Arrays<V>,
    /// Memory of launches that were forgotten.
    #[allow(clippy::vec_box, reason = "they are moved between here and the list")]
    pub(crate) spare: Vec<Box<Recorded<V>>>,
}

/// The arrays of a recording.
pub struct Arrays<V> {
    /// The slots of views that have been given out, counted from 1.
    slots: usize,
    /// Those of views that are inputs, in order.
    inputs: Vec<usize>,
    /// Made with the first buffer.
    pub(crate) pool: Option<Arc<Pool<V>>>,
    /// The versions that launches keep, if they may leave memory.
    pub(crate) held: Option<Box<HeldVersions<V>>>,
    /// The input views of a recording that keeps guards.
    pub(crate) input_values: Vec<Input<V>>,
    /// Whether the recording has been replayed.
    pub(crate) replayed: bool,
}

/// A view that is an input.
pub(crate) struct Input<V> {
    pub(crate) slot: usize,
    pub(crate) values: SharedArray<V>,
}

impl<V> Arrays<V> {
    const fn new() -> Self {
        Self { slots: 0, inputs: Vec::new(), pool: None, held: None, input_values: Vec::new(), replayed: false }
    }
}

impl<V: Float> Arrays<V> {
    /// A slot for one more view.
    pub const fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots
    }

    /// The largest slot.
    pub(crate) const fn slots(&self) -> usize {
        self.slots
    }

    /// A slot for a view that is an input of the recording.
    pub fn input_slot(&mut self) -> usize {
        let slot = self.slot();
        self.inputs.push(slot);
        slot
    }

    /// Forgets the views whose slots are beyond the first ones.
    fn keep_slots(&mut self, slots: usize) {
        self.slots = slots;
        self.inputs.truncate(self.inputs.partition_point(|slot| *slot <= slots));
        self.input_values.retain(|input| input.slot <= slots);
    }

    pub(crate) fn is_input(&self, slot: usize) -> bool {
        self.inputs.binary_search(&slot).is_ok()
    }

    /// A buffer with anything in it. The tape gets its memory back when it is dropped.
    ///
    /// # Panics
    ///
    /// When the allocator has no memory.
    #[must_use]
    #[track_caller]
    pub fn buffer(&mut self, length: usize) -> NewArray<V> {
        self.pool.get_or_insert_default().array(length)
    }

    /// Writes arrays to this file until the others fit into memory.
    pub(crate) fn make_room(&mut self, file: Option<&Arc<ArrayFile>>) -> Result<(), StorageError> {
        let Self { pool, held, .. } = self;
        held_in(held, file).map_or(Ok(()), |held| held.make_room(pool.as_ref()))
    }

    /// Lets the arrays of a launch leave memory for this file.
    pub(crate) fn hold(&mut self, launch: &mut Launched<V>, file: Option<&Arc<ArrayFile>>) {
        if let Some(held) = held_in(&mut self.held, file) {
            launch.get_mut().hold(&mut |version| held.hold(version));
        }
    }
}

/// The versions that may go to this file.
fn held_in<'v, V: Float>(
    held: &'v mut Option<Box<HeldVersions<V>>>,
    file: Option<&Arc<ArrayFile>>,
) -> Option<&'v mut HeldVersions<V>> {
    if held.is_none() {
        *held = file.map(|file| Box::new(HeldVersions::new(Arc::clone(file))));
    }
    held.as_deref_mut()
}

impl<V> Default for Externals<V> {
    fn default() -> Self {
        Self { list: Vec::new(), companions: Vec::new(), arrays: Arrays::new(), spare: Vec::new() }
    }
}

impl<V: Float> Externals<V> {
    /// The companion of this type, made if there is none yet.
    pub(crate) fn companion<C: Companion + Default>(&mut self) -> &mut C {
        let at = self.companions.iter().position(|companion| (&**companion as &dyn Any).is::<C>());
        let at = at.unwrap_or_else(|| {
            self.companions.push(Box::new(C::default()));
            self.companions.len() - 1
        });
        (&mut *self.companions[at] as &mut dyn Any).downcast_mut().expect("it is of this type")
    }

    /// Whether the recording has entries or arrays.
    pub(crate) const fn is_used(&self) -> bool {
        !self.list.is_empty() || self.arrays.slots != 0
    }

    /// Forgets everything, for a new recording.
    pub(crate) fn clear(&mut self) {
        self.arrays.replayed = false;
        self.truncate(0, 0);
    }

    /// Forgets all but the first entries, and the first slots of views. Buffers and slots of the others can be used again.
    pub(crate) fn truncate(&mut self, entries: usize, slots: usize) {
        self.arrays.keep_slots(slots);
        // Last, because destructors of users may panic.
        for entry in self.list.drain(entries..) {
            if let Deed::Launch(launch) = entry.deed {
                self.spare.extend(launch.into_memory());
            }
        }
        if let Some(held) = &mut self.arrays.held {
            held.purge();
        }
    }

    /// Keeps the values of a view that is an input.
    pub(crate) fn keep_input(&mut self, slot: usize, values: SharedArray<V>) {
        self.arrays.input_values.push(Input { slot, values });
    }

    /// Bytes of arrays that launches keep, and of all that are reserved for arrays.
    pub(crate) fn array_bytes(&self) -> MemoryUsage {
        // Several launches may keep one array.
        let (mut seen, mut used) = (HashSet::new(), 0);
        let mut each = |address: usize, bytes: usize| used += if seen.insert(address) { bytes } else { 0 };
        self.list.iter().filter_map(Entry::launch).for_each(|launch| launch.arrays(&mut each));
        self.arrays.input_values.iter().for_each(|input| each(input.values.address(), input.values.bytes()));
        let inputs = MemoryUsage::of_vec(&self.arrays.inputs).reserved;
        let lists = inputs + MemoryUsage::of_vec(&self.arrays.input_values).reserved;
        MemoryUsage { used, reserved: used + lists + self.arrays.pool.as_ref().map_or(0, |pool| pool.bytes()) }
    }

    /// Bytes of the functions, and of the companions.
    pub(crate) fn bytes(&self) -> (MemoryUsage, usize) {
        let owned = |entry: &Entry<V>| {
            let rule = match &entry.deed {
                Deed::Function(rule) => size_of_val(&**rule) + rule.owned_bytes(),
                Deed::Launch(launch) => launch.bytes(),
            };
            rule + entry.inputs.bytes() + size_of_val(&*entry.passive) + entry.outputs.bytes()
        };
        let owned: usize = self.list.iter().map(owned).sum();
        let list = MemoryUsage::of_vec(&self.list);
        let spare = self.spare.len() * size_of::<Recorded<V>>() + MemoryUsage::of_vec(&self.spare).reserved;
        let functions = MemoryUsage { used: list.used + owned, reserved: list.reserved + owned + spare };
        (functions, self.companions.iter().map(|companion| companion.reserved()).sum())
    }
}
