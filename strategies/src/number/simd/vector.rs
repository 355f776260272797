//! The trait of SIMD values: one number, or several in a register.

use super::Sealed;
use crate::Number;
use core::cell::Cell;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// One number, or several at neighbouring points that are computed at once. All operations work number by number and
/// round as the number's own operations do, so that a result does not depend on how many there are.
pub trait SimdValue:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Sealed
    + 'static
{
    /// What each number is.
    type Number: Number;
    /// A yes or no for each number.
    type Mask: Copy;

    /// The same number everywhere.
    fn splat(number: Self::Number) -> Self;
    /// √x.
    #[must_use]
    fn sqrt(self) -> Self;
    /// |x|.
    #[must_use]
    fn abs(self) -> Self;
    /// Whether self < other; not for NaN.
    fn less(self, other: Self) -> Self::Mask;
    /// Whether self ≤ other; not for NaN.
    fn at_most(self, other: Self) -> Self::Mask;
    /// Whether self = other; not for NaN.
    fn equal(self, other: Self) -> Self::Mask;
    /// Where both say yes.
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Where one of them says yes.
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `yes` where the mask says yes, else `no`.
    #[must_use]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// A function of two numbers, which is called for one after the other, from the first on.
    #[must_use]
    fn map2(self, other: Self, f: impl Fn(Self::Number, Self::Number) -> Self::Number) -> Self;
    /// A function of three numbers.
    #[inline(always)]
    #[must_use]
    fn map3(self, second: Self, third: Self, f: impl Fn([Self::Number; 3]) -> Self::Number) -> Self {
        // The third ones are noted in the order in which they are visited then.
        let (noted, next) = ([const { Cell::new(None) }; MOST], Cell::new(0));
        let place = || &noted[next.replace(next.get() + 1)];
        let _ = third.map2(third, |z, _| {
            place().set(Some(z));
            z
        });
        next.set(0);
        self.map2(second, |x, y| f([x, y, place().get().unwrap_or(x)]))
    }
    /// Where they are not equal.
    fn differ(self, other: Self) -> Self::Mask;

    /// The number 0.
    #[inline(always)]
    #[must_use]
    fn zero() -> Self {
        Self::splat(Self::Number::from_f64(0.0))
    }
    /// The number 1.
    #[inline(always)]
    #[must_use]
    fn one() -> Self {
        Self::splat(Self::Number::from_f64(1.0))
    }
    /// −0, which added to anything changes nothing.
    #[inline(always)]
    #[must_use]
    fn nothing() -> Self {
        Self::splat(Self::Number::from_f64(-0.0))
    }
}

/// The most numbers that a register has.
pub(crate) const MOST: usize = 16;

/// Lanes that lie in memory.
pub(crate) trait SimdVector: SimdValue {
    /// How many numbers.
    const N: usize;
    /// # Safety
    ///
    /// `N` numbers from there on can be read.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// # Safety
    ///
    /// `N` numbers from there on can be written.
    unsafe fn store(self, to: *mut Self::Number);
    /// The numbers that the mask chooses; what the others are is unspecified.
    ///
    /// # Safety
    ///
    /// Those numbers can be read.
    unsafe fn load_some(from: *const Self::Number, mask: Self::Mask) -> Self;
    /// # Safety
    ///
    /// The numbers that the mask chooses can be written.
    unsafe fn store_some(self, to: *mut Self::Number, mask: Self::Mask);
    /// Yes for lane k where from ≤ k < to.
    fn within(from: isize, to: isize) -> Self::Mask;
    /// Whether some lane says yes.
    fn any(mask: Self::Mask) -> bool;
}

macro_rules! single {
    ($($t:ty)*) => { $(
        impl Sealed for $t {}
        impl SimdValue for $t {
            type Number = $t;
            type Mask = bool;
            #[inline(always)]
            fn splat(number: $t) -> $t { number }
            #[inline(always)]
            fn sqrt(self) -> $t { <$t>::sqrt(self) }
            #[inline(always)]
            fn abs(self) -> $t { <$t>::abs(self) }
            #[inline(always)]
            fn less(self, other: $t) -> bool { self < other }
            #[inline(always)]
            fn at_most(self, other: $t) -> bool { self <= other }
            #[inline(always)]
            fn equal(self, other: $t) -> bool { self == other }
            #[inline(always)]
            fn differ(self, other: $t) -> bool { self != other }
            #[inline(always)]
            fn both(a: bool, b: bool) -> bool { a & b }
            #[inline(always)]
            fn either(a: bool, b: bool) -> bool { a | b }
            #[inline(always)]
            fn select(mask: bool, yes: $t, no: $t) -> $t { if mask { yes } else { no } }
            #[inline(always)]
            fn map2(self, other: $t, f: impl Fn($t, $t) -> $t) -> $t { f(self, other) }
            #[inline(always)]
            fn map3(self, second: $t, third: $t, f: impl Fn([$t; 3]) -> $t) -> $t { f([self, second, third]) }
        }
        impl SimdVector for $t {
            const N: usize = 1;
            #[inline(always)]
            unsafe fn load(from: *const $t) -> $t {
                // SAFETY: promised by the caller.
                unsafe { *from }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $t) {
                // SAFETY: promised by the caller.
                unsafe { *to = self }
            }
            #[inline(always)]
            unsafe fn load_some(from: *const $t, mask: bool) -> $t {
                // SAFETY: promised by the caller.
                if mask { unsafe { *from } } else { 0.0 }
            }
            #[inline(always)]
            unsafe fn store_some(self, to: *mut $t, mask: bool) {
                if mask {
                    // SAFETY: promised by the caller.
                    unsafe { *to = self }
                }
            }
            #[inline(always)]
            fn within(from: isize, to: isize) -> bool { from <= 0 && 0 < to }
            #[inline(always)]
            fn any(mask: bool) -> bool { mask }
        }
    )* };
}
single!(f64 f32);
