//! Sums of tangents that contain non-finite values, or meet several evaluations.

use super::directions::Directions;
use crate::Number;
use crate::level::{self, PASSIVE};

/// The sum Σ partial·tangent, where 0 times anything is 0, and tangents of paused levels are 0.
pub(crate) struct Careful<V, const N: usize> {
    sum: [V; N],
    pub(crate) level: u64,
    /// A level that was met before `level` and differs from it; `PASSIVE` if there is none.
    other: u64,
}

impl<V: Number, const N: usize> Careful<V, N> {
    /// Notes the level of a tangent, and returns true if tangents of this level count.
    pub(crate) fn meet(&mut self, level: u64) -> bool {
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
    pub(crate) fn add(&mut self, partial: V, tangent: &Directions<V, N>) {
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

/// Returns the level that the active variables have in common; `PASSIVE` if all are passive. Panics when they have two.
#[track_caller]
pub(crate) fn common_level<V: Number, const N: usize>(inputs: &[(V, &Directions<V, N>)]) -> u64 {
    with_care::<V, N>(|sum| inputs.iter().for_each(|(_, tangent)| _ = sum.meet(tangent.level))).level
}

/// Returns the sum that `fill` adds up.
///
/// # Panics
///
/// When tangents of two levels were added.
#[track_caller]
pub(crate) fn with_care<V: Number, const N: usize>(fill: impl FnOnce(&mut Careful<V, N>)) -> Directions<V, N> {
    let mut sum = Careful { sum: [V::ZERO; N], level: PASSIVE, other: PASSIVE };
    fill(&mut sum);
    if sum.other != PASSIVE {
        level::two_levels(sum.level.min(sum.other), sum.level.max(sum.other));
    }
    Directions { derivatives: sum.sum, level: sum.level }
}
