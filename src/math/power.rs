//! Roots, powers and distances.

use super::rules::{binary_rules, lit, unary_rules};
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
    /// xʸ. See [`power_x`] and [`power_y`] for the partials at x = 0, x < 0 and y = 0.
    Pow(x, y, v) = x.powf(y), power_x(x, y), power_y(x, y, v);
    /// xⁿ for a whole number n (exactly representable, an `i32` by construction).
    Powi(x, n, v) = x.powi(whole(n)), power_whole(x, n), V::zero();
    /// √(x² + y²) without overflow; NaN partials at the origin.
    Hypot(x, y, v) = x.hypot(y), if v.is_infinite() { x.signum() } else { x / v },
        if v.is_infinite() { y.signum() } else { y / v };
}

/// ∂xʸ/∂x = y·x^(y−1), exactly 0 where xʸ = 1 whatever x is (y = 0), and where a NaN y does not matter (x = 1).
#[inline(always)]
fn power_x<V: Float>(x: V, y: V) -> V {
    if y.is_zero() || (x.is_one() && y.is_nan()) { V::zero() } else { y * x.powf(y - V::one()) }
}

/// ∂xʸ/∂y = xʸ·ln x, exactly 0 where xʸ = 0 for all y nearby (x = 0, y > 0), and where a NaN does not matter (1^NaN,
/// NaN⁰). −∞ at (0, 0), NaN for x < 0: the IEEE limits.
#[inline(always)]
fn power_y<V: Float>(x: V, y: V, value: V) -> V {
    let constant = (x.is_zero() && y > V::zero()) || (x.is_nan() && y.is_zero()) || x.is_one();
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
