//! Error, gamma and normal-distribution functions; values from `libm`, `statrs` and `special` by way of [`Float`].

use super::gamma::beta;
use super::rule::{binary_rules, is, lit, unary_rules, widened, zero_with_slope};
pub(crate) use super::tails::FRAC_1_SQRT_TAU;
use crate::{Float, Number as _};
use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

unary_rules! {
    /// erf x.
    Erf(x, y) = x.erf(), lit::<V>(FRAC_2_SQRT_PI) * (-x * x).exp();
    /// erfc x = 1 − erf x.
    Erfc(x, y) = x.erfc(), -lit::<V>(FRAC_2_SQRT_PI) * (-x * x).exp();
    /// Γ(x); Γ′ = Γ·ψ, finite for x < 0 off the poles.
    Gamma(x, y) = x.gamma(), gamma_slope(x, y), is(x, 0.0);
    /// ln |Γ(x)|.
    LnGamma(x, y) = x.ln_gamma(), x.digamma(), is(x, 0.0);
    /// ψ(x) = Γ′(x)/Γ(x); its derivative is the trigamma function.
    Digamma(x, y) = x.digamma(), x.polygamma(1), is(x, 0.0);
    /// The trigamma function ψ′; ∞ at ±0, NaN at the other poles.
    Trigamma(x, y) = x.polygamma(1), x.polygamma(2), is(x, 0.0);
    /// The standard normal density φ.
    NormalPdf(x, y) = lit::<V>(FRAC_1_SQRT_TAU) * (lit::<V>(-0.5) * x * x).exp(),
        if is(y, 0.0) { y } else { -x * y };
    /// The standard normal distribution function Φ.
    NormalCdf(x, y) = lit::<V>(0.5) * (-x * lit(FRAC_1_SQRT_2)).erfc(),
        lit::<V>(FRAC_1_SQRT_TAU) * (lit::<V>(-0.5) * x * x).exp();
    /// The standard normal quantile Φ⁻¹; its derivative is 1/φ(y).
    NormalQuantile(x, y) = x.normal_quantile(),
        quantile_slope(x, y), is(x, 0.0) || is(x, 1.0);
}

binary_rules! {
    /// ψ⁽ⁿ⁾(x) for whole n from 0 to 12, the n-th derivative of the digamma function; ∞ or −∞ at 0, NaN at the other
    /// poles, and for other n. Derivatives of an order above 20 are NaN.
    Polygamma(x, n, v) = polygamma(x, n, 0), polygamma(x, n, 1), V::zero(), is(x, 0.0);
    /// B(x, y) = Γ(x)Γ(y)/Γ(x + y).
    Beta(x, y, v) = V::from_f64(beta::beta(x.as_f64(), y.as_f64())), beta_slope(x, y, v), beta_slope(y, x, v),
        is(x, 0.0) || is(y, 0.0);
}

/// 1/φ(y); its own derivative is y/φ(y)², also at the ends, where y is infinite.
fn quantile_slope<V: Float>(x: V, y: V) -> V {
    if y.is_infinite() {
        return V::infinity() + zero_with_slope(x, V::from_f64(y.as_f64()));
    }
    let y = widened(y, || x.as_f64().normal_quantile());
    V::narrow((lit::<V::Wide>(FRAC_1_SQRT_TAU) * (lit::<V::Wide>(-0.5) * y * y).exp()).recip())
}

/// ∂B/∂x in double precision. A value that has over- or underflowed may have been rounded to V, so it is computed
/// again.
fn beta_slope<V: Float>(x: V, y: V, value: V) -> V {
    let (x, y) = (x.widen(), y.widen());
    let known = if value.is_normal() { value.widen() } else { beta::beta(x, y) };
    V::narrow(beta::beta_slope(x, y, known))
}

/// Γ·ψ. Left of −170 Γ is so small that it has lost digits, and ψ may be large.
fn gamma_slope<V: Float>(x: V, value: V) -> V {
    if x >= V::zero() || value.is_normal() { value * x.digamma() } else { V::narrow(gamma_slope_left(x.widen())) }
}

/// Γ(x)·ψ(x) from Γ(x) = Γ(x + 16)/(x(x + 1)…(x + 15)).
#[cold]
fn gamma_slope_left<W: Float>(x: W) -> W {
    let factors = (0..16).fold(W::ONE, |product, k| product * (x + W::from_f64(f64::from(k))));
    (x + W::from_f64(16.0)).gamma() * x.digamma() / factors
}

/// ψ⁽ⁿ⁾ or a derivative of it, NaN for n above 12.
fn polygamma<V: Float>(x: V, n: V, derivative: u32) -> V {
    match n.to_u32() {
        Some(order @ 0..=12) => x.polygamma(order + derivative),
        _ => V::nan() * x,
    }
}
