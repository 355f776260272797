//! The traits of `num_traits` for complex numbers.

use super::Complex;
use super::conversions::parse;
use crate::closed::Closed;
use tapewright_strategies::num_traits::{
    self, FromPrimitive, Inv, MulAdd, MulAddAssign, Num, One, Pow, ToPrimitive, Zero,
};
use tapewright_strategies::{Number, Taping};

impl<S: Taping> Complex<S> {
    fn of_real(re: Closed<S>) -> Self {
        re.into()
    }
}

impl<S: Taping> Zero for Complex<S> {
    fn zero() -> Self {
        Self::from(0.0)
    }
    #[track_caller]
    fn is_zero(&self) -> bool {
        self.re.is_zero() && self.im.is_zero()
    }
}

impl<S: Taping> One for Complex<S> {
    fn one() -> Self {
        Self::from(1.0)
    }
}

impl<S: Taping> Num for Complex<S> {
    type FromStrRadixErr = <<S::Value as Number>::Lane as Num>::FromStrRadixErr;
    /// Refuses bases above 18, in which `i` is a digit.
    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        let text = if radix > 18 { "" } else { text };
        parse(text, |part| Closed::from_str_radix(part, radix))
    }
}

impl<S: Taping> Inv for Complex<S> {
    type Output = Self;
    #[track_caller]
    fn inv(self) -> Self {
        Self::inv(&self)
    }
}

impl<S: Taping> Inv for &Complex<S> {
    type Output = Complex<S>;
    #[track_caller]
    fn inv(self) -> Complex<S> {
        Complex::inv(self)
    }
}

impl<S: Taping> MulAdd for Complex<S> {
    type Output = Self;
    #[track_caller]
    fn mul_add(self, a: Self, b: Self) -> Self {
        self * a + b
    }
}

impl<S: Taping> MulAddAssign for Complex<S> {
    #[track_caller]
    fn mul_add_assign(&mut self, a: Self, b: Self) {
        *self = &*self * a + b;
    }
}

/// Implements `Pow` for bases and exponents by value and borrowed.
macro_rules! powers {
    ($($exponent:ty, |$z:ident, $n:ident| $power:expr;)*) => { $(
        powers! { @ |$z, $n| $power;
            Complex<S>, $exponent, &$z, &$n;
            Complex<S>, &$exponent, &$z, $n;
            &Complex<S>, $exponent, $z, &$n;
            &Complex<S>, &$exponent, $z, $n;
        }
    )* };
    (@ |$z:ident, $n:ident| $power:expr; $($base:ty, $exponent:ty, $a:expr, $b:expr;)*) => { $(
        impl<S: Taping> Pow<$exponent> for $base {
            type Output = Complex<S>;
            #[track_caller]
            fn pow(self, $n: $exponent) -> Complex<S> {
                let $z = self;
                let ($z, $n) = ($a, $b);
                $power
            }
        }
    )* };
}

powers! {
    Complex<S>, |z, w| z.powc(w);
    Closed<S>, |z, t| z.powf(t.clone());
    f64, |z, t| z.powf(*t);
    f32, |z, t| z.powf(f64::from(*t));
    i32, |z, n| z.powi(*n);
    u32, |z, n| z.powu(*n);
    i16, |z, n| z.powi(i32::from(*n));
    u16, |z, n| z.powi(i32::from(*n));
    i8, |z, n| z.powi(i32::from(*n));
    u8, |z, n| z.powi(i32::from(*n));
}

/// Implements casts to real numbers, which succeed where the imaginary part is 0.
macro_rules! casts {
    ($($t:ident $to:ident;)*) => {
        impl<S: Taping> ToPrimitive for Complex<S> { $(
            #[track_caller]
            fn $to(&self) -> Option<$t> {
                if self.im.is_zero() { self.re.$to() } else { None }
            }
        )* }
    };
}
casts! { i64 to_i64; u64 to_u64; i128 to_i128; u128 to_u128; f32 to_f32; f64 to_f64; }

impl<S: Taping> FromPrimitive for Complex<S> {
    fn from_i64(number: i64) -> Option<Self> {
        Closed::from_i64(number).map(Self::of_real)
    }
    fn from_u64(number: u64) -> Option<Self> {
        Closed::from_u64(number).map(Self::of_real)
    }
    fn from_f64(number: f64) -> Option<Self> {
        Closed::from_f64(number).map(Self::of_real)
    }
}

impl<S: Taping> num_traits::NumCast for Complex<S> {
    fn from<T: ToPrimitive>(number: T) -> Option<Self> {
        <Closed<S> as num_traits::NumCast>::from(number).map(Self::of_real)
    }
}
