//! Circular functions.

use super::Unary;
use super::rules::{binary_rules, hash_name, lit, unary_rules};
use core::f64::consts::PI;
use tapewright_strategies::Float;

/// sin x, with cos x as companion: one call computes both.
#[derive(Debug)]
pub struct Sin;
impl Unary for Sin {
    const HASH: u32 = hash_name("Sin");
    #[inline(always)]
    fn value<V: Float>(x: V) -> V {
        x.sin()
    }
    #[inline(always)]
    fn derivative<V: Float>(x: V, _: V) -> V {
        x.cos()
    }
    #[inline(always)]
    fn value_and_companion<V: Float>(x: V) -> (V, V) {
        x.sin_cos()
    }
    #[inline(always)]
    fn derivative_with_companion<V: Float>(_: V, _: V, cos: V) -> V {
        cos
    }
}

/// cos x, with sin x as companion.
#[derive(Debug)]
pub struct Cos;
impl Unary for Cos {
    const HASH: u32 = hash_name("Cos");
    #[inline(always)]
    fn value<V: Float>(x: V) -> V {
        x.cos()
    }
    #[inline(always)]
    fn derivative<V: Float>(x: V, _: V) -> V {
        -x.sin()
    }
    #[inline(always)]
    fn value_and_companion<V: Float>(x: V) -> (V, V) {
        let (sin, cos) = x.sin_cos();
        (cos, sin)
    }
    #[inline(always)]
    fn derivative_with_companion<V: Float>(_: V, _: V, sin: V) -> V {
        -sin
    }
}

unary_rules! {
    /// tan x.
    Tan(x, y) = x.tan(), V::one() + y * y;
    /// arcsin x; ±∞ slope at ±1.
    Asin(x, y) = x.asin(), ((V::one() - x) * (V::one() + x)).sqrt().recip();
    /// arccos x; ∓∞ slope at ±1.
    Acos(x, y) = x.acos(), -((V::one() - x) * (V::one() + x)).sqrt().recip();
    /// arctan x.
    Atan(x, y) = x.atan(), (V::one() + x * x).recip();
    /// Radians to degrees.
    ToDegrees(x, y) = x * lit(180.0 / PI), lit(180.0 / PI);
    /// Degrees to radians.
    ToRadians(x, y) = x * lit(PI / 180.0), lit(PI / 180.0);
}

binary_rules! {
    /// The angle of the point (y, x), left argument first, as in `y.atan2(x)`. NaN partials at the origin.
    Atan2(y, x, v) = y.atan2(x), { let r = y.hypot(x); x / r / r }, { let r = y.hypot(x); -(y / r) / r };
}
