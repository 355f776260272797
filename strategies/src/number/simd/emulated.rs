//! Emulated registers for miri: arrays of as many elements as registers of x86-64 have, computed one by one. Miri has
//! few SIMD intrinsics, and runs the loops over these arrays like over registers.

use super::Sealed;
use super::planes::Place;
use super::vector::{SimdValue, SimdVector, one_pass};
use crate::Number;
use core::array::from_fn;
use core::ops::{Add, Div, Mul, Neg, Sub};

/// A scalar that is a register of one element.
pub(crate) trait One: SimdVector<Number = Self, Mask = bool> + Number<Part = Self> {}
impl One for f64 {}
impl One for f32 {}

#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Numbers<V, const N: usize>([V; N]);

pub(crate) type Four64 = Numbers<f64, 4>;
pub(crate) type Eight64 = Numbers<f64, 8>;
pub(crate) type Eight32 = Numbers<f32, 8>;
pub(crate) type Sixteen32 = Numbers<f32, 16>;

/// Implements operators element by element: the row `Add add` names the trait and its method.
macro_rules! operators {
    ($($trait:ident $method:ident)*) => { $(
        impl<V: One, const N: usize> $trait for Numbers<V, N> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Self(from_fn(|k| $trait::$method(self.0[k], other.0[k])))
            }
        }
    )* };
}
operators! { Add add Sub sub Mul mul Div div }

impl<V: One, const N: usize> Neg for Numbers<V, N> {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.map(Neg::neg))
    }
}

impl<V, const N: usize> Sealed for Numbers<V, N> {}
impl<V: One, const N: usize> SimdValue for Numbers<V, N> {
    type Number = V;
    type Mask = [bool; N];

    fn splat(number: V) -> Self {
        Self([number; N])
    }
    fn sqrt(self) -> Self {
        Self(self.0.map(SimdValue::sqrt))
    }
    fn abs(self) -> Self {
        Self(self.0.map(SimdValue::abs))
    }
    fn less(self, other: Self) -> [bool; N] {
        from_fn(|k| self.0[k].less(other.0[k]))
    }
    fn at_most(self, other: Self) -> [bool; N] {
        from_fn(|k| self.0[k].at_most(other.0[k]))
    }
    fn equal(self, other: Self) -> [bool; N] {
        from_fn(|k| self.0[k].equal(other.0[k]))
    }
    fn differ(self, other: Self) -> [bool; N] {
        from_fn(|k| self.0[k].differ(other.0[k]))
    }
    fn both(a: [bool; N], b: [bool; N]) -> [bool; N] {
        from_fn(|k| a[k] && b[k])
    }
    fn either(a: [bool; N], b: [bool; N]) -> [bool; N] {
        from_fn(|k| a[k] || b[k])
    }
    fn select(mask: [bool; N], yes: Self, no: Self) -> Self {
        Self(from_fn(|k| V::select(mask[k], yes.0[k], no.0[k])))
    }
    fn map2(self, other: Self, f: impl Fn(V, V) -> V) -> Self {
        Self(from_fn(|k| f(self.0[k], other.0[k])))
    }
}

impl<V: One, const N: usize> SimdVector for Numbers<V, N> {
    const N: usize = N;
    one_pass!();

    unsafe fn load(from: *const V) -> Self {
        // SAFETY: promised by the caller.
        Self(unsafe { from.cast::<[V; N]>().read() })
    }
    unsafe fn store(self, to: *mut V) {
        // SAFETY: promised by the caller.
        unsafe { to.cast::<[V; N]>().write(self.0) }
    }
    unsafe fn take_some(from: Place<V>, mask: [bool; N]) -> Self {
        let from = from.address();
        // SAFETY: promised by the caller, for the chosen elements.
        Self(from_fn(|k| unsafe { V::take_some(Place::new(from.wrapping_add(k), 0), mask[k]) }))
    }
    unsafe fn put_some(self, to: Place<V>, mask: [bool; N]) {
        let to = to.address();
        for (k, number) in self.0.into_iter().enumerate() {
            // SAFETY: promised by the caller, for the chosen elements.
            unsafe { number.put_some(Place::new(to.wrapping_add(k), 0), mask[k]) }
        }
    }
    fn within(from: isize, to: isize) -> [bool; N] {
        from_fn(|k| (from..to).contains(&k.cast_signed()))
    }
    fn any(mask: [bool; N]) -> bool {
        mask.contains(&true)
    }
}
