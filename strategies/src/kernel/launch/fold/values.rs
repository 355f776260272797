//! Values of folds and scans.

use super::chain::{Steps, chained};
use super::division::{GROUP, GROUPS, PART, Pass, part, rows, rows_mut, side_by_side};
use super::rule::{FoldKernel, Rule};
use crate::Number;
use crate::kernel::ir::expression::Node;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::span::{Span, SpanMut};
use crate::kernel::targets::scans::ScanStep;
use crate::kernel::targets::target::Target;
use core::array::from_fn;

impl<A: Node> FoldKernel<A> {
    /// Scans `x`: result `k` combines the elements up to `k`. The target does it if it has a memory, and can.
    ///
    /// # Panics
    ///
    /// When `results` and `x` have different lengths.
    pub fn scan<V: Number>(&self, target: &dyn Target<V>, x: &Buffer<V>, results: &mut Buffer<V>) {
        assert_eq!(x.len(), results.len(), "a result for each number");
        if target.memory().is_some() {
            let step = ScanStep::Values { x, start: V::ZERO, results: &mut *results };
            if self.on_target(target, (x.len(), false), step) {
                return;
            }
        }
        self.scan_span(None, Span::of(x), SpanMut::of(results));
    }

    fn scan_span<V: Number>(&self, start: Option<V>, x: Span<'_, V>, results: SpanMut<'_, V>) {
        assert_eq!(x.len(), results.len(), "a result for each number");
        if x.is_empty() {
            return;
        }
        self.bound(|rule| {
            let head = self.head(x.len());
            let (first, rest) = results.split(head);
            let last = rule.scan_head(start, x.within(0..head), first);
            rule.tail_values(last, x.behind(head), rest, &mut |_| {});
        });
    }

    /// Scans `x` behind `start`: result 0 is `start`, and result `k` combines `start` and the elements before `k`. The
    /// target does it if it has a memory, and can.
    ///
    /// # Panics
    ///
    /// When `results` and `x` have different lengths, or none.
    pub fn exclusive_scan<V: Number>(&self, target: &dyn Target<V>, start: V, x: &Buffer<V>, results: &mut Buffer<V>) {
        assert_eq!(x.len(), results.len(), "a result for each number");
        if target.memory().is_some() {
            let step = ScanStep::Values { x, start, results: &mut *results };
            if self.on_target(target, (x.len() - 1, true), step) {
                return;
            }
        }
        results.set(0, start);
        let behind = SpanMut::of(results).split(1).1;
        self.scan_span(Some(start), Span::of(x).within(0..x.len() - 1), behind);
    }

    /// Combines all elements; `None` if there are none.
    pub fn fold<V: Number>(&self, x: &Buffer<V>) -> Option<V> {
        let (x, head) = (Span::of(x), self.head(x.len()));
        self.bound(|rule| {
            let last = (0..head).map(|k| x.get(k)).reduce(|a, b| rule.of(a, b))?;
            Some(rule.tail_values(last, x.behind(head), SpanMut::NONE, &mut |_| {}))
        })
    }
}

/// Carry before a group, and the local value at its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joint<V> {
    pub(super) carry: V,
    pub(super) end: V,
}

/// A part of the tail.
struct Part<'a, V: Number> {
    x: Span<'a, V>,
    /// Results of a scan; empty for a fold.
    y: SpanMut<'a, V>,
    joints: [Joint<V>; GROUPS],
}

impl<V: Number, A: Node> Rule<'_, V, A> {
    /// Scans elements in order, and returns the last result.
    pub(super) fn scan_head(self, start: Option<V>, x: Span<'_, V>, mut results: SpanMut<'_, V>) -> V {
        let mut last = start;
        for k in 0..x.len() {
            let next = last.map_or(x.get(k), |last| self.of(last, x.get(k)));
            results.set(k, next);
            last = Some(next);
        }
        last.expect("there are elements")
    }

    /// Computes the tail of a scan, or of a fold if there are no results. Passes carry and end of each group, and
    /// returns the last result.
    pub(super) fn tail_values(
        self,
        before: V,
        x: Span<'_, V>,
        results: SpanMut<'_, V>,
        each: &mut (dyn FnMut(Joint<V>) + Send),
    ) -> V {
        let (mut last, mut results, joint) = (before, results, Joint { carry: V::ZERO, end: V::ZERO });
        let mut parts = (0..x.len().div_ceil(PART)).map(|n| {
            let x = part(x, n);
            let all = core::mem::replace(&mut results, SpanMut::NONE);
            let length = x.len().min(all.len());
            let (y, rest) = all.split(length);
            results = rest;
            Part { x, y, joints: [joint; GROUPS] }
        });
        chained(x.len(), &mut parts, &self, &mut |part: &mut Part<'_, V>| {
            for joint in &mut part.joints[..part.x.len().div_ceil(GROUP)] {
                joint.carry = last;
                last = self.of(last, joint.end);
                each(*joint);
            }
        });
        last
    }
}

impl<V: Number, A: Node> Steps<Part<'_, V>> for Rule<'_, V, A> {
    fn first(&self, part: &mut Part<'_, V>) {
        let length = part.x.len();
        side_by_side(&mut Local(*self, part), length);
    }

    fn second(&self, mut part: Part<'_, V>) {
        for group in 0..part.y.len().div_ceil(GROUP) {
            let (rule, carry, first) = (*self, part.joints[group].carry, group * GROUP);
            let mut y = part.y.within(first..part.x.len().min(first + GROUP));
            (0..y.len()).for_each(|k| y.set(k, rule.of(carry, y.get(k))));
        }
    }
}

/// Combines the elements of each group.
struct Local<'a, 'p, V: Number, A>(Rule<'a, V, A>, &'a mut Part<'p, V>);

impl<V: Number, A: Node> Pass for Local<'_, '_, V, A> {
    fn run<const K: usize>(&mut self, first: usize, length: usize) {
        let Self(rule, part) = self;
        let x = rows::<V, K>(part.x, first * GROUP, length);
        let ends = if part.y.is_empty() {
            rule.ends(x)
        } else {
            rule.scans(x, rows_mut::<V, K>(&mut part.y, first * GROUP, length))
        };
        part.joints[first..first + K].iter_mut().zip(ends).for_each(|(joint, end)| joint.end = end);
    }
}

impl<V: Number, A: Node> Rule<'_, V, A> {
    /// Combines each of the groups.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn ends<const K: usize>(self, x: [Span<'_, V>; K]) -> [V; K] {
        let length = x[0].len();
        let x = x.map(|row| row.within(0..length));
        let mut last: [V; K] = from_fn(|i| x[i].get(0));
        for j in 1..length {
            for i in 0..K {
                last[i] = self.of(last[i], x[i].get(j));
            }
        }
        last
    }

    /// Scans each of the groups, and returns their last results.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(super) fn scans<const K: usize>(self, x: [Span<'_, V>; K], mut y: [SpanMut<'_, V>; K]) -> [V; K] {
        let length = x[0].len();
        let x = x.map(|row| row.within(0..length));
        let mut y = y.each_mut().map(|row| row.within(0..length));
        let mut last: [V; K] = from_fn(|i| x[i].get(0));
        for i in 0..K {
            y[i].set(0, last[i]);
        }
        for j in 1..length {
            for i in 0..K {
                last[i] = self.of(last[i], x[i].get(j));
                y[i].set(j, last[i]);
            }
        }
        last
    }
}
