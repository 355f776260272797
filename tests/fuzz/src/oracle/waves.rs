//! Bessel functions, those of the first kind by power series, those of the second kind by integrals.

use super::formulas::{Formula, about};
use super::number::Num;
use super::special::{digamma, gamma};
use core::f64::consts::PI;

/// A function with its slopes by the argument and by the order, each with the size of its terms.
type Found = [(f64, f64); 3];

/// Σ (±x²/4)ᵏ(x/2)ᵛ/(k!·Γ(ν + k + 1)).
fn series(x: f64, nu: f64, sign: f64) -> Found {
    let (mut found, mut k) = ([(0.0, 0.0); 3], 0.0);
    let mut term = (0.5 * x).powf(nu) / gamma(nu + 1.0);
    while k < x || term.abs() > 1e-18 * found[0].1 {
        let by_order = (0.5 * x).ln() - digamma(nu + k + 1.0);
        for (sum, factor) in found.iter_mut().zip([1.0, (nu + 2.0 * k) / x, by_order]) {
            *sum = (sum.0 + term * factor, sum.1 + (term * factor).abs());
        }
        k += 1.0;
        term *= sign * 0.25 * x * x / (k * (nu + k));
    }
    found
}

/// Points and weights of Gauss and Legendre for a range from −1 to 1.
const GAUSS: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_47),
    (0.906_179_845_938_664, 0.236_926_885_056_189_1),
];

/// ∫ f over t from `low` to `high`, in a hundred pieces.
fn integral(low: f64, high: f64, f: impl Fn(f64) -> [f64; 3]) -> Found {
    let mut found = [(0.0, 0.0); 3];
    let half = 0.005 * (high - low);
    for (k, (node, weight)) in (0..100).flat_map(|k| GAUSS.map(|row| (k, row))) {
        let middle = low + half * f64::from(2 * k + 1);
        for (sum, part) in found.iter_mut().zip(f(middle + half * node)) {
            let term = weight * half * part;
            *sum = (sum.0 + term, sum.1 + term.abs());
        }
    }
    found
}

/// K = ∫ exp(−x·cosh t)·cosh νt from 0 to ∞, and its slopes.
fn modified_second(x: f64, nu: f64) -> Found {
    integral(0.0, end(x, nu), |t| {
        let power = (-x * t.cosh()).exp();
        [power * (nu * t).cosh(), -power * t.cosh() * (nu * t).cosh(), power * t * (nu * t).sinh()]
    })
}

/// Where exp(νt − x·sinh t) and its like are nothing.
fn end(x: f64, nu: f64) -> f64 {
    let mut t = 1.0;
    while x * f64::sinh(t) - (nu.abs() + 1.0) * t < 50.0 {
        t += 0.25;
    }
    t
}

/// πY = ∫ sin(x·sin t − νt) from 0 to π − ∫ (e^νt + e^−νt·cos νπ)·exp(−x·sinh t) from 0 to ∞ (DLMF 10.9.7).
fn second(x: f64, nu: f64) -> Found {
    let turning = integral(0.0, PI, |t| {
        let (sin, cos) = (x * t.sin() - nu * t).sin_cos();
        [sin, cos * t.sin(), -cos * t]
    });
    let vanishing = integral(0.0, end(x, nu), |t| {
        let (grows, falls, power) = ((nu * t).exp(), (-nu * t).exp(), (-x * t.sinh()).exp());
        let (sin, cos) = (nu * PI).sin_cos();
        let sum = grows + falls * cos;
        [sum * power, -sum * t.sinh() * power, power * (t * grows - t * falls * cos - PI * falls * sin)]
    });
    core::array::from_fn(|k| ((turning[k].0 - vanishing[k].0) / PI, (turning[k].1 + vanishing[k].1) / PI))
}

/// A function times e^(±x).
fn scaled(found: Found, x: f64, sign: f64) -> Found {
    let [value, slope, by_order] = found.map(|(v, size)| (v * (sign * x).exp(), size * (sign * x).exp()));
    [value, (slope.0 + sign * value.0, slope.1 + value.1), by_order]
}

/// A function where the formulas are good.
fn where_good(x: &[f64], part: usize, f: impl Fn(f64, f64) -> Found) -> Num {
    if !((0.2..10.0).contains(&x[0]) && (0.0..10.0).contains(&x[1])) {
        return Num::UNKNOWN;
    }
    let (v, size) = f(x[0], x[1])[part];
    about(v, size)
}

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("bessel_j", |x, part| where_good(x, part, |x, nu| series(x, nu, -1.0))),
    ("bessel_y", |x, part| where_good(x, part, second)),
    ("bessel_i", |x, part| where_good(x, part, |x, nu| series(x, nu, 1.0))),
    ("bessel_k", |x, part| where_good(x, part, modified_second)),
    ("bessel_i_scaled", |x, part| where_good(x, part, |x, nu| scaled(series(x, nu, 1.0), x, -1.0))),
    ("bessel_k_scaled", |x, part| where_good(x, part, |x, nu| scaled(modified_second(x, nu), x, 1.0))),
];
