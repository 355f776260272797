//! Implementation of the number traits for `f64` and `f32`.

use super::simd::groups;
use super::special;
use super::traits::{Binary, Float, Number, Plain, Ternary, Unary, partial_of_lane, sealed};
use core::num::FpCategory;

/// Forwards the functions of numbers to the inherent methods of `f64` and `f32`, and the special functions to those
/// over `f64`.
macro_rules! scalar_functions {
    (
        unary { $($(#[$d1:meta])* $unary:ident: $f1:ident::$r1:ident, $floats1:ident $(, $kernel1:ident)?;)* }
        binary { $($(#[$d2:meta])* $binary:ident: $f2:ident::$r2:ident, $floats2:ident $(, $kernel2:ident)?;)* }
        ternary $ternary:tt
        steps { $($(#[$d4:meta])* $step:ident: $comparison:ident;)* }
    ) => {
        $(scalar_functions! { @ $floats1 $unary (self) Self::$unary(self) })*
        $(scalar_functions! { @ $floats2 $binary (self, other: Self) Self::$binary(self, other) })*
        $(#[inline(always)]
        fn $step(self) -> Self { Self::$step(self) })*
    };
    (@ rule $($any:tt)*) => {};
    (@ special $name:ident (self) $native:expr) => {
        fn $name(self) -> Self { Self::from_f64(special::$name(f64::from(self))) }
    };
    (@ $floats:ident $name:ident ($($arguments:tt)*) $native:expr) => {
        #[inline(always)]
        fn $name($($arguments)*) -> Self { $native }
    };
}

macro_rules! scalar_constants {
    ($t:ident $($name:ident)*) => { $(
        #[inline(always)]
        fn $name() -> Self { <$t as num_traits::Float>::$name() }
    )* };
}

macro_rules! scalar_questions {
    ($t:ident $($name:ident $answer:ty),*) => { $(
        #[inline(always)]
        fn $name(self) -> $answer { num_traits::Float::$name(self) }
    )* };
}

macro_rules! float {
    ($($t:ident)*) => { $(
        impl sealed::Sealed for $t {}
        impl Plain for $t {}
        impl Number for $t {
            type Lane = Self;
            type Passed = Self;
            const LANES: usize = 1;
            const PARTS: usize = 1;
            const ORDER: usize = 0;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "rounding a literal to the value type is the purpose")]
            fn from_f64(value: f64) -> Self { value as $t }
            #[inline(always)]
            fn borrowed(numbers: &[f64]) -> Option<&[Self]> {
                if size_of::<Self>() == size_of::<f64>() { bytemuck::try_cast_slice(numbers).ok() } else { None }
            }
            #[inline(always)]
            fn from_lanes(mut lane: impl FnMut(usize) -> Self) -> Self { lane(0) }
            #[inline(always)]
            fn pair_from_lanes(mut lane: impl FnMut(usize) -> (Self, Self)) -> (Self, Self) { lane(0) }
            #[inline(always)]
            fn lane(self, _: usize) -> Self { self }
            #[inline(always)]
            fn from_parts(mut part: impl FnMut(usize) -> f64) -> Self { Self::from_f64(part(0)) }
            #[inline(always)]
            fn part(self, _: usize) -> f64 { f64::from(self) }
            #[inline(always)]
            fn as_f64(self) -> f64 { f64::from(self) }
            #[inline(always)]
            fn is_ordinary(self) -> bool {
                // Without the sign, the bits of a zero are 0, and those of an infinity or NaN are at least the bits of
                // ∞.
                (self.to_bits() << 1).wrapping_sub(1) < (Self::INFINITY.to_bits() << 1) - 1
            }
            #[inline(always)]
            fn is_nought(self) -> bool { self.to_bits() << 1 == 0 }
            #[inline(always)]
            fn is_plain(self) -> bool { self.is_finite() }
            #[inline(always)]
            fn all_ordinary<const N: usize>(numbers: &[Self; N]) -> bool {
                groups::are_within(numbers, [0.0, Self::INFINITY])
            }
            #[inline(always)]
            fn all_plain<const N: usize>(numbers: &[Self; N]) -> bool {
                groups::are_within(numbers, [0.0, 0.0])
            }
            #[inline(always)]
            fn all_nought<const N: usize>(numbers: &[Self; N]) -> bool {
                numbers.iter().fold(0, |bits, number| bits | number.to_bits()) << 1 == 0
            }
            #[inline(always)]
            fn contribution(self, partial: Self) -> Self { self * partial }
            #[inline(always)]
            fn add_contributions<const N: usize>(sums: &mut [Self; N], factor: Self, terms: &[Self; N]) {
                groups::add_scaled(sums, factor, terms);
            }
            #[inline(always)]
            fn are_suspect<const N: usize>(sums: &[Self; N]) -> bool {
                if N == 1 { sums[0].is_nan() } else { groups::has_nan(sums) }
            }
            #[inline(always)]
            fn copied<const N: usize>(numbers: &[Self; N]) -> [Self; N] {
                let mut copy = [0.0; N];
                groups::copy(&mut copy, numbers);
                copy
            }
            #[inline(always)]
            fn unary<R: Unary>(self) -> (Self, Self) { R::value_and_companion(self) }
            #[inline(always)]
            fn derivative<R: Unary>(self, y: Self, companion: Self) -> Self {
                R::derivative_with_companion(self, y, companion)
            }
            #[inline(always)]
            fn binary<R: Binary>(self, other: Self) -> Self { R::value(self, other) }
            #[inline(always)]
            fn partial_left<R: Binary>(self, other: Self, value: Self) -> Self { R::partial_left(self, other, value) }
            #[inline(always)]
            fn partial_right<R: Binary>(self, other: Self, value: Self) -> Self { R::partial_right(self, other, value) }
            #[inline(always)]
            fn ternary<R: Ternary>(self, second: Self, third: Self) -> Self { R::value(self, second, third) }
            #[inline(always)]
            fn partial_of_three<R: Ternary, const K: usize>(arguments: [Self; 3], value: Self) -> Self {
                partial_of_lane::<R, Self, K>(arguments, value)
            }
            #[inline(always)]
            fn polygamma(self, n: u32) -> Self { Self::from_f64(special::polygamma(n, f64::from(self))) }

            crate::for_each_function!(scalar_functions);
            #[inline(always)]
            fn powi(self, n: i32) -> Self { <$t>::powi(self, n) }
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) { <$t>::sin_cos(self) }
        }
        impl Float for $t {
            type Wide = f64;
            #[inline(always)]
            fn widen(self) -> f64 { f64::from(self) }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
            fn narrow(wide: f64) -> Self { wide as $t }
            #[inline(always)]
            fn with_value(self, value: f64) -> Self { Self::from_f64(value) }
            scalar_constants! { $t nan infinity neg_infinity neg_zero epsilon min_value max_value min_positive_value }
            scalar_questions! {
                $t is_nan bool, is_infinite bool, is_finite bool, is_normal bool, is_subnormal bool,
                is_sign_positive bool, is_sign_negative bool, classify FpCategory, integer_decode (u64, i16, i8)
            }
        }
    )* };
}
float!(f64 f32);
