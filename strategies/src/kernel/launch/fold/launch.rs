//! Recorded folds and scans.

use super::adjoints::Arrays;
use super::links::Chain;
use super::rule::FoldKernel;
use super::tangents::Moving;
use crate::kernel::ir::expression::Node;
use crate::kernel::ir::kernel::{Combination, Kernel};
use crate::kernel::launch::dependencies::{Dependencies, OperandView, Source};
use crate::kernel::launch::entry::{Inspection, Launch};
use crate::kernel::launch::kernel::Expression;
use crate::kernel::launch::replay::{ReplayResult, ReplayState, not_kept};
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::shared::{NewArray, SharedArray};
use crate::kernel::memory::span::{Span, SpanMut};
use crate::kernel::memory::version::Version;
use crate::kernel::targets::scans::ScanStep;
use crate::kernel::targets::target::Target;
use crate::{Number, SweepError};
use smallvec::SmallVec;

/// Recorded fold or scan.
#[derive(Debug)]
pub struct FoldLaunch<V: Number, A> {
    rule: FoldKernel<A>,
    /// Target that carries out a scan; `None` for a fold.
    target: Option<&'static dyn Target<V>>,
    from: OperandView,
    /// View that a scan writes; `None` for a fold, whose result is a variable.
    to: Option<OperandView>,
    /// True if the scan is exclusive, behind the only input of the launch.
    is_exclusive: bool,
    /// Elements, if partial derivatives need them, or a replay does because they are passive.
    x: Option<Version<V>>,
    /// Results of a scan, if partial derivatives need them.
    y: Option<Version<V>>,
}

impl<V: Number, A: Node> FoldLaunch<V, A> {
    /// Describes a fold of these elements.
    #[must_use]
    pub fn fold(rule: FoldKernel<A>, from: OperandView, x: &SharedArray<V>) -> Self {
        let x = FoldKernel::<A>::NEEDS_VALUES.then(|| Version::Memory(x.clone()));
        Self { rule, target: None, from, to: None, is_exclusive: false, x, y: None }
    }

    /// Describes a scan of these elements with these results.
    #[must_use]
    pub fn scan(
        (rule, target): (FoldKernel<A>, &'static dyn Target<V>),
        (from, x): (OperandView, &SharedArray<V>),
        (to, y): (OperandView, &SharedArray<V>),
    ) -> Self {
        let keep = |buffer: &SharedArray<V>| FoldKernel::<A>::NEEDS_VALUES.then(|| Version::Memory(buffer.clone()));
        Self { rule, target: Some(target), from, to: Some(to), is_exclusive: false, x: keep(x), y: keep(y) }
    }

    /// Describes an exclusive scan of these elements with these results. `kept` are the elements if they are passive
    /// and the recording is kept for replays.
    #[must_use]
    pub fn exclusive_scan(
        rule: (FoldKernel<A>, &'static dyn Target<V>),
        from: (OperandView, &SharedArray<V>),
        to: (OperandView, &SharedArray<V>),
        kept: Option<&SharedArray<V>>,
    ) -> Self {
        let all = Self::scan(rule, from, to);
        let x = all.x.or_else(|| kept.cloned().map(Version::Memory));
        Self { is_exclusive: true, x, ..all }
    }

    /// Number of elements that are combined, and of those that are combined in order.
    fn lengths(&self) -> [usize; 2] {
        let length = self.from.length - usize::from(self.is_exclusive);
        [length, self.rule.head(length)]
    }

    /// The value before the elements, for slopes: the first of the results if these are kept.
    fn first(&self, y: Option<&Buffer<V>>) -> Option<V> {
        self.is_exclusive.then(|| y.map_or(V::ZERO, |y| y.get(0)))
    }

    /// Elements that are combined; none if partial derivatives do not need them.
    fn combined<'b>(&self, x: Option<&'b Buffer<V>>) -> Span<'b, V> {
        let [length, _] = self.lengths();
        x.filter(|_| FoldKernel::<A>::NEEDS_VALUES).map_or(Span::NONE, |x| Span::of(x).within(0..length))
    }

    /// Passes a sweep to the target of a scan. Returns false if the host must do it.
    fn on_target(&self, step: ScanStep<'_, V>) -> bool {
        let target = self.target.filter(|target| target.memory().is_some());
        target.is_some_and(|target| self.rule.on_target(target, (self.lengths()[0], self.is_exclusive), step))
    }

    /// Adds the adjoints of the elements to those of their view, and returns that of the value before them.
    fn pull_back(&self, seeds: Option<&Buffer<V>>, last: V, shadows: &mut Shadows<V>) -> Result<V, SweepError> {
        let mut fetched = shadows.fetched().take();
        let values = fetched.both([self.x.as_ref(), self.y.as_ref()])?;
        let shadow = shadows.take(self.from.before);
        let (is_fresh, length) = (matches!(shadow, Shadow::Unset), self.from.length);
        let (mut array, mut start) =
            (if is_fresh { shadows.any(length) } else { shadows.dense(shadow, length) }, V::ZERO);
        let is_done = seeds.is_some_and(|seeds| {
            let values = values.map(|values| values.filter(|_| FoldKernel::<A>::NEEDS_VALUES));
            self.on_target(ScanStep::Adjoints { values, seeds, sums: &mut array, is_fresh, of_start: &mut start })
        });
        if !is_done {
            start = self.pull_back_on_host(values, (seeds, last), (&mut array, is_fresh), shadows);
        }
        if self.from.before != 0 {
            shadows.put(self.from.before, Shadow::Dense(array));
        }
        *shadows.fetched() = fetched;
        Ok(start)
    }

    fn pull_back_on_host(
        &self,
        [x, y]: [Option<&Buffer<V>>; 2],
        (seeds, last): (Option<&Buffer<V>>, V),
        (array, is_fresh): (&mut Buffer<V>, bool),
        shadows: &mut Shadows<V>,
    ) -> V {
        let ([length, head], skip) = (self.lengths(), usize::from(self.is_exclusive));
        let (first, x) = (self.first(y), self.combined(x));
        // A fold has not kept the results in its head.
        let again = (self.to.is_none() && !x.is_empty()).then(|| self.results_in_head(x.within(0..head), shadows));
        let y = again.as_deref().or(y).map_or(Span::NONE, |y| Span::of(y).behind(skip));
        let (sums, mut unused) = SpanMut::of(array).split(length);
        if is_fresh {
            unused.fill(V::ZERO);
        }
        let arrays =
            Arrays { x, y, seeds: seeds.map_or(Span::NONE, |seeds| Span::of(seeds).behind(skip)), sums, is_fresh };
        let start =
            if length == 0 { V::ZERO } else { self.rule.bound(|rule| rule.pull_back(arrays, first, head, last)) };
        // The first result of an exclusive scan is the value before the elements.
        seeds.filter(|_| self.is_exclusive).map_or(start, |seeds| start + seeds.get(0))
    }

    fn results_in_head(&self, x: Span<'_, V>, shadows: &mut Shadows<V>) -> NewArray<V> {
        let mut results = shadows.any(x.len());
        self.rule.bound(|rule| rule.scan_head(None, x, SpanMut::of(&mut results)));
        results
    }
}

impl<V: Number, A: Node> Launch<V> for FoldLaunch<V, A> {
    fn reverse(&self, outputs: &[V], inputs: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let Some(to) = self.to else {
            if self.from.before != 0 && !outputs[0].is_nought() {
                self.pull_back(None, outputs[0], shadows)?;
            }
            return Ok(());
        };
        let shadow = shadows.take(to.after.expect("it is written"));
        if matches!(shadow, Shadow::Unset) || self.from.before == 0 && !self.is_exclusive {
            return Ok(());
        }
        let seeds = shadows.dense(shadow, to.length);
        let of_start = self.pull_back(Some(&seeds), V::ZERO, shadows)?;
        if self.is_exclusive {
            inputs[0] += of_start;
        }
        Ok(())
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        core::iter::once(self.from).chain(self.to).collect()
    }

    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        let combination = Expression::of(<Combination<A> as Kernel>::PLAN).swap_remove(0);
        let start = self.is_exclusive.then_some(Source::Input(0));
        let [length, head] = self.lengths();
        Ok(Box::new(Chain { from: self.from, to: self.to, start, length, head, combination }))
    }

    fn forward(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        fetched: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        let of_start = if self.is_exclusive { inputs[0] } else { V::ZERO };
        if views[0].is_none() && of_start.is_nought() {
            results.iter_mut().for_each(|result| result.fill(V::ZERO));
            return Ok(());
        }
        let zeros = views[0].is_none().then(|| {
            let mut zeros = fetched.array(self.from.length);
            zeros.fill(V::ZERO);
            zeros
        });
        let tangents = views[0].or(zeros.as_deref()).expect("one or the other");
        let y = self.y.as_ref().filter(|_| self.is_exclusive);
        let [x, y] = fetched.both([self.x.as_ref(), y])?;
        if let [results] = results {
            let values = [x, y].map(|values| values.filter(|_| FoldKernel::<A>::NEEDS_VALUES));
            if self.on_target(ScanStep::Tangents { values, of_start, tangents, results }) {
                return Ok(());
            }
        }
        let (start, x, [length, head]) = (self.first(y), self.combined(x), self.lengths());
        let start = start.map(|value| Moving { value, tangent: of_start });
        let mut to = results.first_mut().map_or(SpanMut::NONE, |result| SpanMut::of(result));
        if start.is_some() {
            to.set(0, of_start);
            to = to.split(1).1;
        }
        if length > 0 {
            let last = self.rule.bound(|rule| rule.push(start, head, [x, Span::of(tangents).within(0..length)], to));
            outputs.iter_mut().for_each(|output| *output = last);
        }
        Ok(())
    }

    fn can_be_replayed(&self) -> Result<(), SweepError> {
        let is_kept = self.x.as_ref().is_some_and(|x| x.in_memory().is_some());
        if self.from.before != 0 || is_kept { Ok(()) } else { Err(not_kept()) }
    }

    fn replay(
        &self,
        inputs: &[V],
        outputs: &mut [V],
        versions: &mut ReplayState<V>,
    ) -> Result<ReplayResult<V>, SweepError> {
        Launch::can_be_replayed(self)?;
        let x = match self.from.before {
            0 => self.x.as_ref().and_then(Version::in_memory).expect("it has just been found").clone(),
            slot => versions.get(slot),
        };
        let mut y = None;
        if let (Some(to), Some(target)) = (self.to, self.target) {
            let mut results = versions.buffer(to.length);
            if self.is_exclusive {
                self.rule.exclusive_scan(target, inputs[0], &x, &mut results);
            } else {
                self.rule.scan(target, &x, &mut results);
            }
            let results = results.share();
            versions.put(to.after.expect("it is written"), results.clone());
            y = Some(results);
        } else {
            outputs[0] = self.rule.fold(&x).expect("a view has elements");
        }
        Ok(ReplayResult::of_arrays([self.x.is_some().then_some(x), y.filter(|_| self.y.is_some())]))
    }

    fn accept(&mut self, replayed: ReplayResult<V>) {
        [self.x, self.y] = replayed.into_arrays().map(|array| array.map(Version::Memory));
    }

    fn hold(&mut self, each: &mut dyn FnMut(&mut Version<V>)) {
        self.x.iter_mut().chain(&mut self.y).for_each(each);
    }

    fn arrays(&self, each: &mut dyn FnMut(usize, usize)) {
        for version in self.x.iter().chain(&self.y) {
            let (address, bytes) = version.address_and_bytes();
            each(address, bytes);
        }
    }

    fn bytes(&self) -> usize {
        0
    }

    fn inspect(&self) -> Inspection {
        let conflicting_reads = vec![0; Launch::<V>::views(self).len()];
        Inspection { conflicting_reads }
    }
}
