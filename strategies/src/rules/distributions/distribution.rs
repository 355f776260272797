//! Functions of three arguments by the incomplete beta function.

use super::quantile::{beta_inverse, beta_slope_p, beta_slope_shape};
use crate::Float;
use crate::rules::gamma::incomplete_beta::{Part, density, slope, value};
use crate::rules::rule::{is, ternary_rules};

ternary_rules! {
    /// I(x; y, z), the regularized incomplete beta function for 0 ≤ x ≤ 1: the distribution function of the beta
    /// distribution with shapes y, z ≥ 0, not both 0.
    BetaInc(x, y, z, v) = V::from_f64(value(Part::of(x.as_f64()), y.as_f64(), z.as_f64())),
        V::narrow(density(Part::of(x.widen()), y.widen(), z.widen())),
        V::narrow(slope(Part::of(x.widen()), y.widen(), z.widen(), 0)),
        V::narrow(slope(Part::of(x.widen()), y.widen(), z.widen(), 1)),
        is(x, 0.0) || is(x, 1.0);
    /// The argument at which I with shapes y and z is x: the quantile function of the beta distribution.
    BetaIncInv(x, y, z, v) = V::from_f64(beta_inverse(x.as_f64(), y.as_f64(), z.as_f64())),
        beta_slope_p(x, v, y, z), beta_slope_shape(x, v, y, z, 0), beta_slope_shape(x, v, y, z, 1),
        is(x, 0.0) || is(x, 1.0);
    /// P(X ≤ x) for the number X of successes in y trials of probability z each: I(1 − z; y − ⌊x⌋, ⌊x⌋ + 1), also for
    /// a number of trials that is not whole. A step function of x, whose slope by it is 0; 0 for x < 0, and 1 for
    /// ⌊x⌋ ≥ y, with slope 0 by y.
    BinomialCdf(x, y, z, v) = V::from_f64(binomial(x.as_f64(), y.as_f64(), z.as_f64())),
        V::ZERO + V::from_f64(binomial(x.as_f64(), y.as_f64(), z.as_f64()) * 0.0),
        V::narrow(binomial_slopes(x.as_f64(), y.widen(), z.widen()).0),
        V::narrow(binomial_slopes(x.as_f64(), y.widen(), z.widen()).1),
        is(z, 0.0) || is(z, 1.0);
}

/// The value where it is 0 or 1 whatever the probability is, or NaN.
fn certain(k: f64, n: f64, p: f64) -> Option<f64> {
    if k.is_nan() || n.is_nan() || p.is_nan() || n < 0.0 || n.is_infinite() || !(0.0..=1.0).contains(&p) {
        Some(f64::NAN)
    } else if k < 0.0 {
        Some(0.0)
    } else if k.floor() >= n {
        Some(1.0)
    } else {
        None
    }
}

fn binomial(k: f64, n: f64, p: f64) -> f64 {
    let k_whole = k.floor();
    certain(k, n, p).unwrap_or_else(|| value(Part::of(p).swap(), n - k_whole, k_whole + 1.0))
}

/// By n and by p.
fn binomial_slopes<W: Float>(k: f64, n: W, p: W) -> (W, W) {
    if let Some(value) = certain(k, n.as_f64(), p.as_f64()) {
        let slope = if value.is_nan() { W::nan() * (n + p) } else { W::ZERO };
        return (slope, slope);
    }
    let (part, failures, successes) = (Part::of(p).swap(), n - W::from_f64(k.floor()), W::from_f64(k.floor() + 1.0));
    (slope(part, failures, successes, 0), -density(part, failures, successes))
}
