//! Entries of a recording, external functions and launches, and how sweeps and replays pass them.

use super::function::{External, apply, each_lane};
use crate::Number;
use crate::SweepError;
use crate::kernel::flow;
use crate::kernel::ir::grid::Grid;
use crate::kernel::launch::{Launch, ReplayResult, ReplayState};
use crate::kernel::memory::Shadows;
use crate::number::all_finite;
use crate::outline::Passes;
use crate::scratch::Scratch;
use core::ops::Range;
use smallvec::SmallVec;

/// A position in a recording, between two statements.
///
/// Marks of one recording are ordered as the statements are. The meaning of the integers in a mark is the strategy's
/// business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark([u64; 4]);

impl Mark {
    /// Makes a mark of these integers. Marks are ordered lexicographically.
    #[must_use]
    pub const fn new(numbers: [u64; 4]) -> Self {
        Self(numbers)
    }

    /// Returns the integers of which the mark was made.
    #[must_use]
    pub const fn numbers(self) -> [u64; 4] {
        self.0
    }
}

/// A list of slots in an adjoint vector.
#[derive(Debug)]
pub(crate) enum Slots {
    /// Consecutive slots: the first one and their count.
    Row(usize, usize),
    Narrow(Box<[u32]>),
    Wide(Box<[usize]>),
}

impl Slots {
    /// The list of `n` slots, of which `slot` returns one.
    #[inline]
    pub(crate) fn of(n: usize, slot: &dyn Fn(usize) -> usize) -> Self {
        if n == 0 { Self::Row(0, 0) } else { Self::of_some(n, slot) }
    }

    fn of_some(n: usize, slot: &dyn Fn(usize) -> usize) -> Self {
        let first = slot(0);
        // Most long lists are rows of consecutive slots: these are read once, and not copied.
        if (1..n).all(|k| slot(k) == first + k) {
            return Self::Row(first, n);
        }
        let narrow: Option<Box<[u32]>> = (0..n).map(|k| u32::try_from(slot(k)).ok()).collect();
        narrow.map_or_else(|| Self::Wide((0..n).map(slot).collect()), Self::Narrow)
    }

    /// The largest slot; 0 if the list is empty.
    #[inline]
    pub(crate) fn largest(&self) -> usize {
        match self {
            Self::Row(first, n) => first + n.saturating_sub(1),
            _ => self.iter().max().unwrap_or(0),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Row(_, n) => *n,
            Self::Narrow(slots) => slots.len(),
            Self::Wide(slots) => slots.len(),
        }
    }

    #[inline]
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

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Row(..) => 0,
            Self::Narrow(slots) => size_of_val(&**slots),
            Self::Wide(slots) => size_of_val(&**slots),
        }
    }
}

/// One external function or launch of a recording, whose record has the index of the entry. Slot 0 stands for passive
/// inputs.
pub(crate) struct Entry<V: 'static> {
    pub(crate) inputs: Slots,
    /// The values of passive inputs.
    pub(crate) passive: Box<[V]>,
    pub(crate) outputs: Slots,
    pub(crate) deed: Deed<V>,
}

/// The kind of an entry.
pub(crate) enum Deed<V: 'static> {
    /// An external function was called.
    Function(Box<dyn External<V>>),
    /// A kernel was launched over arrays.
    Launch(Box<dyn Launch<V>>),
}

/// Calls a rule for the adjoints of inputs, given the adjoints of outputs, `lanes` for each variable.
fn ask<V: Number>(rule: &dyn External<V>, lanes: usize, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
    let keeps = rule.keeps_zeros();
    if lanes == 1 {
        return apply(keeps, outputs, inputs, &mut |outputs, inputs| rule.reverse(outputs, inputs));
    }
    if keeps || outputs.iter().all(|adjoint| all_finite(*adjoint)) {
        return rule.reverse_lanes(lanes, outputs, inputs);
    }
    each_lane(lanes, outputs, inputs, &mut |outputs, inputs| {
        apply(false, outputs, inputs, &mut |outputs, inputs| rule.reverse(outputs, inputs))
    })
}

/// Lets a rule that only adds to its `inputs` add to the adjoints of inputs, `lanes` for each variable, in lanes in
/// which an adjoint of an output is not 0. The result in a lane, also in a lane of a pack, does not depend on the other
/// lanes, to the last bit.
fn add_to<V: Number>(rule: &dyn External<V>, lanes: usize, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
    if lanes > 1 {
        return each_lane(lanes, outputs, inputs, &mut |outputs, inputs| add_to(rule, 1, outputs, inputs));
    }
    if !outputs.is_empty() && outputs.iter().all(|adjoint| adjoint.is_nought()) {
        return Ok(());
    }
    let is_plain = outputs.iter().all(|adjoint| all_finite(*adjoint));
    if is_plain && V::LANES == 1 {
        return rule.reverse(outputs, inputs);
    }
    let mut sums = Scratch::<V>::new();
    if is_plain {
        sums.extend_from_slice(inputs);
        rule.reverse(outputs, &mut sums)?;
    } else {
        sums.resize(inputs.len(), V::ZERO);
        ask(rule, 1, outputs, &mut sums)?;
        sums.iter_mut().zip(&*inputs).for_each(|(sum, before)| *sum = *before + *sum);
    }
    let silent = |k: usize| V::LANES > 1 && !outputs.is_empty() && outputs.iter().all(|o| o.lane(k).is_nought());
    for (to, sum) in inputs.iter_mut().zip(&*sums) {
        *to = V::from_lanes(|k| if silent(k) { to.lane(k) } else { sum.lane(k) });
    }
    Ok(())
}

/// Sets contributions of a rule to 0 in those lanes of packs in which all adjoints of outputs are 0, because the rule
/// multiplies these zeros by factors that may be infinite.
fn silence<V: Number>(lanes: usize, outputs: &[V], inputs: &mut [V]) {
    if outputs.is_empty() {
        return;
    }
    for (at, contribution) in inputs.iter_mut().enumerate() {
        let seeds = || outputs.iter().skip(at % lanes).step_by(lanes);
        let silent = |k: usize| seeds().all(|seed| seed.lane(k).is_nought());
        *contribution = V::from_lanes(|k| if silent(k) { V::Lane::ZERO } else { contribution.lane(k) });
    }
}

impl<V: Number> Entry<V> {
    /// Reverses the launch in the adjoints of variables, `lanes` for each, and in one set of shadows of arrays per
    /// lane.
    fn reverse_launch(
        &self,
        launch: &dyn Launch<V>,
        lanes: usize,
        adjoints: &mut [V],
        arrays: &mut [Shadows<V>],
    ) -> Result<(), SweepError> {
        // Inline storage suffices for one variable in as many lanes as loops are compiled for.
        let (mut outputs, mut inputs) = (SmallVec::<[V; 16]>::new(), SmallVec::<[V; 16]>::new());
        for slot in self.outputs.iter() {
            outputs.extend(adjoints[slot * lanes..][..lanes].iter_mut().map(core::mem::take));
        }
        inputs.resize(self.inputs.len() * lanes, V::ZERO);
        launch.reverse_lanes(&outputs, &mut inputs, arrays)?;
        for (slot, sums) in self.inputs.iter().zip(inputs.chunks_exact(lanes)) {
            let adjoints = adjoints[slot * lanes..][..lanes].iter_mut().zip(sums);
            adjoints.filter(|(_, sum)| !sum.is_nought()).for_each(|(to, sum)| *to += *sum);
        }
        arrays.iter_mut().take(1).for_each(Shadows::end_launch);
        Ok(())
    }

    /// The range of the adjoints of all inputs, if they are adjacent and this rule can add to them in place.
    fn inputs_to_add_to(&self, rule: &dyn External<V>, lanes: usize) -> Option<Range<usize>> {
        let Slots::Row(first @ 1.., n) = self.inputs else { return None };
        rule.accumulates().then_some(first * lanes..(first + n) * lanes)
    }

    /// Reverses the entry in these adjoints, `lanes` for each variable.
    pub(crate) fn reverse(
        &self,
        lanes: usize,
        adjoints: &mut [V],
        arrays: &mut [Shadows<V>],
    ) -> Result<(), SweepError> {
        let rule = match &self.deed {
            Deed::Function(rule) => rule,
            Deed::Launch(launch) => return self.reverse_launch(&**launch, lanes, adjoints, arrays),
        };
        let mut outputs = Scratch::<V>::new();
        for slot in self.outputs.iter() {
            for adjoint in &mut adjoints[slot * lanes..][..lanes] {
                outputs.push(core::mem::replace(adjoint, V::ZERO));
            }
        }
        if !outputs.is_empty() && outputs.iter().all(|adjoint| adjoint.is_nought()) {
            return Ok(());
        }
        if let Some(row) = self.inputs_to_add_to(&**rule, lanes) {
            return add_to(&**rule, lanes, &outputs, &mut adjoints[row]);
        }
        let mut inputs = Scratch::<V>::new();
        inputs.resize(self.inputs.len() * lanes, V::ZERO);
        ask(&**rule, lanes, &outputs, &mut inputs)?;
        if V::LANES > 1 {
            silence(lanes, &outputs, &mut inputs);
        }
        // A lane in which all adjoints are 0 is not touched, as in a sweep with that lane alone: adding 0 could change
        // the sign of a zero.
        let arrives = |lane| outputs.is_empty() || outputs[lane..].iter().step_by(lanes).any(|o| !o.is_nought());
        let reached: Scratch<bool> = Scratch::of((0..lanes).map(arrives));
        for (slot, contributions) in self.inputs.iter().zip(inputs.chunks_exact(lanes)) {
            let adjoints = adjoints[slot * lanes..][..lanes].iter_mut().zip(contributions);
            adjoints.zip(&*reached).filter(|(_, reached)| **reached).for_each(|((to, from), _)| *to += *from);
        }
        Ok(())
    }
}

impl<V: Number> Entry<V> {
    /// Recomputes the results of the entry, of a launch from these versions of views. Returns the arrays that a launch
    /// is to keep.
    pub(crate) fn replay(
        &mut self,
        values: &mut [V],
        versions: &mut ReplayState<V>,
    ) -> Result<Option<ReplayResult<V>>, SweepError> {
        let inputs = self.values_of_inputs(values);
        let mut outputs: Scratch<V> = Scratch::of(self.outputs.iter().map(|slot| values[slot]));
        let kept = match &mut self.deed {
            Deed::Function(rule) => rule.replay(&inputs, &mut outputs).map(|()| None)?,
            Deed::Launch(launch) => Some(launch.replay(&inputs, &mut outputs, versions)?),
        };
        self.outputs.iter().zip(&*outputs).for_each(|(slot, value)| values[slot] = *value);
        Ok(kept)
    }

    /// The function, if the entry is one.
    pub(crate) fn function(&mut self) -> Option<&mut (dyn External<V> + 'static)> {
        match &mut self.deed {
            Deed::Function(rule) => Some(&mut **rule),
            Deed::Launch(_) => None,
        }
    }

    /// Writes what a function passes to its inputs, given the adjoints of its results.
    pub(crate) fn contributions(&self, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError> {
        let Deed::Function(rule) = &self.deed else { unreachable!("launches have no partial derivatives") };
        inputs.fill(V::ZERO);
        ask(&**rule, 1, outputs, inputs)
    }

    /// The values of all inputs, given the values of variables by slot.
    pub(crate) fn values_of_inputs(&self, values: &[V]) -> Scratch<V> {
        let mut passive = self.passive.iter();
        let value_of = |slot: usize| if slot == 0 { passive.next().copied() } else { Some(values[slot]) };
        Scratch::of(self.inputs.iter().map(value_of).map(|value| value.expect("values of passive inputs are kept")))
    }

    /// The launch and the points over which others can be swept together with it, if there are any.
    #[inline(always)]
    pub(super) fn shared_region(&self) -> Option<(&dyn Launch<V>, &Grid)> {
        let launch = self.launch()?;
        let grid = launch.shared_region()?;
        // Contributions to variables are needed before an earlier statement is reversed.
        (self.inputs.largest() == 0).then_some((launch, grid))
    }

    /// The launch, if the entry is one.
    pub(crate) fn launch(&self) -> Option<&dyn Launch<V>> {
        match &self.deed {
            Deed::Launch(launch) => Some(&**launch),
            Deed::Function(_) => None,
        }
    }

    /// Calls `each` with the slots of inputs, and then with those of results and `true`, and returns the way in which
    /// the entry passes on adjoints.
    pub(crate) fn passes(&self, each: &mut dyn FnMut(usize, bool)) -> Passes {
        self.inputs.iter().for_each(|slot| each(slot, false));
        self.outputs.iter().for_each(|slot| each(slot, true));
        match &self.deed {
            Deed::Launch(launch) if launch.always() => Passes::Always,
            Deed::Launch(_) => Passes::Views,
            // A rule without results is called by every sweep.
            Deed::Function(_) if self.outputs.len() == 0 => Passes::Always,
            Deed::Function(_) => Passes::Results,
        }
    }

    /// Propagates tangents in one of several lanes through the entry.
    pub(crate) fn forward(
        &self,
        (lane, lanes): (usize, usize),
        tangents: &mut [V],
        arrays: &mut Shadows<V>,
    ) -> Result<(), SweepError> {
        let inputs: Scratch<V> = Scratch::of(self.inputs.iter().map(|slot| tangents[slot * lanes + lane]));
        let mut outputs = Scratch::<V>::new();
        outputs.resize(self.outputs.len(), V::ZERO);
        match &self.deed {
            Deed::Function(rule) if !inputs.is_empty() => {
                apply(rule.keeps_zeros(), &inputs, &mut outputs, &mut |inputs, outputs| rule.forward(inputs, outputs))?;
            }
            Deed::Function(_) => {}
            Deed::Launch(launch) => flow(&**launch, &inputs, &mut outputs, arrays)?,
        }
        self.outputs.iter().zip(&*outputs).for_each(|(slot, tangent)| tangents[slot * lanes + lane] = *tangent);
        Ok(())
    }
}
