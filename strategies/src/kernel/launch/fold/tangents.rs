//! Tangents of folds and scans.

use super::chain::{Steps, chained};
use super::division::{GROUP, GROUPS, PART, Pass, part, rows, rows_mut, side_by_side};
use super::rule::Rule;
use super::values::Joint;
use crate::Number;
use crate::kernel::ir::expression::Node;
use crate::kernel::memory::span::{Span, SpanMut};
use core::array::from_fn;

/// A part of the tail.
struct Part<'a, V: Number> {
    x: Span<'a, V>,
    tangents: Span<'a, V>,
    /// Tangents of the results of a scan; empty for a fold.
    results: SpanMut<'a, V>,
    joints: [Joint<V>; GROUPS],
    /// Tangents of the joints.
    moves: [Joint<V>; GROUPS],
}

/// A value and its tangent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving<V> {
    pub(super) value: V,
    pub(super) tangent: V,
}

impl<V: Number, A: Node> Rule<'_, V, A> {
    /// Combines two values and their tangents.
    #[inline(always)]
    fn moved(self, a: Moving<V>, b: Moving<V>) -> Moving<V> {
        let tangent = self.tangent([a.value, b.value], [a.tangent, b.tangent]);
        let value = if Self::NEEDS { self.of(a.value, b.value) } else { V::ZERO };
        Moving { value, tangent }
    }

    /// Computes the tangents of a scan, or of a fold if there are no results; returns the last one. `head` is the
    /// number of elements that were combined in order.
    pub(super) fn push(
        self,
        start: Option<Moving<V>>,
        head: usize,
        [x, tangents]: [Span<'_, V>; 2],
        mut results: SpanMut<'_, V>,
    ) -> V {
        let (mut last, is_scan) = (start, !results.is_empty());
        for k in 0..head {
            let own = Moving { value: Self::at(x, k), tangent: tangents.get(k) };
            let next = last.map_or(own, |last| self.moved(last, own));
            if is_scan {
                results.set(k, next.tangent);
            }
            last = Some(next);
        }
        let last = last.expect("there are elements");
        let results = if is_scan { results.split(head).1 } else { results };
        self.push_through_tail(last, [x, tangents].map(|array| array.behind(head)), results)
    }

    fn push_through_tail(self, before: Moving<V>, [x, tangents]: [Span<'_, V>; 2], results: SpanMut<'_, V>) -> V {
        let (mut last, mut results, joint) = (before, results, Joint { carry: V::ZERO, end: V::ZERO });
        let mut parts = (0..tangents.len().div_ceil(PART)).map(|n| {
            let tangents = part(tangents, n);
            let all = core::mem::replace(&mut results, SpanMut::NONE);
            let length = tangents.len().min(all.len());
            let (own, rest) = all.split(length);
            results = rest;
            Part { x: part(x, n), tangents, results: own, joints: [joint; GROUPS], moves: [joint; GROUPS] }
        });
        chained(tangents.len(), &mut parts, &self, &mut |part: &mut Part<'_, V>| {
            for group in 0..part.tangents.len().div_ceil(GROUP) {
                let (joint, moves) = (&mut part.joints[group], &mut part.moves[group]);
                (joint.carry, moves.carry) = (last.value, last.tangent);
                last = self.moved(last, Moving { value: joint.end, tangent: moves.end });
            }
        });
        last.tangent
    }
}

impl<V: Number, A: Node> Steps<Part<'_, V>> for Rule<'_, V, A> {
    fn first(&self, part: &mut Part<'_, V>) {
        let length = part.tangents.len();
        side_by_side(&mut Local(*self, part), length);
    }

    fn second(&self, mut part: Part<'_, V>) {
        let length = part.results.len();
        side_by_side(&mut Joined(*self, &mut part), length);
    }
}

/// Computes the tangents of the local values.
struct Local<'a, 'p, V: Number, A>(Rule<'a, V, A>, &'a mut Part<'p, V>);

impl<V: Number, A: Node> Pass for Local<'_, '_, V, A> {
    fn run<const K: usize>(&mut self, first: usize, length: usize) {
        let Self(rule, part) = self;
        let (x, tangents) =
            (rows::<V, K>(part.x, first * GROUP, length), rows::<V, K>(part.tangents, first * GROUP, length));
        let at = |i: usize, j: usize| Moving { value: Rule::<V, A>::at(x[i], j), tangent: tangents[i].get(j) };
        let mut last: [Moving<V>; K] = from_fn(|i| at(i, 0));
        if part.results.is_empty() {
            for j in 1..length {
                last = from_fn(|i| rule.moved(last[i], at(i, j)));
            }
        } else {
            let mut results = rows_mut::<V, K>(&mut part.results, first * GROUP, length);
            for j in 0..length {
                for i in 0..K {
                    if j > 0 {
                        last[i] = rule.moved(last[i], at(i, j));
                    }
                    results[i].set(j, last[i].tangent);
                }
            }
        }
        for i in 0..K {
            (part.joints[first + i].end, part.moves[first + i].end) = (last[i].value, last[i].tangent);
        }
    }
}

/// Combines the tangents of the local values with those of the carries.
struct Joined<'a, 'p, V: Number, A>(Rule<'a, V, A>, &'a mut Part<'p, V>);

impl<V: Number, A: Node> Pass for Joined<'_, '_, V, A> {
    fn run<const K: usize>(&mut self, first: usize, length: usize) {
        let Self(rule, part) = self;
        let x = rows::<V, K>(part.x, first * GROUP, length);
        let mut local: [V; K] = from_fn(|i| Rule::<V, A>::at(x[i], 0));
        let (carries, moves): ([V; K], [V; K]) =
            (from_fn(|i| part.joints[first + i].carry), from_fn(|i| part.moves[first + i].carry));
        let mut results = rows_mut::<V, K>(&mut part.results, first * GROUP, length);
        for j in 0..length {
            for i in 0..K {
                if Rule::<V, A>::NEEDS && j > 0 {
                    local[i] = rule.of(local[i], x[i].get(j));
                }
                results[i].set(j, rule.tangent([carries[i], local[i]], [moves[i], results[i].get(j)]));
            }
        }
    }
}
