//! Student's t distribution with its slope by the degrees of freedom.
//!
//! For ν < 20, and far out, the distribution function is an incomplete beta function of ν/(ν + t²). There the parts of
//! its slope by ν cancel for large ν, so that beyond it is the integral of the density, written in 1/ν.

use crate::rules::gamma::beta::logarithm_quotient;
use crate::rules::gamma::gamma_ratio::LnRatio;
use crate::rules::gamma::incomplete_beta::{Part, tail};
use crate::rules::gamma::quadrature::{integrate, laplace};
use crate::rules::gamma::tail::shape_slope;
use crate::rules::rule::{binary_rules, lit, product, with_slopes};
use crate::rules::special::NormalCdf;
use crate::{Dual, Float, Number as _};
use core::f64::consts::{LN_2, PI};

binary_rules! {
    /// The distribution function of Student's t distribution at x with y > 0 degrees of freedom.
    StudentTCdf(x, y, v) = V::from_f64(value(x.as_f64(), y.as_f64())),
        V::narrow(density(x.widen(), y.widen())), V::narrow(slope(x.widen(), y.widen()));
}

fn value(t: f64, nu: f64) -> f64 {
    if t.is_nan() || nu.is_nan() || nu <= 0.0 {
        f64::NAN
    } else if t == 0.0 {
        0.5
    } else if t.is_infinite() {
        if t > 0.0 { 1.0 } else { 0.0 }
    } else if nu > ALMOST_NORMAL {
        t.unary::<NormalCdf>().0
    } else {
        distribution(t, nu)
    }
}

/// |t|/√ν below which the distribution function is linear in t to double precision, or ν so large that
/// the slope by it is 0.
const NEAR: f64 = 1e-100;

/// Degrees of freedom above which this is the normal distribution to double precision, and the slope by them the next
/// term of the expansion (Abramowitz and Stegun, 26.7.8).
const ALMOST_NORMAL: f64 = 1e20;

/// Degrees of freedom below which this is ½ + ½·ν·asinh(t/√ν) to double precision.
const FEW: f64 = 1e-30;

/// ∂F/∂ν.
fn slope<W: Float>(t: W, nu: W) -> W {
    if t.is_nan() || nu.is_nan() || nu <= W::ZERO {
        W::nan() * (t + nu)
    } else if (t / nu.sqrt()).abs() < lit(NEAR) {
        product(t, shape_slope(|[nu]| peak(nu), [nu], 0))
    } else if t.is_infinite() {
        W::ZERO
    } else if nu > lit(ALMOST_NORMAL) {
        product(t.normal_pdf(), lit::<W>(0.25) * t * (t * t + W::ONE)) / nu / nu
    } else if nu < lit(FEW) && W::ORDER < 2 {
        slope_of_few(t, nu)
    } else {
        shape_slope(|[nu]| distribution(Dual::constant(t), nu), [nu], 0)
    }
}

/// ∂F/∂ν for few degrees of freedom, with s = t/√ν: ½·asinh s − ¼·s/√(1 + s²).
fn slope_of_few<W: Float>(t: W, nu: W) -> W {
    let (at, degrees) = (t.as_f64(), nu.as_f64());
    let root = degrees.sqrt();
    let (length, s) = (root.hypot(at), at / root);
    let (sine, cosine) = (at / length, root / length);
    let growth = if s.abs() < FAR { s.asinh() } else { (at.abs().ln() + LN_2 - 0.5 * degrees.ln()).copysign(at) };
    let fall = 2.0 - cosine * cosine;
    let slopes = [(t, 0.25 * fall / length), (nu, -0.125 * sine * fall / degrees)];
    with_slopes(0.5 * growth - 0.25 * sine, slopes)
}

/// From these degrees of freedom on the density is a series in 1/ν.
const MANY: f64 = 20.0;

/// Γ(z + ½)/(Γ(z)·√z) is the exponential function of an odd polynomial in 1/z (DLMF 5.11.8): its coefficients.
const HALF_RATIO: [f64; 8] = [
    -1.0 / 8.0,
    1.0 / 192.0,
    -1.0 / 640.0,
    17.0 / 14336.0,
    -31.0 / 18432.0,
    691.0 / 180_224.0,
    -5461.0 / 425_984.0,
    929_569.0 / 15_728_640.0,
];

/// The density at 0.
fn peak<W: Float>(nu: W) -> W {
    if nu < lit(MANY) {
        let half = lit::<W>(0.5);
        return nu.sqrt() * half / (nu + W::ONE) * (nu * half).binary::<LnRatio>(half).exp();
    }
    let r = lit::<W>(2.0) / nu;
    let series = HALF_RATIO.iter().rev().fold(W::ZERO, |sum, c| sum * r * r + lit(*c));
    (series * r).exp() * lit((2.0 * PI).sqrt().recip())
}

/// The logarithm of the density over that at 0, for t² < ν: −½·t²·ln(1 + w)/w − ½·ln(1 + w) with w = t²/ν.
fn logarithm<W: Float>(t: W, nu: W) -> W {
    let square = t * t;
    let w = square / nu;
    lit::<W>(-0.5) * (square * logarithm_quotient(w) + w.ln_1p())
}

/// |t|/√ν above which its square is all that counts in 1 + t²/ν.
const FAR: f64 = 1e9;

fn density<W: Float>(t: W, nu: W) -> W {
    if t.is_nan() || nu.is_nan() || nu <= W::ZERO {
        return W::nan() * (t + nu);
    }
    if t.is_infinite() {
        return W::ZERO;
    }
    let scaled = t / nu.sqrt();
    if scaled.abs() < W::ONE {
        return peak(nu) * logarithm(t, nu).exp();
    }
    if scaled.abs() < lit(FAR) {
        return peak(nu) * (-(nu + W::ONE) * lit(0.5) * (scaled * scaled).ln_1p()).exp();
    }
    let size = if t < W::ZERO { -t } else { t };
    let power = lit::<W>(0.5) * nu.x_ln_x() - (nu + W::ONE) * size.ln();
    nu.sqrt() * peak(nu) * power.exp()
}

/// F for finite numbers, t ≠ 0.
fn distribution<W: Float>(t: W, nu: W) -> W {
    let size = if t < W::ZERO { -t } else { t };
    let scaled = size / nu.sqrt();
    let (half, positive) = (lit::<W>(0.5), t > W::ZERO);
    let (central, part) = if scaled > lit(FAR) {
        let shape = nu * half;
        let power = (half * nu.x_ln_x() - nu * size.ln() + shape.binary::<LnRatio>(half)).exp();
        (false, power / (nu + W::ONE))
    } else if nu < lit(MANY) || scaled > W::ONE {
        let square = scaled * scaled;
        let whole = W::ONE + square;
        let tail = tail(Part::new(whole.recip(), square / whole), nu * half, half);
        (!tail.lower, tail.value())
    } else if size < lit(1.55) {
        // Up to where the slope of the density by ν changes its sign.
        (true, lit::<W>(2.0) * peak(nu) * size * integrate(1.0, |u| logarithm(size * lit(u), nu).exp()))
    } else {
        (false, lit::<W>(2.0) * peak(nu) * size * outer_integral(size, nu))
    };
    match (central, positive) {
        (true, true) => half + half * part,
        (true, false) => half - half * part,
        (false, true) => W::ONE - half * part,
        (false, false) => half * part,
    }
}

/// The integral of the density over t·eᵛ by eᵛ·dv over that at 0.
fn outer_integral<W: Float>(t: W, nu: W) -> W {
    let (nu64, w) = (nu.as_f64(), (t * t / nu).as_f64());
    let beyond = |depth: f64| (depth + 0.5 * (nu64 + 1.0) * w.recip().ln_1p()) / nu64;
    let depth = |v: f64| {
        let moved = w * (2.0 * v).exp();
        let growth = ((moved - w) / (1.0 + w)).ln_1p();
        (0.5 * (nu64 + 1.0) * growth - v, (nu64 + 1.0) * moved / (1.0 + moved) - 1.0)
    };
    laplace(beyond, depth, |v| {
        let factor = lit::<W>(v.exp());
        logarithm(t * factor, nu).exp() * factor
    })
}
