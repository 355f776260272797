//! Roots, powers and distances.

use crate::rules::rule::{
    binary_rules, is, lit, magnitude, passive, times_square, unary_rules, with_slopes, zero_with_slope,
};
use crate::{Float, Number as _};
use core::f64::consts::FRAC_1_SQRT_2;
use core::ops::RangeInclusive;

unary_rules! {
    /// √x; the slope at ±0 is +∞.
    Sqrt(x, y) = x.sqrt(), lit::<V>(0.5) / (y + V::zero()), is(x, 0.0);
    /// ∛x; the slope at ±0 is +∞.
    Cbrt(x, y) = x.cbrt(), if is(x, 0.0) { magnitude(x.recip()) } else { (lit::<V>(3.0) * y * y).recip() }, is(x, 0.0);
    /// x².
    Square(x, y) = x * x, x + x;
    /// 1/x.
    Recip(x, y) = x.recip(), -(y * y), is(x, 0.0);
}

binary_rules! {
    /// xʸ. ∂x is exactly 0 for y = 0, and ∂y for x = 0 and y > 0; the book has a table of conventions.
    Pow(x, y, v) = x.powf(y), power_x(x, y, v), power_y(x, y, v), is(x, 0.0);
    /// xⁿ for a whole number n (exactly representable, an `i32` by construction).
    Powi(x, n, v) = x.powi(whole(n)), power_whole(x, n), V::zero(), is(x, 0.0);
    /// √(x² + y²) without overflow; NaN partials at the origin.
    Hypot(x, y, v) = x.hypot(y), toward(x, y, v), toward(y, x, v);
}

/// x/r where r = √(x² + y²), also where r is infinite or has lost digits. NaN at the origin.
#[inline(always)]
pub(crate) fn toward<V: Float>(x: V, y: V, r: V) -> V {
    if V::PARTS == 1 {
        return quotient(x, y, r);
    }
    let slope = quotient(passive(x), passive(y), passive(r)).as_f64();
    if V::ORDER > 1 {
        return toward_smooth(x, y, r).with_value(slope);
    }
    let (across, r) = (quotient(passive(y), passive(x), passive(r)).as_f64(), r.as_f64());
    with_slopes(slope, [(x, across * across / r), (y, -slope * across / r)])
}

/// x/r with the derivatives of ±1/√(1 + (y/x)²) or ±(x/y)/√(1 + (x/y)²): those of the quotient cancel where |x| is the
/// larger.
fn toward_smooth<V: Float>(x: V, y: V, r: V) -> V {
    if x.is_infinite() || y.is_infinite() {
        return quotient(x, y, r);
    }
    let slope = |ratio: V| (V::one() + ratio * ratio).sqrt().recip();
    if magnitude(x) > magnitude(y) { x.signum() * slope(y / x) } else { y.signum() * (x / y) * slope(x / y) }
}

#[inline(always)]
fn quotient<V: Float>(x: V, y: V, r: V) -> V {
    if r.is_normal() { x / r } else { toward_scaled(x, y, r) }
}

#[cold]
fn toward_scaled<V: Float>(x: V, y: V, r: V) -> V {
    match (x.is_infinite(), y.is_infinite()) {
        (true, true) => x.signum() * lit(FRAC_1_SQRT_2),
        (true, false) => x.signum(),
        (false, true) => V::zero(),
        (false, false) => {
            let scale = lit(if r.is_infinite() { 0.25 } else { 1e18 });
            x * scale / (x * scale).hypot(y * scale)
        }
    }
}

/// Returns true if a number is so large that it has all digits.
#[inline(always)]
fn has_all_digits<V: Float>(x: V) -> bool {
    magnitude(x) >= V::min_positive_value()
}

/// ∂xʸ/∂x with its derivatives.
#[inline(always)]
fn power_x<V: Float>(x: V, y: V, value: V) -> V {
    if is_steep(x) {
        power_bent(power_slope_x(passive(x), passive(y), passive(value)), x, y, 0)
    } else {
        power_slope_x(x, y, value)
    }
}

/// ∂xʸ/∂y with its derivatives.
#[inline(always)]
fn power_y<V: Float>(x: V, y: V, value: V) -> V {
    if is_steep(x) {
        power_bent(power_slope_y(passive(x), passive(y), passive(value)), x, y, 1)
    } else {
        power_slope_y(x, y, value)
    }
}

/// Returns true over duals if 1/x², of which derivatives of quotients by x are made, overflows.
#[inline(always)]
fn is_steep<V: Float>(x: V) -> bool {
    V::ORDER == 1 && passive(x) * passive(x) < V::min_positive_value()
}

/// The partial for x (0) or y (1) with its own derivatives, for x next to 0. For x < 0 those by y are NaN.
#[cold]
fn power_bent<V: Float>(slope: V, x: V, y: V, by: usize) -> V {
    if slope.is_nan() {
        return V::nan() * x * y;
    }
    let (base, exponent) = (x.as_f64(), y.as_f64());
    let bend = |factor: f64, less: f64| {
        let odd = base.is_sign_negative() && ((exponent - less) % 2.0).abs() == 1.0;
        let size = if factor == 0.0 { 0.0 } else { in_halves(factor, base.abs(), exponent - less) };
        if odd { -size } else { size }
    };
    let growth = if exponent == 0.0 { 1.0 } else { 1.0 + exponent * base.ln() };
    let (mixed, slope) = (bend(growth, 1.0), slope.as_f64());
    if by == 0 {
        with_slopes(slope, [(x, bend(exponent * (exponent - 1.0), 2.0)), (y, mixed)])
    } else {
        with_slopes(slope, [(x, mixed), (y, bend(base.ln() * base.ln(), 0.0))])
    }
}

/// y·xʸ⁻¹, exactly 0 where xʸ = 1 whatever x is (y = 0), and where a NaN y does not matter (x = 1). Powers of its own
/// are needed only where xʸ/x would not do.
#[inline(always)]
fn power_slope_x<V: Float>(x: V, y: V, value: V) -> V {
    let ratio = value / x;
    let slope = ratio * y;
    let exact = has_all_digits(value) & has_all_digits(ratio) & (magnitude(slope) < V::infinity());
    if exact { slope } else { power_x_apart(x, y, value) }
}

#[cold]
fn power_x_apart<V: Float>(x: V, y: V, value: V) -> V {
    if is(y, 0.0) {
        zero_with_slope(y, x.recip())
    } else if is(x, 1.0) && y.is_nan() {
        V::zero()
    } else if is(x, 0.0) || x.is_infinite() || y.is_infinite() {
        let power = x.powf(y - V::one());
        if is(power, 0.0) && y.is_infinite() { power } else { y * power }
    } else if value.is_nan() {
        value
    } else {
        let slope = V::narrow(in_halves(y.widen(), magnitude(x.widen()), y.widen() - V::Wide::ONE));
        if value.is_sign_negative() == (x < V::zero()) { slope } else { -slope }
    }
}

/// xʸ·ln x, exactly 0 at x = 0, y > 0, and where a NaN does not matter (x = 1, or y = 0). At x = 0, y ≤ 0 that is −∞,
/// and ∞ if x is −0 and xʸ is −∞. NaN for x < 0: the IEEE limits.
#[inline(always)]
fn power_slope_y<V: Float>(x: V, y: V, value: V) -> V {
    if value.is_normal() & !x.is_nan() { value * x.ln() } else { power_y_apart(x, y, value) }
}

#[cold]
fn power_y_apart<V: Float>(x: V, y: V, value: V) -> V {
    if x < V::zero() {
        V::nan() * x * y
    } else if x.is_nan() && is(y, 0.0) {
        V::zero()
    } else if is(x, 0.0) || x.is_infinite() {
        if is(value, 0.0) { power_y_at_zero(x, y) } else { value * x.ln() }
    } else {
        V::narrow(in_halves(x.widen().ln(), x.widen(), y.widen()))
    }
}

/// The partial of xʸ by y where x is 0 and y > 0, or both are infinite and xʸ is 0: it is 0, and ∂/∂x of it is xʸ⁻¹·(1
/// + y·ln x).
#[cold]
fn power_y_at_zero<V: Float>(x: V, y: V) -> V {
    let power = x.powf(y - V::one());
    if is(power, 0.0) || x.is_infinite() { V::zero() } else { zero_with_slope(x, power * (V::one() + y * x.ln())) }
}

/// Exponents whose powers are right to 64 roundings, which is 10⁻¹⁴ in double precision, by multiplication alone.
const SMALL: RangeInclusive<i32> = -64..=64;

/// ∂xⁿ/∂x = n·xⁿ⁻¹, exactly 0 for n = 0. A negative power is 1/x⁻ⁿ⁺¹ and vanishes where that overflows.
#[inline(always)]
fn power_whole<V: Float>(x: V, n: V) -> V {
    let exponent = whole(n);
    let slope = n * x.powi(exponent.saturating_sub(1));
    if SMALL.contains(&exponent) & (magnitude(slope) > V::zero() || is(x, 0.0) && exponent > 0) {
        slope
    } else {
        power_whole_apart(x, exponent)
    }
}

#[cold]
fn power_whole_apart<V: Float>(x: V, n: i32) -> V {
    if n == 0 {
        return V::zero();
    }
    let n_wide = V::Wide::from_f64(f64::from(n));
    let slope = V::narrow(in_halves(n_wide, magnitude(x.widen()), n_wide - V::Wide::ONE));
    if x.is_sign_negative() && n % 2 == 0 { -slope } else { slope }
}

/// factor·xʸ, where xʸ may overflow or have lost digits although the product is an ordinary number. 0 where xʸ is,
/// whatever the factor.
fn in_halves<W: Float>(factor: W, x: W, y: W) -> W {
    times_square(factor, x.powf(lit::<W>(0.5) * y))
}

#[inline(always)]
pub(crate) fn whole<V: Float>(n: V) -> i32 {
    n.to_i32().unwrap_or(if n < V::zero() { i32::MIN } else { i32::MAX })
}
