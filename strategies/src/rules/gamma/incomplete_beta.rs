//! The regularized incomplete beta function I and its slopes by the argument and by both parameters.
//!
//! The smaller tail is computed, or nearly so, as for the incomplete gamma functions. A tail is
//! xᵃyᵇ/(a·B(a, b)) with y = 1 − x times a sum of positive terms (DLMF 8.17.8) as long as a is small, and times an
//! integral of Laplace's type beyond, by quadrature, which is exact for large a and b, too. For a ≤ 1 the power series
//! (DLMF 8.17.7) is used, in the logarithm. The upper tail is the lower one with x and y, and a and b, exchanged.

use super::beta::{LARGE, stirling_rest};
use super::gamma_ratio::LnRatio;
use super::quadrature::{exp_rest, laplace, ln_1p_rest};
use super::tail::{Tail, shape_slope};
use crate::rules::rule::{is, lit, passive, product, times_exp, zero_with_slope};
use crate::{Dual, Float};
use core::f64::consts::PI;

/// An argument of the incomplete beta function: x and y = 1 − x, each with all its digits.
#[derive(Clone, Copy)]
pub(crate) struct Part<W> {
    pub(crate) x: W,
    pub(crate) y: W,
    /// The part of x·b − y·a that rounding has taken, where it is known. For large a and b it decides about digits of
    /// the density.
    pub(crate) lost: f64,
}

impl<W: Float> Part<W> {
    pub(crate) fn of(x: W) -> Self {
        Self::new(x, W::ONE - x)
    }

    pub(crate) fn new(x: W, y: W) -> Self {
        Self { x, y, lost: 0.0 }
    }

    pub(crate) fn swap(self) -> Self {
        Self { x: self.y, y: self.x, lost: -self.lost }
    }

    /// The argument as a constant.
    pub(crate) fn fixed(self) -> Part<Dual<W, 1>> {
        Part { x: Dual::constant(self.x), y: Dual::constant(self.y), lost: self.lost }
    }

    /// x·b − y·a, which is a + b times the distance from the mean.
    pub(crate) fn excess(self, a: W, b: W) -> W {
        self.x * b - self.y * a + lit(self.lost)
    }
}

/// The value of I where no formula is needed.
fn limit(x: f64, y: f64, a: f64, b: f64) -> Option<f64> {
    let bad = |x: f64| x.is_nan() || x < 0.0;
    if bad(x)
        || bad(y)
        || bad(a)
        || bad(b)
        || (a == 0.0 && b == 0.0)
        || (a.is_infinite() && b.is_infinite())
        || (x == 0.0 && (a == 0.0 || b.is_infinite()))
        || (y == 0.0 && (b == 0.0 || a.is_infinite()))
    {
        Some(f64::NAN)
    } else if x == 0.0 || b == 0.0 || a.is_infinite() {
        Some(0.0)
    } else if y == 0.0 || a == 0.0 || b.is_infinite() {
        Some(1.0)
    } else {
        None
    }
}

/// I at an argument, in double precision.
pub(crate) fn value(part: Part<f64>, a: f64, b: f64) -> f64 {
    limit(part.x, part.y, a, b).unwrap_or_else(|| tail(part, a, b).lower())
}

/// ∂I/∂x = xᵃ⁻¹yᵇ⁻¹/B(a, b).
pub(crate) fn density<W: Float>(part: Part<W>, a: W, b: W) -> W {
    let Part { x, y, .. } = part;
    let (low, high) = (is(x, 0.0), is(y, 0.0));
    match limit(x.as_f64(), y.as_f64(), a.as_f64(), b.as_f64()) {
        Some(limit) if limit.is_nan() => W::nan() * (x + a + b),
        Some(_) if !(low || high) && (a + b).is_infinite() => W::ZERO,
        Some(_) if high => density(part.swap(), b, a),
        Some(_) if low && a < W::ONE => {
            let steep = W::neg_infinity();
            W::infinity() + zero_with_slope(x, steep) + zero_with_slope(a, steep) - zero_with_slope(b, steep)
        }
        // A power of x that is 0 with all derivatives that may be asked for.
        Some(_) if low && a > lit(8.0) => W::ZERO,
        // 1/B(a, b) = a·b/(a + b)·Γ(1 + a + b)/(Γ(1 + a)Γ(1 + b)).
        Some(_) if low => {
            let rest = (a / (a + b) * b) * a.binary::<LnRatio>(b).exp() * y.powf(b - W::ONE);
            product(x.powf(a - W::ONE), rest)
        }
        // For a = 0 or b = 0 that is 0, and has derivatives.
        _ => {
            let (exponent, factor) = power(part, a, b, 1.0);
            times_exp(factor * a, exponent)
        }
    }
}

/// ∂I/∂a, or ∂I/∂b.
pub(crate) fn slope<W: Float>(part: Part<W>, a: W, b: W, by: usize) -> W {
    let (x, y, shape) = (part.x.as_f64(), part.y.as_f64(), if by == 0 { a } else { b });
    match limit(x, y, a.as_f64(), b.as_f64()) {
        Some(limit) if limit.is_nan() => W::nan() * (part.x + a + b),
        Some(_) if x == 0.0 || y == 0.0 => {
            zero_with_slope(part.x, shape_slope(|[a, b]| density(part.fixed(), a, b), [a, b], by))
        }
        Some(_) if W::PARTS == 1 && !is(shape, 0.0) || (a + b).is_infinite() => W::ZERO,
        // It does not depend on one parameter where the other one is 0.
        Some(_) if !is(shape, 0.0) => tail_slope(part, a, b, by).with_value(0.0),
        _ => tail_slope(part, a, b, by),
    }
}

/// ∂I/∂a, or ∂I/∂b, for 0 < x < 1.
fn tail_slope<W: Float>(part: Part<W>, a: W, b: W, by: usize) -> W {
    if W::ORDER != 1 {
        return shape_slope(|[a, b]| tail(part.fixed(), a, b).lower(), [a, b], by);
    }
    let still = Part::new(passive(part.x), passive(part.y));
    let by_x = shape_slope(|[a, b]| density(still.fixed(), a, b), [a, b], by);
    shape_slope(|[a, b]| tail(still.fixed(), a, b).lower(), [a, b], by) + zero_with_slope(part.x, by_x)
}

/// 1/(∂I/∂x) for 0 < x < 1, whose derivatives do not overflow where the square would.
pub(crate) fn inverse_density<W: Float>(part: Part<W>, a: W, b: W) -> W {
    let (exponent, factor) = power(part, a, b, 1.0);
    (-exponent).exp() / (factor * a)
}

/// (∂I/∂a)/(∂I/∂x), or with ∂I/∂b, for 0 < x < 1, where both may underflow.
pub(crate) fn slope_over_density<W: Float>(part: Part<W>, a: W, b: W, by: usize) -> W {
    let common = tail(part, a, b).exponent.as_f64();
    let slope = shape_slope(|[a, b]| tail(part.fixed(), a, b).scaled_lower(common), [a, b], by);
    let (exponent, factor) = power(part, a, b, 1.0);
    slope * (lit::<W>(common) - exponent).exp() / (factor * a)
}

/// ln x with the digits of y.
pub(crate) fn ln_of<W: Float>(part: Part<W>) -> W {
    if part.y < lit(0.5) { (-part.y).ln_1p() } else { part.x.ln() }
}

/// ln(xᵃyᵇ/(a·B(a, b))) up to a factor, and this factor; with `less` in place of 0, for powers that are less by it.
pub(crate) fn power<W: Float>(part: Part<W>, a: W, b: W, less: f64) -> (W, W) {
    let (Part { x, y, .. }, less) = (part, lit::<W>(less));
    let logarithms = (ln_of(part), ln_of(part.swap()));
    if a < lit(LARGE) || b < lit(LARGE) {
        let (ratio, factor) = ratio(a, b);
        return ((a - less) * logarithms.0 + (b - less) * logarithms.1 + ratio, factor);
    }
    let sum = a + b;
    let excess = part.excess(a, b);
    let logarithm = |excess: W, x: W, a: W| {
        if excess < lit(-0.5) { (x * (sum / a)).ln() - excess } else { ln_1p_rest(excess) }
    };
    let exponent = a * logarithm(excess / a, x, a) + b * logarithm(-(excess / b), y, b);
    let rest = stirling_rest(a) + stirling_rest(b) - stirling_rest(sum);
    (exponent - less * (logarithms.0 + logarithms.1) - rest, (b / sum / a / lit(2.0 * PI)).sqrt())
}

/// ln 1/(a·B(a, b)) up to a factor, and this factor. Next to a = 1, where that is linear in b, the factor is b/a:
/// second derivatives of a logarithm would cancel.
fn ratio<W: Float>(a: W, b: W) -> (W, W) {
    if (a - W::ONE).abs() < lit(0.5) && b < lit(1e300) {
        ((a - W::ONE).binary::<LnRatio>(b), b / a)
    } else {
        (a.binary::<LnRatio>(b), share(a, b))
    }
}

/// b/(a + b). Written so that second derivatives do not cancel.
fn share<W: Float>(a: W, b: W) -> W {
    if b < a { b / (a + b) } else { (W::ONE + a / b).recip() }
}

/// The tail of the side of x, for 0 < x < 1 and positive parameters, one of which may be 0.
pub(crate) fn tail<W: Float>(part: Part<W>, a: W, b: W) -> Tail<W> {
    let half = lit::<W>(0.5);
    if part.x * (b + half) <= part.y * (a + half) {
        lower_tail(part, a, b)
    } else {
        Tail { lower: false, ..lower_tail(part.swap(), b, a) }
    }
}

fn lower_tail<W: Float>(part: Part<W>, a: W, b: W) -> Tail<W> {
    if a <= W::ONE {
        let (ratio, factor) = ratio(a, b);
        let (power, sum) = (a * ln_of(part) + ratio, a * small_series(part.x, a, b));
        return if a > lit(0.5) && b < lit(1e300) {
            Tail { lower: true, exponent: power, multiple: factor * (W::ONE + sum), logarithmic: false }
        } else if b < a {
            Tail { lower: true, exponent: power + sum.ln_1p(), multiple: factor, logarithmic: false }
        } else {
            let exponent = power + sum.ln_1p() - (a / b).ln_1p();
            Tail { lower: true, exponent, multiple: W::ONE, logarithmic: true }
        };
    }
    let (exponent, factor) = power(part, a, b, 0.0);
    Tail { lower: true, exponent, multiple: factor * lower_sum(part, a, b), logarithmic: false }
}

/// The lower tail over xᵃ·yᵇ·Γ(a + b)/(Γ(a + 1)Γ(b)), or over that without the power of y for a ≤ 1.
pub(crate) fn rest<W: Float>(part: Part<W>, a: W, b: W) -> W {
    if a <= W::ONE { W::ONE + a * small_series(part.x, a, b) } else { lower_sum(part, a, b) }
}

/// Σ (1 − b)ₙxⁿ/(n!·(a + n)) from n = 1 on. Factors may be 0 and their derivatives are not, so that another sequence
/// says how far to go.
fn small_series<W: Float>(x: W, a: W, b: W) -> W {
    let (mut power, mut sum, mut bound, mut n) = (W::ONE, W::ZERO, 1.0, 0.0);
    while n < 3.0 || bound > 1e-19 {
        n += 1.0;
        let scaled = x / lit(n);
        bound *= ((n - b.as_f64()).abs() + 1.0) * scaled.as_f64();
        power = power * ((lit::<W>(n) - b) * scaled);
        sum += power / (a + lit(n));
        if n > 5000.0 {
            return W::nan();
        }
    }
    sum
}

/// From this a on sums are integrals.
pub(crate) const SMOOTH: f64 = 20.0;

/// Σ (a + b)ₙxⁿ/(a + 1)ₙ. What is left after the first terms is such a sum for a larger a.
fn lower_sum<W: Float>(part: Part<W>, a: W, b: W) -> W {
    let (mut term, mut sum, mut shape) = (W::ONE, W::ZERO, a);
    while shape < lit(SMOOTH) {
        if term.as_f64() < 1e-22 * sum.as_f64() {
            return sum;
        }
        sum += term;
        term = term * part.x * ((shape + b) / (shape + W::ONE));
        shape += W::ONE;
    }
    sum + term * shape * lower_integral(part, shape, b)
}

/// ∫ exp(−a·v − (a + b)·ln(y + x·e⁻ᵛ)) over v from 0 to ∞, which is ∫ tᵃ⁻¹(1 − t)ᵇ⁻¹ from 0 to x over xᵃyᵇ, where
/// t/(1 − t) = e⁻ᵛ·x/y. The exponent is −a·ln(1 + y·(eᵛ − 1)) − b·ln(1 + x·(e⁻ᵛ − 1)), with the linear terms joined.
fn lower_integral<W: Float>(part: Part<W>, a: W, b: W) -> W {
    lower_weighed(part, a, b, |_| W::ONE)
}

/// The integral of [`lower_integral`] with a weight, a function of v.
pub(crate) fn lower_weighed<W: Float>(part: Part<W>, a: W, b: W, weight: impl Fn(f64) -> W) -> W {
    let (x, y, a64, b64) = (part.x.as_f64(), part.y.as_f64(), a.as_f64(), b.as_f64());
    let plain = Part { x, y, lost: part.lost };
    let (excess, excess64) = (part.excess(a, b), plain.excess(a64, b64));
    let beyond = |depth: f64| (depth - (a64 + b64) * ln_of(plain.swap())) / a64;
    let depth = |v: f64| {
        let fall = x * (-v).exp_m1();
        (-lower_exponent(plain, a64, b64, excess64, v), -(excess64 + b64 * fall) / (1.0 + fall))
    };
    laplace(beyond, depth, |v| lower_exponent(part, a, b, excess, v).exp() * weight(v))
}

/// The exponent in [`lower_integral`].
fn lower_exponent<W: Float>(part: Part<W>, a: W, b: W, excess: W, v: f64) -> W {
    let Part { x, y, .. } = part;
    let (rise, fall) = (y * lit(v.exp_m1()), x * lit((-v).exp_m1()));
    let curved = a * y * lit(exp_rest(v)) + b * x * lit(exp_rest(-v));
    let rest = if fall < lit(-0.5) { (y + x * lit((-v).exp())).ln() - fall } else { ln_1p_rest(fall) };
    excess * lit(v) - curved - a * ln_1p_rest(rise) - b * rest
}
