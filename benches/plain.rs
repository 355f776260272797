//! Forward mode as other libraries do it: structs of a value and its derivatives, with operators that are inlined.
#![allow(dead_code, reason = "no bench uses all of it")]

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A value with its derivatives along `N` directions, as plain as can be.
#[derive(Clone, Copy)]
pub(crate) struct Plain<const N: usize>(pub(crate) f64, pub(crate) [f64; N]);

/// An array by a loop, which is compiled to vector instructions more readily than `from_fn`.
#[allow(clippy::needless_range_loop, reason = "iterators are not compiled as well here")]
#[inline(always)]
pub(crate) fn each<const N: usize>(entry: impl Fn(usize) -> f64) -> [f64; N] {
    let mut all = [0.0; N];
    for k in 0..N {
        all[k] = entry(k);
    }
    all
}

impl<const N: usize> Add for Plain<N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0, each(|k| self.1[k] + other.1[k]))
    }
}

impl<const N: usize> Sub for Plain<N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0, each(|k| self.1[k] - other.1[k]))
    }
}

#[allow(clippy::suspicious_arithmetic_impl, reason = "the derivative of a product is a sum")]
impl<const N: usize> Mul for Plain<N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self(self.0 * other.0, each(|k| self.1[k] * other.0 + other.1[k] * self.0))
    }
}

impl<const N: usize> Div for Plain<N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, other: Self) -> Self {
        let inverse = 1.0 / other.0;
        let quotient = self.0 * inverse;
        Self(quotient, each(|k| (self.1[k] - quotient * other.1[k]) * inverse))
    }
}

impl<const N: usize> Neg for Plain<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0, each(|k| -self.1[k]))
    }
}

impl<const N: usize> Plain<N> {
    #[inline(always)]
    pub(crate) fn number(value: f64) -> Self {
        Self(value, [0.0; N])
    }
    #[inline(always)]
    pub(crate) fn scaled(self, factor: f64) -> Self {
        self.chained(self.0 * factor, factor)
    }
    #[inline(always)]
    pub(crate) fn chained(self, value: f64, slope: f64) -> Self {
        Self(value, each(|k| slope * self.1[k]))
    }
}

/// Snavely's camera: the image of a point.
#[inline(always)]
pub(crate) fn plain_image<const N: usize>(c: &[Plain<N>; 9], x: &[Plain<N>; 3]) -> [Plain<N>; 2] {
    let square = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
    let root = square.0.sqrt();
    let angle = square.chained(root, 0.5 / root);
    let (s, r) = angle.0.sin_cos();
    let (sin, cos, one) = (angle.chained(s, r), angle.chained(r, -s), Plain::number(1.0));
    let inverse = one / angle;
    let w = [c[0] * inverse, c[1] * inverse, c[2] * inverse];
    let along = (w[0] * x[0] + w[1] * x[1] + w[2] * x[2]) * (one - cos);
    let across = [w[1] * x[2] - w[2] * x[1], w[2] * x[0] - w[0] * x[2], w[0] * x[1] - w[1] * x[0]];
    // Written out: a closure would not be inlined.
    let p = [
        x[0] * cos + across[0] * sin + w[0] * along + c[3],
        x[1] * cos + across[1] * sin + w[1] * along + c[4],
        x[2] * cos + across[2] * sin + w[2] * along + c[5],
    ];
    let (x, y) = (-p[0] / p[2], -p[1] / p[2]);
    let square = x * x + y * y;
    let scale = c[6] * (one + square * (c[7] + c[8] * square));
    [scale * x, scale * y]
}
