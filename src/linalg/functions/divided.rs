//! Divided differences that are exact up to rounding, wherever the points lie.

use std::cell::RefCell;
use std::collections::HashMap;
use tapewright_strategies::{Dual, Number, Unary};

/// The k-th derivative of a scalar function at a number.
pub(super) type Derivatives = fn(usize, f64) -> f64;

/// The derivatives of a rule up to the third; NaN beyond.
pub(super) fn derivatives<R: Unary>(order: usize, x: f64) -> f64 {
    let one = |value: f64| Dual { value, tangents: [1.0] };
    match order {
        0 => R::value(x),
        1 => R::derivative(x, R::value(x)),
        2 => {
            let x = one(x);
            R::derivative(x, x.unary::<R>().0).tangents[0]
        }
        3 => {
            let x = Dual { value: one(x), tangents: [Dual::constant(1.0)] };
            R::derivative(x, x.unary::<R>().0).tangents[0].tangents[0]
        }
        _ => f64::NAN,
    }
}

/// Divided differences of a function at points in ascending order.
///
/// f\[x₀, …, xₘ\] is the quotient of two differences of lower order, or, where these cancel, the integral of f⁽ᵐ⁾ over
/// the simplex of the points (Hermite and Genocchi; C. de Boor, Divided differences, Surv. Approx. Theory 1 (2005)).
pub(super) struct Divided<'a> {
    points: &'a [f64],
    derivatives: Derivatives,
    known: RefCell<HashMap<Vec<usize>, f64>>,
}

/// Numbers of nodes of the two integrals that are compared.
const NODES: [usize; 2] = [8, 12];

impl<'a> Divided<'a> {
    pub(super) fn new(points: &'a [f64], derivatives: Derivatives) -> Self {
        Self { points, derivatives, known: RefCell::default() }
    }

    /// The divided difference at these points, in any order.
    pub(super) fn of(&self, points: &[usize]) -> f64 {
        let mut points = points.to_vec();
        points.sort_unstable();
        if let Some(known) = self.known.borrow().get(&points) {
            return *known;
        }
        let found = self.computed(&points);
        self.known.borrow_mut().insert(points, found);
        found
    }

    fn computed(&self, points: &[usize]) -> f64 {
        let order = points.len() - 1;
        let (first, last) = (self.points[points[0]], self.points[points[order]]);
        #[allow(clippy::cast_precision_loss, reason = "the order is small")]
        let factorial: f64 = (1..=order).map(|k| k as f64).product();
        let confluent = |x: f64| (self.derivatives)(order, x) / factorial;
        if first == last {
            return confluent(first);
        }
        let (lower, upper) = (self.of(&points[..order]), self.of(&points[1..]));
        let quotient = (upper - lower) / (last - first);
        // What rounding does to the quotient, and to the integral.
        let rounding = (upper.abs() + lower.abs()) / (last - first);
        let smooth = confluent(first).abs().max(confluent(last).abs());
        if !smooth.is_finite() || rounding <= 4.0 * smooth {
            return quotient;
        }
        let [coarse, fine] = NODES.map(|nodes| self.integral(points, &gauss(nodes), 1, (first, 1.0)));
        // The integral must have converged, and agree with the quotient: functions may jump between the points.
        let near = f64::EPSILON * rounding;
        let agree = (fine - coarse).abs() <= near && (fine - quotient).abs() <= 256.0 * near;
        if agree { fine } else { quotient }
    }

    /// ∫…∫ f⁽ᵐ⁾(x₀ + t₁·(x₁ − x₀) + … + tₘ·(xₘ − xₘ₋₁)) over 1 ≥ t₁ ≥ … ≥ tₘ ≥ 0, from the k-th variable on.
    fn integral(&self, points: &[usize], nodes: &[(f64, f64)], k: usize, (x, upper): (f64, f64)) -> f64 {
        if k == points.len() {
            return (self.derivatives)(k - 1, x);
        }
        let step = self.points[points[k]] - self.points[points[k - 1]];
        let part = |(node, weight): &(f64, f64)| {
            let t = upper * node;
            weight * upper * self.integral(points, nodes, k + 1, (t.mul_add(step, x), t))
        };
        nodes.iter().map(part).sum()
    }
}

/// The nodes and weights of Gauss's rule on \[0, 1\]: zeros of a Legendre polynomial, by Newton's method (Abramowitz &
/// Stegun 25.4.30).
fn gauss(n: usize) -> Vec<(f64, f64)> {
    #[allow(clippy::cast_precision_loss, reason = "there are few nodes")]
    let float = |k: usize| k as f64;
    // Pₙ and its derivative.
    let legendre = |x: f64| {
        let (mut before, mut p) = (1.0, x);
        for k in 2..=n {
            (before, p) = (p, ((2.0 * float(k) - 1.0) * x * p - (float(k) - 1.0) * before) / float(k));
        }
        (p, float(n) * x.mul_add(p, -before) / x.mul_add(x, -1.0))
    };
    let node = |k: usize| {
        let guess = (core::f64::consts::PI * (float(k) + 0.75) / (float(n) + 0.5)).cos();
        let x = (0..8).fold(guess, |x, _| {
            let (p, slope) = legendre(x);
            x - p / slope
        });
        let slope = legendre(x).1;
        (0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope))
    };
    (0..n).map(node).collect()
}
