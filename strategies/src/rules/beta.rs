//! The beta function and its slopes, without the cancellation that differences of ln Γ and of ψ bring.

use core::f64::consts::PI;

/// From here on the asymptotic series are exact to double precision.
const LARGE: f64 = 10.0;

/// Down to here recurrences lead to positive arguments.
const FAR: f64 = -500.0;

/// B(a, b) = Γ(a)Γ(b)/Γ(a + b). NaN at the negative poles of Γ(a) and Γ(b), and for arguments below −500.
pub(super) fn beta(a: f64, b: f64) -> f64 {
    let (regular, zero) = without_zero(a, b);
    if zero { 0.0 } else { regular }
}

/// ∂B/∂x = −B·(ψ(x + y) − ψ(x)), where `value` is B(x, y).
pub(super) fn beta_slope(x: f64, y: f64, value: f64) -> f64 {
    if value == 0.0 {
        // The slope of x + y + k in the product, or B has underflowed.
        let (regular, zero) = without_zero(x, y);
        if zero { regular } else { 0.0 }
    } else if y >= 1.0 {
        -value * (y * digamma_quotient(x, y))
    } else if y > -0.5 {
        // Where y is so small that B is infinite, B·y is 1 to double precision.
        let scaled = if value.is_infinite() && y.abs() <= x.abs() { 1.0 } else { value * y };
        -scaled * digamma_quotient(x, y)
    } else {
        -value * digamma_fall(x, y)
    }
}

/// By B(a, b) = B(a, b + 1)·(a + b)/b from positive arguments, or nearly so. Adding 1 to a negative number is exact,
/// apart from one next to 0, so a + b is right to its last place, also next to 0. A factor a + b that is 0 is left out;
/// the second result tells.
fn without_zero(mut a: f64, mut b: f64) -> (f64, bool) {
    let (mut factor, mut zero) = (1.0, false);
    loop {
        if a < b {
            (a, b) = (b, a);
        }
        if b == -1.0 || b < FAR {
            return (f64::NAN, false);
        }
        if b >= 0.0 || (b > -1.0 && a > LARGE + 1.0) || b.is_nan() {
            return (factor * beta_of_positive(a, b), zero);
        }
        if a + b == 0.0 {
            factor /= b;
            zero = true;
        } else {
            factor *= (a + b) / b;
        }
        b += 1.0;
    }
}

/// B(a, b) for a ≥ b ≥ 0, and for b > −1 where a + b > 10.
fn beta_of_positive(a: f64, b: f64) -> f64 {
    if a.is_infinite() && b > 0.0 {
        0.0
    } else if b >= LARGE {
        // With the logarithm of all three gammas expanded (Didonato and Morris, ACM TOMS 18, 1992, procedure BETALN).
        let ratio = b / a;
        let correction = stirling_rest(a) + stirling_rest(b) - stirling_rest(a + b);
        (2.0 * PI / a).sqrt() * (correction + (b - 0.5) * (ratio / (1.0 + ratio)).ln() - a * ratio.ln_1p()).exp()
    } else if a >= LARGE {
        let correction = stirling_rest(a) - stirling_rest(a + b);
        gamma(b) * (correction + b - (a - 0.5) * (b / a).ln_1p() - b * (a + b).ln()).exp()
    } else if a < 0.5 {
        (a.recip() + b.recip()) * gamma(1.0 + a) * gamma(1.0 + b) / gamma(1.0 + a + b)
    } else {
        gamma(a) / gamma(a + b) * gamma(b)
    }
}

/// Γ(x).
fn gamma(x: f64) -> f64 {
    crate::numbers::special::gamma(x)
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

/// ψ(x + h) − ψ(x) for h ≤ −½, by ψ(x + h) = ψ(x + h + 1) − 1/(x + h).
fn digamma_fall(x: f64, mut h: f64) -> f64 {
    if h < FAR {
        return f64::NAN;
    }
    let mut sum = 0.0;
    while h <= -0.5 {
        sum += 1.0 / (x + h);
        h += 1.0;
    }
    h * digamma_quotient(x, h) - sum
}

/// (ψ(x + h) − ψ(x))/h for h > −½, and ψ′(x) for h = 0. By recurrence and series, in which no two close numbers are
/// subtracted.
fn digamma_quotient(mut x: f64, h: f64) -> f64 {
    if x < FAR {
        return f64::NAN;
    }
    let mut sum = 0.0;
    while x < LARGE || x + h < LARGE {
        sum += 1.0 / x / (x + h);
        x += 1.0;
    }
    let (r, s, ratio) = (x.recip(), (x + h).recip(), h / x);
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
