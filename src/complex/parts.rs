//! Complex arithmetic over the numbers of rules.

use core::ops::{Add, Mul, Neg, Sub};
use tapewright_strategies::Float;

/// A complex number over the numbers that rules compute with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts<V> {
    /// The real part.
    pub(super) re: V,
    /// The imaginary part.
    pub(super) im: V,
}

/// A complex number in double precision.
pub(super) type Point = Parts<f64>;

/// The complex number with these parts.
pub(super) const fn parts<V>(re: V, im: V) -> Parts<V> {
    Parts { re, im }
}

impl<V: Float> Parts<V> {
    /// A real constant.
    pub(super) fn real(value: f64) -> Self {
        parts(V::from_f64(value), V::ZERO)
    }

    /// The product with i, by an exchange of the parts.
    pub(super) fn times_i(self) -> Self {
        parts(-self.im, self.re)
    }

    /// The product with a real constant.
    pub(super) fn scale(self, factor: f64) -> Self {
        parts(self.re * V::from_f64(factor), self.im * V::from_f64(factor))
    }

    /// The values, without derivatives.
    pub(super) fn point(self) -> Point {
        parts(self.re.as_f64(), self.im.as_f64())
    }

    /// The number with another value and the same derivatives.
    pub(super) fn with_value(self, value: Point) -> Self {
        parts(self.re.with_value(value.re), self.im.with_value(value.im))
    }

    /// The number in double precision.
    pub(super) fn widen(self) -> Parts<V::Wide> {
        parts(self.re.widen(), self.im.widen())
    }

    /// Rounds from double precision.
    pub(super) fn narrow(wide: Parts<V::Wide>) -> Self {
        parts(V::narrow(wide.re), V::narrow(wide.im))
    }
}

impl Point {
    /// Returns true if both parts are 0, of either sign.
    pub(super) fn is_zero(self) -> bool {
        self.re == 0.0 && self.im == 0.0
    }
}

impl<V: Float> Add for Parts<V> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        parts(self.re + other.re, self.im + other.im)
    }
}

impl<V: Float> Sub for Parts<V> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        parts(self.re - other.re, self.im - other.im)
    }
}

impl<V: Float> Mul for Parts<V> {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        parts(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

impl<V: Float> Neg for Parts<V> {
    type Output = Self;
    fn neg(self) -> Self {
        parts(-self.re, -self.im)
    }
}
