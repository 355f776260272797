//! Fallback for numbers without SIMD registers: one element at a time.

use super::Sealed;
use super::planes::Place;
use super::vector::{SimdValue, SimdVector, one_pass};
use crate::Number;
use core::array::from_fn;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// Maximum number of lanes of a number in kernels.
const MOST_LANES: usize = 16;

/// A register of one element.
#[derive(Clone, Copy)]
#[repr(transparent)]
#[derive(Debug)]
pub struct ScalarValue<V>(V);

/// Implements operators: the row `Add add` names the trait and its method.
macro_rules! operators {
    ($($trait:ident $method:ident)*) => { $(
        impl<V: Number> $trait for ScalarValue<V> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self { Self(self.0.$method(other.0)) }
        }
    )* };
}
operators! { Add add Sub sub Mul mul Div div }

impl<V: Number> Neg for ScalarValue<V> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// Compares two numbers lane by lane.
#[inline(always)]
fn mask<V: Number>(a: ScalarValue<V>, b: ScalarValue<V>, yes: impl Fn(V::Lane, V::Lane) -> bool) -> [bool; MOST_LANES] {
    const { assert!(V::LANES <= MOST_LANES, "kernels take packs of at most 16 lanes") };
    from_fn(|k| k < V::LANES && yes(a.0.lane(k), b.0.lane(k)))
}

impl<V> Sealed for ScalarValue<V> {}
impl<V: Number> SimdValue for ScalarValue<V> {
    type Number = V;
    type Mask = [bool; MOST_LANES];

    #[inline(always)]
    fn splat(number: V) -> Self {
        Self(number)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.abs())
    }
    #[inline(always)]
    fn less(self, other: Self) -> [bool; MOST_LANES] {
        mask(self, other, |x, y| x < y)
    }
    #[inline(always)]
    fn at_most(self, other: Self) -> [bool; MOST_LANES] {
        mask(self, other, |x, y| x <= y)
    }
    #[inline(always)]
    fn equal(self, other: Self) -> [bool; MOST_LANES] {
        mask(self, other, |x, y| x.as_f64() == y.as_f64())
    }
    #[inline(always)]
    fn differ(self, other: Self) -> [bool; MOST_LANES] {
        mask(self, other, |x, y| x.as_f64() != y.as_f64())
    }
    #[inline(always)]
    fn both(a: [bool; MOST_LANES], b: [bool; MOST_LANES]) -> [bool; MOST_LANES] {
        from_fn(|k| a[k] && b[k])
    }
    #[inline(always)]
    fn either(a: [bool; MOST_LANES], b: [bool; MOST_LANES]) -> [bool; MOST_LANES] {
        from_fn(|k| a[k] || b[k])
    }
    #[inline(always)]
    fn select(mask: [bool; MOST_LANES], yes: Self, no: Self) -> Self {
        if V::LANES == 1 {
            return if mask[0] { yes } else { no };
        }
        Self(V::from_lanes(|k| if mask[k] { yes.0.lane(k) } else { no.0.lane(k) }))
    }
    #[inline(always)]
    fn map2(self, other: Self, f: impl Fn(V, V) -> V) -> Self {
        Self(f(self.0, other.0))
    }
    #[inline(always)]
    fn map3(self, second: Self, third: Self, f: impl Fn([V; 3]) -> V) -> Self {
        Self(f([self.0, second.0, third.0]))
    }
}

impl<V: Number> SimdVector for ScalarValue<V> {
    const N: usize = 1;
    one_pass!();

    #[inline(always)]
    unsafe fn load(from: *const V) -> Self {
        // SAFETY: promised by the caller.
        Self(unsafe { *from })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut V) {
        // SAFETY: promised by the caller.
        unsafe { *to = self.0 }
    }
    #[inline(always)]
    fn within(from: isize, to: isize) -> [bool; MOST_LANES] {
        [from <= 0 && 0 < to; MOST_LANES]
    }
    #[inline(always)]
    fn any(mask: [bool; MOST_LANES]) -> bool {
        mask.contains(&true)
    }

    #[inline(always)]
    unsafe fn take(from: Place<V>) -> Self {
        // SAFETY: promised by the caller.
        Self(unsafe { from.get() })
    }
    #[inline(always)]
    unsafe fn put(self, to: Place<V>) {
        // SAFETY: promised by the caller.
        unsafe { to.set(self.0) }
    }
    #[inline(always)]
    unsafe fn take_some(from: Place<V>, mask: [bool; MOST_LANES]) -> Self {
        // SAFETY: promised by the caller.
        if mask[0] { unsafe { Self::take(from) } } else { Self(V::ZERO) }
    }
    #[inline(always)]
    unsafe fn put_some(self, to: Place<V>, mask: [bool; MOST_LANES]) {
        if mask[0] {
            // SAFETY: promised by the caller.
            unsafe { self.put(to) }
        }
    }
    #[inline(always)]
    fn settled(self) -> Self {
        Self(self.0.settled())
    }
}
