//! Closed variables as complex numbers without an imaginary part.

use super::Closed;
use crate::closed::float::unary;
use core::f64::consts::PI;
use simba::scalar::ComplexField;
use tapewright_strategies::Taping;
use tapewright_strategies::contract::Comparison;
use tapewright_strategies::num_traits::Zero;

/// Functions that return the variable itself.
macro_rules! same {
    ($($name:ident)*) => { $(
        #[inline(always)]
        fn $name(self) -> Self { self }
    )* };
}

/// Functions that have another name for real numbers.
macro_rules! renamed {
    ($($name:ident($($argument:ident)?) $result:expr, |$x:ident|;)*) => { $(
        #[inline]
        #[track_caller]
        fn $name(self $(, $argument: Self)?) -> Self { let $x = self; $result }
    )* };
}

impl<S: Taping> ComplexField for Closed<S> {
    type RealField = Self;

    unary! {
        floor ceil round trunc fract abs signum recip
        sqrt cbrt exp exp2 exp_m1 ln log2 log10 ln_1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
    }
    same! { real conjugate }
    renamed! {
        modulus() x.abs(), |x|;
        norm1() x.abs(), |x|;
        modulus_squared() &x * &x, |x|;
        scale(factor) x * factor, |x|;
        unscale(factor) x / factor, |x|;
        hypot(other) Self::hypot(&x, &other), |x|;
        log(base) Self::log(&x, &base), |x|;
        powf(n) Self::powf(&x, &n), |x|;
        powc(n) Self::powf(&x, &n), |x|;
    }

    #[inline(always)]
    fn from_real(re: Self) -> Self {
        re
    }

    /// A passive 0.
    #[inline]
    fn imaginary(self) -> Self {
        Self::zero()
    }

    /// 0 or π, passive.
    #[inline]
    #[track_caller]
    fn argument(self) -> Self {
        Self::from(if self.is_at_least_zero() { 0.0 } else { PI })
    }

    /// The absolute value, and a passive 1 or −1.
    #[inline]
    #[track_caller]
    fn to_exp(self) -> (Self, Self) {
        if self.is_at_least_zero() { (self, Self::from(1.0)) } else { (-self, Self::from(-1.0)) }
    }

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

    #[inline]
    #[track_caller]
    fn powi(self, n: i32) -> Self {
        Self::powi(&self, n)
    }

    #[inline]
    #[track_caller]
    fn is_finite(&self) -> bool {
        self.ask(Comparison::IsFinite);
        self.answer(tapewright_strategies::Float::is_finite)
    }

    /// `None` below 0.
    #[inline]
    #[track_caller]
    fn try_sqrt(self) -> Option<Self> {
        if self.is_at_least_zero() { Some(Self::sqrt(&self)) } else { None }
    }
}
