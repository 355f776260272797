//! The beta function and its slopes, without the cancellation that differences of ln Γ and of ψ bring. The formulas of
//! slopes are evaluated over duals, too, and have accurate derivatives.

use crate::rules::rule::{is, lit, with_slopes};
use crate::{Dual, Float};
use core::f64::consts::PI;

/// From here on the asymptotic series are exact to double precision.
pub(crate) const LARGE: f64 = 10.0;

/// Down to here recurrences lead to positive arguments.
const FAR: f64 = -500.0;

/// B(a, b) = Γ(a)Γ(b)/Γ(a + b). NaN at the negative poles of Γ(a) and Γ(b), and for arguments below −500.
pub(crate) fn beta<W: Float>(a: W, b: W) -> W {
    let (regular, zero) = without_zero(a, b);
    zero.map_or(regular, |zero| (regular * zero).with_value(0.0))
}

/// ∂B/∂x = −B·(ψ(x + y) − ψ(x)), where `value` is B(x, y).
pub(crate) fn beta_slope<W: Float>(x: W, y: W, value: W) -> W {
    if W::ORDER == 1 && (x + y).is_finite() && is_next_to_positive(x.as_f64(), y.as_f64()) {
        let (left, right, value) = (x.as_f64(), y.as_f64(), value.as_f64());
        let [twice, mixed] = bends(left, right, value);
        with_slopes(beta_slope(left, right, value), [(x, twice), (y, mixed)])
    } else if is(value, 0.0) {
        slope_at_zero(x, y)
    } else if y >= W::ONE {
        -value * digamma_rise(x, y)
    } else if y > lit(-0.5) {
        -scaled(x, y, value) * digamma_quotient(x, y)
    } else {
        -value * digamma_fall(x, y)
    }
}

/// Returns true if [`bends`] is right: for numbers above −½, and for one next to 0 and one away from the poles.
fn is_next_to_positive(x: f64, y: f64) -> bool {
    let near = |zero: f64, other: f64| zero.abs() < 1e-3 && other > -100.0 && (other - other.round()).abs() > 0.01;
    x.min(y) > -0.5 || near(x, y) || near(y, x)
}

/// ∂²B/∂x² and ∂²B/∂x∂y for such x and y. With n = x + y, B is (1/x + 1/y)·G where G = Γ(1 + x)Γ(1 + y)/Γ(1 + n). The
/// logarithm of G has the slopes −y·q and −x·r, where q and r are mean values of ψ′. For positive numbers all terms are
/// positive.
fn bends(x: f64, y: f64, value: f64) -> [f64; 2] {
    let n = x + y;
    let quotient = |x: f64, h: f64| {
        let x = Dual { value: 1.0 + x, tangents: [1.0, 0.0] };
        digamma_quotient(x, Dual { value: h, tangents: [0.0, 1.0] })
    };
    let (q, r) = (quotient(x, y), quotient(y, x));
    let mixed = -q.tangents[1] - r.tangents[1];
    if n >= LARGE && value.is_finite() {
        let (share, slope) = (y / n, y * q.value);
        let twice = share * (2.0 / x) * (x.recip() + slope) + slope * slope - y * q.tangents[0];
        return [value * twice, value * (slope * x * r.value + share * x * mixed)];
    }
    let g = if n < LARGE { libm::tgamma(1.0 + x) * libm::tgamma(1.0 + y) / libm::tgamma(1.0 + n) } else { 1.0 };
    let slope = y * q.value;
    let twice = 2.0 / x * (x.recip() + slope) + n * (slope * q.value - q.tangents[0]);
    [g * if x == 0.0 { x.recip() } else { twice / x }, g * (n * q.value * r.value + mixed)]
}

/// B·y for small y.
fn scaled<W: Float>(x: W, y: W, value: W) -> W {
    // Where y is so small that B is infinite, B·y is 1 to double precision.
    let product = if value.is_infinite() && y.abs() <= x.abs() { W::ONE } else { value * y };
    if W::PARTS == 1 {
        return product;
    }
    // Its derivatives would be differences of derivatives of B, which are large.
    (beta(x, y + W::ONE) * (x + y)).with_value(product.as_f64())
}

/// The slope of r·(x + y + k) in x, where the sum is 0; or 0 where B has underflowed.
fn slope_at_zero<W: Float>(x: W, y: W) -> W {
    let (regular, Some(zero)) = without_zero(x, y) else { return W::ZERO };
    if W::PARTS == 1 {
        return regular;
    }
    let (moving, _) = without_zero(Dual { value: x, tangents: [W::ONE] }, Dual { value: y, tangents: [W::ZERO] });
    regular + zero * moving.tangents[0]
}

/// By B(a, b) = B(a, b + 1)·(a + b)/b from positive arguments, or nearly so. Adding 1 to a negative number is exact,
/// apart from one next to 0, so a + b is right to its last place, also next to 0. A factor a + b that is 0 is left out,
/// and is the second result.
fn without_zero<W: Float>(mut a: W, mut b: W) -> (W, Option<W>) {
    let (mut factor, mut zero) = (W::ONE, None);
    loop {
        if a < b {
            (a, b) = (b, a);
        }
        if is(b, -1.0) || b < lit(FAR) {
            return (W::nan(), None);
        }
        if b >= W::ZERO || (b > -W::ONE && a > lit(LARGE + 1.0)) || b.is_nan() {
            return (factor * beta_of_positive(a, b), zero);
        }
        if is(a + b, 0.0) {
            factor = factor / b;
            zero = Some(a + b);
        } else {
            factor = factor * ((a + b) / b);
        }
        b += W::ONE;
    }
}

/// B(a, b) for a ≥ b ≥ 0, and for b > −1 where a + b > 10.
fn beta_of_positive<W: Float>(a: W, b: W) -> W {
    if a.is_infinite() && b > W::ZERO {
        W::ZERO
    } else if b >= lit(LARGE) {
        // With the logarithm of all three gammas expanded (Didonato and Morris, ACM TOMS 18, 1992, procedure BETALN).
        let ratio = b / a;
        let correction = stirling_rest(a) + stirling_rest(b) - stirling_rest(a + b);
        let power = (b - lit(0.5)) * (ratio / (W::ONE + ratio)).ln();
        (lit::<W>(2.0 * PI) / a).sqrt() * (correction + power - a * ratio.ln_1p()).exp()
    } else if a >= lit(LARGE) {
        let correction = stirling_rest(a) - stirling_rest(a + b);
        b.gamma() * (correction + b - (a - lit(0.5)) * (b / a).ln_1p() - b * (a + b).ln()).exp()
    } else if a < lit(0.5) {
        (a.recip() + b.recip()) * (W::ONE + a).gamma() * (W::ONE + b).gamma() / (W::ONE + a + b).gamma()
    } else {
        a.gamma() / (a + b).gamma() * b.gamma()
    }
}

/// ln Γ(x) − (x − ½)·ln x + x − ½·ln 2π for x ≥ 10: Stirling's series.
pub(crate) fn stirling_rest<W: Float>(x: W) -> W {
    let r = x.recip();
    let s = r * r;
    let inner = lit::<W>(1.0 / 1680.0) - s * (lit::<W>(1.0 / 1188.0) - s * lit(691.0) / lit(360_360.0));
    r * (lit::<W>(1.0 / 12.0) - s * (lit::<W>(1.0 / 360.0) - s * (lit::<W>(1.0 / 1260.0) - s * inner)))
}

/// ln x − 1/(2x) − ψ(x) as a polynomial in 1/x² for x ≥ 10: the Bernoulli numbers B₂ₖ/(2k), the last ones first.
const DIGAMMA_REST: [f64; 8] =
    [1.0 / 12.0, -691.0 / 32760.0, 1.0 / 132.0, -1.0 / 240.0, 1.0 / 252.0, -1.0 / 120.0, 1.0 / 12.0, 0.0];

/// ψ(x + h) − ψ(x) for h ≤ −½, by ψ(x + h) = ψ(x + h + 1) − 1/(x + h).
fn digamma_fall<W: Float>(x: W, mut h: W) -> W {
    if h < lit(FAR) {
        return W::nan();
    }
    let mut sum = W::ZERO;
    while h <= lit(-0.5) {
        sum += W::ONE / (x + h);
        h += W::ONE;
    }
    h * digamma_quotient(x, h) - sum
}

/// ψ(x + h) − ψ(x) for h ≥ 1.
fn digamma_rise<W: Float>(x: W, h: W) -> W {
    let rise = h * digamma_quotient(x, h);
    if W::PARTS == 1 || x > W::ONE {
        return rise;
    }
    // Next to the pole the derivative for h would be a difference of large numbers; the derivative of ψ is not.
    ((x + h).digamma() - x.digamma()).with_value(rise.as_f64())
}

/// (ψ(x + h) − ψ(x))/h for h > −½, and ψ′(x) for h = 0. By recurrence and series, in which no two close numbers are
/// subtracted.
pub(crate) fn digamma_quotient<W: Float>(mut x: W, h: W) -> W {
    if x < lit(FAR) || x + h < lit(FAR) {
        return W::nan();
    }
    let mut sum = W::ZERO;
    while x < lit(LARGE) || x + h < lit(LARGE) {
        sum += W::ONE / x / (x + h);
        x += W::ONE;
    }
    let (r, s, ratio) = (x.recip(), (x + h).recip(), h / x);
    let logarithm = if ratio > W::ONE { ratio.ln_1p() / h } else { r * logarithm_quotient(ratio) };
    sum + logarithm + r * s * (lit::<W>(0.5) + (r + s) * polynomial_quotient(&DIGAMMA_REST, r * r, s * s))
}

/// ln(1 + x)/x. Near 0 its derivatives come from the series: differences of quotients would have no digits left.
pub(crate) fn logarithm_quotient<W: Float>(x: W) -> W {
    let value = if is(x, 0.0) { W::ONE } else { x.ln_1p() / x };
    if W::PARTS == 1 || x.abs() > lit(0.05) {
        return value;
    }
    let series = (1..=14).rev().fold(W::ZERO, |sum, k| lit::<W>(1.0 / f64::from(k)) - x * sum);
    series.with_value(value.as_f64())
}

/// (p(x) − p(y))/(x − y) for a polynomial with these coefficients, by Horner's rule.
fn polynomial_quotient<W: Float>(coefficients: &[f64], x: W, y: W) -> W {
    let (mut value, mut quotient) = (W::ZERO, W::ZERO);
    for c in coefficients {
        quotient = quotient * x + value;
        value = value * y + lit(*c);
    }
    quotient
}
