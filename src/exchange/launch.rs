//! Exchanges as entries of a tape.

use smallvec::SmallVec;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use tapewright_strategies::kernel::launch::{Inspection, Launch, OperandView, ReplayResult, ReplayState};
use tapewright_strategies::kernel::memory::{Buffer, ReadCache, Shadow, Shadows, SharedArray};
use tapewright_strategies::{External, Number, Scratch, SweepError};

/// A part of the sequence of values that a rule sees.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// Variables, with their number.
    Variables(usize),
    /// The elements of a view.
    View(OperandView),
}

impl Part {
    pub(super) const fn len(&self) -> usize {
        match self {
            Self::Variables(count) => *count,
            Self::View(used) => used.length,
        }
    }

    const fn view(&self) -> Option<OperandView> {
        match self {
            Self::Variables(_) => None,
            Self::View(used) => Some(*used),
        }
    }
}

/// Adds a collection with this number of variables and these views.
pub(super) fn add_parts(parts: &mut Vec<Part>, variables: usize, views: impl IntoIterator<Item = OperandView>) {
    match parts.last_mut() {
        _ if variables == 0 => {}
        Some(Part::Variables(count)) => *count += variables,
        _ => parts.push(Part::Variables(variables)),
    }
    parts.extend(views.into_iter().map(Part::View));
}

/// An exchange on the tape: its rule, and the parts that its inputs and outputs consist of.
pub(super) struct Exchanged<R, V> {
    /// Replays change it; sweeps, of which there may be several at a time, do not.
    rule: RwLock<R>,
    inputs: Box<[Part]>,
    outputs: Box<[Part]>,
    /// Values of views among the inputs, for replays.
    kept: Vec<SharedArray<V>>,
}

impl<R, V> Exchanged<R, V> {
    pub(super) fn new(rule: R, inputs: Vec<Part>, outputs: Vec<Part>, kept: Vec<SharedArray<V>>) -> Self {
        Self { rule: RwLock::new(rule), inputs: inputs.into_boxed_slice(), outputs: outputs.into_boxed_slice(), kept }
    }

    fn rule(&self) -> RwLockReadGuard<'_, R> {
        self.rule.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, lanes: usize, outputs: &[V], inputs: &mut [V]) -> Result<(), SweepError>
    where
        V: Number,
        R: External<V>,
    {
        let rule = self.rule();
        if lanes == 1 { rule.reverse(outputs, inputs) } else { rule.reverse_lanes(lanes, outputs, inputs) }
    }

    fn has_views(&self) -> bool {
        self.inputs.iter().chain(&self.outputs).any(|part| part.view().is_some())
    }
}

/// Collects the values of these parts in one sequence: `variables` are the values of variables, and `view` appends the
/// values of a view.
fn collect<V: Number>(
    parts: &[Part],
    lanes: usize,
    mut variables: &[V],
    mut view: impl FnMut(OperandView, &mut Vec<V>),
) -> Scratch<V> {
    let mut numbers = Scratch::new();
    for part in parts {
        match part {
            Part::Variables(count) => {
                let (these, rest) = variables.split_at(count * lanes);
                numbers.extend_from_slice(these);
                variables = rest;
            }
            Part::View(used) => view(*used, &mut numbers),
        }
    }
    numbers
}

/// Distributes a sequence of values over these parts: the reverse of [`collect`].
fn hand_out<V: Number>(
    parts: &[Part],
    lanes: usize,
    mut numbers: &[V],
    mut variables: &mut [V],
    mut view: impl FnMut(OperandView, &[V]),
) {
    for part in parts {
        let (these, rest) = numbers.split_at(part.len() * lanes);
        numbers = rest;
        match part {
            Part::Variables(count) => {
                let (to, others) = variables.split_at_mut(count * lanes);
                to.copy_from_slice(these);
                variables = others;
            }
            Part::View(used) => view(*used, these),
        }
    }
}

/// Takes the shadows of a view, one of each adjoint vector, and appends their values, interleaved.
fn take_shadows<V: Number>(used: OperandView, shadows: &mut [Shadows<V>], numbers: &mut Vec<V>) {
    let (lanes, first) = (shadows.len(), numbers.len());
    numbers.resize(first + used.length * lanes, V::ZERO);
    for (lane, shadows) in shadows.iter_mut().enumerate() {
        let to = numbers[first + lane..].iter_mut().step_by(lanes);
        match shadows.take(used.after.unwrap_or(0)) {
            Shadow::Unset => {}
            Shadow::Uniform(number) => to.for_each(|to| *to = number),
            Shadow::Dense(buffer) => {
                if lanes == 1 {
                    buffer.copy_to(&mut numbers[first..]);
                } else {
                    to.zip(buffer.iter()).for_each(|(to, from)| *to = from);
                }
            }
        }
    }
}

/// Adds interleaved values to the shadows of a view, one of each adjoint vector.
fn add_to_shadows<V: Number>(used: OperandView, shadows: &mut [Shadows<V>], numbers: &[V]) {
    if let [shadows] = shadows {
        return shadows.add(used.before, numbers);
    }
    let lanes = shadows.len();
    let mut column = Scratch::new();
    for (lane, shadows) in shadows.iter_mut().enumerate() {
        column.clear();
        column.extend(numbers.iter().skip(lane).step_by(lanes));
        shadows.add(used.before, &column);
    }
}

impl<V: Number, R: External<V>> Launch<V> for Exchanged<R, V> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        self.reverse_lanes(outputs, inputs, core::slice::from_mut(shadows))
    }

    fn reverse_lanes(&self, outputs: &[V], inputs: &mut [V], shadows: &mut [Shadows<V>]) -> Result<(), SweepError> {
        let lanes = shadows.len();
        if !self.has_views() {
            return self.ask(lanes, outputs, inputs);
        }
        let seeds = collect(&self.outputs, lanes, outputs, |used, numbers| take_shadows(used, shadows, numbers));
        let mut sums = Scratch::<V>::new();
        sums.resize(self.inputs.iter().map(Part::len).sum::<usize>() * lanes, V::ZERO);
        self.ask(lanes, &seeds, &mut sums)?;
        hand_out(&self.inputs, lanes, &sums, inputs, |used, numbers| add_to_shadows(used, shadows, numbers));
        Ok(())
    }

    fn always(&self) -> bool {
        true
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        self.inputs.iter().chain(&self.outputs).filter_map(Part::view).collect()
    }

    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        _: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        let mut views = views.iter();
        let tangents = collect(&self.inputs, 1, inputs, |used, numbers| match views.next().copied().flatten() {
            Some(tangents) => numbers.extend(tangents.iter()),
            None => numbers.resize(numbers.len() + used.length, V::ZERO),
        });
        let mut found = Scratch::<V>::new();
        found.resize(self.outputs.iter().map(Part::len).sum(), V::ZERO);
        self.rule().forward(&tangents, &mut found)?;
        let mut results = results.iter_mut();
        hand_out(&self.outputs, 1, &found, outputs, |_, numbers| {
            results.next().expect("a result for each view").assign(numbers);
        });
        Ok(())
    }

    fn can_be_replayed(&self) -> Result<(), SweepError> {
        let is_passive = |used: OperandView| used.before == 0;
        if !self.kept.is_empty() || !self.inputs.iter().filter_map(Part::view).any(is_passive) {
            return Ok(());
        }
        let what =
            format!("{} was given a passive view, which the recording did not keep for replays", self.rule().name());
        Err(SweepError::Unsupported { what })
    }

    fn replay(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        versions: &mut ReplayState<V>,
    ) -> Result<ReplayResult<V>, SweepError> {
        let mut kept = self.kept.iter();
        let values = collect(&self.inputs, 1, inputs, |used, numbers| match (used.before, kept.next()) {
            (0, Some(values)) => numbers.extend(values.iter()),
            (slot, _) => numbers.extend(versions.get(slot).iter()),
        });
        let mut found = collect(&self.outputs, 1, outputs, |used, numbers| {
            numbers.resize(numbers.len() + used.length, V::ZERO);
        });
        self.rule.write().unwrap_or_else(PoisonError::into_inner).replay(&values, &mut found)?;
        hand_out(&self.outputs, 1, &found, outputs, |used, numbers| {
            let mut buffer = versions.buffer(used.length);
            buffer.assign(numbers);
            versions.put(used.after.unwrap_or(0), buffer.share());
        });
        Ok(ReplayResult::default())
    }

    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        self.kept.iter().for_each(|values| each(values.address(), values.bytes()));
    }

    fn bytes(&self) -> usize {
        let lists = size_of_val(&*self.inputs) + size_of_val(&*self.outputs);
        lists + self.kept.capacity() * size_of::<SharedArray<V>>() + self.rule().owned_bytes()
    }

    fn inspect(&self) -> Inspection {
        Inspection::default()
    }
}
