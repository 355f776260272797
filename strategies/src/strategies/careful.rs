//! Sums of tangents where infinities and several evaluations meet.

use super::directions::Directions;
use crate::Number;
use crate::level::{self, PASSIVE};

/// Σ partial·tangent where 0 times anything is 0, and tangents of levels that are paused are 0.
pub(super) struct Careful<V, const N: usize> {
    sum: [V; N],
    pub(super) level: u64,
    /// A level that was met before this one.
    other: u64,
}

impl<V: Number, const N: usize> Careful<V, N> {
    /// Whether a tangent of this level counts.
    pub(super) fn meet(&mut self, level: u64) -> bool {
        if level <= level::paused() {
            return false;
        }
        if self.level != PASSIVE && self.level != level {
            self.other = self.level;
        }
        self.level = level;
        true
    }

    #[cold]
    #[inline(never)]
    pub(super) fn add(&mut self, partial: V, tangent: &Directions<V, N>) {
        if !self.meet(tangent.level) {
            return;
        }
        for (sum, tangent) in self.sum.iter_mut().zip(&tangent.derivatives) {
            if !partial.is_nought() && !tangent.is_nought() {
                *sum += tangent.contribution(partial);
            }
        }
    }
}

/// The level that these variables have in common; the level of passive ones if there is none.
#[track_caller]
pub(super) fn common_level<V: Number, const N: usize>(inputs: &[(V, &Directions<V, N>)]) -> u64 {
    with_care::<V, N>(|sum| inputs.iter().for_each(|(_, tangent)| _ = sum.meet(tangent.level))).level
}

/// What `fill` sums up.
///
/// # Panics
///
/// When it has met two levels.
#[track_caller]
pub(super) fn with_care<V: Number, const N: usize>(fill: impl FnOnce(&mut Careful<V, N>)) -> Directions<V, N> {
    let mut sum = Careful { sum: [V::ZERO; N], level: PASSIVE, other: PASSIVE };
    fill(&mut sum);
    if sum.other != PASSIVE {
        level::two_levels(sum.level.min(sum.other), sum.level.max(sum.other));
    }
    Directions { derivatives: sum.sum, level: sum.level }
}
