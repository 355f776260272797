//! Traits of register values: one element, or several.

use super::Sealed;
use super::planes::Place;
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
    /// Mask of what is not `self ≤ other`; true where either is NaN.
    #[inline(always)]
    fn not_at_most(self, other: Self) -> Self::Mask {
        let is_nan = Self::either(self.differ(self), other.differ(other));
        Self::either(other.less(self), is_nan)
    }
    /// Mask of `self = other`; false where either is NaN.
    fn equal(self, other: Self) -> Self::Mask;
    /// Conjunction of two masks.
    fn both(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Disjunction of two masks.
    fn either(a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// `yes` where the mask is true, else `no`.
    #[must_use]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;
    /// This where the mask is true, else 0.
    #[inline(always)]
    #[must_use]
    fn or_zero(self, mask: Self::Mask) -> Self {
        Self::select(mask, self, Self::zero())
    }
    /// self·factor + term, rounded once.
    #[inline(always)]
    #[must_use]
    fn fused(self, factor: Self, term: Self) -> Self {
        let fused = |[x, y, z]: [Self::Number; 3]| x.as_f64().mul_add(y.as_f64(), z.as_f64());
        self.map3(factor, term, |numbers| Self::Number::from_f64(fused(numbers)))
    }
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

/// A function of complete registers of `f64` that is compiled once for each instruction set, and called.
pub trait Formula {
    /// Number of arguments, and of results: 1 or 2. A second result is the companion of the first.
    const COUNTS: [usize; 2];
    /// Computes the function. With one argument `y` is the same; with one result the second is ignored.
    fn of<L: SimdVector<Number = f64>>(x: L, y: L) -> (L, L);
}

/// Replaces the first `count` arguments of a formula by its results.
///
/// # Safety
///
/// As many numbers may be read and written at the first pointer, and at the second one if there are two arguments or
/// results. `count` is a multiple of the number of elements.
#[inline(always)]
pub(crate) unsafe fn replace<F: Formula, L: SimdVector<Number = f64>>([first, second]: [*mut f64; 2], count: usize) {
    let mut at = 0;
    while at < count {
        // SAFETY: promised by the caller.
        unsafe {
            let x = L::load(first.add(at));
            let (value, companion) = F::of(x, if F::COUNTS[0] == 2 { L::load(second.add(at)) } else { x });
            value.store(first.add(at));
            if F::COUNTS[1] == 2 {
                companion.store(second.add(at));
            }
        }
        at += L::N;
    }
}

/// Maximum number of elements of a register.
pub(crate) const MOST: usize = 16;

/// Exchanges rows and columns of as many registers as each has elements.
#[inline(always)]
pub(crate) fn transpose<L: SimdVector>(tile: &mut [L; MOST]) {
    let (half, mut done) = (L::N / 2, 1);
    // Each round takes the first bit of the number of a register to the end of the number of an element.
    while done < L::N {
        let from = *tile;
        let mut k = 0;
        while k < half {
            (tile[2 * k], tile[2 * k + 1]) = from[k].interleaved(from[half + k]);
            k += 1;
        }
        done *= 2;
    }
}

/// Register values that can be loaded and stored.
pub trait SimdVector: SimdValue + Send + Sync {
    /// Number of elements.
    const N: usize;
    /// True if a product with zero may be NaN in a tangent. A result with a part that is not finite has to be computed
    /// anew then, by the operators of the number.
    const LOOSE: bool = false;
    /// Loads from consecutive numbers.
    ///
    /// # Safety
    ///
    /// `N` elements from this address on may be read.
    unsafe fn load(from: *const Self::Number) -> Self;
    /// Stores to consecutive numbers.
    ///
    /// # Safety
    ///
    /// `N` elements from this address on may be written.
    unsafe fn store(self, to: *mut Self::Number);
    /// Interleaves the elements of two registers: those of the first halves, and those of the second halves.
    #[inline(always)]
    #[must_use]
    fn interleaved(self, other: Self) -> (Self, Self) {
        let mut numbers = [Self::Number::from_f64(0.0); 4 * MOST];
        let (from, to) = numbers.split_at_mut(2 * MOST);
        // SAFETY: a register has at most `MOST` elements, for which each half has twice as much room.
        unsafe {
            self.store(from.as_mut_ptr());
            other.store(from[Self::N..].as_mut_ptr());
            for k in 0..Self::N {
                to[2 * k] = from[k];
                to[2 * k + 1] = from[Self::N + k];
            }
            (Self::load(to.as_ptr()), Self::load(to[Self::N..].as_ptr()))
        }
    }
    /// Mask that is true for element k if from ≤ k < to.
    fn within(from: isize, to: isize) -> Self::Mask;
    /// Returns true if some element of the mask is true.
    fn any(mask: Self::Mask) -> bool;

    /// Loads elements of an array.
    ///
    /// # Safety
    ///
    /// `N` elements from this place on may be read.
    #[inline(always)]
    unsafe fn take(from: Place<Self::Number>) -> Self {
        // SAFETY: promised by the caller.
        unsafe { Self::load(from.address()) }
    }
    /// Stores elements of an array.
    ///
    /// # Safety
    ///
    /// `N` elements from this place on may be written.
    #[inline(always)]
    unsafe fn put(self, to: Place<Self::Number>) {
        // SAFETY: promised by the caller.
        unsafe { self.store(to.address()) }
    }
    /// Loads the elements of an array that the mask chooses; the other ones are unspecified.
    ///
    /// # Safety
    ///
    /// The chosen elements may be read.
    unsafe fn take_some(from: Place<Self::Number>, mask: Self::Mask) -> Self;
    /// Stores the elements of an array that the mask chooses.
    ///
    /// # Safety
    ///
    /// The chosen elements may be written.
    unsafe fn put_some(self, to: Place<Self::Number>, mask: Self::Mask);

    /// Returns true if some part of some element is not 0.
    #[inline(always)]
    fn any_part(self) -> bool {
        Self::any(self.differ(Self::zero()))
    }
    /// Returns the product with numbers that have no tangents.
    #[inline(always)]
    #[must_use]
    fn scaled(self, factor: Self) -> Self {
        self * factor
    }
    /// Returns the quotient by numbers that have no tangents.
    #[inline(always)]
    #[must_use]
    fn divided(self, divisor: Self) -> Self {
        self / divisor
    }
    /// Makes the sign of zeros the same however the elements were computed; see
    /// [`Registers::settled`](super::dispatch::Registers::settled).
    #[inline(always)]
    #[must_use]
    fn settled(self) -> Self {
        self
    }

    /// Replaces as many arguments of a formula as the register has elements, by a function that is compiled for its
    /// instruction set.
    ///
    /// # Safety
    ///
    /// As that of [`replace`].
    #[inline(always)]
    unsafe fn call<F: Formula>(numbers: [*mut f64; 2]) {
        // SAFETY: promised by the caller.
        unsafe { replace::<F, f64>(numbers, Self::N) }
    }

    /// Register in which programs are computed, in [`PASSES`](Self::PASSES) passes: with all parts of the elements, or
    /// with their values and a few of many tangents.
    type Pass: SimdVector<Mask = Self::Mask>;
    /// Number of passes.
    const PASSES: usize;
    /// Loads what a pass needs of the elements of an array.
    ///
    /// # Safety
    ///
    /// `N` elements from this place on may be read.
    unsafe fn take_pass(from: Place<Self::Number>, pass: usize) -> Self::Pass;
    /// Sets all elements to what a pass needs of a number.
    fn splat_pass(number: Self::Number, pass: usize) -> Self::Pass;
    /// Replaces the parts that a pass computes.
    fn set_pass(&mut self, pass: usize, found: Self::Pass);
}

/// Implements passes for registers in which programs are computed at once.
macro_rules! one_pass {
    () => {
        type Pass = Self;
        const PASSES: usize = 1;
        #[inline(always)]
        unsafe fn take_pass(from: $crate::number::simd::planes::Place<Self::Number>, _: usize) -> Self {
            // SAFETY: promised by the caller.
            unsafe { Self::take(from) }
        }
        #[inline(always)]
        fn splat_pass(number: Self::Number, _: usize) -> Self {
            Self::splat(number)
        }
        #[inline(always)]
        fn set_pass(&mut self, _: usize, found: Self) {
            *self = found;
        }
    };
}
pub(crate) use one_pass;

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
            unsafe fn take_some(from: Place<$t>, mask: bool) -> $t {
                let from = from.address();
                // SAFETY: promised by the caller.
                if mask { unsafe { *from } } else { 0.0 }
            }
            #[inline(always)]
            unsafe fn put_some(self, to: Place<$t>, mask: bool) {
                let to = to.address();
                if mask {
                    // SAFETY: promised by the caller.
                    unsafe { *to = self }
                }
            }
            #[inline(always)]
            fn within(from: isize, to: isize) -> bool { from <= 0 && 0 < to }
            #[inline(always)]
            fn any(mask: bool) -> bool { mask }
            one_pass!();
        }
    )* };
}
single!(f64 f32);
