//! Adjoints of folds and scans.

use super::chain::{Steps, chained};
use super::division::{GROUP, GROUPS, PART, Pass, part, rows, rows_mut, side_by_side};
use super::rule::Rule;
use super::values::Joint;
use crate::Number;
use crate::kernel::ir::expression::Node;
use crate::kernel::memory::buffer::Buffer;
use crate::kernel::memory::span::{Span, SpanMut};
use core::array::from_fn;

/// Arrays of a reverse sweep. Those that are not there are empty.
#[derive(Debug)]
pub(super) struct Arrays<'a, V: Number> {
    pub(super) x: Span<'a, V>,
    /// Results of a scan, or those of a fold's head.
    pub(super) y: Span<'a, V>,
    /// Adjoints of the results of a scan.
    pub(super) seeds: Span<'a, V>,
    /// Adjoints of the elements, to which those of this launch are added.
    pub(super) sums: SpanMut<'a, V>,
    /// True if the adjoints of the elements have not been set yet, and count as zero.
    pub(super) is_fresh: bool,
}

/// A part of the tail.
struct Part<'a, V: Number> {
    x: Span<'a, V>,
    seeds: Span<'a, V>,
    sums: SpanMut<'a, V>,
    joints: [Joint<V>; GROUPS],
    /// Adjoint that the carry of each group gets from all but the last element of the group; then the adjoint that the
    /// last result of the group gets from later groups.
    passed: [V; GROUPS],
    is_fresh: bool,
}

impl<V: Number, A: Node> Rule<'_, V, A> {
    /// Adds the adjoints of the elements. `last` is the adjoint of the last result, beside its seed; `head` is the
    /// number of elements that were combined in order. Returns the adjoint of `start`.
    pub(super) fn pull_back(self, arrays: Arrays<'_, V>, start: Option<V>, head: usize, last: V) -> V {
        let Arrays { x, y, seeds, sums, is_fresh } = arrays;
        let (mut of_head, of_tail) = sums.split(head);
        let arrays = Arrays { x: x.behind(head), y, seeds: seeds.behind(head), sums: of_tail, is_fresh };
        let last = self.pull_back_tail(arrays, head, last);
        if is_fresh {
            of_head.fill(V::ZERO);
        }
        self.pull_back_head(Arrays { x, y, seeds, sums: of_head, is_fresh }, start, last)
    }

    fn pull_back_head(self, arrays: Arrays<'_, V>, start: Option<V>, last: V) -> V {
        let Arrays { x, y, seeds, mut sums, .. } = arrays;
        // Invariant: `seed` is the adjoint that result k gets from later elements.
        let mut seed = last;
        for k in (0..sums.len()).rev() {
            seed += if seeds.is_empty() { V::ZERO } else { seeds.get(k) };
            let before = if k == 0 { start } else { Some(Self::at(y, k - 1)) };
            let Some(before) = before else { break };
            if !seed.is_nought() {
                let [left, own] = self.slopes(before, Self::at(x, k), seed);
                sums.add(k, own);
                seed = left;
            }
        }
        if start.is_none() {
            sums.add(0, seed);
        }
        seed
    }

    /// Adds the adjoints of the elements behind the head, and returns that of the head's last result.
    fn pull_back_tail(self, arrays: Arrays<'_, V>, head: usize, last: V) -> V {
        let Arrays { x, y, seeds, sums, is_fresh } = arrays;
        let points = sums.len();
        // For a fold with values, carries and ends are computed first; for a scan carries are results.
        let mut joints = Vec::new();
        if Self::NEEDS && seeds.is_empty() && points > 0 {
            self.tail_values(y.get(head - 1), x, SpanMut::NONE, &mut |joint| joints.push(joint));
        }
        let mut running = last;
        let mut left = sums;
        let mut parts = (0..points.div_ceil(PART)).rev().map(|n| {
            let (before, sums) = core::mem::replace(&mut left, SpanMut::NONE).split(n * PART);
            left = before;
            let mut of_groups = [Joint { carry: V::ZERO, end: V::ZERO }; GROUPS];
            for (k, joint) in of_groups[..sums.len().div_ceil(GROUP)].iter_mut().enumerate() {
                let group = n * GROUPS + k;
                match joints.get(group) {
                    Some(known) => *joint = *known,
                    None => joint.carry = Self::at(y, (head + group * GROUP).saturating_sub(1)),
                }
            }
            Part { x: part(x, n), seeds: part(seeds, n), sums, joints: of_groups, passed: [V::ZERO; GROUPS], is_fresh }
        });
        chained(points, &mut parts, &self, &mut |part: &mut Part<'_, V>| {
            for group in (0..part.sums.len().div_ceil(GROUP)).rev() {
                let Joint { carry, end } = part.joints[group];
                let seed = part.seed_of_end(group) + running;
                let before = part.passed[group] + self.slopes(carry, end, seed)[0];
                part.passed[group] = core::mem::replace(&mut running, before);
            }
        });
        running
    }
}

impl<V: Number> Part<'_, V> {
    /// The seed of the last result of a group.
    fn seed_of_end(&self, group: usize) -> V {
        let end = self.sums.len().min((group + 1) * GROUP) - 1;
        if self.seeds.is_empty() { V::ZERO } else { self.seeds.get(end) }
    }
}

impl<V: Number, A: Node> Steps<Part<'_, V>> for Rule<'_, V, A> {
    fn first(&self, part: &mut Part<'_, V>) {
        if !part.seeds.is_empty() {
            let length = part.sums.len();
            side_by_side(&mut OfCarries(*self, part), length);
        }
    }

    fn second(&self, mut part: Part<'_, V>) {
        if part.is_fresh {
            part.sums.fill(V::ZERO);
        }
        let (length, local) = (part.sums.len(), Buffer::zeros(if Self::NEEDS { PART.min(part.sums.len()) } else { 0 }));
        side_by_side(&mut OfElements { rule: *self, part: &mut part, local }, length);
    }
}

/// Sums what all but the last result of each group add to the adjoint of the carry, and finds the local value at the
/// end.
struct OfCarries<'a, 'p, V: Number, A>(Rule<'a, V, A>, &'a mut Part<'p, V>);

impl<V: Number, A: Node> Pass for OfCarries<'_, '_, V, A> {
    fn run<const K: usize>(&mut self, first: usize, length: usize) {
        let Self(rule, part) = self;
        let seeds = rows::<V, K>(part.seeds, first * GROUP, length);
        let x = rows::<V, K>(part.x, first * GROUP, length);
        let carries: [V; K] = from_fn(|i| part.joints[first + i].carry);
        let mut local: [V; K] = from_fn(|i| Rule::<V, A>::at(x[i], 0));
        let mut sums = [V::ZERO; K];
        for j in 1..length {
            for i in 0..K {
                sums[i] += rule.slopes(carries[i], local[i], seeds[i].get(j - 1))[0];
                if Rule::<V, A>::NEEDS {
                    local[i] = rule.of(local[i], x[i].get(j));
                }
            }
        }
        for i in 0..K {
            (part.joints[first + i].end, part.passed[first + i]) = (local[i], sums[i]);
        }
    }
}

/// Adds the adjoints of the elements of each group.
struct OfElements<'a, 'p, V: Number, A> {
    rule: Rule<'a, V, A>,
    part: &'a mut Part<'p, V>,
    /// Memory for local values.
    local: Buffer<V>,
}

impl<V: Number, A: Node> Pass for OfElements<'_, '_, V, A> {
    fn run<const K: usize>(&mut self, first: usize, length: usize) {
        let Self { rule, part, local } = self;
        let x = rows::<V, K>(part.x, first * GROUP, length);
        if Rule::<V, A>::NEEDS {
            rule.scans(x, rows_mut::<V, K>(&mut SpanMut::of(local), 0, length));
        }
        let ends: [V; K] = from_fn(|i| {
            let Joint { carry, end } = part.joints[first + i];
            rule.slopes(carry, end, part.seed_of_end(first + i) + part.passed[first + i])[1]
        });
        let carries = from_fn(|i| part.joints[first + i].carry);
        let local = rows::<V, K>(Span::of(local), 0, length);
        let seeds = rows::<V, K>(part.seeds, first * GROUP, length);
        let to = rows_mut::<V, K>(&mut part.sums, first * GROUP, length);
        if part.seeds.is_empty() {
            rule.back::<K, false>([x, local, seeds], carries, ends, to);
        } else {
            rule.back::<K, true>([x, local, seeds], carries, ends, to);
        }
    }
}

/// Tells the compiler that all rows have this length, unless they are not there.
#[inline(always)]
fn cut<V: Number, const K: usize>(are_there: bool, rows: [Span<'_, V>; K], length: usize) -> [Span<'_, V>; K] {
    if are_there { rows.map(|row| row.within(0..length)) } else { rows }
}

impl<V: Number, A: Node> Rule<'_, V, A> {
    /// Goes back through groups, from the adjoints of their last local values.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn back<const K: usize, const SEEDED: bool>(
        self,
        [x, local, seeds]: [[Span<'_, V>; K]; 3],
        carries: [V; K],
        ends: [V; K],
        mut to: [SpanMut<'_, V>; K],
    ) {
        let length = to[0].len();
        let (x, local) = (cut(Self::NEEDS, x, length), cut(Self::NEEDS, local, length));
        let seeds = cut(SEEDED, seeds, length);
        let mut to = to.each_mut().map(|row| row.within(0..length));
        let mut adjoints = ends;
        for j in (1..length).rev() {
            for i in 0..K {
                let before = Self::at(local[i], j - 1);
                let [left, own] = self.slopes(before, Self::at(x[i], j), adjoints[i]);
                to[i].add(j, own);
                adjoints[i] = left;
                if SEEDED {
                    adjoints[i] += self.slopes(carries[i], before, seeds[i].get(j - 1))[1];
                }
            }
        }
        for i in 0..K {
            to[i].add(0, adjoints[i]);
        }
    }
}
