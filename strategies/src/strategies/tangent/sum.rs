//! The tangent of a statement: a sum of tangents, each times a partial.

use super::directions::Directions;
use crate::Number;
use crate::level::{self, Common, PASSIVE};
use crate::number::any_nan;

/// The sum Σ partial·tangent, where 0 times anything is 0, and passive and paused variables contribute nothing.
///
/// A branch for each argument decides by its partial whether the plain product is right in all directions. No branch
/// refers to more than one argument, and none calls a function: so the arguments of a statement stay in registers. (One
/// test of the whole sum, and a second walk over the statement where it fails, take twice the time for small
/// statements.)
pub(crate) struct Sum<V, const N: usize> {
    derivatives: [V; N],
    level: Common,
}

impl<V: Number, const N: usize> Sum<V, N> {
    /// Starts with −0, the additive identity, so that the first addition costs nothing.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { derivatives: [-V::ZERO; N], level: Common::new() }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, partial: V, tangent: &Directions<V, N>) {
        if !self.level.meet(tangent.level) {
            return;
        }
        if partial.is_ordinary() {
            for (sum, tangent) in self.derivatives.iter_mut().zip(&tangent.derivatives) {
                *sum += tangent.contribution(partial);
            }
        } else {
            for (sum, tangent) in self.derivatives.iter_mut().zip(&tangent.derivatives) {
                let nothing = partial.is_nought() | tangent.is_nought();
                *sum += if nothing { V::ZERO } else { tangent.contribution(partial) };
            }
        }
    }

    /// Returns the sum; passive if no argument counts.
    ///
    /// # Panics
    ///
    /// When tangents of two levels were added.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn done(self) -> Directions<V, N> {
        match self.level.get() {
            PASSIVE => Directions::default(),
            level => Directions { derivatives: self.derivatives, level },
        }
    }
}

/// The sum for one or two directions, added up without a question and tested once: this takes less time than branches,
/// and [`Sum`] is the fallback.
pub(crate) struct Plain<V, const N: usize> {
    derivatives: [V; N],
    /// The bits that some level of an active variable has.
    any: u64,
    /// The bits that the levels of all active variables have.
    all: u64,
}

impl<V: Number, const N: usize> Plain<V, N> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { derivatives: [-V::ZERO; N], any: PASSIVE, all: u64::MAX }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, partial: V, tangent: &Directions<V, N>) {
        self.any |= tangent.level;
        self.all &= if tangent.level == PASSIVE { u64::MAX } else { tangent.level };
        for (sum, tangent) in self.derivatives.iter_mut().zip(&tangent.derivatives) {
            *sum += tangent.contribution(partial);
        }
    }

    /// Returns the sum; `None` if all variables are passive or paused, if they have several levels, and if a direction
    /// is NaN: an infinite or NaN factor that meets a 0 gives NaN, which stays to the end.
    #[inline(always)]
    pub(crate) fn done(self) -> Option<Directions<V, N>> {
        let is_right =
            (self.any == self.all) & (self.any > level::paused()) & !self.derivatives.iter().any(|x| any_nan(*x));
        is_right.then_some(Directions { derivatives: self.derivatives, level: self.any })
    }
}
