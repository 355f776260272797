//! Folds and scans by a function of two values.

use super::dependencies::{Dependencies, OperandView, Source};
use super::entry::{Inspection, Launch};
use super::kernel::Expression;
use super::replay::{ReplayResult, ReplayState, not_kept};
use crate::kernel::ir::access::Access;
use crate::kernel::ir::expression::Node;
use crate::kernel::ir::kernel::{Combination, Kernel, PartialOf, ValuesOf};
use crate::kernel::memory::adjoint::{Shadow, Shadows};
use crate::kernel::memory::buffer::{Buffer, NewArray, SharedArray};
use crate::kernel::memory::cache::ReadCache;
use crate::kernel::memory::version::Version;
use crate::kernel::registers::cursor::Captures;
use crate::kernel::registers::program::alone;
use crate::kernel::targets::kernel::BoundKernel;
use crate::rules::Curvature;
use crate::{Number, SweepError};
use smallvec::SmallVec;

/// Function that combines two values, which are operands 0 and 1 of an expression.
#[derive(Clone, Copy, Debug)]
pub struct FoldKernel<A>(Combination<A>);

impl<A: Node> FoldKernel<A> {
    /// True if the partial derivatives depend on the values.
    pub const NEEDS_VALUES: bool = !<Combination<A> as Kernel>::SCRIPTS.needs.is_empty();

    /// Wraps an expression of two operands.
    ///
    /// # Panics
    ///
    /// When the expression uses anything but the two operands and constants.
    #[must_use]
    #[track_caller]
    pub fn new(expression: A) -> Self {
        let plan = <Combination<A> as Kernel>::PLAN;
        let leaves = &plan.leaves;
        let reads = leaves.views != 0 || leaves.numbers & !3 != 0 || leaves.new != 0 || leaves.locals;
        let alone = !reads && !plan.scripts.has_coordinates();
        assert!(alone, "the rule of a fold or scan is made of its two arguments, and of nothing from elsewhere");
        Self(Combination(expression))
    }

    /// Combines two values.
    #[inline(always)]
    fn of<V: Number>(captured: &Captures<V>, a: V, b: V) -> V {
        alone::<V, ValuesOf<Combination<A>>>(captured, &[a, b], V::ONE)
    }

    #[inline(always)]
    fn captured<V: Number>(&self) -> Captures<V> {
        Captures::of::<ValuesOf<Combination<A>>>(&BoundKernel::of(&self.0).constants)
    }

    /// Both partial derivatives, times the seed. A product with zero is zero.
    fn slopes<V: Number>(captured: &Captures<V>, a: V, b: V, seed: V) -> [V; 2] {
        let (used, mut slopes) = (&<Combination<A> as Kernel>::SCRIPTS.used, [V::ZERO; 2]);
        let partials = [const { partial::<V, A, 0>() }, const { partial::<V, A, 1>() }];
        for (n, partial) in partials.into_iter().enumerate() {
            if let Some(partial) = partial {
                let slope = partial(captured, [a, b]);
                slopes[used.get(n).operand()] =
                    if crate::counts(seed, slope) { seed.contribution(slope) } else { V::ZERO };
            }
        }
        slopes
    }

    /// Scans `x`: result `k` combines the elements up to `k`, in order.
    ///
    /// # Panics
    ///
    /// When `results` and `x` have different lengths.
    pub fn scan<V: Number>(&self, x: &Buffer<V>, results: &mut Buffer<V>) {
        assert_eq!(x.len(), results.len(), "a result for each number");
        let (mut last, captured) = (None, &self.captured());
        for (k, x) in x.iter().enumerate() {
            let next = last.map_or(x, |last| Self::of(captured, last, x));
            results.set(k, next);
            last = Some(next);
        }
    }

    /// Combines all elements, in order; `None` if there are none.
    pub fn fold<V: Number>(&self, x: &Buffer<V>) -> Option<V> {
        let captured = &self.captured();
        x.iter().reduce(|a, b| Self::of(captured, a, b))
    }
}

type Partial<V> = fn(&Captures<V>, [V; 2]) -> V;

/// Returns the function for the partial derivative of access `N`, or `None` if there is no such access.
const fn partial<V: Number, A: Node, const N: usize>() -> Option<Partial<V>> {
    if N < <Combination<A> as Kernel>::SCRIPTS.used.len() {
        Some(|captured, at| alone::<V, PartialOf<Combination<A>, N>>(captured, &at, V::ONE))
    } else {
        None
    }
}

/// Recorded fold or scan.
#[derive(Debug)]
pub struct FoldLaunch<V, A> {
    rule: FoldKernel<A>,
    from: OperandView,
    /// View that a scan writes; `None` for a fold, whose result is a variable.
    to: Option<OperandView>,
    /// Elements, if partial derivatives need them.
    x: Option<Version<V>>,
    /// Results of a scan, if partial derivatives need them.
    y: Option<Version<V>>,
}

impl<V: Number, A: Node> FoldLaunch<V, A> {
    /// Describes a fold of these elements.
    #[must_use]
    pub fn fold(rule: FoldKernel<A>, from: OperandView, x: &SharedArray<V>) -> Self {
        let x = FoldKernel::<A>::NEEDS_VALUES.then(|| Version::Memory(x.clone()));
        Self { rule, from, to: None, x, y: None }
    }

    /// Describes a scan of these elements with these results.
    #[must_use]
    pub fn scan(
        rule: FoldKernel<A>,
        (from, x): (OperandView, &SharedArray<V>),
        (to, y): (OperandView, &SharedArray<V>),
    ) -> Self {
        let keep = |buffer: &SharedArray<V>| FoldKernel::<A>::NEEDS_VALUES.then(|| Version::Memory(buffer.clone()));
        Self { rule, from, to: Some(to), x: keep(x), y: keep(y) }
    }

    /// Recomputes the partial results of a fold if partial derivatives need them; `None` if they do not, or a scan has
    /// kept its results.
    fn prefixes(&self, [x, y]: [Option<&Buffer<V>>; 2], shadows: &mut Shadows<V>) -> Option<NewArray<V>> {
        let x = x.filter(|_| y.is_none())?;
        let mut prefixes = shadows.any(x.len());
        self.rule.scan(x, &mut prefixes);
        Some(prefixes)
    }
}

impl<V: Number, A: Node> Launch<V> for FoldLaunch<V, A> {
    fn reverse(&self, outputs: &[V], _: &mut [V], shadows: &mut Shadows<V>) -> Result<(), SweepError> {
        let mut last = V::ZERO;
        let mut seeds = None;
        if let Some(to) = self.to {
            let shadow = shadows.take(to.after.expect("it is written"));
            if matches!(shadow, Shadow::Unset) {
                return Ok(());
            }
            seeds = Some(shadows.dense(shadow, to.length));
        } else {
            last = outputs[0];
        }
        if self.from.before != 0 && (seeds.is_some() || !last.is_nought()) {
            let mut fetched = shadows.fetched().take();
            let [x, y] = fetched.both([self.x.as_ref(), self.y.as_ref()])?;
            let again = self.prefixes([x, y], shadows);
            let prefixes = again.as_deref().or(y);
            let at = |buffer: Option<&Buffer<V>>, k: usize| buffer.map_or(V::ZERO, |buffer| buffer.get(k));
            let shadow = shadows.take(self.from.before);
            let mut array = shadows.dense(shadow, self.from.length);
            let sums: &mut Buffer<V> = &mut array;
            let (mut seed, captured) = (last, &self.rule.captured());
            // Invariant: `seed` is the adjoint that partial result k gets from later elements.
            for k in (1..self.from.length).rev() {
                seed += at(seeds.as_deref(), k);
                if !seed.is_nought() {
                    let [before, own] = FoldKernel::<A>::slopes(captured, at(prefixes, k - 1), at(x, k), seed);
                    sums.set(k, sums.get(k) + own);
                    seed = before;
                }
            }
            sums.set(0, sums.get(0) + (seed + at(seeds.as_deref(), 0)));
            shadows.put(self.from.before, Shadow::Dense(array));
            *shadows.fetched() = fetched;
        }
        Ok(())
    }

    fn views(&self) -> SmallVec<[OperandView; 4]> {
        core::iter::once(self.from).chain(self.to).collect()
    }

    fn links(&self) -> Result<Box<dyn Dependencies + '_>, SweepError> {
        let combination = Expression::of(<Combination<A> as Kernel>::PLAN).swap_remove(0);
        Ok(Box::new(Chain { from: self.from, to: self.to, combination }))
    }

    fn forward(
        &self,
        _: &[V],
        outputs: &mut [V],
        views: &[Option<&Buffer<V>>],
        results: &mut [&mut Buffer<V>],
        fetched: &mut ReadCache<V>,
    ) -> Result<(), SweepError> {
        let Some(tangents) = views[0] else {
            results.iter_mut().for_each(|result| result.fill(V::ZERO));
            return Ok(());
        };
        let mut shadows = Shadows::beside(fetched);
        let [x, y] = fetched.both([self.x.as_ref(), self.y.as_ref()])?;
        let again = self.prefixes([x, y], &mut shadows);
        let prefixes = again.as_deref().or(y);
        let at = |buffer: Option<&Buffer<V>>, k: usize| buffer.map_or(V::ZERO, |buffer| buffer.get(k));
        let (mut tangent, captured) = (tangents.get(0), &self.rule.captured());
        for k in 0..self.from.length {
            if k > 0 {
                let [before, own] = FoldKernel::<A>::slopes(captured, at(prefixes, k - 1), at(x, k), V::ONE);
                let product = |a: V, b: V| if crate::counts(a, b) { a * b } else { V::ZERO };
                tangent = product(tangent, before) + product(tangents.get(k), own);
            }
            results.iter_mut().for_each(|result| result.set(k, tangent));
        }
        outputs.iter_mut().for_each(|output| *output = tangent);
        Ok(())
    }

    fn can_be_replayed(&self) -> Result<(), SweepError> {
        if self.from.before != 0 { Ok(()) } else { Err(not_kept()) }
    }

    fn replay(&self, _: &[V], outputs: &mut [V], versions: &mut ReplayState<V>) -> Result<ReplayResult<V>, SweepError> {
        Launch::can_be_replayed(self)?;
        let x = versions.get(self.from.before);
        let mut y = None;
        if let Some(to) = self.to {
            let mut results = versions.buffer(to.length);
            self.rule.scan(&x, &mut results);
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

/// A fold or scan as scalar statements: one for each partial result, and one for the result of a fold.
struct Chain {
    from: OperandView,
    to: Option<OperandView>,
    combination: Expression,
}

impl Chain {
    /// The partial result up to this element.
    fn prefix(&self, k: usize) -> Source {
        self.to.map_or(Source::Own(k), |to| Source::Element(to.after.unwrap_or(0), k))
    }
}

impl Dependencies for Chain {
    fn count(&self) -> usize {
        self.from.length + usize::from(self.to.is_none())
    }

    fn own(&self) -> usize {
        if self.to.is_none() { self.from.length } else { 0 }
    }

    fn link(&self, k: usize, arguments: &mut Vec<Source>) -> (Source, Curvature) {
        let x = Source::Element(self.from.before, k);
        if k == 0 || k == self.from.length {
            let (argument, result) = if k == 0 { (x, self.prefix(0)) } else { (Source::Own(k - 1), Source::Output(0)) };
            arguments.push(argument);
            return (result, Curvature::LINEAR);
        }
        let of = |key: Access| if key.operand() == 0 { self.prefix(k - 1) } else { x };
        (self.prefix(k), self.combination.link(arguments, of))
    }
}
