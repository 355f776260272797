//! Comparisons up to a tolerance. They look at values and record nothing; they are reported to strategies that can
//! replay a recording, as every comparison is.

use super::Closed;
use crate::expr::{Ex, note_branch};
use approx::{AbsDiffEq, RelativeEq, UlpsEq};
use tapewright_strategies::contract::{Comparison, Tree};
use tapewright_strategies::{Float, Number as _, Taping};

impl<S: Taping> AbsDiffEq for Closed<S> {
    type Epsilon = Self;

    /// ε of the value type.
    fn default_epsilon() -> Self {
        Self::everywhere(Float::epsilon())
    }

    #[track_caller]
    fn abs_diff_eq(&self, other: &Self, epsilon: Self) -> bool {
        self == other || at_most(&(&self.0 - &other.0).abs(), &epsilon.0)
    }
}

impl<S: Taping> RelativeEq for Closed<S> {
    /// ε of the value type.
    fn default_max_relative() -> Self {
        Self::default_epsilon()
    }

    #[track_caller]
    fn relative_eq(&self, other: &Self, epsilon: Self, max_relative: Self) -> bool {
        self.abs_diff_eq(other, epsilon)
            || self.answer(Float::is_finite)
                && other.answer(Float::is_finite)
                && at_most(&(&self.0 - &other.0).abs(), &(self.0.abs().max(other.0.abs()) * &max_relative.0))
    }
}

impl<S: Taping> UlpsEq for Closed<S> {
    fn default_max_ulps() -> u32 {
        4
    }

    /// Units in the last place are counted as ε times the larger of the two.
    #[track_caller]
    fn ulps_eq(&self, other: &Self, epsilon: Self, max_ulps: u32) -> bool {
        let ulps = Self::constant(Self::default_epsilon().peek() * S::Value::from_f64(f64::from(max_ulps)));
        self.relative_eq(other, epsilon, ulps)
    }
}

/// Compares a measure of closed variables with another one by `<=`.
#[inline]
#[track_caller]
fn at_most<S: Taping, A: Tree<S>, B: Tree<S>>(left: &Ex<S, A>, right: &Ex<S, B>) -> bool {
    if const { !<S::Policy as tapewright_strategies::policy::Policy>::WATCHES } {
        note_branch::<true, S, _, _>(&left.0, &right.0, Comparison::LessOrEqual);
    }
    left <= right
}
