//! Special functions of `f64`, from `libm`, `statrs` and `special`.

use core::f64::consts::{PI, SQRT_2};
use statrs::function::erf as inverse;

pub(crate) use libm::{erf, erfc, lgamma as ln_gamma, tgamma as gamma};

/// ψ(x); for x < 0 by ψ(x) = ψ(1 − x) − π/tan πx, with x reduced to a period first.
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        -x.recip()
    } else if x < 0.0 {
        ::statrs::function::gamma::digamma(1.0 - x) - PI / (PI * past_pole(x)).tan()
    } else {
        ::statrs::function::gamma::digamma(x)
    }
}

/// ψ′(x); for x < 0 by ψ′(x) = (π/sin πx)² − ψ′(1 − x), with x reduced to a period first.
fn trigamma(x: f64) -> f64 {
    if x == 0.0 {
        f64::INFINITY
    } else if x < 0.0 {
        let ratio = PI / (PI * past_pole(x)).sin();
        ratio * ratio - ::special::Gamma::trigamma(&(1.0 - x))
    } else {
        ::special::Gamma::trigamma(&x)
    }
}

/// Signed distance from the nearest integer; NaN if x is an integer.
fn past_pole(x: f64) -> f64 {
    let distance = x - x.round();
    if distance == 0.0 { f64::NAN } else { distance }
}

/// Φ⁻¹(p) from the inverse error functions, polished by one Newton step. Near the ends it starts from erfc⁻¹, near the
/// middle from erf⁻¹, and above the middle it is the quantile of 1 − p, so that no digits cancel.
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    if p <= 0.0 || p.is_nan() {
        return if p == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    let (z, excess): (f64, fn(f64, f64) -> f64) = if p < 0.25 {
        (-SQRT_2 * inverse::erfc_inv(2.0 * p), |z, p| 0.5 * erfc(-z / SQRT_2) - p)
    } else {
        (SQRT_2 * inverse::erf_inv(2.0 * (p - 0.5)), |z, p| 0.5 * erf(z / SQRT_2) - (p - 0.5))
    };
    let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
    if density > f64::MIN_POSITIVE { z - excess(z, p) / density } else { z }
}

/// The Bernoulli numbers B₂, B₄, …, B₂₀.
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174_611.0 / 330.0,
];

/// The last order of polygamma functions: eight derivatives of those that the rules have, whose last one is the
/// twelfth.
const LAST_ORDER: u32 = 20;

/// ψ⁽ⁿ⁾(x) for n ≤ [`LAST_ORDER`]; NaN for other n. For x > 0 by ψ⁽ⁿ⁾(x) = ψ⁽ⁿ⁾(x + 1) + (−1)ⁿ⁺¹·n!/xⁿ⁺¹ up to where
/// the asymptotic series is exact to double precision (Abramowitz and Stegun, 6.4.6 and 6.4.11); for x < 0 by
/// reflection (6.4.7), with x reduced to a period first.
pub(crate) fn polygamma(n: u32, x: f64) -> f64 {
    if n > LAST_ORDER || x.is_nan() {
        return f64::NAN;
    }
    if n < 2 {
        return if n == 0 { digamma(x) } else { trigamma(x) };
    }
    let even = n.is_multiple_of(2);
    if x == 0.0 {
        return if even { -x.recip() } else { f64::INFINITY };
    }
    if x > 0.0 {
        return if even { -polygamma_size(n, x) } else { polygamma_size(n, x) };
    }
    if x > -1e-100 {
        let pole = (1..=n).fold(-x.recip(), |term, k| term * f64::from(k) / x);
        return if even { pole } else { -pole }; // n!/|x|ⁿ⁺¹: the rest is negligible
    }
    // ψ⁽ⁿ⁾(1 − x) + (−1)ⁿ⁺¹·ψ⁽ⁿ⁾(x) = (−1)ⁿ·π·dⁿ/dxⁿ cot πx.
    let cotangent = (PI * past_pole(x)).tan().recip();
    -polygamma_size(n, 1.0 - x) - PI * cotangent_derivative(n, cotangent)
}

/// |ψ⁽ⁿ⁾(x)| for x > 0.
fn polygamma_size(n: u32, mut x: f64) -> f64 {
    let (order, exponent) = (f64::from(n), n.cast_signed());
    let factorial: f64 = (1..=n).map(f64::from).product();
    let mut sum = 0.0;
    while x < 20.0 + order {
        sum += factorial * x.powi(-exponent - 1);
        x += 1.0;
    }
    let square = (x * x).recip();
    // (n − 1)!/xⁿ, and the terms B₂ₖ·(2k + n − 1)!/((2k)!·x²ᵏ⁺ⁿ), each from the one before except for B₂ₖ.
    let first = factorial / order * x.powi(-exponent);
    let (mut series, mut term) = (first * (1.0 + 0.5 * order / x), first);
    let mut two_k = 0.0;
    for bernoulli in BERNOULLI {
        two_k += 2.0;
        term *= (two_k + order - 2.0) * (two_k + order - 1.0) / (two_k * (two_k - 1.0)) * square;
        series += bernoulli * term;
    }
    sum + series
}

/// dⁿ/dxⁿ cot πx as a polynomial in c = cot πx: each derivative is −π(1 + c²)·d/dc of the one before.
fn cotangent_derivative(n: u32, c: f64) -> f64 {
    let mut polynomial = vec![0.0, 1.0];
    for _ in 0..n {
        let slope: Vec<f64> = polynomial.iter().zip(0_u32..).skip(1).map(|(a, k)| f64::from(k) * a).collect();
        polynomial = vec![0.0; slope.len() + 2];
        for (k, a) in slope.iter().enumerate() {
            polynomial[k] -= PI * a;
            polynomial[k + 2] -= PI * a;
        }
    }
    polynomial.iter().rev().fold(0.0, |value, a| value * c + a)
}
