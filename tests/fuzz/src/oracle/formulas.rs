//! Formulas of the oracle's own for functions whose values it takes from the library's rules: a rule that is far from
//! its formula is not believed. Each has arguments at which it is simple, and says nothing at others.

use super::incomplete as distributions;
use super::number::{Num, unit};
use super::special::{self, density, digamma, distribution, softplus, trigamma};
use super::waves;
use core::f64::consts::FRAC_2_SQRT_PI;

/// Part 0 is the value, part k the partial for argument number k, as of rules; unknown where the formula is of no use.
pub(super) type Formula = fn(&[f64], usize) -> Num;

/// What is known to a part of 10⁻¹⁰ of a number, which is that of the largest of its terms.
pub(super) fn about(v: f64, scale: f64) -> Num {
    let e = (1e-10 + 64.0 * unit()) * scale.abs().max(v.abs());
    if v.is_finite() && e.is_finite() { Num::within(v, e) } else { Num::UNKNOWN }
}

/// The same of a formula's number and the size of its terms.
fn of((v, scale): (f64, f64)) -> Num {
    about(v, scale)
}

/// Whether a number is within bounds.
fn between(low: f64, x: f64, high: f64) -> bool {
    x >= low && x <= high
}

/// The formula of a function of one argument: from `name: condition => value, slope`, each with the size of its terms.
macro_rules! unary {
    ($($name:ident |$x:ident| $condition:expr => $value:expr, $slope:expr;)*) => {
        const UNARY: &[(&str, Formula)] = &[$((stringify!($name), |x, part| {
            let $x = x[0];
            let formula = || if part == 0 { $value } else { $slope };
            if $condition { of(formula()) } else { Num::UNKNOWN }
        })),*];
    };
}

unary! {
    trigamma |x| between(0.02, x, 25.0) => (trigamma(x), 0.0), (special::tetragamma(x), 0.0);
    ln_normal_cdf |x| between(-7.0, x, 7.0) => (ln_distribution(x), 0.0), (density(x) / distribution(x), 0.0);
    erfcx |x| between(-4.0, x, 5.0) => ((x * x).exp() * special::erfc(x), 0.0), {
        let term = 2.0 * x * (x * x).exp() * special::erfc(x);
        (term - FRAC_2_SQRT_PI, term)
    };
    ln_erfc |x| between(-4.0, x, 5.0) =>
        (special::erfc(x).ln(), 1.0), (-FRAC_2_SQRT_PI * (-x * x).exp() / special::erfc(x), 0.0);
    log1m_exp |x| between(-100.0, x, -1e-3) => ((1.0 - x.exp()).ln(), 1.0), (1.0 / (1.0 - (-x).exp()), 0.0);
    x_ln_x |x| between(1e-30, x, 1e30) => (x * x.ln(), x), (x.ln() + 1.0, 1.0);
    logit |x| between(1e-3, x, 0.999) => ((x / (1.0 - x)).ln(), 1.0), (1.0 / x + 1.0 / (1.0 - x), 0.0);
    ln_sigmoid |x| between(-60.0, x, 60.0) => (-softplus(-x).0, 0.0), (softplus(-x).1, 0.0);
    sinc |x| between(0.1, x.abs(), 1e3) => (x.sin() / x, x.recip()), ((x.cos() - x.sin() / x) / x, x.recip());
    square |x| x.abs() < 1e15 => (x * x, 0.0), (x + x, 0.0);
    lambert_w0 |x| between(-0.36, x, 1e6) => (upper(x), 0.0), (1.0 / (upper(x).exp() * (1.0 + upper(x))), 0.0);
    lambert_wm1 |x| between(-0.36, x, -1e-30) => (lower(x), 0.0), (lower(x) / (x * (1.0 + lower(x))), 0.0);
}

/// The formula of a function of two arguments: value and both partials.
macro_rules! binary {
    ($($name:ident |$x:ident, $y:ident| $condition:expr => $value:expr, $left:expr, $right:expr;)*) => {
        const BINARY: &[(&str, Formula)] = &[$((stringify!($name), |x, part| {
            let ($x, $y) = (x[0], x[1]);
            let formula = || match part { 0 => $value, 1 => $left, _ => $right };
            if $condition { of(formula()) } else { Num::UNKNOWN }
        })),*];
    };
}

binary! {
    ln_beta |x, y| moderate(x) && moderate(y) =>
        ratio(&[x, y], x + y), (digamma(x) - digamma(x + y), digamma(x)), (digamma(y) - digamma(x + y), digamma(y));
    ln_choose |n, k| moderate(k + 1.0) && moderate(n - k + 1.0) && moderate(n + 1.0) => {
        let (v, scale) = ratio(&[k + 1.0, n - k + 1.0], n + 1.0);
        (-v, scale)
    },
        (digamma(n + 1.0) - digamma(n - k + 1.0), digamma(n - k + 1.0)),
        (digamma(n - k + 1.0) - digamma(k + 1.0), digamma(k + 1.0));
    xlogy |x, y| between(1e-30, y, 1e30) => (x * y.ln(), x), (y.ln(), 1.0), (x / y, 0.0);
    xlog1py |x, y| between(-0.999, y, 1e15) =>
        (x * (1.0 + y).ln(), x), ((1.0 + y).ln(), 1.0), (x / (1.0 + y), 0.0);
    log_diff_exp |x, y| between(1e-3, x - y, 100.0) && x.abs() < 500.0 =>
        (x + (1.0 - (y - x).exp()).ln(), x.abs() + 1.0),
        (1.0 / (1.0 - (y - x).exp()), 0.0), (1.0 / (1.0 - (x - y).exp()), 0.0);
}

/// ln Φ(x).
fn ln_distribution(x: f64) -> f64 {
    if x > 0.0 { (-distribution(-x)).ln_1p() } else { distribution(x).ln() }
}

/// The arguments for which Γ and ψ by series are good.
fn moderate(x: f64) -> bool {
    between(0.02, x, 40.0)
}

/// The logarithm of the product of Γ(x) over Γ(sum), and the size of the terms.
fn ratio(x: &[f64; 2], sum: f64) -> (f64, f64) {
    let [a, b, c] = [x[0], x[1], sum].map(|x| special::gamma(x).ln());
    (a + b - c, 1.0 + a.abs() + b.abs() + c.abs())
}

/// The w ≥ −1 with w·eʷ = x, by Newton's method from above.
fn upper(x: f64) -> f64 {
    let mut w = x.max(0.0).ln_1p();
    for _ in 0..60 {
        w -= (w - x * (-w).exp()) / (1.0 + w);
    }
    w
}

/// The w < −1 with w·eʷ = x, from w = ln(−x) − ln(−w).
fn lower(x: f64) -> f64 {
    let mut w = (-x).ln() * 1.6 - 0.1;
    for _ in 0..60 {
        w -= (w + (-w).ln() - (-x).ln()) / (1.0 + 1.0 / w);
    }
    w
}

/// The formula for this function.
pub(super) fn formula(name: &str) -> Option<Formula> {
    let lists = [UNARY, BINARY, distributions::FORMULAS, waves::FORMULAS];
    lists.into_iter().flatten().find(|row| row.0 == name).map(|row| row.1)
}
