//! Traits of register values: one element, or several.

use super::Sealed;
use crate::Number;
use core::cell::Cell;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// One element, or several consecutive ones that are computed together. All operations work element by element and
/// round like the operations of the number itself, so that results do not depend on the length of a register.
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
    /// Type of an element.
    type Number: Number;
    /// Mask with one entry for each element.
    type Mask: Copy;

    /// Sets all elements to one value.
    fn splat(number: Self::Number) -> Self;
    /// √x.
    #[must_use]
    fn sqrt(self) -> Self;
    /// |x|.
    #[must_use]
    fn abs(self) -> Self;
    /// Mask of `self < other`; false where either is NaN.
    fn less(self, other: Self) -> Self::Mask;
    /// Mask of `self ≤ other`; false where either is NaN.
    fn at_most(self, other: Self) -> Self::Mask;
    /// Mask of `self = other`; false where either is NaN.
    fn equal(self, other: Self) -> Self::Mask;
    /// Conjunction of two masks.
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Disjunction of two masks.
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `yes` where the mask is true, else `no`.
    #[must_use]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// Applies a function of two arguments to each element, in order.
    #[must_use]
    fn map2(self, other: Self, f: impl Fn(Self::Number, Self::Number) -> Self::Number) -> Self;
    /// Applies a function of three arguments to each element, in order.
    #[inline(always)]
    #[must_use]
    fn map3(self, second: Self, third: Self, f: impl Fn([Self::Number; 3]) -> Self::Number) -> Self {
        // `map2` visits elements in order: the first call stores the third arguments, the second call takes them in the
        // same order.
        let (noted, next) = ([const { Cell::new(None) }; MOST], Cell::new(0));
        let place = || &noted[next.replace(next.get() + 1)];
        let _ = third.map2(third, |z, _| {
            place().set(Some(z));
            z
        });
        next.set(0);
        self.map2(second, |x, y| f([x, y, place().get().unwrap_or(x)]))
    }
    /// Mask of `self ≠ other`; true where either is NaN.
    fn differ(self, other: Self) -> Self::Mask;

    /// All elements 0.
    #[inline(always)]
    #[must_use]
    fn zero() -> Self {
        Self::splat(Self::Number::from_f64(0.0))
    }
    /// All elements 1.
    #[inline(always)]
    #[must_use]
    fn one() -> Self {
        Self::splat(Self::Number::from_f64(1.0))
    }
    /// All elements −0, the additive identity: x + (−0) is x for every x; adding +0 would turn −0 into +0.
    #[inline(always)]
    #[must_use]
    fn nothing() -> Self {
        Self::splat(Self::Number::from_f64(-0.0))
    }
}

/// Maximum number of elements of a register.
pub(crate) const MOST: usize = 16;

/// Register values that can be loaded and stored.
pub(crate) trait SimdVector: SimdValue {
    /// Number of elements.
    const N: usize;
    /// # Safety
    ///
    /// `N` elements from this address on may be read.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// # Safety
    ///
    /// `N` elements from this address on may be written.
    unsafe fn store(self, to: *mut Self::Number);
    /// Loads the elements that the mask chooses; the other ones are unspecified.
    ///
    /// # Safety
    ///
    /// The chosen elements may be read.
    unsafe fn load_some(from: *const Self::Number, mask: Self::Mask) -> Self;
    /// # Safety
    ///
    /// The chosen elements may be written.
    unsafe fn store_some(self, to: *mut Self::Number, mask: Self::Mask);
    /// Mask that is true for element k if from ≤ k < to.
    fn within(from: isize, to: isize) -> Self::Mask;
    /// Returns true if some element of the mask is true.
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
