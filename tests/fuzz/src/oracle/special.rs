//! Special functions by series that the library and the crates it uses have not.

use core::f64::consts::{LN_2, PI, SQRT_2};

/// 2/√π.
const SCALE: f64 = core::f64::consts::FRAC_2_SQRT_PI;

/// erf x = 2/√π·exp(−x²)·Σ 2ⁿx²ⁿ⁺¹/(2n + 1)!!, whose terms have one sign; 1 − erfc x for |x| > 3.
pub(crate) fn erf(x: f64) -> f64 {
    if x.abs() > 3.0 {
        return (1.0 - erfc(x.abs())).copysign(x);
    }
    let (mut term, mut sum, mut n) = (x, x, 0.0);
    while term.abs() > 1e-18 * sum.abs() {
        n += 1.0;
        term *= 2.0 * x * x / (2.0 * n + 1.0);
        sum += term;
    }
    SCALE * (-x * x).exp() * sum
}

/// erfc x, for x > 1 by the continued fraction, from its end: its error is some e^(−2x·√(2n)) for n terms.
pub(crate) fn erfc(x: f64) -> f64 {
    if x < 1.0 {
        return if x < -3.0 { 2.0 - erfc(-x) } else { 1.0 - erf(x) };
    }
    let mut fraction = x;
    for k in (1..400).rev() {
        fraction = x + 0.5 * f64::from(k) / fraction;
    }
    (-x * x).exp() / (PI.sqrt() * fraction)
}

/// The first x + n ≥ 20, and the n.
fn shifted(x: f64) -> (f64, u32) {
    let (mut large, mut n) = (x, 0);
    while large < 20.0 {
        large += 1.0;
        n += 1;
    }
    (large, n)
}

/// Γ(x) for x > 0 by Stirling's series and recurrence.
pub(crate) fn gamma(x: f64) -> f64 {
    let (large, n) = shifted(x);
    let (r, s) = (1.0 / large, 1.0 / (large * large));
    let rest = r * (1.0 / 12.0 - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s / 1188.0))));
    // xˣ⁻½ as a square: its exponent is too large for one rounding.
    let half = large.powf(0.5 * (large - 0.5));
    let product: f64 = (0..n).map(|k| x + f64::from(k)).product();
    (2.0 * PI).sqrt() * half * (-large).exp() * half * rest.exp() / product
}

/// ψ(x) for x > 0 by its asymptotic series and recurrence.
pub(crate) fn digamma(x: f64) -> f64 {
    let (large, n) = shifted(x);
    let s = 1.0 / (large * large);
    let series = s * (1.0 / 12.0 - s * (1.0 / 120.0 - s * (1.0 / 252.0 - s * (1.0 / 240.0 - s / 132.0))));
    let sum: f64 = (0..n).map(|k| 1.0 / (x + f64::from(k))).sum();
    large.ln() - 0.5 / large - series - sum
}

/// ψ′(x) for x > 0.
pub(crate) fn trigamma(x: f64) -> f64 {
    let (large, n) = shifted(x);
    let (r, s) = (1.0 / large, 1.0 / (large * large));
    let series = r * s * (1.0 / 6.0 - s * (1.0 / 30.0 - s * (1.0 / 42.0 - s * (1.0 / 30.0 - s * 5.0 / 66.0))));
    let sum: f64 = (0..n).map(|k| (x + f64::from(k)).powi(-2)).sum();
    r + 0.5 * s + series + sum
}

/// ψ″(x) for x > 0.
pub(crate) fn tetragamma(x: f64) -> f64 {
    let (large, n) = shifted(x);
    let (r, s) = (1.0 / large, 1.0 / (large * large));
    let series = s * s * (0.5 - s * (1.0 / 6.0 - s * (1.0 / 6.0 - s * (0.3 - s * 5.0 / 6.0))));
    let sum: f64 = (0..n).map(|k| 2.0 * (x + f64::from(k)).powi(-3)).sum();
    -(s + r * s + series + sum)
}

/// φ(x).
pub(crate) fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * PI).sqrt()
}

/// Φ(x).
pub(crate) fn distribution(x: f64) -> f64 {
    0.5 * erfc(-x / SQRT_2)
}

/// Φ⁻¹(p) by Newton's method, for p that are not next to 0 or 1.
pub(crate) fn quantile(p: f64) -> f64 {
    if p > 0.5 {
        return -quantile(1.0 - p);
    }
    let mut x = 0.0;
    for _ in 0..60 {
        let step = (distribution(x) - p) / density(x);
        x -= step.clamp(-1.0, 1.0);
    }
    x
}

/// ln(1 + eˣ) and its slope 1/(1 + e⁻ˣ).
pub(crate) fn softplus(x: f64) -> (f64, f64) {
    let value = if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() };
    let slope = if x > 0.0 { 1.0 / (1.0 + (-x).exp()) } else { x.exp() / (1.0 + x.exp()) };
    (value, slope)
}

/// ln(eˣ + eʸ).
pub(crate) fn log_add_exp(x: f64, y: f64) -> f64 {
    if x == y { x + LN_2 } else { x.max(y) + (-(x - y).abs()).exp().ln_1p() }
}
