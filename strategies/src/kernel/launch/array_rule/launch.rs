//! Recorded applications of rules.

use super::rule::{ArrayRule, KeptArrays};
use crate::kernel::launch::dependencies::{Dependencies, OperandView, Source};
use crate::kernel::launch::entry::{Inspection, Launch};
use crate::kernel::launch::replay::{ReplayResult, ReplayState, not_kept};
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::shared::SharedArray;
use crate::kernel::memory::version::Version;
use crate::rules::Curvature;
use crate::{Number, SweepError};
use smallvec::SmallVec;
use std::borrow::Cow;

/// Recorded application of an [`ArrayRule`].
#[derive(Debug)]
pub struct RuleLaunch<V, A> {
    rule: A,
    operands: SmallVec<[OperandView; 2]>,
    to: OperandView,
    kept: [Option<Version<V>>; 2],
}

/// An operand of a rule, or its result: the view, and its values.
pub type ViewValues<'a, V> = (OperandView, &'a SharedArray<V>);

impl<V: Number, A: ArrayRule<V>> RuleLaunch<V, A> {
    /// Describes the application of a rule to one or two operands. `active` says which of them are. For replays,
    /// passive operands are kept, too.
    #[must_use]
    pub fn new(
        rule: A,
        operands: &[ViewValues<'_, V>],
        (to, result): ViewValues<'_, V>,
        active: [bool; 2],
        for_replays: bool,
    ) -> Self {
        let needed = |k: usize| (0..operands.len()).any(|operand| active[operand] && rule.needs(operand)[k]);
        let array = |k: usize| operands.get(k).map_or(result, |(_, values)| values);
        let passive = |k: usize| operands.get(k).is_some_and(|(view, _)| view.before == 0);
        let keep = |k: usize| (needed(k) || for_replays && passive(k)).then(|| Version::Memory(array(k).clone()));
        let kept = [keep(0), keep(1)];
        Self { rule, operands: operands.iter().map(|(view, _)| *view).collect(), to, kept }
    }

    /// The kept arrays, read back if they are on disk, for the time of `f`.
    fn with_kept<T>(
        &self,
        fetched: &mut ReadCache<V>,
        f: impl FnOnce(KeptArrays<'_, V>) -> T,
    ) -> Result<T, SweepError> {
        let kept = fetched.both([self.kept[0].as_ref(), self.kept[1].as_ref()])?;
        let kept = kept.map(elements);
        Ok(f([&kept[0], &kept[1]]))
    }
}

impl<V: Number, A: ArrayRule<V>> Launch<V> for RuleLaunch<V, A> {
    fn reverse(&self, _: &[V], _: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let shadow = shadows.take(self.to.after.expect("it is written"));
        if matches!(shadow, Shadow::Unset) {
            return Ok(());
        }
        let seeds = shadows.dense(shadow, self.to.length);
        let seeds = seeds.to_cow();
        let mut fetched = shadows.fetched().take();
        self.with_kept(&mut fetched, |kept| {
            for (k, view) in self.operands.iter().enumerate().filter(|(_, view)| view.before != 0) {
                let sums = shadows.make_dense(view.before, view.length);
                sums.change(|sums| self.rule.reverse(k, kept, &seeds, sums));
            }
        })?;
        *shadows.fetched() = fetched;
        Ok(())
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        self.operands.iter().copied().chain([self.to]).collect()
    }

    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        Ok(Box::new(self))
    }

    fn forward(
        &self,
        _: &[V],
        _: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        fetched: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        results[0].fill(V::ZERO);
        self.with_kept(fetched, |kept| {
            for (k, tangents) in views[..self.operands.len()].iter().enumerate() {
                let tangents = tangents.iter().map(|tangents| tangents.to_cow());
                tangents.for_each(|tangents| results[0].change(|sums| self.rule.forward(k, kept, &tangents, sums)));
            }
        })
    }

    fn can_be_replayed(&self) -> Result<(), SweepError> {
        let is_known = |(view, kept): (&OperandView, &Option<Version<V>>)| {
            view.before != 0 || kept.as_ref().is_some_and(|kept| kept.in_memory().is_some())
        };
        if self.operands.iter().zip(&self.kept).all(is_known) { Ok(()) } else { Err(not_kept()) }
    }

    fn replay(&self, _: &[V], _: &mut [V], versions: &mut ReplayState<V>) -> Result<ReplayResult<V>, SweepError> {
        Launch::can_be_replayed(self)?;
        let mut arrays = [0, 1].map(|k| match self.operands.get(k)?.before {
            0 => self.kept[k].as_ref().and_then(Version::in_memory).cloned(),
            slot => Some(versions.get(slot)),
        });
        let mut result = versions.buffer(self.to.length);
        let values = [0, 1].map(|k| elements(arrays[k].as_deref()));
        result.change(|result| self.rule.values([&values[0], &values[1]], result));
        drop(values);
        let result = result.share();
        versions.put(self.to.after.expect("it is written"), result.clone());
        if self.operands.len() == 1 {
            arrays[1] = Some(result);
        }
        let [first, second] = arrays;
        let again = [first.filter(|_| self.kept[0].is_some()), second.filter(|_| self.kept[1].is_some())];
        Ok(ReplayResult::of_arrays(again))
    }

    fn accept(&mut self, replayed: ReplayResult<V>) {
        self.kept = replayed.into_arrays().map(|array| array.map(Version::Memory));
    }

    fn hold(&mut self, each: &mut dyn FnMut(&mut Version<V>)) {
        self.kept.iter_mut().flatten().for_each(each);
    }

    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        for version in self.kept.iter().flatten() {
            let (address, bytes) = version.address_and_bytes();
            each(address, bytes);
        }
    }

    fn bytes(&self) -> usize {
        0
    }

    fn inspect(&self) -> Inspection {
        let mut reads = vec![0; self.operands.len() + 1];
        self.rule.sources(self.to.length / 2, &mut |operand, _| reads[operand] += 1);
        let conflicting_reads = reads.into_iter().map(|reads| if reads > 1 { reads } else { 0 }).collect();
        Inspection { conflicting_reads }
    }
}

/// The elements of an array; none if it is not there.
fn elements<V: Number>(array: Option<&Buffer<V>>) -> Cow<'_, [V]> {
    array.map_or(Cow::Borrowed(&[]), Buffer::to_cow)
}

/// One statement for each element of the result.
impl<V: Number, A: ArrayRule<V>> Dependencies for &RuleLaunch<V, A> {
    fn count(&self) -> usize {
        self.to.length
    }

    fn own(&self) -> usize {
        0
    }

    fn link(&self, k: usize, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        let mut each = |operand: usize, place| arguments.push(Source::Element(self.operands[operand].before, place));
        self.rule.sources(k, &mut each);
        (Source::Element(self.to.after.unwrap_or(0), k), self.rule.curvature())
    }
}
