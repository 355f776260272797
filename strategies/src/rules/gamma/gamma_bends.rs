//! Second derivatives of the quantile function x(p, a) of the gamma distribution, written so that nothing cancels.
//!
//! For small a, and far below a large one, they come from the ratio R of a tail and the density, which is x times a
//! sum of positive terms or an integral: with P = R·∂P/∂x on one side, and Q on the other, ∂x/∂p is R/P. Its
//! derivative by a at a constant P is ∂x/∂p times that of ln R, in which the exponential function is no more.
//!
//! For large a, x = a·(1 + μ) where ½η² = μ − ln(1 + μ), and z = η·√a is almost normally distributed (Temme, SIAM J.
//! Math. Anal. 10, 1979; DLMF 8.12): its density is φ(z)·k/Γ*(a) with k = η/μ, and Γ*(a) from Stirling's formula. At a
//! constant z that changes by little with a, and so does z at a constant p.

use super::beta::stirling_rest;
use super::incomplete_gamma::{Argument, SMOOTH, lower_weighed, rest, upper_weighed};
use crate::{Dual, Number as _};

/// Changes of ∂x/∂p and ∂x/∂a.
#[derive(Clone, Copy)]
pub(crate) struct Bends {
    /// ∂²x/∂p∂a over ∂x/∂p.
    pub(crate) mixed: f64,
    /// ∂²x/∂a².
    pub(crate) second: f64,
}

/// The derivatives at x > 0 for a > 0.
pub(crate) fn bends(argument: Argument<f64>, a: f64) -> Bends {
    if a < SMOOTH || argument.x < 0.5 * a { by_ratio(argument.x, a) } else { by_normal(argument, a) }
}

/// A function of x and a with its derivatives.
struct Jet {
    value: f64,
    x: f64,
    a: f64,
    xa: f64,
    aa: f64,
}

/// ln S, and S itself as value.
fn logarithm_of_rest(x: f64, a: f64, lower: bool) -> Jet {
    let dual = |value: f64, k: usize| {
        let tangent = |i: usize| if i == k { 1.0 } else { 0.0 };
        let inner = Dual { value, tangents: [tangent(0), tangent(1)] };
        Dual { value: inner, tangents: [Dual::constant(tangent(0)), Dual::constant(tangent(1))] }
    };
    let sum: Dual<Dual<f64, 2>, 2> = rest(Argument::of(dual(x, 0)), dual(a, 1), lower);
    let logarithm = sum.ln();
    let [by_x, by_a] = logarithm.tangents;
    Jet { value: sum.as_f64(), x: by_x.value, a: by_a.value, xa: by_a.tangents[0], aa: by_a.tangents[1] }
}

/// P is xᵃe⁻ˣ/Γ(a + 1)·S below, and Q is xᵃe⁻ˣ/Γ(a)·S above. Next to a = 0 first derivatives are as large as 1/a and
/// second ones as 1/a², so they are found times these.
fn by_ratio(x: f64, a: f64) -> Bends {
    let lower = x <= a + 0.5;
    let s = logarithm_of_rest(x, a, lower);
    let slope = x.ln() - (a + 1.0).digamma() + s.a;
    let relative = if lower { -s.value * slope } else { s.value * (a * slope + 1.0) };
    let ratio = relative - if lower { 1.0 } else { 0.0 } + a * s.a + s.x * (x * relative);
    let bend = relative + a * (s.aa - (a + 1.0).polygamma(1)) + s.xa * (x * relative);
    let change = if lower { -s.value * bend } else { s.value * (a * bend - 1.0) };
    Bends { mixed: ratio / a, second: x * (relative * ratio + change) / a / a }
}

/// Functions of μ, in which η is k·μ.
#[derive(Clone, Copy)]
struct Skew {
    /// η/μ.
    k: f64,
    /// dk/dη.
    slope: f64,
    /// η/k·dk/dη = 1 − (1 + μ)·k².
    q: f64,
    /// η·dq/dη.
    q_slope: f64,
}

impl Skew {
    fn new(mu: f64) -> Self {
        let slope = if mu.abs() < 0.2 {
            // Σ 2·(−μ)ᵐ/((m + 1)(m + 2)) from m = 1 on, over μ.
            (1..=24).rev().fold(0.0, |sum, m| -(mu * sum) - 2.0 / f64::from((m + 1) * (m + 2)))
        } else {
            let square = 2.0 * (mu - mu.ln_1p()) / (mu * mu);
            (1.0 - (1.0 + mu) * square) / mu
        };
        let q = slope * mu;
        let k = ((1.0 - q) / (1.0 + mu)).sqrt();
        Self { k, slope, q, q_slope: -(1.0 - q) * (k * k * mu + 2.0 * q) }
    }
}

/// By the distribution of z for a constant a, of which the derivatives by a are integrals.
fn by_normal(argument: Argument<f64>, a: f64) -> Bends {
    let (x, excess) = (argument.x, argument.excess(a));
    let lower = x <= a + 0.5;
    let inner = Dual { value: a, tangents: [1.0] };
    let correction = stirling_rest(Dual { value: inner, tangents: [Dual::constant(1.0)] });
    let (lambda, lambda_slope) = (correction.tangents[0].value, correction.tangents[0].tangents[0]);
    // The logarithm of the density of z by a, and its derivative.
    let by_a = |skew: Skew| -lambda - skew.q / (2.0 * a);
    let twice = |skew: Skew| (skew.q + 0.5 * skew.q_slope) / (2.0 * a * a) - lambda_slope;
    let integral = |weight: &dyn Fn(Skew) -> f64| {
        if lower {
            lower_weighed(argument, a, |v| weight(Skew::new((excess + x * (-v).exp_m1()) / a)))
        } else {
            upper_weighed(argument, a, |v| weight(Skew::new((excess + x * v.exp_m1()) / a)))
        }
    };
    let mu = excess / a;
    let here = Skew::new(mu);
    let (k, root) = (here.k, a.sqrt());
    let scale = if lower { -root / k } else { root / k };
    let z = root * k * mu;
    let z_a = scale * integral(&by_a);
    let z_aa = scale * integral(&|skew| by_a(skew) * by_a(skew) + twice(skew))
        - 2.0 * z_a * by_a(here)
        - z_a * z_a * (here.slope / k / root - z);
    let eta_a = (z_a - z / (2.0 * a)) / root;
    let eta_aa = (z_aa - z_a / a + 0.75 * z / (a * a)) / root;
    let bend = 2.0 * k * eta_a + a * ((k * k + here.slope) * eta_a * eta_a + k * eta_aa);
    Bends { mixed: 1.0 / (2.0 * a) + k * eta_a + z * z_a + lambda, second: x / a * bend }
}
