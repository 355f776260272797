//! Error, gamma and normal-distribution functions; values from `libm`, `statrs` and `special` by way of [`Float`].

use super::beta;
use super::rules::{binary_rules, lit, unary_rules};
use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};
use tapewright_strategies::Float;

/// 1/√(2π).
const FRAC_1_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

unary_rules! {
    /// erf x.
    Erf(x, y) = x.erf(), lit::<V>(FRAC_2_SQRT_PI) * (-x * x).exp();
    /// erfc x = 1 − erf x.
    Erfc(x, y) = x.erfc(), -lit::<V>(FRAC_2_SQRT_PI) * (-x * x).exp();
    /// Γ(x); Γ′ = Γ·ψ, finite for x < 0 off the poles.
    Gamma(x, y) = x.gamma(), gamma_slope(x, y), x.is_zero();
    /// ln |Γ(x)|.
    LnGamma(x, y) = x.ln_gamma(), x.digamma(), x.is_zero();
    /// ψ(x) = Γ′(x)/Γ(x); its derivative is the trigamma function, and rules end there.
    Digamma(x, y) = x.digamma(), x.trigamma(), x.is_zero();
    /// The standard normal density φ.
    NormalPdf(x, y) = lit::<V>(FRAC_1_SQRT_TAU) * (lit::<V>(-0.5) * x * x).exp(),
        if y.is_zero() { y } else { -x * y };
    /// The standard normal distribution function Φ.
    NormalCdf(x, y) = lit::<V>(0.5) * (-x * lit(FRAC_1_SQRT_2)).erfc(),
        lit::<V>(FRAC_1_SQRT_TAU) * (lit::<V>(-0.5) * x * x).exp();
    /// The standard normal quantile Φ⁻¹; its derivative is 1/φ(y).
    NormalQuantile(x, y) = x.normal_quantile(),
        (lit::<V>(FRAC_1_SQRT_TAU) * (lit::<V>(-0.5) * y * y).exp()).recip(), x.is_zero() || x.is_one();
}

binary_rules! {
    /// B(x, y) = Γ(x)Γ(y)/Γ(x + y).
    Beta(x, y, v) = V::from_f64(beta::beta(x.as_f64(), y.as_f64())), beta_slope(x, y, v), beta_slope(y, x, v),
        x.is_zero() || y.is_zero();
}

/// ∂B/∂x in double precision. A value that has over- or underflowed may have been rounded to V, so it is computed
/// again.
fn beta_slope<V: Float>(x: V, y: V, value: V) -> V {
    let (x, y) = (x.as_f64(), y.as_f64());
    let value = if value.is_normal() { value.as_f64() } else { beta::beta(x, y) };
    V::from_f64(beta::beta_slope(x, y, value))
}

/// Γ·ψ. Left of −170 Γ is so small that it has lost digits, and ψ may be large.
fn gamma_slope<V: Float>(x: V, value: V) -> V {
    if x >= V::zero() || value.is_normal() { value * x.digamma() } else { V::from_f64(gamma_slope_left(x.as_f64())) }
}

/// Γ(x)·ψ(x) from Γ(x) = Γ(x + 16)/(x(x + 1)…(x + 15)).
#[cold]
fn gamma_slope_left(x: f64) -> f64 {
    let factors: f64 = (0..16).map(|k| x + f64::from(k)).product();
    Float::gamma(x + 16.0) * Float::digamma(x) / factors
}
