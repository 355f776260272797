//! Tails of the normal distribution and of the error function: logarithms and scaled forms, where the functions
//! themselves vanish.
//!
//! Far out, all of them come from one continued fraction (Abramowitz and Stegun, 26.2.14; DLMF 7.9): there the slopes
//! of the closed forms are differences of numbers that are nearly equal, and their logarithms are those of 0.

use super::rule::{lit, unary_rules};
use crate::Float;
use core::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, PI};
use libm::{erf, erfc};

/// 1/√(2π).
pub(crate) const FRAC_1_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

/// From here on the continued fraction of erfc is exact to double precision after [`TERMS`] terms.
const FAR: f64 = 3.0;
/// From here on the continued fraction of the normal distribution is exact likewise.
const FAR_NORMAL: f64 = 4.3;
const TERMS: u32 = 34;

unary_rules! {
    /// ln Φ(x), the logarithm of the standard normal distribution function; the slope is the inverse Mills ratio φ/Φ.
    LnNormalCdf(x, y) = V::from_f64(ln_normal_cdf(x.as_f64())), inverse_mills(x);
    /// e^(x²)·erfc x, the scaled complementary error function.
    Erfcx(x, y) = V::from_f64(erfcx(x.as_f64())), erfcx_slope(x, y);
    /// ln erfc x.
    LnErfc(x, y) = V::from_f64(ln_erfc(x.as_f64())), ln_erfc_slope(x);
}

/// s/(x + 2s/(x + 3s/(x + …))), for x that are large beside √s. For s = ½ that is e^(−x²)/(√π·erfc x) − x, for s = 1
/// it is φ(x)/Φ(−x) − x.
fn fraction<V: Float>(x: V, s: f64) -> V {
    let rest = (2..=TERMS).rev().fold(x, |rest, k| x + lit::<V>(f64::from(k) * s) / rest);
    lit::<V>(s) / rest
}

fn ln_normal_cdf(x: f64) -> f64 {
    if x >= 0.0 {
        (-0.5 * erfc(x * FRAC_1_SQRT_2)).ln_1p()
    } else if x > -FAR_NORMAL {
        (0.5 * erfc(-x * FRAC_1_SQRT_2)).ln()
    } else {
        0.5 * x * -x - (2.0 * PI).sqrt().ln() - (fraction(-x, 1.0) - x).ln()
    }
}

/// φ(x)/Φ(x).
fn inverse_mills<V: Float>(x: V) -> V {
    if x > lit(-FAR_NORMAL) {
        let density = lit::<V>(FRAC_1_SQRT_TAU) * (lit::<V>(-0.5) * x * x).exp();
        density / (lit::<V>(0.5) * (-x * lit(FRAC_1_SQRT_2)).erfc())
    } else {
        fraction(-x, 1.0) - x
    }
}

fn erfcx(x: f64) -> f64 {
    if x >= FAR {
        return 0.5 * FRAC_2_SQRT_PI / (x + fraction(x, 0.5));
    }
    if x < -27.0 {
        return f64::INFINITY;
    }
    // The square of the upper half of the digits is exact.
    let upper = f64::from_bits(x.to_bits() & !((1 << 27) - 1));
    (upper * upper).exp() * ((x - upper) * (x + upper)).exp() * erfc(x)
}

/// 2x·y − 2/√π.
fn erfcx_slope<V: Float>(x: V, y: V) -> V {
    if x >= lit(FAR) { lit::<V>(-2.0) * fraction(x, 0.5) * y } else { lit::<V>(2.0) * x * y - lit(FRAC_2_SQRT_PI) }
}

fn ln_erfc(x: f64) -> f64 {
    if x.abs() < 0.5 {
        (-erf(x)).ln_1p()
    } else if x < FAR {
        erfc(x).ln()
    } else {
        x * -x - 0.5 * PI.ln() - (x + fraction(x, 0.5)).ln()
    }
}

/// −2/√π·e^(−x²)/erfc x.
fn ln_erfc_slope<V: Float>(x: V) -> V {
    if x >= lit(FAR) {
        lit::<V>(-2.0) * (x + fraction(x, 0.5))
    } else {
        lit::<V>(-FRAC_2_SQRT_PI) * (-x * x).exp() / x.erfc()
    }
}
