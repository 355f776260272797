//! Logarithms of ratios of gamma functions, and their slopes, without the cancellation of differences of ln Γ.

use super::beta::{LARGE, digamma_quotient, stirling_rest};
use super::quadrature::integrate;
use crate::rules::rule::{binary_rules, is, lit, product, unary_rules, with_slopes, zero_with_slope};
use crate::{Float, Number as _};
use core::f64::consts::PI;

unary_rules! {
    /// ln Γ(1 + x) for x > −1, exact near 0.
    LnGamma1p(x, y) = V::from_f64(ln_gamma_1p(x.as_f64())), (V::ONE + x).digamma();
}

binary_rules! {
    /// ln(Γ(1 + x + y)/(Γ(1 + x)Γ(1 + y))), the logarithm of x + y over x, for x, y and x + y above −1. Exact near
    /// x = 0 and y = 0, where it is 0.
    LnRatio(x, y, v) = V::from_f64(ln_ratio(x.as_f64(), y.as_f64())),
        V::narrow(digamma_rise(V::Wide::ONE + x.widen(), y.widen())),
        V::narrow(digamma_rise(V::Wide::ONE + y.widen(), x.widen()));
    /// ln B(x, y) = ln Γ(x) + ln Γ(y) − ln Γ(x + y) for x, y ≥ 0. At 0 it is ∞ with slope −∞.
    LnBeta(x, y, v) = V::from_f64(ln_beta(x.as_f64(), y.as_f64())),
        V::narrow(ln_beta_slope(x.widen(), y.widen())), V::narrow(ln_beta_slope(y.widen(), x.widen())),
        is(x, 0.0) || is(y, 0.0);
    /// ln (x choose y) = ln Γ(x + 1) − ln Γ(y + 1) − ln Γ(x − y + 1) for real x > −1 and −1 ≤ y ≤ x + 1; −∞ with an
    /// infinite slope at the ends, NaN outside. Exact near y = 0 and y = x, where it is 0.
    LnChoose(x, y, v) = V::from_f64(ln_choose(x.as_f64(), y.as_f64())),
        V::narrow(ln_choose_slopes(x.widen(), y.widen()).0), V::narrow(ln_choose_slopes(x.widen(), y.widen()).1),
        is(y, -1.0) || is(x - y, -1.0);
}

/// ln Γ(1 + x) = x·∫ψ(1 + x·u) over u from 0 to 1 for small x.
fn ln_gamma_1p(x: f64) -> f64 {
    if x.abs() > 0.5 {
        return libm::lgamma(1.0 + x);
    }
    x * integrate(1.0, |u| (1.0 + x * u).digamma())
}

/// ψ(x + h) − ψ(x) for positive x and x + h. With h ≥ x next to the pole, and for huge h, slopes are differences of
/// those of ψ; those of the quotient would cancel.
fn digamma_rise<W: Float>(x: W, h: W) -> W {
    if h.is_infinite() {
        return h;
    }
    let beyond_pole = x > W::ONE;
    let rise =
        if beyond_pole { h * digamma_quotient(x, h) } else { h / (x + h) / x + h * digamma_quotient(x + W::ONE, h) };
    if W::PARTS == 1 || h < lit::<W>(0.5) * x || beyond_pole && h < lit(1e100) {
        return rise;
    }
    ((x + h).digamma() - x.digamma()).with_value(rise.as_f64())
}

/// The value of [`LnRatio`]: by Stirling's series for large numbers. Otherwise its first factor and what is left, which
/// is the integral of ψ(2 + a + b·u) − ψ(2 + b·u) by b·u from 0 to b, the smaller of the two.
fn ln_ratio(x: f64, y: f64) -> f64 {
    let (b, a) = if x < y { (x, y) } else { (y, x) };
    if b.is_nan() || a.is_nan() || b < -1.0 || a + b <= -1.0 {
        return f64::NAN;
    }
    if b == 0.0 {
        return 0.0;
    }
    if a.is_infinite() {
        return if b > 0.0 { f64::INFINITY } else { f64::NEG_INFINITY };
    }
    if b >= LARGE {
        return ((a + b) / a / b).ln() - ln_beta_stirling(a, b);
    }
    (a / (1.0 + a + b) * b).ln_1p() + integrate(b, |s| a * digamma_quotient(2.0 + s, a))
}

/// ln B(a, b) for a ≥ b ≥ 10 (Didonato and Morris, ACM TOMS 18, 1992, procedure BETALN).
fn ln_beta_stirling(a: f64, b: f64) -> f64 {
    let ratio = b / a;
    let correction = stirling_rest(a) + stirling_rest(b) - stirling_rest(a + b);
    0.5 * (2.0 * PI / a).ln() + correction + (b - 0.5) * (ratio / (1.0 + ratio)).ln() - a * ratio.ln_1p()
}

fn ln_beta(x: f64, y: f64) -> f64 {
    let (b, a) = if x < y { (x, y) } else { (y, x) };
    if b.is_nan() || a.is_nan() || b < 0.0 || (b == 0.0 && a.is_infinite()) {
        f64::NAN
    } else if a.is_infinite() {
        f64::NEG_INFINITY
    } else if a == 0.0 {
        f64::INFINITY
    } else if b >= LARGE {
        ln_beta_stirling(a, b)
    } else {
        ((b / a).ln_1p() - b.ln()) - ln_ratio(a, b)
    }
}

/// ψ(x) − ψ(x + y).
fn ln_beta_slope<W: Float>(x: W, y: W) -> W {
    if is(x, 0.0) && y >= W::ZERO && y.is_finite() {
        return W::neg_infinity() + zero_with_slope(x, W::infinity()) + zero_with_slope(y, -y.polygamma(1));
    }
    if !(x > W::ZERO && y >= W::ZERO) || x.is_infinite() && is(y, 0.0) {
        return W::nan() * (x + y);
    }
    if x.is_infinite() {
        return W::ZERO;
    }
    if W::ORDER == 1 && x < lit(1e-100) {
        return ln_beta_slope_of_tiny(x, y);
    }
    -digamma_rise(x, y)
}

/// The slope of ln B by x for x ≪ 1, whose derivatives are 1/x² − 1/(x + y)² and −1/(x + y)² or nearly so.
fn ln_beta_slope_of_tiny<W: Float>(x: W, y: W) -> W {
    let (small, other) = (x.as_f64(), y.as_f64());
    let sum = small + other;
    let twice = product(other / sum / small, small.recip() + sum.recip());
    let mixed = if sum < 1e-50 { -sum.recip() / sum } else { -sum.polygamma(1) };
    with_slopes(-digamma_rise(small, other), [(x, twice), (y, mixed)])
}

fn ln_choose(n: f64, k: f64) -> f64 {
    let rest = n - k;
    if n > -1.0 && (k == -1.0 || rest == -1.0) { f64::NEG_INFINITY } else { ln_ratio(k, rest) }
}

/// ψ(n + 1) − ψ(n − k + 1) and ψ(n − k + 1) − ψ(k + 1).
fn ln_choose_slopes<W: Float>(n: W, k: W) -> (W, W) {
    let rest = n - k;
    if !(n > -W::ONE && k >= -W::ONE && rest >= -W::ONE) {
        return (W::nan() * (n + k), W::nan() * (n + k));
    }
    if is(rest, -1.0) {
        let by_rest = zero_with_slope(rest, W::neg_infinity());
        return (W::infinity() + by_rest, W::neg_infinity() - by_rest);
    }
    if is(k, -1.0) {
        // The slope by n is that of an ordinary point, −1/(n + 1).
        let by_k = zero_with_slope(k, W::neg_infinity()) + zero_with_slope(rest, (rest + W::ONE).polygamma(1));
        return (digamma_rise(rest + W::ONE, k), W::infinity() + by_k);
    }
    let difference =
        if rest >= k { digamma_rise(k + W::ONE, rest - k) } else { -digamma_rise(rest + W::ONE, k - rest) };
    (digamma_rise(rest + W::ONE, k), difference)
}
