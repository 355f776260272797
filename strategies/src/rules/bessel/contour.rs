//! Bessel functions as integrals over contours, by the trapezoidal rule.
//!
//! Each of the four is an integral of exp(x·G(t) − ν·t) dt, where G is sinh for J and Y (DLMF 10.9.17 and 10.9.18),
//! cosh for I (10.32.12) and −cosh for K (10.32.9). Contours pass a saddle point s, where x·G′(s) = ν, close to the
//! direction of steepest descent, so that terms do not cancel and the trapezoidal rule converges exponentially. The
//! nodes are fixed by the values of x and ν; the exponents are linear in both, and are differentiated under the
//! integral.

use crate::Float;
use crate::rules::rule::lit;
use core::f64::consts::{FRAC_PI_2, LN_2, PI};

type Complex = (f64, f64);

/// Terms below exp(FLOOR) are left out.
const FLOOR: f64 = -42.0;

/// A number times an exponential which alone may be beyond the range of floats.
#[derive(Clone, Copy)]
pub(crate) struct Scaled<W> {
    pub(crate) factor: W,
    pub(crate) exponent: W,
}

impl<W: Float> Scaled<W> {
    /// The number. An exponential that is infinite or 0 only together with the factor is taken in halves.
    pub(crate) fn number(self) -> W {
        if self.exponent.abs() < lit(700.0) {
            return self.factor * self.exponent.exp();
        }
        let half = (lit::<W>(0.5) * self.exponent).exp();
        self.factor * half * half
    }
    /// The number times an exponential.
    pub(crate) fn times_exp(self, exponent: W) -> Self {
        Self { exponent: self.exponent + exponent, ..self }
    }
}

/// A sum over the nodes of a contour near the saddle point s. The exponents are those at s + τ less the one at s:
/// x·G″(s)·(cosh τ − 1) + (x·G′(s) − ν)·sinh τ + ν·(sinh τ − τ).
struct Sum<W> {
    /// x over its value.
    ratio: W,
    nu: W,
    /// x·G″(s) at the value of x.
    bend: Complex,
    /// x·G′(s) − ν.
    gap: W,
    /// The real and the imaginary part.
    total: (W, W),
}

impl<W: Float> Sum<W> {
    /// `slope` is x·G′(s).
    fn new(x: W, nu: W, bend: Complex, slope: f64) -> Self {
        let ratio = x / lit(x.as_f64());
        Self { ratio, nu, bend, gap: ratio * lit(slope) - nu, total: (W::ZERO, W::ZERO) }
    }

    /// A part of an exponent.
    fn exponent(&self, bend: f64, sinh: f64, rest: f64) -> W {
        self.ratio * lit(bend) + self.gap * lit(sinh) + self.nu * lit(rest)
    }

    /// Adds weight·exp(exponent at τ) unless that is negligible; returns false if it is.
    fn add(&mut self, (tau, weight): (Complex, Complex)) -> bool {
        let half = sinh(tau.0 * 0.5, tau.1 * 0.5);
        let square = times(half, half);
        let bend = times(self.bend, (2.0 * square.0, 2.0 * square.1));
        let (sinh, rest) = (sinh(tau.0, tau.1), sinh_rest(tau));
        let real = self.exponent(bend.0, sinh.0, rest.0);
        if real < lit(FLOOR) || real.is_nan() {
            return false;
        }
        let size = real.exp();
        if tau.1 == 0.0 && self.bend.1 == 0.0 {
            self.total.0 += size * lit(weight.0);
            self.total.1 += size * lit(weight.1);
            return true;
        }
        let (sin, cos) = self.exponent(bend.1, sinh.1, rest.1).sin_cos();
        self.total.0 += size * (cos * lit(weight.0) - sin * lit(weight.1));
        self.total.1 += size * (cos * lit(weight.1) + sin * lit(weight.0));
        true
    }

    /// Adds the nodes of a path from 0 on, without the one at 0.
    fn walk(&mut self, path: impl Fn(f64) -> (Complex, Complex), step: f64, end: f64) {
        let mut at = step;
        while at < end && self.add(path(at)) {
            at += step;
        }
    }

    /// The integral over a path through its parameter 0, in both directions.
    fn both_ways(mut self, path: impl Fn(f64) -> (Complex, Complex), step: f64) -> (W, W) {
        self.add(path(0.0));
        self.walk(&path, step, f64::INFINITY);
        self.walk(|at| path(-at), step, f64::INFINITY);
        self.scaled_by(step)
    }

    /// The integral over half of a path.
    fn one_way(mut self, path: impl Fn(f64) -> (Complex, Complex), step: f64, end: f64) -> (W, W) {
        let (tau, weight) = path(0.0);
        self.add((tau, (0.5 * weight.0, 0.5 * weight.1)));
        self.walk(path, step, end);
        self.scaled_by(step)
    }

    fn scaled_by(self, factor: f64) -> (W, W) {
        (self.total.0 * lit(factor), self.total.1 * lit(factor))
    }
}

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn sinh(real: f64, imaginary: f64) -> Complex {
    let (sin, cos) = imaginary.sin_cos();
    (real.sinh() * cos, real.cosh() * sin)
}

/// sinh τ − τ, near 0 by its series.
fn sinh_rest(tau: Complex) -> Complex {
    let square = times(tau, tau);
    if square.0.abs() + square.1.abs() > 1.0 {
        let sinh = sinh(tau.0, tau.1);
        return (sinh.0 - tau.0, sinh.1 - tau.1);
    }
    let mut series = (1.0, 0.0);
    for k in (2_u32..=8).rev() {
        let factor = 1.0 / f64::from(2 * k * (2 * k + 1));
        series = times(series, square);
        series = (1.0 + series.0 * factor, series.1 * factor);
    }
    let cube = times(times(tau, square), series);
    (cube.0 / 6.0, cube.1 / 6.0)
}

/// The path of the Hankel function from −∞ to ∞ + πi: u + iv with v = 2·atan p, p = a·sinh u + √(a²·sinh² u + b²),
/// which is at 2i·atan b for u = 0 and has the slope 1 there.
struct HankelPath {
    a: f64,
    b: f64,
}

impl HankelPath {
    fn new(b: f64) -> Self {
        Self { a: 0.5 * (1.0 + b * b), b }
    }

    /// v, v − 2·atan b without cancellation, and dv/du.
    fn at(&self, u: f64) -> (f64, f64, f64) {
        let Self { a, b } = *self;
        if u < -300.0 {
            return (0.0, -2.0 * b.atan(), 0.0);
        }
        let real = a * u.sinh();
        let root = real.hypot(b);
        let p = if real < 0.0 { b * b / (root - real) } else { root + real };
        let rise = if real < -b { p - b } else { real + real * real / (root + b) };
        let slope = 2.0 * a * u.cosh() * p / root / (1.0 + p * p);
        (2.0 * p.atan(), 2.0 * (rise / (1.0 + p * b)).atan(), slope)
    }
}

/// The least distance of the path of the Hankel function from the real axis: near x = ν, where two saddle points
/// meet, their scale is the cube root of x.
fn clearance(x: f64) -> f64 {
    (2.0 / x.cbrt()).min(FRAC_PI_2)
}

/// √|x² − ν²|.
fn leg(x: f64, nu: f64) -> f64 {
    (x - nu).abs().sqrt() * (x + nu).sqrt()
}

/// asinh(a/b) for a ≥ 0 and b > 0, also where the quotient overflows.
pub(crate) fn asinh_of_quotient(a: f64, b: f64) -> f64 {
    if a / b < 1e20 { (a / b).asinh() } else { a.ln() + LN_2 - b.ln() }
}

/// J and Y for x ≥ ν ≥ 0, from H⁽¹⁾ = J + iY = 1/(πi)·∫ exp(x·sinh t − ν·t) dt through the saddle point i·acos(ν/x).
pub(crate) fn hankel<W: Float>(x: W, nu: W) -> (W, W) {
    let (at_x, at_nu) = (x.as_f64(), nu.as_f64());
    let (mut sine, mut cosine) = (leg(at_x, at_nu), at_nu);
    let (mut angle, mut lag) = (sine.atan2(at_nu), at_nu / (at_x + sine) * at_nu);
    let mut b = sine / (at_x + at_nu);
    if angle < clearance(at_x) {
        angle = clearance(at_x);
        (sine, cosine) = (at_x * angle.sin(), at_x * angle.cos());
        lag = at_x - sine;
        b = (0.5 * angle).tan();
    }
    let path = HankelPath::new(b);
    let node = |u: f64| {
        let (_, rise, slope) = path.at(u);
        ((u, rise), (1.0, slope))
    };
    let step = (0.35 / sine.sqrt()).min(0.09 * angle);
    let sum = Sum::new(x, nu, (0.0, sine), cosine).both_ways(node, step);
    let (sin, cos) = saddle_turn(x, nu, sine, angle, lag);
    let (real, imaginary) = (cos * sum.0 - sin * sum.1, cos * sum.1 + sin * sum.0);
    (imaginary * lit(1.0 / PI), -real * lit(1.0 / PI))
}

/// Sine and cosine of x·sin(angle) − ν·angle, which equals x − (lag + ν·angle). For large x, where lag + ν·angle is
/// small, the two terms of the second form are reduced to a period separately.
fn saddle_turn<W: Float>(x: W, nu: W, sine: f64, angle: f64, lag: f64) -> (W, W) {
    let ratio = x / lit(x.as_f64());
    if angle < 1.0 {
        return (ratio * lit(sine) - nu * lit(angle)).sin_cos();
    }
    let ((sin_x, cos_x), (sin_less, cos_less)) = (x.sin_cos(), (ratio * lit(lag) + nu * lit(angle)).sin_cos());
    (sin_x * cos_less - cos_x * sin_less, cos_x * cos_less + sin_x * sin_less)
}

/// Y for ν > x > 0, by the same path, most of which is near the saddle point −acosh(ν/x).
pub(crate) fn second_kind<W: Float>(x: W, nu: W) -> Scaled<W> {
    let (at_x, at_nu) = (x.as_f64(), nu.as_f64());
    let sine = leg(at_x, at_nu);
    let saddle = asinh_of_quotient(sine, at_x);
    let angle = clearance(at_x);
    let path = HankelPath::new((0.5 * angle).tan());
    let node = |w: f64| {
        let (v, _, slope) = path.at(w - saddle);
        ((w, v), (1.0, slope))
    };
    let step = (0.5 / sine.sqrt()).min(0.09 * angle);
    let sum = Sum::new(x, nu, (-sine, 0.0), at_nu).both_ways(node, step);
    Scaled { factor: sum.0 * lit(-1.0 / PI), exponent: nu * lit(saddle) - x / lit(at_x) * lit(sine) }
}

/// J for ν > x > 0, from 1/(2πi)·∫ exp(x·sinh t − ν·t) dt from ∞ − πi to ∞ + πi through the saddle point acosh(ν/x):
/// t = s + ln cosh r + 2i·atan sinh r.
pub(crate) fn first_kind<W: Float>(x: W, nu: W) -> Scaled<W> {
    let (at_x, at_nu) = (x.as_f64(), nu.as_f64());
    let (mut sine, mut cosine) = (leg(at_x, at_nu), at_nu);
    let mut saddle = asinh_of_quotient(sine, at_x);
    let least = 2.0 / at_x.cbrt();
    if saddle < least {
        saddle = least;
        (sine, cosine) = (at_x * saddle.sinh(), at_x * saddle.cosh());
    }
    let node = |r: f64| {
        let sinh = r.sinh();
        ((0.5 * (sinh * sinh).ln_1p(), 2.0 * sinh.atan()), (r.tanh(), 2.0 / r.cosh()))
    };
    let step = (0.28 / sine.sqrt()).min(0.04 * saddle);
    let sum = Sum::new(x, nu, (sine, 0.0), cosine).one_way(node, step, f64::INFINITY);
    Scaled { factor: sum.1 * lit(1.0 / PI), exponent: x / lit(at_x) * lit(sine) - nu * lit(saddle) }
}

/// exp(−x)·I for x² + ν² ≥ 400 from the upright line through the saddle point asinh(ν/x), whose ends are negligible.
pub(crate) fn modified_first_kind<W: Float>(x: W, nu: W) -> Scaled<W> {
    let (at_x, at_nu) = (x.as_f64(), nu.as_f64());
    let long = at_x.hypot(at_nu);
    let step = 0.6 / long.sqrt();
    let sum = Sum::new(x, nu, (long, 0.0), at_nu).one_way(|v| ((0.0, v), (1.0, 0.0)), step, PI);
    let rise = x * lit(at_nu / (long + at_x) * (at_nu / at_x));
    Scaled { factor: sum.0 * lit(1.0 / PI), exponent: rise - nu * lit(asinh_of_quotient(at_nu, at_x)) }
}

/// exp(x)·K over the real line through the saddle point −asinh(ν/x).
pub(crate) fn modified_second_kind<W: Float>(x: W, nu: W) -> Scaled<W> {
    let (at_x, at_nu) = (x.as_f64(), nu.as_f64());
    let long = at_x.hypot(at_nu);
    let step = (0.5 / long.sqrt()).min(0.18);
    let sum = Sum::new(x, nu, (-long, 0.0), at_nu).both_ways(|w| ((w, 0.0), (1.0, 0.0)), step);
    let fall = x / lit(at_x) * lit(at_nu / (long + at_x) * at_nu);
    Scaled { factor: sum.0 * lit(0.5), exponent: nu * lit(asinh_of_quotient(at_nu, at_x)) - fall }
}

/// exp(x)·K for orders whose square is not above x, as ∫ exp(x − x·cosh t)·cosh νt dt from 0 to ∞ (DLMF 10.32.9), which
/// is even in ν to the last digit.
pub(crate) fn modified_second_kind_even<W: Float>(x: W, nu: W) -> W {
    let step = (0.5 / x.as_f64().sqrt()).min(0.18);
    let (mut total, mut t) = (lit::<W>(0.5), step);
    loop {
        let half = (0.5 * t).sinh();
        let exponent = x * lit(-2.0 * half * half);
        if exponent + nu.abs() * lit(t) < lit(FLOOR) {
            return total * lit(step);
        }
        total += exponent.exp() * (nu * lit(t)).cosh();
        t += step;
    }
}

/// exp(−x)·(I at ν + I at −ν)/2 for such orders and x ≥ 20: ∫ exp(x·cos v − x)·cos νv dv from 0 to π over π (DLMF
/// 10.32.4), likewise.
pub(crate) fn modified_first_kind_even<W: Float>(x: W, nu: W) -> W {
    let step = 0.6 / x.as_f64().sqrt();
    let (mut total, mut v) = (lit::<W>(0.5), step);
    loop {
        let half = (0.5 * v).sin();
        let exponent = x * lit(-2.0 * half * half);
        if exponent < lit(FLOOR) || v > PI {
            return total * lit(step / PI);
        }
        total += exponent.exp() * (nu * lit(v)).cos();
        v += step;
    }
}
