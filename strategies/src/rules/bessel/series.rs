//! Power series of Bessel functions for small arguments.

use super::contour::Scaled;
use crate::Float;
use crate::rules::rule::lit;
use core::f64::consts::{FRAC_2_PI, LN_2, PI};

/// The coefficients of 1/Γ(1 + z).
const RECIPROCAL_GAMMA: [f64; 20] = [
    1.0,
    0.577_215_664_901_532_9,
    -0.655_878_071_520_253_9,
    -0.042_002_635_034_095_24,
    0.166_538_611_382_291_48,
    -0.042_197_734_555_544_33,
    -0.009_621_971_527_876_973,
    0.007_218_943_246_663_1,
    -0.001_165_167_591_859_065_2,
    -0.000_215_241_674_114_950_98,
    0.000_128_050_282_388_116_2,
    -2.013_485_478_078_824e-5,
    -1.250_493_482_142_670_6e-6,
    1.133_027_231_981_696e-6,
    -2.056_338_416_977_607e-7,
    6.116_095_104_481_416e-9,
    5.002_007_644_469_223e-9,
    -1.181_274_570_487_02e-9,
    1.043_426_711_691_100_5e-10,
    7.782_263_439_905_071e-12,
];

/// Σ aₖ·squareᵏ over every second coefficient.
fn every_second<W: Float>(coefficients: &[f64], square: W) -> W {
    coefficients.iter().step_by(2).rev().fold(W::ZERO, |sum, a| sum * square + lit(*a))
}

/// ln Γ(z) for z ≥ 12 by Stirling's series.
fn ln_gamma_of_large<W: Float>(z: W) -> W {
    let r = z.recip();
    let s = r * r;
    let coefficients = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    let rest = r * coefficients.iter().rev().fold(W::ZERO, |sum, a| sum * s + lit(*a));
    (z - lit(0.5)) * z.ln() - z + lit(0.5 * (2.0 * PI).ln()) + rest
}

/// J (sign −1) or I (sign 1) for ν ≥ 0 (DLMF 10.2.2, 10.25.2), where x² is not much above 4·(ν + 1) for J.
pub(crate) fn power_series<W: Float>(x: W, nu: W, sign: f64) -> Scaled<W> {
    let quarter = x * x * lit(0.25 * sign);
    let (mut term, mut total, mut k) = (W::ONE, W::ONE, W::ZERO);
    while k < lit(2.0) || term.abs() > lit::<W>(1e-20) * total {
        k += W::ONE;
        term = term * quarter / (k * (nu + k));
        total += term;
    }
    let (factor, exponent) = reciprocal_gamma(nu);
    let total = total * factor;
    if x < lit(1e-100) {
        // The power has derivatives where 1/x² overflows.
        let power = x.powf(nu) * lit::<W>(0.5).powf(nu);
        return Scaled { factor: power * (total * exponent.exp()), exponent: W::ZERO };
    }
    Scaled { factor: total, exponent: nu * (x.ln() - lit(LN_2)) + exponent }
}

/// 1/Γ(ν + 1) as a product of a factor and an exponential.
fn reciprocal_gamma<W: Float>(nu: W) -> (W, W) {
    if nu > lit(12.5) {
        return (W::ONE, -ln_gamma_of_large(nu + W::ONE));
    }
    let (mut z, mut product) = (nu, W::ONE);
    while z > lit(0.5) {
        product = product * z;
        z = z - W::ONE;
    }
    let series = RECIPROCAL_GAMMA.iter().rev().fold(W::ZERO, |sum, a| sum * z + lit(*a));
    (series / product, W::ZERO)
}

/// Γ(ν)·(x/2)⁻ᵛ/2 for ½ < ν ≤ 12.5 and tiny x, where it is K.
pub(crate) fn leading_power<W: Float>(x: W, nu: W) -> W {
    x.powf(-nu) * lit::<W>(2.0).powf(nu) * (lit::<W>(0.5) / (nu * reciprocal_gamma(nu).0))
}

/// (sinh y)/y.
fn sinh_quotient<W: Float>(y: W) -> W {
    if y.abs() > W::ONE {
        return y.sinh() / y;
    }
    even_series(y * y)
}

/// Σ sᵏ/(2k + 1)!, which is (sinh y)/y for s = y² and (sin y)/y for s = −y².
fn even_series<W: Float>(s: W) -> W {
    (1..=13_u32).rev().fold(W::ONE, |sum, k| W::ONE + s * sum * lit(1.0 / f64::from(2 * k * (2 * k + 1))))
}

/// Parts of which (x/2)^±ν/Γ(1 ± ν) are made for ν ≤ ½, in functions that are even in ν to the last digit.
struct Halves<W> {
    nu: W,
    /// Half of the sum of (x/2)⁻ᵛ/Γ(k + 1 − ν) and (x/2)ᵛ/Γ(k + 1 + ν), at first for k = 0.
    sum: W,
    /// Half of their difference.
    difference: W,
    k: W,
}

impl<W: Float> Halves<W> {
    /// With the function with which Temme's series for K starts, but for its factor πν/sin πν.
    fn new(x: W, nu: W) -> (Self, W) {
        let square = nu * nu;
        let even = every_second(&RECIPROCAL_GAMMA, square);
        let odd = -every_second(&RECIPROCAL_GAMMA[1..], square);
        let ln = lit::<W>(LN_2) - x.ln();
        let y = nu * ln;
        let (cosh, quotient) = (y.cosh(), sinh_quotient(y));
        let sinh = y * quotient;
        let halves =
            Self { nu, sum: cosh * even + nu * sinh * odd, difference: sinh * even + nu * cosh * odd, k: W::ZERO };
        (halves, cosh * odd + quotient * ln * even)
    }

    /// From k to k + 1; returns (k + 1)² − ν².
    fn advance(&mut self) -> W {
        let Self { nu, sum, difference, .. } = *self;
        self.k += W::ONE;
        let denominator = self.k * self.k - nu * nu;
        self.sum = (self.k * sum + nu * difference) / denominator;
        self.difference = (self.k * difference + nu * sum) / denominator;
        denominator
    }
}

/// Half of the sum of I at ν and at −ν, for ν ≤ ½.
pub(crate) fn modified_first_kind_even<W: Float>(x: W, nu: W) -> W {
    let (mut halves, _) = Halves::new(x, nu);
    let quarter = x * x * lit(0.25);
    let (mut power, mut total) = (W::ONE, halves.sum);
    while halves.k < lit(2.0) || power * halves.sum.abs() > lit::<W>(1e-20) * total.abs() {
        halves.advance();
        power = power * quarter / halves.k;
        total += power * halves.sum;
    }
    total
}

/// K (sign 1) or Y (sign −1) for ν ≤ ½ and x ≤ 1 (Temme, J. Comput. Phys. 19 and 21, 1975 and 1976).
pub(crate) fn temme<W: Float>(x: W, nu: W, sign: f64) -> W {
    let (mut halves, mut f) = Halves::new(x, nu);
    // (2/ν)·sin²(πν/2) for Y.
    let half_turn = nu * lit(0.5 * PI);
    let quotient = even_series(-half_turn * half_turn);
    let shift = if sign < 0.0 { nu * quotient * quotient * lit(0.5 * PI * PI) } else { W::ZERO };
    let value = |f: W, halves: &Halves<W>| f + shift * lit(0.5) * (halves.sum - halves.difference);
    let quarter = x * x * lit(0.25 * sign);
    let (mut power, mut total) = (W::ONE, value(f, &halves));
    while halves.k < lit(2.0) || power.abs() > lit(1e-20) {
        let sum = halves.sum;
        let denominator = halves.advance();
        f = (halves.k * f + sum) / denominator;
        power = power * quarter / halves.k;
        total += power * value(f, &halves);
    }
    let turn = nu * lit(PI);
    let total = total / even_series(-turn * turn);
    if sign < 0.0 { -total * lit(FRAC_2_PI) } else { total }
}
