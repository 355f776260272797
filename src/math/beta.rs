//! The beta function and its slopes, without the cancellation that differences of ln Γ and of ψ bring.

use core::f64::consts::PI;
use tapewright_strategies::Float;

/// From here on the asymptotic series are exact to double precision.
const LARGE: f64 = 10.0;

/// B(a, b) = Γ(a)Γ(b)/Γ(a + b), for positive arguments as exact as Γ; for negative ones where Γ is finite.
pub(super) fn beta(a: f64, b: f64) -> f64 {
    let (a, b) = if a < b { (b, a) } else { (a, b) };
    if a.is_infinite() && b > 0.0 {
        0.0
    } else if b >= LARGE {
        // With the logarithm of all three gammas expanded (Didonato and Morris, ACM TOMS 18, 1992, procedure BETALN).
        let ratio = b / a;
        let correction = stirling_rest(a) + stirling_rest(b) - stirling_rest(a + b);
        (2.0 * PI / a).sqrt() * (correction + (b - 0.5) * (ratio / (1.0 + ratio)).ln() - a * ratio.ln_1p()).exp()
    } else if a >= LARGE && a + b >= LARGE {
        let correction = stirling_rest(a) - stirling_rest(a + b);
        gamma(b) * (correction + b - (a - 0.5) * (b / a).ln_1p() - b * (a + b).ln()).exp()
    } else if a.abs() < 0.5 && b.abs() < 0.5 {
        let poles = if b < 0.0 && a > 0.0 { (a + b) / a / b } else { a.recip() + b.recip() };
        poles * gamma(1.0 + a) * gamma(1.0 + b) / gamma(1.0 + a + b)
    } else if is_pole(a + b) {
        gamma(a) * gamma(b) * 0.0
    } else {
        // The one near 0, whose Γ is large, comes last.
        let (far, near) = if a.abs() < b.abs() { (b, a) } else { (a, b) };
        gamma(far) / gamma(far + near) * gamma(near)
    }
}

/// ∂B/∂x = −B·(ψ(x + y) − ψ(x)), where `value` is B(x, y).
pub(super) fn beta_slope(x: f64, y: f64, value: f64) -> f64 {
    if value == 0.0 {
        slope_at_a_zero(x, y)
    } else if y.abs() >= 1.0 {
        -value * (y * digamma_quotient(x, y))
    } else {
        // Where y is so small that B is infinite, B·y is 1 to double precision.
        let scaled = if value.is_infinite() && y.abs() <= x.abs() { 1.0 } else { value * y };
        -scaled * digamma_quotient(x, y)
    }
}

/// B is 0 where Γ(x + y) has a pole, with the slope −Γ(x)Γ(y)·ψ(s)/Γ(s) at s = x + y. Elsewhere it has underflowed.
fn slope_at_a_zero(x: f64, y: f64) -> f64 {
    let s = x + y;
    if !is_pole(s) {
        return 0.0;
    }
    let slope = gamma(x) * gamma(y) * gamma(1.0 - s);
    if s % 2.0 == 0.0 { slope } else { -slope }
}

/// Whether Γ has a pole at `x`.
fn is_pole(x: f64) -> bool {
    x <= 0.0 && x == x.round()
}

/// Γ(x).
fn gamma(x: f64) -> f64 {
    Float::gamma(x)
}

/// ln Γ(x) − (x − ½)·ln x + x − ½·ln 2π for x ≥ 10: Stirling's series.
fn stirling_rest(x: f64) -> f64 {
    let r = x.recip();
    let s = r * r;
    r * (1.0 / 12.0
        - s * (1.0 / 360.0 - s * (1.0 / 1260.0 - s * (1.0 / 1680.0 - s * (1.0 / 1188.0 - s * 691.0 / 360_360.0)))))
}

/// ln x − 1/(2x) − ψ(x) as a polynomial in 1/x² for x ≥ 10: the Bernoulli numbers B₂ₖ/(2k), the last ones first.
const DIGAMMA_REST: [f64; 8] =
    [1.0 / 12.0, -691.0 / 32760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0, -1.0 / 120.0, 1.0 / 12.0, 0.0];

/// Below this the recurrence would take too long.
const FAR: f64 = -200.0;

/// (ψ(x + h) − ψ(x))/h, and ψ′(x) for h = 0. By recurrence and series, in which no two close numbers are subtracted.
fn digamma_quotient(x: f64, h: f64) -> f64 {
    let (mut low, mut high) = if h < 0.0 { (x + h, x) } else { (x, x + h) };
    if low < FAR {
        return (Float::digamma(x + h) - Float::digamma(x)) / h;
    }
    let mut sum = 0.0;
    while low < LARGE {
        sum += 1.0 / low / high;
        low += 1.0;
        high += 1.0;
    }
    let (r, s, ratio) = (low.recip(), high.recip(), h.abs() / low);
    let logarithms = if ratio == 0.0 { 1.0 } else { ratio.ln_1p() / ratio };
    sum + r * logarithms + r * s * (0.5 + (r + s) * polynomial_quotient(&DIGAMMA_REST, r * r, s * s))
}

/// (p(x) − p(y))/(x − y) for a polynomial with these coefficients, by Horner's rule.
fn polynomial_quotient(coefficients: &[f64], x: f64, y: f64) -> f64 {
    let (mut value, mut quotient) = (0.0, 0.0);
    for c in coefficients {
        quotient = quotient * x + value;
        value = value * y + c;
    }
    quotient
}
