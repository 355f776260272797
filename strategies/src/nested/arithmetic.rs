//! Implementation of the number traits for variables, by the functions of duals.

use super::number::Nested;
use crate::Nests;
use crate::contract::Taped;
use crate::identifier::{LinearId, RecordingId};
use crate::number::dual::Dual;
use crate::number::traits::{Binary, Float, Number, Ternary, Unary, sealed};
use core::num::FpCategory;
use num_traits::{Num, NumCast, One, ToPrimitive, Zero};

/// Implements functions by those of duals. The results of step functions are passive.
macro_rules! by_duals {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary $ternary:tt
        steps { $($(#[$d4:meta])* $step:ident: $comparison:ident;)* }
    ) => {
        $(by_duals! { @ $floats1 $unary (self) self.lift(|x| x.$unary()) })*
        $(by_duals! { @ $floats2 $binary (self, other: Self) self.lift2(other, |x, y| x.$binary(y)) })*
        $(#[inline]
        fn $step(self) -> Self { Self::constant(self.value().$step()) })*
    };
    (@ rule $($any:tt)*) => {};
    (@ $floats:ident $name:ident ($($arguments:tt)*) $by_dual:expr) => {
        #[inline]
        #[track_caller]
        fn $name($($arguments)*) -> Self { $by_dual }
    };
}

/// The two parts after those of the value are the id of the recording and the index of the identifier; both are exact,
/// as integers of 32 bits.
impl<S: Nests> Number for Nested<S> {
    type Lane = Self;
    type Passed = Self;
    const LANES: usize = 1;
    const PARTS: usize = S::Value::PARTS + 2;
    const ORDER: usize = S::Value::ORDER + 1;
    const VARIABLE: bool = true;
    const ZERO: Self = Self::constant(S::Value::ZERO);
    const ONE: Self = Self::constant(S::Value::ONE);

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self::constant(S::Value::from_f64(value))
    }
    #[inline(always)]
    fn from_lanes(mut lane: impl FnMut(usize) -> Self) -> Self {
        lane(0)
    }
    #[inline(always)]
    fn pair_from_lanes(mut lanes: impl FnMut(usize) -> (Self, Self)) -> (Self, Self) {
        lanes(0)
    }
    #[inline(always)]
    fn lane(self, _: usize) -> Self {
        self
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "they were made of such numbers")]
    fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self {
        let value = S::Value::from_parts(&mut part);
        let (number, index) = (part(S::Value::PARTS) as u32, part(S::Value::PARTS + 1) as u32);
        let id = LinearId::new(RecordingId::of(number), index.into()).unwrap_or(LinearId::PASSIVE);
        Self(Taped { value, id })
    }
    #[allow(clippy::cast_precision_loss, reason = "it has 32 bits")]
    fn part(self, k: usize) -> f64 {
        match k.checked_sub(S::Value::PARTS) {
            None => self.value().part(k),
            Some(0) => self.id().number().get().into(),
            Some(1) => self.id().index() as f64,
            Some(_) => panic!("a number of {} parts has no part {k}", Self::PARTS),
        }
    }
    #[track_caller]
    fn as_f64(self) -> f64 {
        self.value().as_f64()
    }

    #[inline(always)]
    fn is_nought(self) -> bool {
        !self.is_active() && self.value().is_nought()
    }
    #[inline(always)]
    #[track_caller]
    fn contribution(self, partial: Self) -> Self {
        self.guarded_product(partial)
    }

    #[inline]
    #[track_caller]
    fn unary<R: Unary>(self) -> (Self, Self) {
        (self.lift(|x| x.unary::<R>().0), Self::ZERO)
    }
    #[inline]
    #[track_caller]
    fn derivative<R: Unary>(self, _: Self, _: Self) -> Self {
        self.lift(|x| {
            let (y, companion) = x.unary::<R>();
            x.derivative::<R>(y, companion)
        })
    }
    #[inline]
    #[track_caller]
    fn binary<R: Binary>(self, other: Self) -> Self {
        self.lift2(other, Number::binary::<R>)
    }
    #[inline]
    #[track_caller]
    fn partial_left<R: Binary>(self, other: Self, _: Self) -> Self {
        self.lift2(other, |x, y| x.partial_left::<R>(y, x.binary::<R>(y)))
    }
    #[inline]
    #[track_caller]
    fn partial_right<R: Binary>(self, other: Self, _: Self) -> Self {
        self.lift2(other, |x, y| x.partial_right::<R>(y, x.binary::<R>(y)))
    }

    #[track_caller]
    fn ternary<R: Ternary>(self, second: Self, third: Self) -> Self {
        Self::lift3([self, second, third], |[x, y, z]| x.ternary::<R>(y, z))
    }
    #[track_caller]
    fn partial_of_three<R: Ternary, const K: usize>(arguments: [Self; 3], _: Self) -> Self {
        Self::lift3(arguments, |[x, y, z]| Dual::partial_of_three::<R, K>([x, y, z], x.ternary::<R>(y, z)))
    }

    crate::for_each_function!(by_duals);
    #[track_caller]
    fn polygamma(self, n: u32) -> Self {
        self.lift(|x| x.polygamma(n))
    }
    #[inline]
    #[track_caller]
    fn powi(self, n: i32) -> Self {
        self.lift(|x| x.powi(n))
    }
    #[inline]
    #[track_caller]
    fn sin_cos(self) -> (Self, Self) {
        (self.lift(|x| x.sin_cos().0), self.lift(|x| x.sin_cos().1))
    }
}

impl<S: Nests> sealed::Sealed for Nested<S> {}

/// Forwards constants and classifications to the value.
macro_rules! of_value {
    ($($constant:ident)* | $($question:ident $answer:ty;)*) => {
        $(fn $constant() -> Self { Self::constant(S::Value::$constant()) })*
        $(#[inline(always)]
        fn $question(self) -> $answer { self.value().$question() })*
    };
}

impl<S: Nests> Float for Nested<S> {
    /// `Self`, because the values have double precision already.
    type Wide = Self;
    of_value! {
        nan infinity neg_infinity neg_zero epsilon min_value max_value min_positive_value
        | is_nan bool; is_infinite bool; is_finite bool; is_normal bool; is_subnormal bool; is_sign_positive bool;
        is_sign_negative bool; classify FpCategory; integer_decode (u64, i16, i8);
    }
    fn widen(self) -> Self {
        self
    }
    fn narrow(wide: Self) -> Self {
        wide
    }
    fn with_value(self, value: f64) -> Self {
        Self(Taped { value: self.value().with_value(value), id: self.id() })
    }
}

impl<S: Nests> Zero for Nested<S> {
    fn zero() -> Self {
        Self::ZERO
    }
    /// Returns true if the number is a passive 0.
    fn is_zero(&self) -> bool {
        self.is_nought()
    }
}

impl<S: Nests> One for Nested<S> {
    fn one() -> Self {
        Self::ONE
    }
}

impl<S: Nests> Num for Nested<S> {
    type FromStrRadixErr = <S::Value as Num>::FromStrRadixErr;
    fn from_str_radix(text: &str, radix: u32) -> Result<Self, Self::FromStrRadixErr> {
        S::Value::from_str_radix(text, radix).map(Self::constant)
    }
}

/// Casts the value.
impl<S: Nests> ToPrimitive for Nested<S> {
    fn to_i64(&self) -> Option<i64> {
        self.value().to_i64()
    }
    fn to_u64(&self) -> Option<u64> {
        self.value().to_u64()
    }
    fn to_f64(&self) -> Option<f64> {
        self.value().to_f64()
    }
}

impl<S: Nests> NumCast for Nested<S> {
    fn from<T: ToPrimitive>(number: T) -> Option<Self> {
        <S::Value as NumCast>::from(number).map(Self::constant)
    }
}
