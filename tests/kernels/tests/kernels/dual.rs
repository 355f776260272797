//! Dual numbers with the operators and functions of kernels' expressions, and what stands for a kernel's tokens.

use core::ops::{Add, Div, Mul, Neg, Sub};
use std::cell::Cell;

/// The largest number of elements of a view, and of inputs: three views and two numbers.
pub(super) const MOST: usize = 24;
pub(super) const INPUTS: usize = 3 * MOST + 2;

/// A number and its slopes for all inputs.
#[derive(Clone, Copy)]
pub(super) struct Dual {
    pub(super) value: f64,
    pub(super) slopes: [f64; INPUTS],
}

impl Dual {
    pub(super) fn constant(value: f64) -> Self {
        Self { value, slopes: [0.0; INPUTS] }
    }

    pub(super) fn input(value: f64, k: usize) -> Self {
        let mut dual = Self::constant(value);
        dual.slopes[k] = 1.0;
        dual
    }

    /// f, whose slope is `slope`.
    fn map(self, value: f64, slope: f64) -> Self {
        self.map2(self, value, slope, 0.0)
    }

    fn map2(self, other: Self, value: f64, left: f64, right: f64) -> Self {
        let mut dual = Self::constant(value);
        for k in 0..INPUTS {
            dual.slopes[k] = self.slopes[k] * left + other.slopes[k] * right;
        }
        dual
    }

    pub(super) fn bind<const K: usize, B>(self, f: impl FnOnce(Self) -> B) -> B {
        f(self)
    }
    pub(super) fn square(self) -> Self {
        self * self
    }
    pub(super) fn sqrt(self) -> Self {
        self.map(self.value.sqrt(), 0.5 / self.value.sqrt())
    }
    pub(super) fn abs(self) -> Self {
        let sign = if self.value == 0.0 { 0.0 } else { self.value.signum() };
        self.map(self.value.abs(), sign)
    }
    pub(super) fn sin(self) -> Self {
        self.map(self.value.sin(), self.value.cos())
    }
    pub(super) fn exp(self) -> Self {
        self.map(self.value.exp(), self.value.exp())
    }
    pub(super) fn clamp(self, low: f64, high: f64) -> Self {
        self.map(self.value.clamp(low, high), f64::from(self.value >= low && self.value <= high))
    }
    pub(super) fn hypot(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        let value = self.value.hypot(other.value);
        self.map2(other, value, self.value / value, other.value / value)
    }
    /// The function of [`Product`](super::Product), the only rule of three arguments here.
    #[allow(clippy::extra_unused_type_parameters, reason = "as the method of terms has it")]
    pub(super) fn ternary<R, B: Into<Self>, C: Into<Self>>(self, y: B, z: C) -> Self {
        let (x, y, z) = (self, y.into(), z.into());
        x * y * y * z.sin()
    }
    pub(super) fn max(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        if self.value >= other.value { self } else { other }
    }
    pub(super) fn min(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        if self.value <= other.value { self } else { other }
    }
    pub(super) fn lt(self, other: impl Into<Self>) -> Choice {
        Choice(self.value < other.into().value)
    }
    pub(super) fn le(self, other: impl Into<Self>) -> Choice {
        Choice(self.value <= other.into().value)
    }
    pub(super) fn gt(self, other: impl Into<Self>) -> Choice {
        Choice(self.value > other.into().value)
    }
    pub(super) fn ge(self, other: impl Into<Self>) -> Choice {
        Choice(self.value >= other.into().value)
    }
}

impl From<f64> for Dual {
    fn from(value: f64) -> Self {
        Self::constant(value)
    }
}

pub(super) struct Choice(bool);
impl Choice {
    pub(super) fn select(self, yes: impl Into<Dual>, no: impl Into<Dual>) -> Dual {
        if self.0 { yes.into() } else { no.into() }
    }
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 && other.0)
    }
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 || other.0)
    }
}

/// Operators, from rows `Trait method |x, y| value, left partial, right partial`.
macro_rules! operators {
    ($($trait:ident $method:ident |$x:ident, $y:ident| $value:expr, $left:expr, $right:expr;)*) => { $(
        impl $trait for Dual {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                let ($x, $y) = (self.value, other.value);
                _ = ($x, $y);
                self.map2(other, $value, $left, $right)
            }
        }
        impl $trait<f64> for Dual {
            type Output = Self;
            fn $method(self, other: f64) -> Self { $trait::$method(self, Self::constant(other)) }
        }
        impl $trait<Dual> for f64 {
            type Output = Dual;
            fn $method(self, other: Dual) -> Dual { $trait::$method(Dual::constant(self), other) }
        }
    )* };
}
operators! {
    Add add |x, y| x + y, 1.0, 1.0;
    Sub sub |x, y| x - y, 1.0, -1.0;
    Mul mul |x, y| x * y, y, x;
    Div div |x, y| x / y, 1.0 / y, -(x / y) / y;
}
impl Neg for Dual {
    type Output = Self;
    fn neg(self) -> Self {
        self.map(-self.value, -1.0)
    }
}

/// What stands for a token: a view of dual numbers, and the point.
#[derive(Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) elements: &'a [Dual],
    pub(super) shape: [usize; 3],
    pub(super) point: [usize; 3],
    pub(super) new: &'a Cell<Dual>,
}

impl Seen<'_> {
    #[allow(clippy::new_ret_no_self, clippy::wrong_self_convention, reason = "it is called as a token's is")]
    pub(super) fn new(self) -> Dual {
        self.new.get()
    }

    /// The element at a shift; `outside` gives the place along a dimension, if there is one.
    fn element(self, shift: [isize; 3], outside: impl Fn(isize, isize) -> Option<isize>) -> Dual {
        let mut at = 0;
        for d in 0..3 {
            let length = self.shape[d].cast_signed();
            let mut i = self.point[d].cast_signed() + shift[d];
            if i < 0 || i >= length {
                match outside(i, length) {
                    Some(inside) => i = inside,
                    None => return Dual::constant(0.0),
                }
            }
            at = at * self.shape[d] + i.unsigned_abs();
        }
        self.elements[at]
    }
    pub(super) fn at<const I: isize, const J: isize, const K: isize>(self) -> Dual {
        self.element([I, J, K], |_, _| panic!("it reads outside"))
    }
    pub(super) fn or_zero<const I: isize, const J: isize, const K: isize>(self) -> Dual {
        self.element([I, J, K], |_, _| None)
    }
    pub(super) fn nearest<const I: isize, const J: isize, const K: isize>(self) -> Dual {
        self.element([I, J, K], |i, length| Some(i.clamp(0, length - 1)))
    }
    pub(super) fn periodic<const I: isize, const J: isize, const K: isize>(self) -> Dual {
        self.element([I, J, K], |i, length| Some(i.rem_euclid(length)))
    }
}
