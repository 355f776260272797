//! Incomplete gamma and beta functions by power series of positive terms, with the slopes by their parameters term by
//! term, and their inverses by bisection.

use super::formulas::{Formula, about};
use super::number::Num;
use super::special::{digamma, gamma};

/// A distribution function: its value, its density, and its slopes by two parameters.
#[derive(Clone, Copy)]
struct Point {
    value: f64,
    density: f64,
    slopes: [f64; 2],
}

impl Point {
    /// The same of the other tail.
    fn other(self) -> Self {
        Self { value: 1.0 - self.value, density: -self.density, slopes: self.slopes.map(|slope| -slope) }
    }

    /// What a formula says: the value, the slope by the argument, and those by the parameters.
    fn part(self, part: usize) -> Num {
        match part {
            // A tail is 1 minus the other one, and small slopes are differences.
            0 => about(self.value, 1.0),
            1 => about(self.density, 0.0),
            k => about(self.slopes[k - 2], 1.0),
        }
    }

    /// The same of the inverse at this point, whose argument is `x`.
    fn inverse(self, x: f64, part: usize) -> Num {
        match part {
            0 => about(x, 1e-3),
            1 => about(1.0 / self.density, 0.0),
            k => about(-self.slopes[k - 2] / self.density, (1.0 / self.density).abs()),
        }
    }
}

/// P(a, x) = xᵃe⁻ˣ/Γ(a + 1)·Σ xⁿ/((a + 1)…(a + n)).
fn lower_gamma(x: f64, a: f64) -> Point {
    let (mut term, mut sum, mut bend, mut by_term, mut n) = (1.0, 1.0, 0.0, 0.0, 0.0);
    while n < x || term > 1e-18 * sum {
        n += 1.0;
        term *= x / (a + n);
        by_term -= 1.0 / (a + n);
        sum += term;
        bend += term * by_term;
    }
    let power = x.powf(a) * (-x).exp() / gamma(a + 1.0);
    let slope = power * ((x.ln() - digamma(a + 1.0)) * sum + bend);
    Point { value: power * sum, density: power * a / x, slopes: [slope, 0.0] }
}

/// I = xᵃyᵇ/(a·B(a, b))·Σ (a + b)ₙxⁿ/(a + 1)ₙ with y = 1 − x; that of y above the middle.
fn incomplete_beta(x: f64, a: f64, b: f64) -> Point {
    if x > 0.7 {
        let Point { value, density, slopes: [by_b, by_a] } = incomplete_beta(1.0 - x, b, a);
        return Point { value: 1.0 - value, density, slopes: [-by_a, -by_b] };
    }
    let (mut term, mut sum, mut bends, mut by_term, mut n) = (1.0, 1.0, [0.0; 2], [0.0; 2], 0.0);
    while n < 4.0 * (a + b) || term > 1e-18 * sum {
        let (top, bottom) = (a + b + n, a + 1.0 + n);
        term *= x * top / bottom;
        by_term[0] += 1.0 / top - 1.0 / bottom;
        by_term[1] += 1.0 / top;
        sum += term;
        bends[0] += term * by_term[0];
        bends[1] += term * by_term[1];
        n += 1.0;
    }
    let y = 1.0 - x;
    let power = x.powf(a) * y.powf(b) * gamma(a + b) / gamma(a + 1.0) / gamma(b);
    let by_a = x.ln() - digamma(a + 1.0) + digamma(a + b);
    let by_b = y.ln() - digamma(b) + digamma(a + b);
    let slopes = [power * (by_a * sum + bends[0]), power * (by_b * sum + bends[1])];
    Point { value: power * sum, density: power * a / x / y, slopes }
}

/// The argument at which a growing function is p, between two numbers.
fn inverse(p: f64, (mut low, mut high): (f64, f64), f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if f(middle) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Whether a shape is neither tiny nor large.
fn is_shape(a: f64) -> bool {
    (0.05..15.0).contains(&a)
}

fn gamma_at(x: &[f64]) -> Option<Point> {
    ((1e-3..40.0).contains(&x[0]) && is_shape(x[1])).then(|| lower_gamma(x[0], x[1]))
}

fn beta_at(x: &[f64]) -> Option<Point> {
    let good = (1e-3..0.999).contains(&x[0]) && is_shape(x[1]) && is_shape(x[2]);
    good.then(|| incomplete_beta(x[0], x[1], x[2]))
}

/// The quantile of the gamma distribution for a probability, and the distribution there.
fn gamma_quantile(p: f64, a: f64) -> Option<(f64, Point)> {
    ((0.01..0.99).contains(&p) && (0.3..15.0).contains(&a)).then(|| {
        let x = inverse(p, (0.0, 60.0), |x| if x == 0.0 { 0.0 } else { lower_gamma(x, a).value });
        (x, lower_gamma(x, a))
    })
}

fn beta_quantile(p: f64, a: f64, b: f64) -> Option<(f64, Point)> {
    let good = (0.01..0.99).contains(&p) && (0.3..15.0).contains(&a) && (0.3..15.0).contains(&b);
    good.then(|| {
        let x = inverse(p, (0.0, 1.0), |x| incomplete_beta(x, a, b).value);
        (x, incomplete_beta(x, a, b))
    })
}

/// Student's distribution of t with ν degrees of freedom: half of I of w = ν/(ν + t²) is in a tail.
fn student(t: f64, nu: f64) -> Option<Point> {
    if !((0.05..8.0).contains(&t.abs()) && (0.2..25.0).contains(&nu)) {
        return None;
    }
    let whole = nu + t * t;
    let at = incomplete_beta(nu / whole, 0.5 * nu, 0.5);
    let by_nu = 0.5 * (at.slopes[0] * 0.5 + at.density * (t / whole) * t / whole);
    let by_t = at.density * nu * t.abs() / whole / whole;
    let tail = Point { value: 0.5 * at.value, density: by_t, slopes: [by_nu, 0.0] };
    Some(if t > 0.0 { Point { density: by_t, ..tail.other() } } else { tail })
}

/// At most k successes in n trials of probability p: the slopes by n and by p, and none by k.
fn binomial(x: &[f64], part: usize) -> Num {
    let (k, n, p) = (x[0].floor(), x[1], x[2]);
    if !(k >= 0.0 && is_shape(k + 1.0) && is_shape(n - k) && (1e-3..0.999).contains(&p)) {
        return Num::UNKNOWN;
    }
    let at = incomplete_beta(p, k + 1.0, n - k);
    match part {
        0 => about(1.0 - at.value, 1.0),
        1 => Num::ZERO,
        2 => about(-at.slopes[1], 1.0),
        _ => about(-at.density, 0.0),
    }
}

fn unknown_or(point: Option<Point>, part: usize) -> Num {
    point.map_or(Num::UNKNOWN, |point| point.part(part))
}

fn of_inverse(found: Option<(f64, Point)>, part: usize) -> Num {
    found.map_or(Num::UNKNOWN, |(x, point)| point.inverse(x, part))
}

pub(super) const FORMULAS: &[(&str, Formula)] = &[
    ("gamma_p", |x, part| unknown_or(gamma_at(x), part)),
    ("gamma_q", |x, part| unknown_or(gamma_at(x).map(Point::other), part)),
    ("gamma_p_inv", |x, part| of_inverse(gamma_quantile(x[0], x[1]), part)),
    ("gamma_q_inv", |x, part| of_inverse(gamma_quantile(1.0 - x[0], x[1]).map(|(x, point)| (x, point.other())), part)),
    ("beta_inc", |x, part| unknown_or(beta_at(x), part)),
    ("beta_inc_inv", |x, part| of_inverse(beta_quantile(x[0], x[1], x[2]), part)),
    ("student_t_cdf", |x, part| unknown_or(student(x[0], x[1]), part)),
    ("binomial_cdf", binomial),
];
