//! Groups of a fixed length, and passes over several of them side by side.

use crate::Number;
use crate::kernel::memory::span::{Span, SpanMut};
use core::array::from_fn;

/// Number of elements of a group. It is no power of 2, so that groups side by side lie in different sets of the cache.
pub(super) const GROUP: usize = 2056;
/// Number of groups of a part. Loops treat them side by side: the processor need not wait for the result of one to go
/// on with another. A part stays in the cache between its steps.
pub(super) const GROUPS: usize = 4;
pub(super) const PART: usize = GROUP * GROUPS;

/// A pass over the groups of a part.
pub(super) trait Pass {
    /// Treats `K` groups of this length from group `first` on.
    fn run<const K: usize>(&mut self, first: usize, length: usize);
}

/// Runs a pass over a part of this length: over all groups at once, or over one after the other if some are missing.
pub(super) fn side_by_side(pass: &mut impl Pass, length: usize) {
    if length == PART {
        return pass.run::<GROUPS>(0, GROUP);
    }
    for group in 0..length.div_ceil(GROUP) {
        pass.run::<1>(group, GROUP.min(length - group * GROUP));
    }
}

/// Returns `K` groups of this length each; empty ones if the array is not there.
#[inline(always)]
pub(super) fn rows<V: Number, const K: usize>(array: Span<'_, V>, first: usize, length: usize) -> [Span<'_, V>; K] {
    if array.is_empty() {
        return [Span::NONE; K];
    }
    let all = array.within(first..first + K * length);
    from_fn(|k| all.within(k * length..(k + 1) * length))
}

/// Returns `K` groups of this length each, to be written.
#[inline(always)]
pub(super) fn rows_mut<'a, V: Number, const K: usize>(
    array: &'a mut SpanMut<'_, V>,
    first: usize,
    length: usize,
) -> [SpanMut<'a, V>; K] {
    array.within(first..first + K * length).divided()
}

/// Returns the elements of part `n`; nothing if the array is not there.
pub(super) fn part<V: Number>(array: Span<'_, V>, n: usize) -> Span<'_, V> {
    if array.is_empty() { array } else { array.within(n * PART..array.len().min((n + 1) * PART)) }
}
