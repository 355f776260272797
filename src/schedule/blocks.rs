//! Distance to the next snapshot, and cost of a plan, when a slot holds either a snapshot or the recording of a step:
//! the closed form that [`Mixed`](super::Mixed) explains.

use super::binomial::{beta, repetitions, scale};

/// The blocks of zone r for this many slots, longest first: steps of a block, number of blocks, and number of those
/// blocks that belong to the steps before the next snapshot. (r ≥ 2)
fn blocks(slots: usize, r: usize) -> impl Iterator<Item = (u128, u128, u128)> {
    let (mut all, mut before) = (1, 1);
    (0..slots).map(move |shorter| {
        let class = ((slots - shorter) as u128, all, before);
        all = scale(all, shorter + r, shorter + 1);
        before = scale(before, shorter + r - 1, shorter + 1);
        class
    })
}

/// Number of evaluations beyond one for each step.
pub(super) fn advances(steps: usize, slots: usize) -> u128 {
    if steps <= slots.saturating_add(1) {
        return 0;
    }
    if slots == 1 {
        return steps as u128 * (steps as u128 - 1) / 2 - 1;
    }
    let zone = repetitions(steps, slots).0 - 1;
    // Zone q has C(s + q, q + 1) = β(s − 1, q + 1) steps in C(s + q − 1, q) = β(s − 1, q) blocks.
    let complete: u128 = (1..zone).map(|q| q as u128 * beta(slots - 1, q + 1) + beta(slots - 1, q)).sum();
    let rest = steps as u128 - beta(slots, zone);
    complete + zone as u128 * rest + blocks_begun(rest, slots, zone)
}

fn blocks_begun(mut steps: u128, slots: usize, zone: usize) -> u128 {
    let mut begun = 0;
    for (length, all, _) in blocks(slots, zone) {
        begun += all.min(steps.div_ceil(length));
        steps = steps.saturating_sub(length * all);
    }
    begun
}

/// Distance to advance from a snapshot, with this many slots, including the snapshot's own, for more than slots + 1
/// steps.
pub(super) fn split(steps: usize, slots: usize) -> usize {
    if slots == 1 {
        return steps - 1;
    }
    let zone = repetitions(steps, slots).0 - 1;
    if zone == 1 {
        // The first block is (1, slots); the others belong to the steps after the next snapshot.
        return (steps - slots).min(slots + 1);
    }
    let (mut i, mut rest) = (beta(slots, zone - 1), steps as u128 - beta(slots, zone));
    for (length, all, before) in blocks(slots, zone) {
        i += rest.min(length * before);
        if rest <= length * all {
            break;
        }
        rest -= length * all;
    }
    usize::try_from(i).expect("part of the steps")
}
