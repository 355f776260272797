//! Rules of folds and scans: functions of two values, with their partial derivatives.

use crate::Number;
use crate::kernel::ir::expression::Node;
use crate::kernel::ir::kernel::{Combination, Kernel, PartialOf, ValuesOf};
use crate::kernel::memory::span::Span;
use crate::kernel::registers::cursor::Captures;
use crate::kernel::registers::program::alone;
use crate::kernel::targets::kernel::BoundKernel;
use crate::kernel::targets::scans::{Scan, ScanStep};
use crate::kernel::targets::target::Target;
use core::fmt;
use core::marker::PhantomData;

/// Function that combines two values, which are operands 0 and 1 of an expression.
#[derive(Clone, Copy, Debug)]
pub struct FoldKernel<A> {
    combination: Combination<A>,
    associative: bool,
}

impl<A: Node> FoldKernel<A> {
    /// True if the partial derivatives depend on the values.
    pub const NEEDS_VALUES: bool = !<Combination<A> as Kernel>::SCRIPTS.needs.is_empty();

    /// Wraps an expression of two operands. If the rule is `associative`, elements are combined in groups.
    ///
    /// # Panics
    ///
    /// When the expression uses anything but the two operands and constants.
    #[must_use]
    #[track_caller]
    pub fn new(expression: A, associative: bool) -> Self {
        let plan = <Combination<A> as Kernel>::PLAN;
        let leaves = &plan.leaves;
        let reads = leaves.views != 0 || leaves.numbers & !3 != 0 || leaves.new != 0 || leaves.locals;
        let alone = !reads && !plan.scripts.has_coordinates();
        assert!(alone, "the rule of a fold or scan is made of its two arguments, and of nothing from elsewhere");
        Self { combination: Combination(expression), associative }
    }

    /// Number of the first elements that are combined in order, of so many.
    pub(super) fn head(&self, length: usize) -> usize {
        if self.associative { length.min(super::division::GROUP) } else { length }
    }

    /// Passes a part of a scan of so many elements to a target with a memory, if elements are combined in groups.
    /// Returns false if the host must do it.
    pub(super) fn on_target<V: Number>(
        &self,
        target: &dyn Target<V>,
        (length, is_exclusive): (usize, bool),
        step: ScanStep<'_, V>,
    ) -> bool {
        let kernel = &BoundKernel::of(&self.combination);
        self.associative
            && length > 0
            && target.scan(Scan { kernel, length, group: super::division::GROUP, is_exclusive, step })
    }

    /// Calls `work` with the rule and its constants.
    pub(super) fn bound<V: Number, T>(&self, work: impl FnOnce(Rule<'_, V, A>) -> T) -> T {
        let captured = &Captures::of::<ValuesOf<Combination<A>>>(&BoundKernel::of(&self.combination).constants);
        work(Rule { captured, expression: PhantomData })
    }
}

/// A rule with its constants.
pub(super) struct Rule<'a, V, A> {
    captured: &'a Captures<V>,
    expression: PhantomData<fn() -> A>,
}

impl<V, A> Clone for Rule<'_, V, A> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<V, A> Copy for Rule<'_, V, A> {}
impl<V, A> fmt::Debug for Rule<'_, V, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rule")
    }
}

impl<V: Number, A: Node> Rule<'_, V, A> {
    /// True if the partial derivatives depend on the values.
    pub(super) const NEEDS: bool = FoldKernel::<A>::NEEDS_VALUES;

    /// Combines two values.
    #[inline(always)]
    pub(super) fn of(self, a: V, b: V) -> V {
        alone::<V, ValuesOf<Combination<A>>>(self.captured, &[a, b], V::ONE)
    }

    /// Both partial derivatives, times the seed. A product with zero is zero.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn slopes(self, a: V, b: V, seed: V) -> [V; 2] {
        let times = |partial: Partial<V>| {
            let slope = partial(self.captured, [a, b]);
            if crate::counts(seed, slope) { seed.contribution(slope) } else { V::ZERO }
        };
        [const { partial::<V, A>(0) }.map_or(V::ZERO, times), const { partial::<V, A>(1) }.map_or(V::ZERO, times)]
    }

    /// Tangent of the combination of two values. A product with zero is zero.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn tangent(self, [a, b]: [V; 2], [of_a, of_b]: [V; 2]) -> V {
        let product = |a: V, b: V| if crate::counts(a, b) { a * b } else { V::ZERO };
        let [left, right] = self.slopes(a, b, V::ONE);
        product(of_a, left) + product(of_b, right)
    }

    /// Element `k` of an array that is kept if partial derivatives depend on the values.
    #[inline(always)]
    pub(super) fn at(array: Span<'_, V>, k: usize) -> V {
        if Self::NEEDS { array.get(k) } else { V::ZERO }
    }
}

type Partial<V> = fn(&Captures<V>, [V; 2]) -> V;

/// Returns the function for the partial derivative by an operand, or `None` if the rule does not use it.
const fn partial<V: Number, A: Node>(operand: usize) -> Option<Partial<V>> {
    let used = &<Combination<A> as Kernel>::SCRIPTS.used;
    if !used.is_empty() && used.get(0).operand() == operand {
        return Some(|captured, at| alone::<V, PartialOf<Combination<A>, 0>>(captured, &at, V::ONE));
    }
    if used.len() > 1 && used.get(1).operand() == operand {
        return Some(|captured, at| alone::<V, PartialOf<Combination<A>, 1>>(captured, &at, V::ONE));
    }
    None
}
