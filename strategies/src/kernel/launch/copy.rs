//! Transfers of elements: between views, by index, and from and to variables.

use super::dependencies::{Dependencies, OperandView, Source};
use super::entry::{Inspection, Launch};
use super::replay::{ReplayResult, ReplayState, not_kept};
use crate::kernel::ir::grid::Grid;
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::{Buffer, SharedArray};
use crate::kernel::memory::cache::ReadCache;
use crate::rules::Curvature;
use crate::{Number, SweepError};
use core::fmt;
use smallvec::{SmallVec, smallvec};
use std::sync::{Arc, OnceLock};

/// Positions of elements, in any order, that kernels look up: an array that is not differentiated.
///
/// Clones share the list.
#[derive(Clone)]
pub struct Indices(Arc<List>);

struct List {
    places: Box<[u32]>,
    /// One more than the largest index.
    bound: usize,
    /// Two entries of the list with the same index, if there are any; found on request.
    twins: OnceLock<Option<(usize, usize)>>,
}

impl Indices {
    /// Copies a list of indices.
    ///
    /// # Panics
    ///
    /// When an index is beyond 2³² − 1.
    #[must_use]
    #[track_caller]
    pub fn new(places: &[usize]) -> Self {
        let narrow = |place: &usize| {
            u32::try_from(*place)
                .unwrap_or_else(|_| panic!("index {place} is beyond 2^32 - 1, the largest that there can be"))
        };
        let places: Box<[u32]> = places.iter().map(narrow).collect();
        let bound = places.iter().max().map_or(0, |place| *place as usize + 1);
        Self(Arc::new(List { places, bound, twins: OnceLock::new() }))
    }

    /// Number of indices.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.places.len()
    }

    /// Returns true if the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.places.is_empty()
    }

    /// Returns the index at this position in the list.
    ///
    /// # Panics
    ///
    /// When the list is shorter.
    #[must_use]
    pub fn get(&self, position: usize) -> usize {
        self.0.places[position] as usize
    }

    /// Iterates over the indices, in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.0.places.iter().map(|place| *place as usize)
    }

    /// Returns one more than the largest index; 0 if the list is empty.
    #[must_use]
    pub fn bound(&self) -> usize {
        self.0.bound
    }

    /// Returns two positions in the list that hold the same index, or `None` if all indices are distinct.
    #[must_use]
    pub fn twins(&self) -> Option<(usize, usize)> {
        *self.0.twins.get_or_init(|| {
            let mut order: Vec<u32> = (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).collect();
            order.sort_by_key(|k| self.0.places[*k as usize]);
            let same = |pair: &&[u32]| self.get(pair[0] as usize) == self.get(pair[1] as usize);
            order.windows(2).find(same).map(|pair| (pair[0] as usize, pair[1] as usize))
        })
    }
}

impl fmt::Debug for Indices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Elements of a view that a transfer moves, in order.
#[derive(Clone, Debug)]
pub enum Indexing {
    /// The elements of a range.
    Range(Grid),
    /// The elements of a list, possibly with repetitions.
    List(Indices),
}

impl Indexing {
    /// Number of elements, with repetitions.
    #[must_use]
    pub fn count(&self) -> usize {
        match self {
            Self::Range(grid) => grid.points(),
            Self::List(indices) => indices.len(),
        }
    }

    /// Returns the index of element number `number`.
    fn get(&self, number: usize) -> usize {
        match self {
            Self::Range(grid) => grid.element(grid.point(number)),
            Self::List(indices) => indices.get(number),
        }
    }

    /// Calls `f` with the number and the index of each element.
    fn each(&self, mut f: impl FnMut(usize, usize)) {
        match self {
            Self::Range(grid) => {
                let mut k = 0;
                grid.inside(|piece| {
                    for place in piece {
                        f(k, place);
                        k += 1;
                    }
                });
            }
            Self::List(indices) => indices.iter().enumerate().for_each(|(k, place)| f(k, place)),
        }
    }

    /// Copies the selected elements of `from` to `to`, in order.
    ///
    /// # Panics
    ///
    /// When an index is outside the array, or the number of indices is not the number of elements of `to`.
    pub fn take<V: Number>(&self, from: &[V], to: &mut [V]) {
        assert_eq!(self.count(), to.len(), "an element for each place");
        self.each(|k, place| to[k] = from[place]);
    }

    /// Copies `from`, in order, to the selected elements of `to`.
    ///
    /// # Panics
    ///
    /// When an index is outside the array, or the number of indices is not the number of elements of `from`.
    pub fn put<V: Number>(&self, from: &[V], to: &mut [V]) {
        assert_eq!(self.count(), from.len(), "an element for each place");
        self.each(|k, place| to[place] = from[k]);
    }

    /// Adds `from`, in order, to the selected elements of `to`.
    ///
    /// # Panics
    ///
    /// When an index is outside the array, or the number of indices is not the number of elements of `from`.
    pub fn add<V: Number>(&self, from: &[V], to: &mut [V]) {
        assert_eq!(self.count(), from.len(), "an element for each place");
        self.each(|k, place| to[place] += from[k]);
    }
}

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
pub struct Transfer<V> {
    way: Direction,
    places: Indexing,
    /// Values of passive views, for replays: of the view that is read, and of the written view before the launch.
    passive: [Option<SharedArray<V>>; 2],
    /// View that is read; unused with [`Direction::Load`].
    from: OperandView,
    /// View that is written; unused with [`Direction::Store`].
    to: OperandView,
}

impl<V: Number> Transfer<V> {
    /// Describes a transfer between two views; a view that the direction does not use is ignored.
    #[must_use]
    pub const fn new(way: Direction, places: Indexing, from: OperandView, to: OperandView) -> Self {
        Self { way, places, passive: [None, None], from, to }
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
    fn add_to_source(&self, seeds: &[V], shadows: &mut Shadows<V>) {
        let shadow = shadows.take(self.from.before);
        let mut sums = shadows.dense(shadow, self.from.length);
        self.places.add(seeds, &mut sums);
        shadows.put(self.from.before, Shadow::Dense(sums));
    }
}

impl<V: Number> Launch<V> for Transfer<V> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        if self.way == Direction::Store {
            if self.from.before != 0 && outputs.iter().any(|seed| !seed.is_nought()) {
                self.add_to_source(outputs, shadows);
            }
            return Ok(());
        }
        let after = self.to.after.expect("it is written");
        let shadow = shadows.take(after);
        if matches!(shadow, Shadow::Unset) {
            return Ok(());
        }
        let mut seeds = shadows.dense(shadow, self.to.length);
        let reached = self.from.before != 0;
        match self.way {
            Direction::Load => inputs.iter_mut().zip(seeds.iter()).for_each(|(sum, seed)| *sum += *seed),
            Direction::Take if reached => self.add_to_source(&seeds, shadows),
            Direction::Put | Direction::Add if reached => {
                let mut found = shadows.any(self.from.length);
                self.places.take(&seeds, &mut found);
                shadows.add(self.from.before, &found);
            }
            _ => {}
        }
        if self.way == Direction::Put {
            let seeds: &mut Buffer<V> = &mut seeds;
            self.places.each(|_, place| seeds[place] = V::ZERO);
        }
        if matches!(self.way, Direction::Put | Direction::Add) && self.to.before != 0 {
            // The remaining adjoints belong to the view as it was before the transfer.
            if matches!(shadows.get(self.to.before), Shadow::Unset) {
                shadows.put(self.to.before, Shadow::Dense(seeds));
                return Ok(());
            }
            shadows.add(self.to.before, &seeds);
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
            (Direction::Load, _, [result]) => result.copy_from_slice(inputs),
            (Direction::Store, [Some(tangents)], _) => self.places.take(tangents, outputs),
            (Direction::Take, [Some(tangents), _], [result]) => self.places.take(tangents, result),
            (Direction::Put | Direction::Add, [from, to], [result]) => {
                match to {
                    Some(tangents) => result.copy_from_slice(tangents),
                    None => result.fill(V::ZERO),
                }
                match (from, self.way) {
                    (Some(tangents), Direction::Put) => self.places.put(tangents, result),
                    (Some(tangents), _) => self.places.add(tangents, result),
                    (None, Direction::Put) => self.places.each(|_, place| result[place] = V::ZERO),
                    (None, _) => {}
                }
            }
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
            from.iter().for_each(|from| self.places.take(from, outputs));
            return Ok(ReplayResult::default());
        };
        let mut result = versions.buffer(self.to.length);
        to.iter().for_each(|to| result.copy_from_slice(to));
        match (self.way, &from) {
            (Direction::Take, Some(from)) => self.places.take(from, &mut result),
            (Direction::Put, Some(from)) => self.places.put(from, &mut result),
            (Direction::Add, Some(from)) => self.places.add(from, &mut result),
            _ => result.copy_from_slice(inputs),
        }
        versions.put(after, result.share());
        Ok(ReplayResult::default())
    }

    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        let passive = self.passive.iter().flatten();
        passive.for_each(|buffer| each(buffer.address(), buffer.bytes()));
        if let Indexing::List(indices) = &self.places {
            each(Arc::as_ptr(&indices.0).addr(), size_of_val(&*indices.0.places));
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
