//! Functions with kinks: absolute value, minima and maxima, signs, and smooth stand-ins.

use super::elementary::power::toward;
use super::rule::{binary_rules, hash_name, is, lit, magnitude, passive, unary_rules};
use crate::Binary;
use crate::Float;
use core::any::TypeId;

unary_rules! {
    /// |x|; the derivative at ±0 is 0.
    Abs(x, y) = x.abs(), if is(x, 0.0) { V::zero() } else { x.signum() };
    /// x − trunc x.
    Fract(x, y) = x.fract(), if y.is_nan() { y } else { V::one() };
}

binary_rules! {
    /// |x| with the sign of y; ∂x is 0 at x = ±0 as for |x|, ∂y is 0.
    CopySign(x, y, v) = x.copysign(y),
        if is(x, 0.0) { V::zero() } else { x.signum() * V::one().copysign(y) }, V::zero();
    /// √(x² + w²): |x| rounded off over a width w.
    SmoothAbs(x, w, v) = x.hypot(w), toward(x, w, v), toward(w, x, v);
    /// (√(d² + w²) − |d|)/2: how far a maximum or minimum, of two numbers d apart, is rounded off over a width w: not
    /// at all for w = 0. At d = 0 the derivative is the one from the right.
    Rounding(d, w, v) = if is(w, 0.0) { V::zero() } else { half(w * excess(d, w, d.hypot(w))) }, closing(d, w),
        half(toward(w, d, d.hypot(w)));
    /// x − y if that is positive, else 0. At a tie the slopes are the slopes of x − y.
    PositiveDifference(x, y, v) = if x <= y { V::zero() } else { x - y }, above(x, y, v), -above(x, y, v);
}

/// 1 for x ≥ y, else 0; NaN if the value is.
#[inline(always)]
fn above<V: Float>(x: V, y: V, value: V) -> V {
    if x < y {
        V::zero()
    } else if value.is_nan() {
        value
    } else {
        V::one()
    }
}

#[inline(always)]
fn half<V: Float>(x: V) -> V {
    lit::<V>(0.5) * x
}

/// w/(`distance` + |d|) with `distance` = √(d² + w²), also where the sum is infinite or has lost digits.
#[inline(always)]
fn excess<V: Float>(d: V, w: V, distance: V) -> V {
    let sum = distance + magnitude(d);
    if sum.is_normal() {
        w / sum
    } else if d.is_nan() {
        d
    } else {
        toward(w, d, distance) / (V::one() + toward(magnitude(d), w, distance))
    }
}

/// The derivative of [`Rounding`] for d: ½·(d/√(d² + w²) ∓ 1), of which the value would cancel.
#[inline(always)]
fn closing<V: Float>(d: V, w: V) -> V {
    if is(w, 0.0) {
        return V::zero();
    }
    if V::PARTS == 1 {
        closing_value(d, w)
    } else {
        half(toward(d, w, d.hypot(w))).with_value(closing_value(passive(d), passive(w)).as_f64())
    }
}

#[inline(always)]
fn closing_value<V: Float>(d: V, w: V) -> V {
    let distance = d.hypot(w);
    let slope = half(toward(w, d, distance) * excess(d, w, distance));
    if d < V::zero() { slope } else { -slope }
}

/// Defines a rule that returns one of its arguments, from a row `Name(x, y) = value, whether the left one is it;`. The
/// partial for that one is 1, and NaN if it is a NaN.
macro_rules! selecting_rules {
    ($($(#[$doc:meta])* $name:ident($x:ident, $y:ident) = $value:expr, $left:expr;)*) => { $(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        impl Binary for $name {
            const HASH: u32 = hash_name(stringify!($name));
            const SELECTS: bool = true;
            #[inline(always)]
            fn value<V: Float>($x: V, $y: V) -> V { $value }
            #[inline(always)]
            fn partial_left<V: Float>(_: V, _: V, value: V) -> V { if value.is_nan() { value } else { V::one() } }
            #[inline(always)]
            fn partial_right<V: Float>(x: V, y: V, value: V) -> V { Self::partial_left(x, y, value) }
            #[inline(always)]
            fn selects_left<V: Float>($x: V, $y: V) -> bool { $left }
        }
    )* };
}

selecting_rules! {
    /// The larger; at a tie the left one, and not a NaN if it can be helped.
    Max(x, y) = if x >= y || y.is_nan() { x } else { y }, x >= y || y.is_nan();
    /// The smaller; at a tie the left one, and not a NaN if it can be helped.
    Min(x, y) = if x <= y || y.is_nan() { x } else { y }, x <= y || y.is_nan();
    /// x, but at least y; a NaN stays.
    AtLeast(x, y) = if x < y { y } else { x }, x >= y || x.is_nan();
    /// x, but at most y; a NaN stays.
    AtMost(x, y) = if x > y { y } else { x }, x <= y || x.is_nan();
}

/// Returns true for the functions here that return one of their arguments. The partial for that one is 1, and NaN if
/// the value is.
#[inline(always)]
pub(crate) fn returns_argument<R: 'static>() -> bool {
    let this = TypeId::of::<R>();
    this == TypeId::of::<Max>()
        || this == TypeId::of::<Min>()
        || this == TypeId::of::<AtLeast>()
        || this == TypeId::of::<AtMost>()
}
