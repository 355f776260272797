//! The beta function and differences of ψ, without the cancellation that ln Γ and ψ of large arguments bring.

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
        (a.recip() + b.recip()) * gamma(1.0 + a) * gamma(1.0 + b) / gamma(1.0 + a + b)
    } else {
        gamma(a) / gamma(a + b) * gamma(b)
    }
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

/// ψ(x + h) − ψ(x). For positive arguments by recurrence and series, so that no two close numbers are subtracted.
pub(super) fn digamma_rise(x: f64, h: f64) -> f64 {
    if x.min(x + h) <= 0.0 || !(x + h).is_finite() {
        return Float::digamma(x + h) - Float::digamma(x);
    }
    let (mut x, mut rise) = (x, 0.0);
    while x < LARGE || x + h < LARGE {
        rise += h / x / (x + h);
        x += 1.0;
    }
    let (r, s) = (x.recip(), (x + h).recip());
    rise + (h * r).ln_1p() + h * r * s * (0.5 + (r + s) / 12.0) + digamma_rest(s) - digamma_rest(r)
}

/// ψ(x) − ln x + 1/(2x) + 1/(12x²) for x = 1/r ≥ 10.
fn digamma_rest(r: f64) -> f64 {
    let s = r * r;
    s * s * (1.0 / 120.0 - s * (1.0 / 252.0 - s * (1.0 / 240.0 - s * (1.0 / 132.0 - s * 691.0 / 32760.0))))
}
