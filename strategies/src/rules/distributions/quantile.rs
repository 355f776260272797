//! Quantiles of the gamma and beta distributions: Newton's iteration on the logarithm of a tail, which is concave in
//! the natural coordinate (ln x, or ln(x/(1 − x))), so that it converges from everywhere. Slopes are by the implicit
//! function theorem.

use super::quantile_of_large as large;
use super::quantile_of_large::HUGE;
use crate::rules::gamma::beta_bends::bends as beta_bends;
use crate::rules::gamma::gamma_bends::bends as gamma_bends;
use crate::rules::gamma::gamma_ratio::{LnGamma1p, LnRatio};
use crate::rules::gamma::incomplete_beta as beta;
use crate::rules::gamma::incomplete_beta::Part;
use crate::rules::gamma::incomplete_gamma as gamma;
use crate::rules::gamma::incomplete_gamma::Argument;
use crate::rules::gamma::tail::{Tail, shape_slope};
use crate::rules::rule::{binary_rules, is, lit, product, widened, with_slopes, zero_with_slope};
use crate::{Dual, Float, Number as _};

binary_rules! {
    /// The x with P(y, x) = p for the left argument p from 0 to 1: the quantile function of the gamma distribution with
    /// shape y > 0.
    GammaPInv(x, y, v) = V::from_f64(gamma_quantile(Sides::lower(x.as_f64()), y.as_f64())),
        gamma_slope_p(Sides::lower(x), v, y), gamma_slope_a(Sides::lower(x), v, y), is(x, 0.0) || is(x, 1.0);
    /// The x with Q(y, x) = q for the left argument q from 0 to 1: exact for tiny q, where 1 − q is 1.
    GammaQInv(x, y, v) = V::from_f64(gamma_quantile(Sides::upper(x.as_f64()), y.as_f64())),
        -gamma_slope_p(Sides::upper(x), v, y), gamma_slope_a(Sides::upper(x), v, y), is(x, 0.0) || is(x, 1.0);
}

/// Two numbers whose sum is 1, the smaller one exact.
#[derive(Clone, Copy)]
struct Sides<W> {
    lower: W,
    upper: W,
}

impl<W: Float> Sides<W> {
    fn lower(p: W) -> Self {
        Self { lower: p, upper: W::ONE - p }
    }

    fn upper(q: W) -> Self {
        Self { lower: W::ONE - q, upper: q }
    }

    fn swap(self) -> Self {
        Self { lower: self.upper, upper: self.lower }
    }

    /// The quantile of the normal distribution.
    fn normal(self) -> W {
        if self.lower < self.upper { self.lower.normal_quantile() } else { -self.upper.normal_quantile() }
    }

    /// The slope of that by the lower number, 1/φ(z).
    fn normal_slope(self) -> W {
        self.normal().normal_pdf().recip()
    }

    fn widen(self) -> Sides<W::Wide> {
        Sides { lower: self.lower.widen(), upper: self.upper.widen() }
    }

    fn values(self) -> Sides<f64> {
        Sides { lower: self.lower.as_f64(), upper: self.upper.as_f64() }
    }

    fn inside(self) -> bool {
        self.lower > W::ZERO && self.upper > W::ZERO
    }
}

impl Sides<f64> {
    fn valid(self) -> bool {
        self.lower >= 0.0 && self.upper >= 0.0
    }

    /// Returns true if the lower number is the smaller one, and the logarithm of the smaller one.
    fn target(self) -> (bool, f64) {
        let low = self.lower < self.upper;
        (low, if low { self.lower } else { self.upper }.ln())
    }

    /// The logarithm of the lower one.
    fn ln_lower(self) -> f64 {
        if self.lower < self.upper { self.lower.ln() } else { (-self.upper).ln_1p() }
    }
}

/// ln x or ln(x/(1 − x)) below which a distribution function is a power to double precision.
const SMALL: f64 = -38.0;

/// Newton's iteration. `excess` is the logarithm of the tail over the target, and its slope. Steps to the right are
/// short, as a tail may fall doubly exponentially.
fn solve(start: f64, range: (f64, f64), excess: impl Fn(f64) -> (f64, f64)) -> f64 {
    let mut u = start.clamp(range.0, range.1);
    for _ in 0..200 {
        let (value, slope) = excess(u);
        let next = (u - value / slope).min(u + 2.0).clamp(range.0, range.1);
        let step = (next - u).abs();
        u = next;
        if step.is_nan() || step <= 1e-9 * u.abs().max(1e-3) {
            break;
        }
    }
    u
}

fn gamma_quantile(p: Sides<f64>, a: f64) -> f64 {
    if !p.valid() || a.is_nan() || a <= 0.0 || a.is_infinite() {
        return f64::NAN;
    }
    if p.lower == 0.0 || p.upper == 0.0 {
        return if p.lower == 0.0 { 0.0 } else { f64::INFINITY };
    }
    if a > HUGE {
        return large::gamma(p.normal(), a);
    }
    // P < xᵃ/Γ(1 + a).
    let least = (p.ln_lower() + a.unary::<LnGamma1p>().0) / a;
    if least < SMALL {
        return least.exp();
    }
    let excess = |x: f64| gamma_excess(p, Argument::of(x), a);
    let u = solve(a.ln(), (least, f64::INFINITY), |u| excess(u.exp()));
    let x = polished(u.exp(), excess);
    if is_found(excess(x).0) { x } else { f64::NAN }
}

/// The logarithm of the tail over the target, and its slope by ln x.
fn gamma_excess(p: Sides<f64>, argument: Argument<f64>, a: f64) -> (f64, f64) {
    let (lower, target) = p.target();
    let tail = gamma::tail(argument, a);
    let logarithm = tail.logarithm(lower);
    let slope = relative_slope(&tail, logarithm, gamma::power(argument, a, 0.0)) * a;
    (logarithm - target, if lower { slope } else { -slope })
}

/// The shapes from which on the rounding of a quantile counts: the density there changes by z·√a times that of x, where
/// z is the distance from the mean in standard deviations.
const STEEP: f64 = 1e3;

/// The quantile with what it has lost by rounding, which a step of Newton's iteration finds.
fn gamma_argument<W: Float>(p: Sides<W>, x: W, a: W) -> Argument<W> {
    if a > lit(STEEP) {
        let (value, slope) = gamma_excess(p.values(), Argument::of(x.as_f64()), a.as_f64());
        Argument { x, lost: -x.as_f64() * (value / slope) }
    } else {
        Argument::of(x)
    }
}

/// The slope of a tail's logarithm, up to a factor, from a density exp(exponent)·factor. For huge parameters
/// exponents have no digits left, so a difference of equal ones is not formed.
fn relative_slope(tail: &Tail<f64>, logarithm: f64, (exponent, factor): (f64, f64)) -> f64 {
    if tail.exponent == exponent && logarithm == tail.exponent + tail.multiple.ln() {
        factor / tail.multiple
    } else {
        (exponent - logarithm).exp() * factor
    }
}

/// Returns true if this difference of logarithms is what rounding leaves, also for parameters of 10¹⁴; and false where
/// the iteration has ended at a bound, as it may for larger ones.
fn is_found(excess: f64) -> bool {
    excess.abs() < 1e-3
}

/// A number after two more steps, on the number itself: it may have more digits than its logarithm.
fn polished(mut x: f64, excess: impl Fn(f64) -> (f64, f64)) -> f64 {
    for _ in 0..2 {
        let (value, slope) = excess(x);
        let step = value / slope;
        if step.abs() < 1e-3 {
            x -= x * step;
        }
    }
    x
}

/// The slope of a quantile (c·p)¹ᐟᵃ that has underflowed, by p for `None`, or by a parameter. `ln_c` is ln c as a
/// function of the parameters, of which a is the first one. Where a slope does not underflow, the quantile over p does
/// not.
fn slope_of_power<W: Float, const N: usize>(
    p: Sides<W>,
    shapes: [W; N],
    ln_c: impl Fn([Dual<Dual<f64, N>, 1>; N]) -> Dual<Dual<f64, N>, 1>,
    by: Option<usize>,
) -> W {
    let (at, a) = (p.values(), shapes[0].as_f64());
    let unit =
        |k: usize| Dual { value: shapes[k].as_f64(), tangents: core::array::from_fn(|i| f64::from(u8::from(i == k))) };
    let units: [Dual<f64, N>; N] = core::array::from_fn(unit);
    let ln_p = at.ln_lower();
    let power = |shapes: [Dual<Dual<f64, N>, 1>; N]| (Dual::constant(lit(ln_p)) + ln_c(shapes)) / shapes[0];
    let logarithm = power(units.map(Dual::constant)).as_f64();
    let growth: [Dual<f64, N>; N] = core::array::from_fn(|k| shape_slope(power, units, k));
    let ratio = (logarithm - ln_p).exp();
    let mixed = |k: usize| product(ratio, (growth[k].value - if k == 0 { a.recip() } else { 0.0 }) / a);
    let Some(by) = by else {
        let bend = product((logarithm - 2.0 * ln_p).exp(), (a.recip() - 1.0) / a);
        return with_slopes(ratio / a, (0..N).map(|k| (shapes[k], mixed(k))).chain([(p.lower, bend)]));
    };
    let x = at.lower * ratio;
    let bend = |k: usize| product(x, growth[by].value * growth[k].value + growth[by].tangents[k]);
    let slopes = (0..N).map(|k| (shapes[k], bend(k))).chain([(p.lower, mixed(by))]);
    with_slopes(product(x, growth[by].value), slopes)
}

/// Derivatives at an end of a quantile that begins there as (c·p)¹ᐟᵃ.
struct End {
    /// By p.
    slope: f64,
    /// By p twice, by p and a, and by p and the other parameter.
    bends: [f64; 3],
}

impl End {
    /// `c` is the constant, and `linear` the slope for a = 1 with its own by p and by the other parameter, which for
    /// larger a is `other`.
    fn new(a: f64, c: f64, linear: [f64; 3], other: f64) -> Self {
        let infinite = f64::INFINITY;
        if a > 1.0 {
            Self { slope: infinite, bends: [-infinite, infinite, other] }
        } else if a == 1.0 {
            let [slope, twice, by_other] = linear;
            Self { slope, bends: [twice, infinite, by_other] }
        } else {
            let twice = if a > 0.5 {
                infinite
            } else if a == 0.5 {
                2.0 * c * c
            } else {
                0.0
            };
            Self { slope: 0.0, bends: [twice, 0.0, 0.0] }
        }
    }

    /// The slope by p over the numbers p, a and the other parameter.
    fn by_p<W: Float>(&self, p: W, a: W, other: W) -> W {
        let [twice, by_a, by_other] = self.bends;
        with_slopes(self.slope, [(p, twice), (a, by_a), (other, by_other)])
    }
}

/// The end at p = 0 for the gamma distribution.
fn gamma_end(a: f64) -> End {
    End::new(a, libm::tgamma(1.0 + a), [1.0, 1.0, 0.0], 0.0)
}

/// The end at p = 0 for the beta distribution.
fn beta_end(a: f64, b: f64) -> End {
    let c = ln_beta_constant(a, b).exp();
    End::new(a, c, [b.recip(), (b - 1.0) / b / b, -b.recip() / b], f64::NEG_INFINITY)
}

/// ∂x/∂p = 1/(∂P/∂x).
fn gamma_slope_p<V: Float>(p: Sides<V>, x: V, a: V) -> V {
    let x = widened(x, || gamma_quantile(p.values(), a.as_f64()));
    let (p, a) = (p.widen(), a.widen());
    let slope = if a > lit(HUGE) && p.inside() && a.is_finite() {
        large::slope_z(|z, [a]| large::gamma(z, a), p.normal(), [a]) * p.normal_slope()
    } else if x > V::Wide::ZERO && x.is_finite() {
        gamma_slope_inside(p, x, a)
    } else if is(x, 0.0) && p.lower > V::Wide::ZERO {
        slope_of_power(p, [a], |[a]| a.unary::<LnGamma1p>().0, None)
    } else if is(p.lower, 0.0) && a > V::Wide::ZERO && a.is_finite() {
        gamma_end(a.as_f64()).by_p(p.lower, a, V::Wide::ZERO)
    } else if is(p.upper, 0.0) && a > V::Wide::ZERO && a.is_finite() {
        with_slopes(f64::INFINITY, [(p.lower, f64::INFINITY), (a, f64::INFINITY)])
    } else {
        gamma::density(x, a).recip()
    };
    V::narrow(slope)
}

fn gamma_slope_inside<W: Float>(p: Sides<W>, x: W, a: W) -> W {
    if W::ORDER != 1 {
        return gamma::inverse_density(gamma_argument(p, x, a), a);
    }
    let (argument, shape) = (gamma_argument(p.values(), x.as_f64(), a.as_f64()), a.as_f64());
    let slope = gamma::inverse_density(argument, shape);
    let bend = product((argument.excess(shape) + 1.0) / argument.x, slope);
    with_slopes(slope, [(p.lower, product(bend, slope)), (a, product(gamma_bends(argument, shape).mixed, slope))])
}

/// ∂x/∂a = −(∂P/∂a)/(∂P/∂x).
fn gamma_slope_a<V: Float>(p: Sides<V>, x: V, a: V) -> V {
    let x = widened(x, || gamma_quantile(p.values(), a.as_f64()));
    let (p, a) = (p.widen(), a.widen());
    if x.is_infinite() {
        let bend = -a.as_f64().polygamma(1);
        return V::narrow(with_slopes(f64::INFINITY, [(p.lower, f64::INFINITY), (a, bend)]));
    }
    if is(p.lower, 0.0) && is(x, 0.0) {
        return V::narrow(zero_with_slope(p.lower, lit(gamma_end(a.as_f64()).bends[1])));
    }
    if is(x, 0.0) {
        return V::narrow(slope_of_power(p, [a], |[a]| a.unary::<LnGamma1p>().0, Some(0)));
    }
    if a > lit(HUGE) && a.is_finite() {
        return V::narrow(large::slope_shape(|z, [a]| large::gamma(z, a), p.normal(), [a], 0));
    }
    if V::ORDER != 1 || x.is_nan() {
        return V::narrow(-gamma::slope_over_density(gamma_argument(p, x, a), a));
    }
    let (argument, shape) = (gamma_argument(p.values(), x.as_f64(), a.as_f64()), a.as_f64());
    let (slope, bends) = (-gamma::slope_over_density(argument, shape), gamma_bends(argument, shape));
    let mixed = product(bends.mixed, gamma::inverse_density(argument, shape));
    V::narrow(with_slopes(slope, [(p.lower, mixed), (a, bends.second)]))
}

/// The x with I(x; a, b) = p, with 1 − x.
fn beta_quantile(p: Sides<f64>, a: f64, b: f64) -> Part<f64> {
    if !(p.valid() && a > 0.0 && b > 0.0) || a.is_infinite() || b.is_infinite() {
        return Part::new(f64::NAN, f64::NAN);
    }
    if p.lower == 0.0 || p.upper == 0.0 {
        return if p.lower == 0.0 { Part::new(0.0, 1.0) } else { Part::new(1.0, 0.0) };
    }
    if a.min(b) > HUGE {
        let z = p.normal();
        return Part::new(large::beta(z, a, b), large::beta(-z, b, a));
    }
    let (least, most) = (beta_power(p, a, b), -beta_power(p.swap(), b, a));
    let bounds = (SMALL - b.ln_1p(), a.ln_1p() - SMALL);
    if least < bounds.0 {
        return Part::new(least.exp(), 1.0);
    }
    if most > bounds.1 {
        return Part::new(1.0, (-most).exp());
    }
    let excess = |x: f64, y: f64| beta_excess(p, Part::new(x, y), a, b);
    let pair = |u: f64| ((1.0 + (-u).exp()).recip(), (1.0 + u.exp()).recip());
    let u = solve((a / b).ln(), bounds, |u| excess(pair(u).0, pair(u).1));
    let (mut x, mut y) = pair(u);
    for _ in 0..2 {
        let (value, slope) = excess(x, y);
        let step = value / slope;
        if step.abs() < 1e-3 {
            (x, y) = if x < y { (x - x * y * step, y) } else { (x, y + x * y * step) };
            (x, y) = if x < y { (x, 1.0 - x) } else { (1.0 - y, y) };
        }
    }
    if is_found(excess(x, y).0) { Part::new(x, y) } else { Part::new(f64::NAN, f64::NAN) }
}

/// The logarithm of the tail over the target, and its slope by ln(x/y).
fn beta_excess(p: Sides<f64>, part: Part<f64>, a: f64, b: f64) -> (f64, f64) {
    let (lower, target) = p.target();
    let tail = beta::tail(part, a, b);
    let logarithm = tail.logarithm(lower);
    let slope = relative_slope(&tail, logarithm, beta::power(part, a, b, 0.0)) * a;
    (logarithm - target, if lower { slope } else { -slope })
}

/// ln(a·B(a, b)).
fn ln_beta_constant<W: Float>(a: W, b: W) -> W {
    (a / b).ln_1p() - a.binary::<LnRatio>(b)
}

/// ln x where I is the power xᵃ/(a·B(a, b)).
fn beta_power(p: Sides<f64>, a: f64, b: f64) -> f64 {
    (p.ln_lower() + ln_beta_constant(a, b)) / a
}

/// The quantile function of the beta distribution: the x with I(x; a, b) = p.
pub(crate) fn beta_inverse(p: f64, a: f64, b: f64) -> f64 {
    beta_quantile(Sides::lower(p), a, b).x
}

/// x with 1 − x to full precision: that of a rounded x near 1 has few digits. For large shapes, with what rounding has
/// taken from the two, which a step of Newton's iteration finds.
fn beta_part<W: Float>(p: W, x: W, a: W, b: W) -> Part<W> {
    let (sides, first, second) = (Sides::lower(p.as_f64()), a.as_f64(), b.as_f64());
    let mut part = Part::of(x);
    if x >= lit(0.5) {
        let found = beta_quantile(sides, first, second);
        part = Part::new(x.with_value(found.x), part.y.with_value(found.y));
    }
    if first.min(second) > STEEP {
        let here = plain(part);
        let (value, slope) = beta_excess(sides, here, first, second);
        part.lost = -(first + second) * here.x * here.y * (value / slope);
    }
    part
}

fn beta_widened<V: Float>(p: V::Wide, x: V, a: V::Wide, b: V::Wide) -> V::Wide {
    widened(x, || beta_inverse(p.as_f64(), a.as_f64(), b.as_f64()))
}

/// ∂x/∂p = 1/(∂I/∂x).
pub(crate) fn beta_slope_p<V: Float>(p: V, x: V, a: V, b: V) -> V {
    let (p, a, b) = (Sides::lower(p.widen()), a.widen(), b.widen());
    let part = beta_part(p.lower, beta_widened(p.lower, x, a, b), a, b);
    let zero = V::Wide::ZERO;
    let slope = if are_huge(a, b) && p.inside() {
        large::slope_z(|z, [a, b]| large::beta(z, a, b), p.normal(), [a, b]) * p.normal_slope()
    } else if part.x > zero && part.y > zero {
        beta_slope_inside(p.lower, part, a, b)
    } else if is(part.x, 0.0) && p.lower > zero {
        slope_of_power(p, [a, b], |[a, b]| ln_beta_constant(a, b), None)
    } else if is(part.y, 0.0) && p.upper > zero {
        slope_of_power(p.swap(), [b, a], |[b, a]| ln_beta_constant(b, a), None)
    } else if is(p.lower, 0.0) && a > zero && b > zero && (a + b).is_finite() {
        beta_end(a.as_f64(), b.as_f64()).by_p(p.lower, a, b)
    } else if is(p.upper, 0.0) && a > zero && b > zero && (a + b).is_finite() {
        beta_end(b.as_f64(), a.as_f64()).by_p(p.upper, b, a)
    } else {
        beta::density(part, a, b).recip()
    };
    V::narrow(slope)
}

fn beta_slope_inside<W: Float>(p: W, part: Part<W>, a: W, b: W) -> W {
    if W::ORDER != 1 {
        return beta::inverse_density(part, a, b);
    }
    let (part, first, second) = (plain(part), a.as_f64(), b.as_f64());
    let slope = beta::inverse_density(part, first, second);
    // The first form is exact at shapes of 1, the second one has what was lost.
    let excess = if part.lost == 0.0 {
        (second - 1.0) * part.x - (first - 1.0) * part.y
    } else {
        part.excess(first, second) + part.y - part.x
    };
    let bend = product(excess / part.x / part.y, slope);
    let [by_a, by_b] = beta_bends(part, first, second).mixed.map(|mixed| product(mixed, slope));
    with_slopes(slope, [(p, product(bend, slope)), (a, by_a), (b, by_b)])
}

/// ∂x/∂a = −(∂I/∂a)/(∂I/∂x), and the like for b.
pub(crate) fn beta_slope_shape<V: Float>(p: V, x: V, a: V, b: V, by: usize) -> V {
    if x.is_nan() || a <= V::ZERO || b <= V::ZERO {
        return V::nan() * (p + a + b);
    }
    let (sides, a, b) = (Sides::lower(p.widen()), a.widen(), b.widen());
    if !sides.inside() {
        let mixed = if is(p, 0.0) {
            beta_end(a.as_f64(), b.as_f64()).bends[1 + by]
        } else {
            beta_end(b.as_f64(), a.as_f64()).bends[2 - by]
        };
        return V::narrow(zero_with_slope(sides.lower, lit(mixed)));
    }
    if are_huge(a, b) {
        let z = sides.normal();
        return V::narrow(large::slope_shape(|z, [a, b]| large::beta(z, a, b), z, [a, b], by));
    }
    let part = beta_part(p.widen(), beta_widened(p.widen(), x, a, b), a, b);
    if is(part.x, 0.0) {
        return V::narrow(slope_of_power(sides, [a, b], |[a, b]| ln_beta_constant(a, b), Some(by)));
    }
    if is(part.y, 0.0) {
        return V::narrow(-slope_of_power(sides.swap(), [b, a], |[b, a]| ln_beta_constant(b, a), Some(1 - by)));
    }
    if V::ORDER != 1 {
        return V::narrow(-beta::slope_over_density(part, a, b, by));
    }
    let (part, first, second) = (plain(part), a.as_f64(), b.as_f64());
    let (slope, bends) = (-beta::slope_over_density(part, first, second, by), beta_bends(part, first, second));
    let mixed = product(bends.mixed[by], beta::inverse_density(part, first, second));
    let [by_a, by_b] = bends.second[by];
    V::narrow(with_slopes(slope, [(p.widen(), mixed), (a, by_a), (b, by_b)]))
}

fn are_huge<W: Float>(a: W, b: W) -> bool {
    a > lit(HUGE) && b > lit(HUGE) && a.is_finite() && b.is_finite()
}

/// The values of a part.
fn plain<W: Float>(part: Part<W>) -> Part<f64> {
    Part { x: part.x.as_f64(), y: part.y.as_f64(), lost: part.lost }
}
