//! Lambert's function: the solutions W of W·e^W = x, on both real branches (Corless et al., "On the Lambert W
//! function", Advances in Computational Mathematics 5, 1996; DLMF 4.13).

use super::rule::{is, lit, unary_rules, zero_with_slope};
use crate::Float;
use core::f64::consts::E;

unary_rules! {
    /// W₀(x) ≥ −1, for x ≥ −1/e; the slope at −1/e, rounded, is +∞.
    LambertW0(x, y) = if is_branch_point(x) { -V::one() } else { V::from_f64(upper(x.as_f64())) },
        upper_slope(x, y), is_branch_point(x);
    /// W₋₁(x) ≤ −1, for −1/e ≤ x < 0; the slope at −1/e, rounded, and at 0 is −∞.
    LambertWm1(x, y) = if is_branch_point(x) { -V::one() } else { V::from_f64(lower(x.as_f64())) },
        lower_slope(x, y), is_branch_point(x) || is(x, 0.0);
}

/// −1/e, rounded down.
const BRANCH_POINT: f64 = -0.367_879_441_171_442_33;
/// The difference of −1/e and [`BRANCH_POINT`].
const REST: f64 = 1.242_875_367_278_836_3e-17;
/// Up to here 1 + W₀ is computed apart, and W₀ from it.
const NEAR_UPPER: f64 = -0.25;
/// Up to here 1 + W₋₁ is computed apart.
const NEAR_LOWER: f64 = -0.33;

/// Returns true if x is −1/e as far as such numbers can say.
fn is_branch_point<V: Float>(x: V) -> bool {
    is(x, lit::<V>(BRANCH_POINT).as_f64())
}

/// √(2(e·x + 1)), in which powers W is a series.
fn distance(x: f64) -> f64 {
    (2.0 * E * (x - BRANCH_POINT - REST)).sqrt()
}

/// u = 1 + W next to the branch point, from ±[`distance`]. There 1 + (u − 1)·eᵘ = e·x + 1, and the left side is a
/// series without cancellation, u²/2 + u³/3 + u⁴/8 + …: Newton's method finds u with all its digits.
fn one_plus(p: f64) -> f64 {
    let mut u = p * (1.0 - p * (1.0 / 3.0 - p * (11.0 / 72.0)));
    for _ in 0..4 {
        let (mut power, mut sum) = (u, 0.0);
        // Σ (k − 1)/k!·uᵏ.
        for k in 2..=20 {
            power *= u / f64::from(k);
            sum += f64::from(k - 1) * power;
        }
        u -= (sum - 0.5 * p * p) / (u * u.exp());
    }
    u
}

/// Starts from the approximation of Winitzki (2003), and takes Newton steps for W·e^W, each with squared error.
fn upper(x: f64) -> f64 {
    if x < NEAR_UPPER {
        return one_plus(distance(x)) - 1.0;
    }
    if x == 0.0 || x == f64::INFINITY {
        return x;
    }
    let start = x.ln_1p();
    newton(start * (1.0 - start.ln_1p() / (2.0 + start)), |w| (w * w + x * (-w).exp()) / (1.0 + w))
}

/// Starts from the first terms of the series at −1/e or at 0, and takes Newton steps for ln(x/W) = W.
fn lower(x: f64) -> f64 {
    if x < NEAR_LOWER {
        return one_plus(-distance(x)) - 1.0;
    }
    if x >= 0.0 || x.is_nan() {
        return if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    }
    let logarithm = (-x).ln();
    let start = if x < -0.2 {
        let p = -distance(x);
        p * (1.0 - p * (1.0 / 3.0 - p * (11.0 / 72.0))) - 1.0
    } else {
        let second = (-logarithm).ln();
        logarithm - second + second / logarithm
    };
    newton(start, |w| w * (1.0 + logarithm - (-w).ln()) / (1.0 + w))
}

/// Steps until the next one would change nothing.
fn newton(mut w: f64, step: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..20 {
        let next = step(w);
        let change = (next - w).abs();
        w = next;
        if change <= 1e-9 * w.abs() {
            break;
        }
    }
    w
}

/// W′ = e^−W/(1 + W) = 1/(x·(1 + W)/W): the first is exact next to 0, the second where W is large.
fn upper_slope<V: Float>(x: V, w: V) -> V {
    if is_branch_point(x) {
        return V::infinity() + zero_with_slope(x, V::neg_infinity());
    }
    if x.is_infinite() && x > V::zero() {
        return V::zero();
    }
    let near = x < lit(NEAR_UPPER);
    let u = if near { (V::one() + w).with_value(one_plus(distance(x.as_f64()))) } else { V::one() + w };
    if w < V::one() { (-w).exp() / u } else { (x / w * u).recip() }
}

fn lower_slope<V: Float>(x: V, w: V) -> V {
    if is_branch_point(x) {
        return V::neg_infinity() + zero_with_slope(x, V::infinity());
    }
    if is(x, 0.0) || is(x.recip(), f64::NEG_INFINITY) {
        return V::neg_infinity() + zero_with_slope(x, V::neg_infinity());
    }
    let near = x < lit(NEAR_LOWER);
    let u = if near { (V::one() + w).with_value(one_plus(-distance(x.as_f64()))) } else { V::one() + w };
    (x / w * u).recip()
}
