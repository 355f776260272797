//! Circular functions.

use super::power::toward;
use crate::Float;
use crate::Unary;
use crate::rules::rule::{
    binary_rules, hash_name, is, lit, magnitude, one_minus_square, passive, unary_rules, with_slopes,
};

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
    /// arcsin x; slope +∞ at ±1.
    Asin(x, y) = x.asin(), one_minus_square(x).sqrt().recip(), is(x.abs(), 1.0);
    /// arccos x; slope −∞ at ±1.
    Acos(x, y) = x.acos(), -one_minus_square(x).sqrt().recip(), is(x.abs(), 1.0);
    /// arctan x.
    Atan(x, y) = x.atan(), if x.abs() < lit(1e15) { (V::one() + x * x).recip() } else { x.recip() * x.recip() };
    /// sin x/x, and 1 at 0.
    Sinc(x, y) = V::narrow(sinc(x.widen())), sinc_slope(x, y);
    /// Radians to degrees.
    ToDegrees(x, y) = x.to_degrees(), V::one().to_degrees();
    /// Degrees to radians.
    ToRadians(x, y) = x.to_radians(), V::one().to_radians();
}

binary_rules! {
    /// The angle of the point (y, x), left argument first, as in `y.atan2(x)`. NaN partials at the origin.
    Atan2(y, x, v) = y.atan2(x), around(x, y), -around(y, x);
}

fn sinc<V: Float>(x: V) -> V {
    if is(x, 0.0) {
        V::one()
    } else if x.is_infinite() {
        V::zero()
    } else {
        x.sin() / x
    }
}

/// (cos x − y)/x for y = sin x/x; near 0 by the series −x/3·(1 − x²/10 + …), whose derivatives are right, too.
fn sinc_slope<V: Float>(x: V, y: V) -> V {
    if x.is_infinite() {
        V::zero()
    } else if magnitude(x) < V::one() {
        let square = x * x;
        // Each term is −x²/((2k + 1)·2k)·k/(k − 1) times the one before.
        let ratio = |k: f64| lit::<V>(1.0 / ((4.0 * k + 2.0) * (k - 1.0)));
        let series = (2..=10).rev().fold(V::one(), |sum, k| V::one() - square * ratio(f64::from(k)) * sum);
        x * series * lit(-1.0 / 3.0)
    } else {
        (x.cos() - y) / x
    }
}

/// x/(x² + y²).
#[inline(always)]
fn around<V: Float>(x: V, y: V) -> V {
    if V::PARTS == 1 {
        return quotient(x, y);
    }
    let slope = quotient(passive(x), passive(y)).as_f64();
    if V::ORDER > 1 {
        return around_smooth(x, y).with_value(slope);
    }
    let (along, across) = (x.as_f64(), y.as_f64());
    if along.is_infinite() || across.is_infinite() {
        return lit(slope);
    }
    let r = along.hypot(across);
    let (u, v) = (toward(along, across, r), toward(across, along, r));
    // y² − x² as a product, of which the difference is exact.
    let difference = if (along < 0.0) == (across < 0.0) {
        (v + u) * ((across - along) / r)
    } else {
        (v - u) * ((across + along) / r)
    };
    with_slopes(slope, [(x, difference / r / r), (y, -2.0 * u * v / r / r)])
}

/// x/(x² + y²) with the derivatives of (x/r)/r, in which no square over- or underflows.
fn around_smooth<V: Float>(x: V, y: V) -> V {
    if x.is_infinite() || y.is_infinite() {
        return quotient(x, y);
    }
    let distance = x.hypot(y);
    toward(x, y, distance) / distance
}

#[inline(always)]
fn quotient<V: Float>(x: V, y: V) -> V {
    let square = x * x + y * y;
    if square.is_normal() { x / square } else { V::narrow(around_scaled(x.widen(), y.widen())) }
}

/// x/(x² + y²) where the squares overflow or have lost digits. NaN at the origin, 0 at infinity.
#[cold]
fn around_scaled<W: Float>(x: W, y: W) -> W {
    if (x.is_infinite() || y.is_infinite()) && !x.is_nan() && !y.is_nan() {
        return W::zero();
    }
    let scale = lit::<W>(2.0_f64.powi(if x.hypot(y) < W::one() { 540 } else { -540 }));
    let (x, y) = (x * scale, y * scale);
    let distance = x.hypot(y);
    x / distance / distance * scale
}
