//! Transfers of elements: between views, by index, and from and to variables.

use super::dependencies::{Dependencies, OperandView, Source};
use super::entry::{Inspection, Launch};
use super::replay::{ReplayResult, ReplayState, not_kept};
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::shared::SharedArray;
use crate::kernel::targets::target::Target;
use crate::kernel::targets::transfers::indexing::{Base, Indexing, Values};
use crate::kernel::targets::transfers::movement::Movement;
use crate::rules::Curvature;
use crate::{Number, SweepError};
use smallvec::{SmallVec, smallvec};

/// Kind of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Selected elements of a view become a new view.
    Take,
    /// The elements of a view overwrite selected elements of another view.
    Put,
    /// The elements of a view are added to selected elements of another view.
    Add,
    /// Variables become a new view.
    Load,
    /// Selected elements of a view become variables.
    Store,
}

/// Recorded transfer of elements. Transfers are linear, so sweeps need nothing but the indices.
#[derive(Debug)]
pub struct Transfer<V: Number> {
    /// Target that moves the elements, also in sweeps and replays.
    target: &'static dyn Target<V>,
    way: Direction,
    places: Indexing,
    /// Values of passive views, for replays: of the view that is read, and of the written view before the launch.
    passive: [Option<SharedArray<V>>; 2],
    /// View that is read; unused with [`Direction::Load`].
    from: OperandView,
    /// View that is written; unused with [`Direction::Store`].
    to: OperandView,
}

/// Copies selected elements of an array to a slice, in order. If only a device has the latest elements, the target
/// selects some of them there, so that the others are not copied to the host.
///
/// # Panics
///
/// When an index is outside the array, or the number of indices is not the number of elements of `to`.
#[track_caller]
pub fn copy_out<V: Number>(target: &dyn Target<V>, places: &Indexing, from: &Buffer<V>, to: &mut [V]) {
    if target.memory().is_none() || from.is_on_host() || places.is_all() {
        return places.copy_out(from, to);
    }
    let mut found = Buffer::zeros(to.len());
    target.transfer(Movement::take(places, from, false, &mut found));
    found.copy_to(to);
}

impl<V: Number> Transfer<V> {
    /// Describes a transfer between two views; a view that the direction does not use is ignored.
    #[must_use]
    pub fn new(
        target: &'static dyn Target<V>,
        (way, places): (Direction, Indexing),
        from: OperandView,
        to: OperandView,
    ) -> Self {
        Self { target, way, places, passive: [None, None], from, to }
    }

    /// Carries out a transfer between two views.
    fn run(&self, from: &Buffer<V>, base: Base<'_, V>, to: &mut Buffer<V>) {
        match self.way {
            Direction::Put | Direction::Add => self.put(Values::Each(from), base, to),
            Direction::Take | Direction::Load | Direction::Store => self.take(from, false, to),
        }
    }

    fn take(&self, from: &Buffer<V>, adds: bool, to: &mut Buffer<V>) {
        self.target.transfer(Movement::take(&self.places, from, adds, to));
    }

    fn put(&self, values: Values<'_, V>, base: Base<'_, V>, to: &mut Buffer<V>) {
        let adds = self.way == Direction::Add;
        self.target.transfer(Movement::put(&self.places, values, (adds, base), to));
    }

    /// Keeps the values of passive views for replays: of the view that is read, and of the written view before the
    /// launch.
    #[must_use]
    pub fn keeping(self, passive: [Option<SharedArray<V>>; 2]) -> Self {
        Self { passive, ..self }
    }

    /// Returns the views whose values the transfer reads, in the order of `passive`.
    fn read(&self) -> [Option<OperandView>; 2] {
        match self.way {
            Direction::Load => [None, None],
            Direction::Take | Direction::Store => [Some(self.from), None],
            Direction::Put | Direction::Add => [Some(self.from), Some(self.to)],
        }
    }
}

impl<V: Number> Transfer<V> {
    /// Adds these adjoints to those of the selected elements of the view that is read.
    fn add_to_source(&self, seeds: Values<'_, V>, shadows: &mut Shadows<V>) {
        let (base, mut sums) = match shadows.take(self.from.before) {
            Shadow::Unset => (Base::Zero, shadows.any(self.from.length)),
            shadow => (Base::Kept, shadows.dense(shadow, self.from.length)),
        };
        self.target.transfer(Movement::put(&self.places, seeds, (true, base), &mut sums));
        shadows.put(self.from.before, Shadow::Dense(sums));
    }

    /// Adds the adjoints of the selected elements of the written view to those of the view that is read.
    fn take_from_target(&self, seeds: &Shadow<V>, shadows: &mut Shadows<V>) {
        let Shadow::Dense(seeds) = seeds else {
            return shadows.give(self.from.before, seeds.clone());
        };
        let shadow = shadows.take(self.from.before);
        let is_first = matches!(shadow, Shadow::Unset);
        let mut sums = if is_first { shadows.any(self.from.length) } else { shadows.dense(shadow, self.from.length) };
        self.take(seeds, !is_first, &mut sums);
        shadows.put(self.from.before, Shadow::Dense(sums));
    }

    /// Contents of the written view before the transfer writes to it: unspecified if it writes every element.
    fn base<'a>(&self, before: Option<&'a Buffer<V>>) -> Base<'a, V> {
        match before {
            _ if self.way == Direction::Put && self.places.is_all() => Base::Kept,
            Some(before) => Base::CopyOf(before),
            None => Base::Zero,
        }
    }
}

impl<V: Number> Launch<V> for Transfer<V> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let reached = self.from.before != 0;
        if self.way == Direction::Store {
            if reached && outputs.iter().any(|seed| !seed.is_nought()) {
                self.add_to_source(Values::Each(&Buffer::copy_of(outputs)), shadows);
            }
            return Ok(());
        }
        let seeds = shadows.take(self.to.after.expect("it is written"));
        if matches!(seeds, Shadow::Unset) {
            return Ok(());
        }
        match self.way {
            Direction::Take if reached => match &seeds {
                Shadow::Dense(seeds) => self.add_to_source(Values::Each(seeds), shadows),
                Shadow::Uniform(seed) => self.add_to_source(Values::All(*seed), shadows),
                Shadow::Unset => {}
            },
            Direction::Put | Direction::Add if reached => self.take_from_target(&seeds, shadows),
            _ => {}
        }
        // The remaining adjoints belong to the view as it was before the transfer.
        let goes_on = self.to.before != 0;
        match self.way {
            Direction::Load => {
                let seeds = shadows.dense(seeds, self.to.length);
                inputs.iter_mut().zip(seeds.iter()).for_each(|(sum, seed)| *sum += seed);
            }
            Direction::Add => shadows.give(self.to.before, seeds),
            Direction::Put if goes_on && !self.places.is_all() => {
                let mut seeds = shadows.dense(seeds, self.to.length);
                self.put(Values::All(V::ZERO), Base::Kept, &mut seeds);
                shadows.give(self.to.before, Shadow::Dense(seeds));
            }
            _ => {}
        }
        Ok(())
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        match self.way {
            Direction::Load => smallvec![self.to],
            Direction::Store => smallvec![self.from],
            Direction::Take | Direction::Put | Direction::Add => smallvec![self.from, self.to],
        }
    }

    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        Ok(Box::new(self))
    }

    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        _: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        match (self.way, views, results) {
            (Direction::Load, _, [result]) => result.assign(inputs),
            (Direction::Store, [Some(tangents)], _) => copy_out(self.target, &self.places, tangents, outputs),
            (Direction::Take, [Some(tangents), _], [result]) => self.take(tangents, false, result),
            (Direction::Put, [from, to], [result]) => {
                let tangents = from.map_or(Values::All(V::ZERO), |tangents| Values::Each(tangents));
                self.put(tangents, self.base(*to), result);
            }
            (Direction::Add, [Some(tangents), to], [result]) => {
                self.put(Values::Each(tangents), self.base(*to), result);
            }
            (Direction::Add, [None, to], [result]) => self.base(*to).lay(result),
            (_, _, results) => results.iter_mut().for_each(|result| result.fill(V::ZERO)),
        }
        Ok(())
    }

    fn can_be_replayed(&self) -> Result<(), SweepError> {
        let is_there = |(used, passive): (Option<OperandView>, &Option<_>)| {
            used.is_none_or(|used| used.before != 0 || passive.is_some())
        };
        if self.read().into_iter().zip(&self.passive).all(is_there) { Ok(()) } else { Err(not_kept()) }
    }

    fn replay(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        versions: &mut ReplayState<V>,
    ) -> Result<ReplayResult<V>, SweepError> {
        Launch::can_be_replayed(self)?;
        let [from, to] = [0, 1].map(|k| match self.read()[k] {
            Some(OperandView { before: 0, .. }) => self.passive[k].clone(),
            read => read.map(|used| versions.get(used.before)),
        });
        let Some(after) = self.to.after.filter(|_| self.way != Direction::Store) else {
            from.iter().for_each(|from| copy_out(self.target, &self.places, from, outputs));
            return Ok(ReplayResult::default());
        };
        let mut result = versions.buffer(self.to.length);
        let base = self.base(to.as_deref());
        match &from {
            Some(from) => self.run(from, base, &mut result),
            None => result.assign(inputs),
        }
        versions.put(after, result.share());
        Ok(ReplayResult::default())
    }

    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        let passive = self.passive.iter().flatten();
        passive.for_each(|buffer| each(buffer.address(), buffer.bytes()));
        if let Indexing::List(indices) = &self.places {
            let (address, bytes) = indices.address_and_bytes();
            each(address, bytes);
        }
    }

    fn bytes(&self) -> usize {
        0
    }

    fn inspect(&self) -> Inspection {
        Inspection { conflicting_reads: vec![0; Launch::<V>::views(self).len()] }
    }
}

impl<V: Number> Transfer<V> {
    /// Number of elements that depend on the view as it was before the transfer: all, if the written view gets a new
    /// slot.
    fn moved(&self) -> usize {
        let goes_on = matches!(self.way, Direction::Put | Direction::Add) && self.to.after != Some(self.to.before);
        if goes_on { self.to.length } else { 0 }
    }
}

/// First the statements for elements carried over from the view before, then one for each index.
impl<V: Number> Dependencies for &Transfer<V> {
    fn count(&self) -> usize {
        self.moved() + self.places.count()
    }

    fn own(&self) -> usize {
        0
    }

    fn link(&self, statement: usize, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        let (from, after) = (self.from.before, self.to.after.unwrap_or(0));
        let Some(k) = statement.checked_sub(self.moved()) else {
            arguments.push(Source::Element(self.to.before, statement));
            return (Source::Element(after, statement), Curvature::LINEAR);
        };
        let place = self.places.get(k);
        let (argument, result) = match self.way {
            Direction::Take => (Source::Element(from, place), Source::Element(after, k)),
            Direction::Put | Direction::Add => (Source::Element(from, k), Source::Element(after, place)),
            Direction::Load => (Source::Input(k), Source::Element(after, place)),
            Direction::Store => (Source::Element(from, place), Source::Output(k)),
        };
        arguments.push(argument);
        if self.way == Direction::Add {
            arguments.push(result);
        }
        (result, Curvature::LINEAR)
    }
}
