//! What kernels compute, by scalar statements: one for each operation of each element.
//!
//! The closure of a kernel is written once, in a macro, and compiled twice: over tokens of the library, and over the
//! tokens of this file, which have the same methods and read lists of variables.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::{Add, Div, Mul, Neg, Range, Sub};
use tapewright::prelude::*;
use tapewright::strategies::Number as _;
use tapewright::{Ternary, ternary};

/// A variable with the operators and functions of kernels' expressions.
pub(super) struct Number<S: Strategy>(pub(super) Real<S>);

impl<S: Strategy> Clone for Number<S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Strategy> Copy for Number<S> {}

impl<S: Strategy> From<f64> for Number<S> {
    fn from(number: f64) -> Self {
        Self(Real::constant(S::Value::from_f64(number)))
    }
}

impl<S: Strategy> Number<S> {
    pub(super) fn bind<const K: usize, B>(self, f: impl FnOnce(Self) -> B) -> B {
        f(self)
    }
    pub(super) fn square(self) -> Self {
        self * self
    }
    pub(super) fn clamp(self, low: f64, high: f64) -> Self {
        Self(self.0.clamp(low, high).eval())
    }
    pub(super) fn ternary<R: Ternary + 'static, B: Into<Self>, C: Into<Self>>(self, y: B, z: C) -> Self {
        Self(ternary::<_, R, _, _, _>(self.0, y.into().0, z.into().0).eval())
    }
}

/// Functions of one and of two arguments, and comparisons.
macro_rules! functions {
    ($($unary:ident)*; $($binary:ident)*; $($comparison:ident $sign:tt)*) => {
        impl<S: Strategy> Number<S> {
            $(pub(super) fn $unary(self) -> Self {
                Self(self.0.$unary().eval())
            })*
            $(pub(super) fn $binary(self, other: impl Into<Self>) -> Self {
                Self(self.0.$binary(other.into().0).eval())
            })*
            $(pub(super) fn $comparison(self, other: impl Into<Self>) -> Choice<S> {
                Choice(self.0.value().as_f64() $sign other.into().0.value().as_f64(), PhantomData)
            })*
        }
    };
}
functions! { sqrt abs sin exp; max min hypot; lt < le <= gt > ge >= eq == ne != }

/// What a comparison found.
pub(super) struct Choice<S>(bool, PhantomData<S>);

impl<S: Strategy> Choice<S> {
    pub(super) fn select(self, yes: impl Into<Number<S>>, no: impl Into<Number<S>>) -> Number<S> {
        if self.0 { yes.into() } else { no.into() }
    }
    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 && other.0, PhantomData)
    }
    pub(super) fn or(self, other: Self) -> Self {
        Self(self.0 || other.0, PhantomData)
    }
    pub(super) fn not(self) -> Self {
        Self(!self.0, PhantomData)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident;)*) => { $(
        impl<S: Strategy> $trait for Number<S> {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                Self($trait::$method(self.0, other.0).eval())
            }
        }
        impl<S: Strategy> $trait<f64> for Number<S> {
            type Output = Self;
            fn $method(self, other: f64) -> Self {
                $trait::$method(self, Self::from(other))
            }
        }
        impl<S: Strategy> $trait<Number<S>> for f64 {
            type Output = Number<S>;
            fn $method(self, other: Number<S>) -> Number<S> {
                $trait::$method(Number::from(self), other)
            }
        }
    )* };
}
operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}
impl<S: Strategy> Neg for Number<S> {
    type Output = Self;
    fn neg(self) -> Self {
        Self((-self.0).eval())
    }
}

/// What stands for a kernel's token: a view, the point at which the kernel is computed, and the new value there.
pub(super) struct Token<'a, S: Strategy, const R: usize> {
    elements: &'a [Real<S>],
    shape: [usize; R],
    point: [usize; R],
    new: Option<&'a Cell<Real<S>>>,
}

impl<S: Strategy, const R: usize> Clone for Token<'_, S, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S: Strategy, const R: usize> Copy for Token<'_, S, R> {}

impl<'a, S: Strategy, const R: usize> Token<'a, S, R> {
    /// A view that is only read.
    #[cfg(feature = "wide")]
    pub(super) fn of(elements: &'a [Real<S>], shape: [usize; R], point: [usize; R]) -> Self {
        Self { elements, shape, point, new: None }
    }

    #[allow(clippy::new_ret_no_self, clippy::wrong_self_convention, reason = "it is called as a token's is")]
    pub(super) fn new(self) -> Number<S> {
        Number(self.new.expect("a view that is written").get())
    }

    pub(super) fn index<const D: usize>(self) -> Number<S> {
        Number::from(self.point[D] as f64)
    }

    pub(super) fn set(self, to: Number<S>) {
        self.new.expect("a view that is written").set(to.0);
    }

    /// The element at a shift; `outside` gives the index along a dimension, if there is one.
    fn element(self, shift: [isize; R], outside: impl Fn(isize, isize) -> Option<isize>) -> Number<S> {
        let mut at = 0;
        for d in 0..R {
            let (i, length) = (self.point[d].cast_signed() + shift[d], self.shape[d].cast_signed());
            let i = if (0..length).contains(&i) { Some(i) } else { outside(i, length) };
            let Some(i) = i else { return Number::from(0.0) };
            at = at * self.shape[d] + i.cast_unsigned();
        }
        Number(self.elements[at])
    }
}

/// Reads of tokens, by rank.
macro_rules! reads {
    ($($rank:literal: $($shift:ident)+;)*) => { $(
        impl<S: Strategy> Token<'_, S, $rank> {
            pub(super) fn at<$(const $shift: isize),+>(self) -> Number<S> {
                self.element([$($shift),+], |_, _| panic!("the kernel reads beyond the view"))
            }
            pub(super) fn or_zero<$(const $shift: isize),+>(self) -> Number<S> {
                self.element([$($shift),+], |_, _| None)
            }
            pub(super) fn nearest<$(const $shift: isize),+>(self) -> Number<S> {
                self.element([$($shift),+], |i, length| Some(i.clamp(0, length - 1)))
            }
            pub(super) fn periodic<$(const $shift: isize),+>(self) -> Number<S> {
                self.element([$($shift),+], |i, length| Some(i.rem_euclid(length)))
            }
        }
    )* };
}
reads! {
    1: I;
    2: I J;
    3: I J K;
    4: I J K M;
}

/// The points of a range, in order.
pub(super) fn points<const R: usize>(range: &[Range<usize>; R]) -> Vec<[usize; R]> {
    let mut points = vec![[0; R]];
    for d in 0..R {
        let along = |point: &[usize; R]| {
            let point = *point;
            range[d].clone().map(move |i| {
                let mut next = point;
                next[d] = i;
                next
            })
        };
        points = points.iter().flat_map(along).collect();
    }
    points
}

/// The index of a point among the elements.
pub(super) fn index<const R: usize>(shape: [usize; R], point: [usize; R]) -> usize {
    (0..R).fold(0, |index, d| index * shape[d] + point[d])
}

/// Computes a kernel of these views at all points of a range; what it sets is in the views afterwards.
pub(super) fn map<S: Strategy, const R: usize, const N: usize>(
    shape: [usize; R],
    range: &[Range<usize>; R],
    views: [&mut Vec<Real<S>>; N],
    kernel: impl Fn([Token<'_, S, R>; N]),
) {
    let before: [Vec<Real<S>>; N] = core::array::from_fn(|d| views[d].clone());
    for point in points(range) {
        let at = index(shape, point);
        let new: [Cell<Real<S>>; N] = core::array::from_fn(|d| Cell::new(before[d][at]));
        kernel(core::array::from_fn(|d| Token { elements: &before[d], shape, point, new: Some(&new[d]) }));
        for d in 0..N {
            views[d][at] = new[d].get();
        }
    }
}
