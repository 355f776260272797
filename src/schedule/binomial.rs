//! Binomial checkpointing in closed form.
//!
//! β(c, r) = C(c + r, c) is the largest number of steps that c snapshots, including the one of the first state, can
//! reverse when no step is advanced over more than r times (Griewank 1992; Griewank & Walther, ACM TOMS 26, 2000).

/// Returns a·b/d, which is known to be an integer.
pub(super) fn scale(a: u128, b: usize, d: usize) -> u128 {
    a * b as u128 / d as u128
}

/// Returns β(slots, r).
pub(super) fn beta(slots: usize, r: usize) -> u128 {
    let (few, many) = (slots.min(r), slots.max(r));
    (1..=few).fold(1, |value: u128, k| value.saturating_mul(many as u128 + k as u128) / k as u128)
}

/// The repetition number of this many steps, which is the smallest r with steps ≤ β(slots, r), and β(slots, r).
pub(super) fn repetitions(steps: usize, slots: usize) -> (usize, u128) {
    let (mut r, mut most) = (0, 1);
    while most < steps as u128 {
        r += 1;
        most = most * (slots as u128 + r as u128) / r as u128;
    }
    (r, most)
}

/// Least number of steps advanced over to reverse this many steps from the state before them: r·l − C(c + r, c + 1).
///
/// One step needs no slot; more steps need at least one.
pub(super) fn advances(steps: usize, slots: usize) -> u128 {
    let slots = slots.min(steps.saturating_sub(1));
    if slots <= 1 {
        return steps as u128 * (steps as u128).saturating_sub(1) / 2;
    }
    let (r, most) = repetitions(steps, slots);
    // C(c + r, c + 1) = β(c, r)·r/(c + 1).
    r as u128 * steps as u128 - scale(most, r, slots + 1)
}

/// Distance to advance from a snapshot, with this many slots, including the snapshot's own, for this many steps (at
/// least two).
///
/// With m the answer, advances(l, c) = m + advances(m, c) + advances(l − m, c − 1). All m with β(c, r − 2) ≤ m ≤ β(c, r
/// − 1) and β(c − 1, r − 1) ≤ l − m ≤ β(c − 1, r) attain it. Among these m, one that leaves β(c − 1, r − 1) + β(c − 2,
/// r − 1) steps, or as near to that as these bounds allow, stores the fewest snapshots.
pub(super) fn split(steps: usize, slots: usize) -> usize {
    if slots == 1 {
        return steps - 1;
    }
    let slots = slots.min(steps);
    let (r, most) = repetitions(steps, slots);
    if r == 1 {
        return 1;
    }
    let steps = steps as u128;
    let once_less = scale(most, r, slots + r);
    let twice_less = scale(once_less, r - 1, slots + r - 1);
    let beside = scale(most, slots, slots + r);
    let beside_once_less = scale(once_less, slots, slots + r - 1);
    let beyond_once_less = scale(beside_once_less, slots - 1, slots + r - 2);
    let least = twice_less.max(steps.saturating_sub(beside));
    let most = once_less.min(steps - beside_once_less);
    let m = steps.saturating_sub(beside_once_less + beyond_once_less).min(most).max(least);
    usize::try_from(m).expect("part of the steps")
}
