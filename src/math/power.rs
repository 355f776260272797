//! Roots, powers and distances.

use super::rules::{binary_rules, lit, unary_rules};
use core::f64::consts::FRAC_1_SQRT_2;
use tapewright_strategies::Float;

unary_rules! {
    /// √x; the slope at ±0 is +∞.
    Sqrt(x, y) = x.sqrt(), lit::<V>(0.5) / y.abs();
    /// ∛x; the slope at ±0 is +∞.
    Cbrt(x, y) = x.cbrt(), (lit::<V>(3.0) * y * y).recip();
    /// 1/x.
    Recip(x, y) = x.recip(), -(y * y);
}

binary_rules! {
    /// xʸ. ∂x is exactly 0 for y = 0, and ∂y for x = 0 and y > 0; the book has a table of conventions.
    Pow(x, y, v) = x.powf(y), power_x(x, y, v), power_y(x, y, v);
    /// xⁿ for a whole number n (exactly representable, an `i32` by construction).
    Powi(x, n, v) = x.powi(whole(n)), power_whole(x, n), V::zero();
    /// √(x² + y²) without overflow; NaN partials at the origin.
    Hypot(x, y, v) = x.hypot(y), toward(x, y, v), toward(y, x, v);
}

/// x/r where r = √(x² + y²), also where r is infinite or has lost digits. NaN at the origin.
#[inline(always)]
pub(super) fn toward<V: Float>(x: V, y: V, r: V) -> V {
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

/// ∂xʸ/∂x = y·x^(y−1), exactly 0 where xʸ = 1 whatever x is (y = 0), and where a NaN y does not matter (x = 1). A second
/// power is needed only where xʸ/x would not do.
#[inline(always)]
fn power_x<V: Float>(x: V, y: V, value: V) -> V {
    if y.is_zero() || (x.is_one() && y.is_nan()) {
        V::zero()
    } else if value.is_normal() {
        value / x * y
    } else {
        let power = x.powf(y - V::one());
        if power.is_zero() { power } else { y * power }
    }
}

/// ∂xʸ/∂y = xʸ·ln x, exactly 0 where xʸ = 0 and x ≥ 0 (so at x = 0, y > 0), and where a NaN does not matter (x = 1,
/// or y = 0). −∞ at (0, 0), NaN for x < 0: the IEEE limits.
#[inline(always)]
fn power_y<V: Float>(x: V, y: V, value: V) -> V {
    let constant = (value.is_zero() && x >= V::zero()) || (x.is_nan() && y.is_zero()) || x.is_one();
    if constant { V::zero() } else { value * x.ln() }
}

/// ∂xⁿ/∂x = n·xⁿ⁻¹, exactly 0 for n = 0.
#[inline(always)]
fn power_whole<V: Float>(x: V, n: V) -> V {
    if n.is_zero() { V::zero() } else { n * x.powi(whole(n).saturating_sub(1)) }
}

#[inline(always)]
fn whole<V: Float>(n: V) -> i32 {
    n.to_i32().unwrap_or(if n < V::zero() { i32::MIN } else { i32::MAX })
}
