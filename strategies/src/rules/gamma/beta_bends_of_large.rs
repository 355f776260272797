//! Second derivatives of the quantile function of the beta distribution for large parameters a and b.
//!
//! With n = a + b, x = a/n·(1 + m) and y = b/n·(1 + l), where a·m = −b·l = e, the number z with z²/2 =
//! −a·ln(1 + m) − b·ln(1 + l) is almost normally distributed (Temme, SIAM J. Math. Anal. 18, 1987; DLMF 8.18): its
//! density is φ(z)·k·exp(δ(n) − δ(a) − δ(b)) with k = z/e·√(ab/n), and δ the rest of Stirling's series. At a constant z
//! that changes by little with a and b, and so does z at a constant p.

use super::beta::stirling_rest;
use super::incomplete_beta::{Part, lower_weighed};
use super::quadrature::ln_1p_rest;
use crate::rules::rule::lit;
use crate::{Dual, Float, Number as _};

/// A number with its derivatives by a and b.
type Moving = Dual<f64, 2>;

/// −(ln(1 + m) − m)/m².
fn second_rest<W: Float>(m: W) -> W {
    if m.abs() > lit(0.2) {
        return -ln_1p_rest(m) / (m * m);
    }
    (2..=26).rev().fold(W::ZERO, |sum, j| lit::<W>(1.0 / f64::from(j)) - m * sum)
}

/// The rest of (1 + m)·(m − ln(1 + m))/m² behind ½, over m.
fn third_rest<W: Float>(m: W) -> W {
    if m.abs() > lit(0.2) {
        return ((W::ONE + m) * second_rest(m) - lit(0.5)) / m;
    }
    (2..=26).rev().fold(W::ZERO, |sum, j| lit::<W>(1.0 / f64::from(j * (j + 1))) - m * sum)
}

/// ((1 + m)·ln(1 + m)/m − 1)/m.
fn rise(m: f64) -> f64 {
    1.0 - (1.0 + m) * second_rest(m)
}

/// A place with its parameters.
#[derive(Clone, Copy)]
struct Place<W> {
    m: W,
    l: W,
    a: W,
    b: W,
}

impl<W: Float> Place<W> {
    /// The derivatives of ln k at a constant z.
    fn k_slopes(self) -> [W; 2] {
        let (Self { m, l, a, b }, n, half) = (self, self.a + self.b, lit::<W>(-0.5));
        [
            b / n / a * (half * l + (W::ONE + l) * m * third_rest(m)),
            a / n / b * (half * m + (W::ONE + m) * l * third_rest(l)),
        ]
    }

    /// k².
    fn k_square(self) -> W {
        let Self { m, l, a, b } = self;
        let n = a + b;
        lit::<W>(2.0) * (b / n * second_rest(m) + a / n * second_rest(l))
    }

    /// ∂u/∂z = k/√(ab/n).
    fn u_slope(self) -> W {
        let Self { a, b, .. } = self;
        (self.k_square() * (a.recip() + b.recip())).sqrt()
    }

    /// The derivatives of u at a constant z: ln(1 + m)/(a·m) and −ln(1 + l)/(b·l).
    fn u_slopes(self) -> [W; 2] {
        let Self { m, l, a, b } = self;
        [(W::ONE - m * second_rest(m)) / a, (l * second_rest(l) - W::ONE) / b]
    }
}

impl Place<f64> {
    fn new(excess: f64, a: f64, b: f64) -> Self {
        Self { m: excess / a, l: -excess / b, a, b }
    }

    /// The place with its derivatives by a and b, if z moves by these.
    fn moving(self, z: [f64; 2]) -> Place<Moving> {
        let Self { m, l, a, b } = self;
        let (x, y) = (a / (a + b) * (1.0 + m), b / (a + b) * (1.0 + l));
        let excess_by_z = (a + b) * x * y * self.u_slope();
        let m_slopes = [m / a * (y * rise(m) - 1.0), -(x / a) * l * rise(l)];
        let l_slopes = [-(y / b) * m * rise(m), l / b * (x * rise(l) - 1.0)];
        Place {
            m: Dual { value: m, tangents: [0, 1].map(|i| m_slopes[i] + excess_by_z * z[i] / a) },
            l: Dual { value: l, tangents: [0, 1].map(|i| l_slopes[i] - excess_by_z * z[i] / b) },
            a: Dual { value: a, tangents: [1.0, 0.0] },
            b: Dual { value: b, tangents: [0.0, 1.0] },
        }
    }
}

/// δ′ with its derivative.
fn stirling_slope(x: Moving) -> Moving {
    stirling_rest(Dual { value: x, tangents: [Moving::ONE] }).tangents[0]
}

/// The derivatives of δ(n) − δ(a) − δ(b).
fn stirling_slopes(shapes: Place<Moving>) -> [Moving; 2] {
    let of_sum = stirling_slope(shapes.a + shapes.b);
    [of_sum - stirling_slope(shapes.a), of_sum - stirling_slope(shapes.b)]
}

/// z with its derivatives by a and b at a constant p.
fn normal(part: Part<f64>, here: Place<f64>, constants: [Moving; 2]) -> (f64, [Moving; 2]) {
    let (Part { x, y, .. }, Place { a, b, .. }, u_slope) = (part, here, here.u_slope());
    // The logarithm of the density of z by a and b, at a constant z.
    let density = |place: Place<f64>| {
        let [by_a, by_b] = place.moving([0.0; 2]).k_slopes();
        [by_a + constants[0], by_b + constants[1]]
    };
    let weighed = |weight: &dyn Fn([Moving; 2]) -> f64| {
        let integral = lower_weighed(part, a, b, |v| {
            let fall = (-v).exp_m1();
            let excess = part.excess(a, b) + (a + b) * (x * y * fall / (1.0 + x * fall));
            weight(density(Place::new(excess, a, b)))
        });
        -integral / u_slope
    };
    let (at, z) = (density(here), here.m * a * u_slope);
    let slopes = [weighed(&|slopes| slopes[0].value), weighed(&|slopes| slopes[1].value)];
    let skew = 1.0 - (1.0 + here.m) * (1.0 + here.l) * here.k_square();
    let by_z = if z.abs() < 1e-6 { (a - b) / (a + b) * u_slope / 3.0 } else { skew / z };
    let bend = |i: usize, j: usize| {
        let integral = weighed(&|slopes| slopes[i].value * slopes[j].value + slopes[i].tangents[j]);
        integral - at[i].value * slopes[j] - at[j].value * slopes[i] - slopes[i] * slopes[j] * (by_z - z)
    };
    let mixed = bend(0, 1);
    let by = |value: f64, tangents: [f64; 2]| Dual { value, tangents };
    (z, [by(slopes[0], [bend(0, 0), mixed]), by(slopes[1], [mixed, bend(1, 1)])])
}

/// Derivatives of u by a and b at a constant p: first and second ones, and how they change ∂x/∂p, but for x·y.
pub(crate) struct LogitBends {
    pub(crate) mixed: [f64; 2],
    pub(crate) first: [f64; 2],
    pub(crate) second: [[f64; 2]; 2],
}

/// The derivatives for the lower tail.
pub(crate) fn bends(part: Part<f64>, a: f64, b: f64) -> LogitBends {
    let here = Place::new(part.excess(a, b), a, b);
    let constants = stirling_slopes(here.moving([0.0; 2]));
    let (z, slopes) = normal(part, here, constants);
    let place = here.moving(slopes.map(|slope| slope.value));
    let (u_slope, by_shapes) = (place.u_slope(), place.u_slopes());
    let u: [Moving; 2] = [0, 1].map(|i| by_shapes[i] + u_slope * slopes[i]);
    let mixed = [
        z * slopes[0].value - 0.5 * b / (a + b) / a - constants[0].value,
        z * slopes[1].value - 0.5 * a / (a + b) / b - constants[1].value,
    ];
    LogitBends { mixed, first: u.map(|u| u.value), second: u.map(|u| u.tangents) }
}
