//! Logarithms of probabilities and of their differences, and products with logarithms.

use super::exponential::sigmoid;
use crate::Float;
use crate::rules::rule::{binary_rules, is, lit, unary_rules, zero_with_slope};
use core::f64::consts::LN_2;

unary_rules! {
    /// ln(1 − eˣ) for x ≤ 0; −∞ at 0, where the slope is −∞.
    Log1mExp(x, y) = V::narrow(log1m_exp(x.widen())), log1m_exp_slope(x), is(x, 0.0);
    /// x·ln x; 0 at 0, where the slope is −∞.
    XLnX(x, y) = V::narrow(times_logarithm(x.widen(), x.widen())), x.ln() + V::one(), is(x, 0.0);
    /// ln(p/(1 − p)); the slope is +∞ at 0 and at 1.
    Logit(p, y) = V::narrow(logit(p.widen())), logit_slope(p), is(p, 0.0) || is(p, 1.0);
    /// ln σ(x) = −ln(1 + e⁻ˣ), without overflow.
    LnSigmoid(x, y) = V::narrow(ln_sigmoid(x.widen())), sigmoid(-x).0;
}

binary_rules! {
    /// ln(eˣ − eʸ) for x ≥ y, without overflow; −∞ for equal arguments, where the slopes are +∞ and −∞.
    LogDiffExp(x, y, v) = V::narrow(log_diff_exp(x.widen(), y.widen())),
        -below(gap(x, y)).recip(), log1m_exp_slope(gap(x, y)), is(x, y.as_f64());
    /// x·ln y; 0 for x = 0 and y ≥ 0. At y = 0 the slope for x is −∞, and the one for y is infinite unless x is 0.
    XLogY(x, y, v) = V::narrow(times_logarithm(x.widen(), y.widen())), y.ln(), quotient(x, y), is(y, 0.0);
    /// x·ln(1 + y); 0 for x = 0 and y ≥ −1. At y = −1 as x·ln y at 0.
    XLog1pY(x, y, v) = V::narrow(times_logarithm_1p(x.widen(), y.widen())), y.ln_1p(), quotient(x, V::one() + y),
        is(y, -1.0);
}

/// ln(1 − eˣ), by the form that does not cancel (Mächler, "Accurately computing log(1 − exp(−|a|))", 2012).
fn log1m_exp<V: Float>(x: V) -> V {
    if x > lit(-LN_2) { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

/// By the larger of two numbers and the difference.
fn log_diff_exp<V: Float>(x: V, y: V) -> V {
    if is(x, y.as_f64()) && x < V::infinity() { V::neg_infinity() } else { x + log1m_exp(y - x) }
}

fn ln_sigmoid<V: Float>(x: V) -> V {
    x.min(V::zero()) - (-x.abs()).exp().ln_1p()
}

/// −eˣ/(1 − eˣ).
fn log1m_exp_slope<V: Float>(x: V) -> V {
    x.exp() / below(x)
}

/// eˣ − 1 for x ≤ 0, and −0 at 0, so that its reciprocal is the limit from the left; NaN for x > 0.
fn below<V: Float>(x: V) -> V {
    if x > V::zero() {
        V::nan() * x
    } else if is(x, 0.0) {
        x.exp_m1().with_value(-0.0)
    } else {
        x.exp_m1()
    }
}

/// y − x, and 0 if both are −∞.
fn gap<V: Float>(x: V, y: V) -> V {
    if is(x, f64::NEG_INFINITY) && is(y, f64::NEG_INFINITY) { (y - x).with_value(0.0) } else { y - x }
}

/// Next to ½ by ln(1 + (2p − 1)/(1 − p)), whose numerator is exact.
fn logit<V: Float>(p: V) -> V {
    let rest = V::one() - p;
    if p > lit(0.3) && p < lit(0.65) { ((p - lit(0.5) + (p - lit(0.5))) / rest).ln_1p() } else { (p / rest).ln() }
}

/// 1/(p·(1 − p)).
fn logit_slope<V: Float>(p: V) -> V {
    if p < V::zero() || p > V::one() { V::nan() * p } else { ((p + V::zero()) * (V::one() - p)).recip() }
}

fn times_logarithm<V: Float>(x: V, y: V) -> V {
    if is(x, 0.0) && y >= V::zero() { V::zero() } else { x * y.ln() }
}

fn times_logarithm_1p<V: Float>(x: V, y: V) -> V {
    if is(x, 0.0) && y >= -V::one() { V::zero() } else { x * y.ln_1p() }
}

/// x/z, the slope of x·ln z for z. It is 0 where both are 0, as for all other z where x is 0.
fn quotient<V: Float>(x: V, z: V) -> V {
    if z < V::zero() {
        V::nan() * x * z
    } else if is(x, 0.0) && is(z, 0.0) {
        zero_with_slope(x, V::infinity())
    } else {
        x / (z + V::zero()) // the sum turns −0 into 0
    }
}
