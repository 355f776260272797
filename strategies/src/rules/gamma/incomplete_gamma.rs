//! The incomplete gamma functions P(a, x) and Q(a, x), and their slopes by the argument and by the parameter.
//!
//! The smaller of the two tails is computed, or nearly so: that from 0 to x for x ≤ a + ½, and that from x to ∞
//! otherwise. Then no two terms cancel, neither in the value nor in the slope by a: ln x − ψ(a + 1) has the sign
//! of the slopes of the other factor. A tail is xᵃe⁻ˣ/Γ(a + 1) times a sum of positive terms (DLMF 8.11.4) as long
//! as a is small, and times an integral of Laplace's type beyond, by quadrature, which is exact for large a, too. For
//! a ≤ 1 and small x the power series (DLMF 8.7.1) is used, in the logarithm, so that 1 − P does not cancel.

use super::beta::{LARGE, stirling_rest};
use super::gamma_ratio::LnGamma1p;
use super::quadrature::{exp_rest, laplace, ln_1p_rest};
use super::tail::{Tail, shape_slope};
use crate::rules::rule::{binary_rules, is, lit, passive, times_exp, zero_with_slope};
use crate::{Dual, Float};
use core::f64::consts::PI;

binary_rules! {
    /// P(y, x), the regularized lower incomplete gamma function, for x, y ≥ 0: the distribution function of the gamma
    /// distribution with shape y. P(0, x) = 1.
    GammaP(x, y, v) = V::from_f64(tail_value(x.as_f64(), y.as_f64(), true)),
        V::narrow(density(x.widen(), y.widen())), V::narrow(slope(x.widen(), y.widen())), is(x, 0.0);
    /// Q(y, x) = 1 − P(y, x), the regularized upper incomplete gamma function, without cancellation.
    GammaQ(x, y, v) = V::from_f64(tail_value(x.as_f64(), y.as_f64(), false)),
        V::narrow(-density(x.widen(), y.widen())), V::narrow(-slope(x.widen(), y.widen())), is(x, 0.0);
}

/// An argument of the incomplete gamma functions.
#[derive(Clone, Copy)]
pub(crate) struct Argument<W> {
    pub(crate) x: W,
    /// The part of x − a that the rounding of x has taken, where it is known. Next to a large a it decides about digits
    /// of the density.
    pub(crate) lost: f64,
}

impl<W: Float> Argument<W> {
    pub(crate) fn of(x: W) -> Self {
        Self { x, lost: 0.0 }
    }

    /// The argument as a constant.
    fn fixed(self) -> Argument<Dual<W, 1>> {
        Argument { x: Dual::constant(self.x), lost: self.lost }
    }

    /// x − a.
    pub(crate) fn excess(self, a: W) -> W {
        self.x - a + lit(self.lost)
    }
}

/// The value of P where no formula is needed.
fn limit(x: f64, a: f64) -> Option<f64> {
    if x.is_nan() || a.is_nan() || x < 0.0 || a < 0.0 || (x == 0.0 && a == 0.0) || (x.is_infinite() && a.is_infinite())
    {
        Some(f64::NAN)
    } else if x == 0.0 || a.is_infinite() {
        Some(0.0)
    } else if a == 0.0 || x.is_infinite() {
        Some(1.0)
    } else {
        None
    }
}

fn tail_value(x: f64, a: f64, lower: bool) -> f64 {
    match limit(x, a) {
        Some(limit) => {
            if lower {
                limit
            } else {
                1.0 - limit
            }
        }
        None => tail(Argument::of(x), a).of_side(lower),
    }
}

/// ∂P/∂x = xᵃ⁻¹e⁻ˣ/Γ(a).
pub(crate) fn density<W: Float>(x: W, a: W) -> W {
    if limit(x.as_f64(), a.as_f64()).is_some_and(f64::is_nan) {
        W::nan() * (x + a)
    } else if is(x, 0.0) && a < W::ONE {
        let steep = W::neg_infinity();
        W::infinity() + zero_with_slope(x, steep) + zero_with_slope(a, steep)
    } else if is(x, 0.0) {
        x.powf(a - W::ONE) * (-x).exp() * a / (W::ONE + a).gamma()
    } else if x.is_infinite() || a.is_infinite() {
        W::ZERO
    } else {
        let (exponent, factor) = power(Argument::of(x), a, 1.0);
        times_exp(factor * a, exponent)
    }
}

/// 1/(∂P/∂x) for positive numbers, whose derivatives do not overflow where the square would.
pub(crate) fn inverse_density<W: Float>(argument: Argument<W>, a: W) -> W {
    let (exponent, factor) = power(argument, a, 1.0);
    (-exponent).exp() / (factor * a)
}

/// ∂P/∂a.
pub(crate) fn slope<W: Float>(x: W, a: W) -> W {
    let (value, shape) = (x.as_f64(), a.as_f64());
    if value == 0.0 && shape > 0.0 {
        return zero_with_slope(x, shape_slope(|[a]| density(Dual::constant(x), a), [a], 0));
    }
    match limit(value, shape) {
        Some(limit) if limit.is_nan() => W::nan() * (x + a),
        Some(_) if shape != 0.0 || value.is_infinite() => W::ZERO,
        _ if W::ORDER == 1 => {
            let still = Dual::constant(passive(x));
            let by_x = shape_slope(|[a]| density(still, a), [a], 0);
            shape_slope(|[a]| tail(Argument::of(still), a).lower(), [a], 0) + zero_with_slope(x, by_x)
        }
        _ => shape_slope(|[a]| tail(Argument::of(Dual::constant(x)), a).lower(), [a], 0),
    }
}

/// (∂P/∂a)/(∂P/∂x) for positive numbers, where both may underflow.
pub(crate) fn slope_over_density<W: Float>(argument: Argument<W>, a: W) -> W {
    let common = tail(argument, a).exponent.as_f64();
    let slope = shape_slope(|[a]| tail(argument.fixed(), a).scaled_lower(common), [a], 0);
    let (exponent, factor) = power(argument, a, 1.0);
    slope * (lit::<W>(common) - exponent).exp() / (factor * a)
}

/// ln(xᵃe⁻ˣ/Γ(a + 1)) up to a factor, and this factor; with `less` in place of 0, for a power of x that is less by it.
pub(crate) fn power<W: Float>(argument: Argument<W>, a: W, less: f64) -> (W, W) {
    let x = argument.x;
    if a < lit(LARGE) {
        return ((a - lit(less)) * x.ln() - x - a.unary::<LnGamma1p>().0, W::ONE);
    }
    let excess = argument.excess(a) / a;
    let logarithm = if excess < lit(-0.5) { (x / a).ln() - excess } else { ln_1p_rest(excess) };
    (a * logarithm - lit::<W>(less) * x.ln() - stirling_rest(a), (lit::<W>(2.0 * PI) * a).sqrt().recip())
}

/// The tail of the side of x, for positive numbers and a = 0.
pub(crate) fn tail<W: Float>(argument: Argument<W>, a: W) -> Tail<W> {
    let x = argument.x;
    let lower = x <= a + lit(0.5);
    if lower && a <= W::ONE {
        let sum = small_series(x, a);
        let logarithm = a * x.ln() - a.unary::<LnGamma1p>().0 + (a * sum).ln_1p();
        return Tail { lower, exponent: logarithm, multiple: W::ONE, logarithmic: true };
    }
    let (exponent, factor) = power(argument, a, 0.0);
    let multiple = factor * if lower { lower_sum(argument, a) } else { a * upper_integral(argument, a) };
    Tail { lower, exponent, multiple, logarithmic: false }
}

/// The lower tail over xᵃe⁻ˣ/Γ(a + 1), or the upper one over xᵃe⁻ˣ/Γ(a).
pub(crate) fn rest<W: Float>(argument: Argument<W>, a: W, lower: bool) -> W {
    if !lower {
        upper_integral(argument, a)
    } else if a <= W::ONE {
        (W::ONE + a * small_series(argument.x, a)) * argument.x.exp()
    } else {
        lower_sum(argument, a)
    }
}

/// Σ (−x)ⁿ/(n!·(a + n)) from n = 1 on, for x ≤ 1.5.
fn small_series<W: Float>(x: W, a: W) -> W {
    let (mut power, mut sum, mut n) = (W::ONE, W::ZERO, 0.0);
    while n < 3.0 || power.abs() > lit(1e-19) {
        n += 1.0;
        power = -power * x / lit(n);
        sum += power / (a + lit(n));
    }
    sum
}

/// From this a on sums are integrals.
pub(crate) const SMOOTH: f64 = 20.0;

/// Σ xⁿ/((a + 1)…(a + n)) for x ≤ a + ½. What is left after the first terms is such a sum for a larger a.
fn lower_sum<W: Float>(argument: Argument<W>, a: W) -> W {
    let (mut term, mut sum, mut shape) = (W::ONE, W::ZERO, a);
    while shape < lit(SMOOTH) {
        if term.as_f64() < 1e-22 * sum.as_f64() {
            return sum;
        }
        sum += term;
        shape += W::ONE;
        term = term * argument.x / shape;
    }
    sum + term * shape * lower_integral(argument, shape)
}

/// ∫ exp(−a·v + x·(1 − e⁻ᵛ)) over v from 0 to ∞, which is ∫ tᵃ⁻¹e⁻ᵗ over t = x·e⁻ᵛ from 0 to x over xᵃe⁻ˣ.
fn lower_integral<W: Float>(argument: Argument<W>, a: W) -> W {
    lower_weighed(argument, a, |_| W::ONE)
}

/// The integral of [`lower_integral`] with a weight, a function of v.
pub(crate) fn lower_weighed<W: Float>(argument: Argument<W>, a: W, weight: impl Fn(f64) -> W) -> W {
    let (x, excess) = (argument.x, argument.excess(a));
    let (x64, excess64) = (x.as_f64(), excess.as_f64());
    let beyond = |depth: f64| (depth + x64) / a.as_f64();
    let depth = |v: f64| (x64 * exp_rest(-v) - excess64 * v, -(excess64 + x64 * (-v).exp_m1()));
    laplace(beyond, depth, |v| (excess * lit(v) - x * lit(exp_rest(-v))).exp() * weight(v))
}

/// ∫ exp(a·v − x·(eᵛ − 1)) over v from 0 to ∞, which is ∫ tᵃ⁻¹e⁻ᵗ over t = x·eᵛ from x to ∞ over xᵃe⁻ˣ.
fn upper_integral<W: Float>(argument: Argument<W>, a: W) -> W {
    upper_weighed(argument, a, |_| W::ONE)
}

/// The integral of [`upper_integral`] with a weight, a function of v.
pub(crate) fn upper_weighed<W: Float>(argument: Argument<W>, a: W, weight: impl Fn(f64) -> W) -> W {
    let (x, excess) = (argument.x, argument.excess(a));
    let (x64, excess64) = (x.as_f64(), excess.as_f64());
    let beyond = |depth: f64| (2.0 * depth / x64).sqrt();
    let depth = |v: f64| (excess64 * v + x64 * exp_rest(v), excess64 + x64 * v.exp_m1());
    laplace(beyond, depth, |v| (-(excess * lit(v)) - x * lit(exp_rest(v))).exp() * weight(v))
}
