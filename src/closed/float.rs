//! Traits of `num_traits` for floats, which are `Copy`. Names of methods are resolved to methods of [`Closed`] first.

use super::Closed;
use crate::expr::note_branch;
use core::cmp::Ordering;
use core::num::FpCategory;
use tapewright_strategies::contract::Comparison;
use tapewright_strategies::num_traits::Float;
use tapewright_strategies::num_traits::float::{FloatCore, TotalOrder};
use tapewright_strategies::{Number as _, Strategy, Taping};

/// Passive variables of the constants of the value type.
macro_rules! constants {
    ($($name:ident)*) => { $(
        #[inline]
        fn $name() -> Self { Self::everywhere(tapewright_strategies::Float::$name()) }
    )* };
}

/// Queries of the value. They are reported to strategies that can replay a recording, as comparisons are.
macro_rules! questions {
    ($($name:ident $answer:ty, $comparison:ident;)*) => { $(
        #[inline]
        #[track_caller]
        fn $name(self) -> $answer {
            self.ask(Comparison::$comparison);
            self.answer(tapewright_strategies::Float::$name)
        }
    )* };
}

/// Functions of one argument, each a statement or a step.
macro_rules! unary {
    ($($name:ident)*) => { $(
        #[inline]
        #[track_caller]
        fn $name(self) -> Self { Self::$name(&self) }
    )* };
}
#[cfg(feature = "nalgebra")]
pub(super) use unary;

/// Functions of two arguments, each a statement.
macro_rules! binary {
    ($($name:ident)*) => { $(
        #[inline]
        #[track_caller]
        fn $name(self, other: Self) -> Self { Self::$name(&self, other) }
    )* };
}

/// Methods that `Float` and `FloatCore` have in common.
macro_rules! common {
    () => {
        constants! { nan infinity neg_infinity neg_zero min_value max_value min_positive_value epsilon }
        questions! {
            is_nan bool, IsNan;
            is_infinite bool, IsInfinite;
            is_finite bool, IsFinite;
            is_normal bool, IsNormal;
            is_subnormal bool, IsSubnormal;
            is_sign_positive bool, SignBit;
            is_sign_negative bool, SignBit;
            classify FpCategory, Class;
            integer_decode (u64, i16, i8), Same;
        }
        unary! { floor ceil round trunc fract abs signum recip to_degrees to_radians }
        binary! { max min }
        #[inline]
        #[track_caller]
        fn powi(self, n: i32) -> Self {
            Self::powi(&self, n)
        }
        #[inline]
        #[track_caller]
        fn clamp(self, min: Self, max: Self) -> Self {
            Self::clamp(&self, &min, &max)
        }
    };
}

impl<S: Strategy> FloatCore for Closed<S> {
    common!();
}

impl<S: Strategy> Float for Closed<S> {
    common!();
    unary! {
        sqrt cbrt exp exp2 exp_m1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
    }
    binary! { powf log abs_sub hypot atan2 copysign }
    #[inline]
    #[track_caller]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::mul_add(&self, &a, &b)
    }
    #[inline]
    #[track_caller]
    fn sin_cos(self) -> (Self, Self) {
        Self::sin_cos(&self)
    }
}

/// Orders by value: −NaN, −∞, …, −0, 0, …, ∞, NaN.
impl<S: Taping> TotalOrder for Closed<S> {
    #[inline]
    #[track_caller]
    fn total_cmp(&self, other: &Self) -> Ordering {
        S::compare(&self.0.0, &other.0.0, Comparison::TotalOrder);
        note_branch::<true, S, _, _>(&self.0.0, &other.0.0, Comparison::TotalOrder);
        self.peek().as_f64().total_cmp(&other.peek().as_f64())
    }
}
