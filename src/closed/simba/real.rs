//! Closed variables as real numbers.

use super::Closed;
use core::f64::consts;
use simba::scalar::RealField;
use tapewright_strategies::Taping;
use tapewright_strategies::num_traits::{Bounded, Signed};

/// Passive variables of constants, rounded to the value type.
macro_rules! constants {
    ($($name:ident $constant:ident;)*) => { $(
        #[inline]
        fn $name() -> Self { Self::from(consts::$constant) }
    )* };
}

/// Functions of two arguments, each a statement.
macro_rules! binary {
    ($($name:ident)*) => { $(
        #[inline]
        #[track_caller]
        fn $name(self, other: Self) -> Self { Self::$name(&self, &other) }
    )* };
}

impl<S: Taping> RealField for Closed<S> {
    binary! { copysign max min atan2 }

    constants! {
        pi PI;
        two_pi TAU;
        frac_pi_2 FRAC_PI_2;
        frac_pi_3 FRAC_PI_3;
        frac_pi_4 FRAC_PI_4;
        frac_pi_6 FRAC_PI_6;
        frac_pi_8 FRAC_PI_8;
        frac_1_pi FRAC_1_PI;
        frac_2_pi FRAC_2_PI;
        frac_2_sqrt_pi FRAC_2_SQRT_PI;
        e E;
        log2_e LOG2_E;
        log10_e LOG10_E;
        ln_2 LN_2;
        ln_10 LN_10;
    }

    #[inline]
    #[track_caller]
    fn is_sign_positive(&self) -> bool {
        self.is_positive()
    }

    #[inline]
    #[track_caller]
    fn is_sign_negative(&self) -> bool {
        self.is_negative()
    }

    /// Limits the value to [`min`, `max`] as one statement; panics unless `min` ≤ `max`.
    #[inline]
    #[track_caller]
    fn clamp(self, min: Self, max: Self) -> Self {
        Self::clamp(&self, &min, &max)
    }

    /// The smallest finite number.
    fn min_value() -> Option<Self> {
        Some(Bounded::min_value())
    }

    /// The largest finite number.
    fn max_value() -> Option<Self> {
        Some(Bounded::max_value())
    }
}
