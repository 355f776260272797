//! Traits that nalgebra asks of numbers, from the crates `simba` and `approx`. Names of methods are resolved to methods
//! of [`Closed`] first.

mod approximate;
mod complex;
mod real;

use super::Closed;
use simba::scalar::{Field, SubsetOf};
use simba::simd::SimdValue;
use tapewright_strategies::{Number as _, Taping};

/// A SIMD value with one lane.
#[allow(unsafe_code, reason = "the trait declares two methods unsafe; what they do here is not")]
impl<S: Taping> SimdValue for Closed<S> {
    const LANES: usize = 1;
    type Element = Self;
    type SimdBool = bool;

    #[inline(always)]
    fn splat(value: Self) -> Self {
        value
    }
    #[inline(always)]
    fn extract(&self, _: usize) -> Self {
        self.clone()
    }
    #[inline(always)]
    unsafe fn extract_unchecked(&self, _: usize) -> Self {
        self.clone()
    }
    #[inline(always)]
    fn replace(&mut self, _: usize, value: Self) {
        *self = value;
    }
    #[inline(always)]
    unsafe fn replace_unchecked(&mut self, _: usize, value: Self) {
        *self = value;
    }
    #[inline(always)]
    fn select(self, condition: bool, other: Self) -> Self {
        if condition { self } else { other }
    }
}

impl<S: Taping> Field for Closed<S> {}

/// Converts to the type itself, which keeps the derivative.
impl<S: Taping> SubsetOf<Self> for Closed<S> {
    #[inline(always)]
    fn to_superset(&self) -> Self {
        self.clone()
    }
    #[inline(always)]
    fn from_superset_unchecked(element: &Self) -> Self {
        element.clone()
    }
    #[inline(always)]
    fn is_in_subset(_: &Self) -> bool {
        true
    }
}

/// Conversions from numbers to passive variables, and back to the value, without its derivative. The row `f32, |value|
/// value as f32` becomes `impl SubsetOf<Closed<S>> for f32`.
macro_rules! subsets {
    ($($t:ty, |$value:ident| $number:expr;)*) => { $(
        impl<S: Taping> SubsetOf<Closed<S>> for $t {
            #[inline(always)]
            fn to_superset(&self) -> Closed<S> {
                Closed::from(*self)
            }
            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "the smaller type rounds")]
            fn from_superset_unchecked(element: &Closed<S>) -> Self {
                let $value = element.value().as_f64();
                $number
            }
            #[inline(always)]
            fn is_in_subset(_: &Closed<S>) -> bool {
                true
            }
        }
    )* };
}

subsets! {
    f64, |value| value;
    f32, |value| value as f32;
}
