//! Traits of `num_traits` for numbers that need not be `Copy`. Names of methods are resolved to methods of [`Closed`]
//! first.

use super::Closed;
use core::f64::consts;
use tapewright_strategies::contract::Comparison;
use tapewright_strategies::num_traits::{
    self, AsPrimitive, Bounded, Euclid, FloatConst, FromPrimitive, Inv, MulAdd, MulAddAssign, Num, One, Pow, Signed,
    ToPrimitive, Zero,
};
use tapewright_strategies::{Number, Strategy, Taping};

impl<S: Taping> Zero for Closed<S> {
    #[inline(always)]
    fn zero() -> Self {
        Self::from(0.0)
    }
    #[inline(always)]
    #[track_caller]
    fn is_zero(&self) -> bool {
        *self == 0.0
    }
}

impl<S: Taping> One for Closed<S> {
    #[inline(always)]
    fn one() -> Self {
        Self::from(1.0)
    }
}

impl<S: Taping> Num for Closed<S> {
    type FromStrRadixErr = <<S::Value as Number>::Lane as Num>::FromStrRadixErr;
    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        <S::Value as Number>::Lane::from_str_radix(text, radix).map(Self::everywhere)
    }
}

impl<S: Taping> Signed for Closed<S> {
    #[inline]
    #[track_caller]
    fn abs(&self) -> Self {
        self.abs()
    }
    #[inline]
    #[track_caller]
    fn abs_sub(&self, other: &Self) -> Self {
        self.abs_sub(other)
    }
    #[inline]
    fn signum(&self) -> Self {
        self.signum()
    }
    #[inline]
    #[track_caller]
    fn is_positive(&self) -> bool {
        self.ask(Comparison::SignBit);
        self.answer(tapewright_strategies::Float::is_sign_positive)
    }
    #[inline]
    #[track_caller]
    fn is_negative(&self) -> bool {
        self.ask(Comparison::SignBit);
        self.answer(tapewright_strategies::Float::is_sign_negative)
    }
}

impl<S: Taping> Euclid for Closed<S> {
    #[inline]
    fn div_euclid(&self, v: &Self) -> Self {
        self.div_euclid(v)
    }
    #[inline]
    #[track_caller]
    fn rem_euclid(&self, v: &Self) -> Self {
        self.rem_euclid(v)
    }
}

impl<S: Taping> Inv for Closed<S> {
    type Output = Self;
    #[inline]
    #[track_caller]
    fn inv(self) -> Self {
        self.recip()
    }
}

impl<S: Taping> Inv for &Closed<S> {
    type Output = Closed<S>;
    #[inline]
    #[track_caller]
    fn inv(self) -> Closed<S> {
        self.recip()
    }
}

impl<S: Taping> MulAdd for Closed<S> {
    type Output = Self;
    #[inline]
    #[track_caller]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::mul_add(&self, &a, &b)
    }
}

impl<S: Taping> MulAddAssign for Closed<S> {
    #[inline]
    #[track_caller]
    fn mul_add_assign(&mut self, a: Self, b: Self) {
        *self = Self::mul_add(self, &a, &b);
    }
}

/// Implements `Pow` for bases and exponents by value and borrowed. The row `i32, |x, n| x.powi(*n);` becomes `impl
/// Pow<i32> for Closed<S> { … }` and three more.
macro_rules! powers {
    ($($exponent:ty, |$x:ident, $n:ident| $power:expr;)*) => { $(
        powers! { @ |$x, $n| $power;
            Closed<S>, $exponent, &$x, &$n;
            Closed<S>, &$exponent, &$x, $n;
            &Closed<S>, $exponent, $x, &$n;
            &Closed<S>, &$exponent, $x, $n;
        }
    )* };
    (@ |$x:ident, $n:ident| $power:expr; $($base:ty, $exponent:ty, $a:expr, $b:expr;)*) => { $(
        impl<S: Taping> Pow<$exponent> for $base {
            type Output = Closed<S>;
            #[inline]
            #[track_caller]
            fn pow(self, $n: $exponent) -> Closed<S> {
                let $x = self;
                let ($x, $n) = ($a, $b);
                $power
            }
        }
    )* };
}

powers! {
    Closed<S>, |x, y| x.powf(y);
    f64, |x, y| x.powf(*y);
    f32, |x, y| x.powf(f64::from(*y));
    i32, |x, n| x.powi(*n);
    i16, |x, n| x.powi(i32::from(*n));
    u16, |x, n| x.powi(i32::from(*n));
    i8, |x, n| x.powi(i32::from(*n));
    u8, |x, n| x.powi(i32::from(*n));
}

impl<S: Taping> Bounded for Closed<S> {
    fn min_value() -> Self {
        Self::everywhere(tapewright_strategies::Float::min_value())
    }
    fn max_value() -> Self {
        Self::everywhere(tapewright_strategies::Float::max_value())
    }
}

/// Rounds each constant to the value type.
macro_rules! constants {
    ($($name:ident)*) => {
        #[allow(non_snake_case, reason = "the trait's names")]
        impl<S: Taping> FloatConst for Closed<S> { $(
            #[inline]
            fn $name() -> Self { Self::from(consts::$name) }
        )* }
    };
}

constants! {
    E FRAC_1_PI FRAC_1_SQRT_2 FRAC_2_PI FRAC_2_SQRT_PI FRAC_PI_2 FRAC_PI_3 FRAC_PI_4 FRAC_PI_6 FRAC_PI_8 LN_10 LN_2
    LOG10_E LOG2_E PI SQRT_2 TAU LOG10_2 LOG2_10
}

/// Forwards casts to and from the value. Casts are reported to strategies that can replay a recording: those to
/// integers as steps.
macro_rules! casts {
    ($($t:ident $to:ident $from:ident $told:ident;)*) => {
        impl<S: Taping> ToPrimitive for Closed<S> { $(
            #[inline]
            #[track_caller]
            fn $to(&self) -> Option<$t> {
                self.$told();
                self.answer(|value| value.$to())
            }
        )* }

        impl<S: Taping> FromPrimitive for Closed<S> { $(
            #[inline]
            fn $from(number: $t) -> Option<Self> { num_traits::NumCast::from(number) }
        )* }

        $(
            impl<S: Strategy> AsPrimitive<$t> for Closed<S>
            {
                #[inline]
                #[track_caller]
                fn as_(self) -> $t {
                    self.$told();
                    self.peek().as_f64().as_()
                }
            }

            impl<S: Strategy> AsPrimitive<Closed<S>> for $t {
                #[inline]
                fn as_(self) -> Closed<S> {
                    Closed::everywhere(num_traits::NumCast::from(self).expect("every number has a nearest float"))
                }
            }
        )*
    };
}

casts! {
    isize to_isize from_isize ask_whole_part;
    i8 to_i8 from_i8 ask_whole_part;
    i16 to_i16 from_i16 ask_whole_part;
    i32 to_i32 from_i32 ask_whole_part;
    i64 to_i64 from_i64 ask_whole_part;
    i128 to_i128 from_i128 ask_whole_part;
    usize to_usize from_usize ask_whole_part;
    u8 to_u8 from_u8 ask_whole_part;
    u16 to_u16 from_u16 ask_whole_part;
    u32 to_u32 from_u32 ask_whole_part;
    u64 to_u64 from_u64 ask_whole_part;
    u128 to_u128 from_u128 ask_whole_part;
    f32 to_f32 from_f32 value;
    f64 to_f64 from_f64 value;
}

/// Casts to the type itself, which keeps the derivative.
impl<S: Strategy> AsPrimitive<Self> for Closed<S> {
    #[inline(always)]
    fn as_(self) -> Self {
        self
    }
}

impl<S: Taping> num_traits::NumCast for Closed<S> {
    #[inline]
    fn from<T: ToPrimitive>(number: T) -> Option<Self> {
        <<S::Value as Number>::Lane as num_traits::NumCast>::from(number).map(Self::everywhere)
    }
}
