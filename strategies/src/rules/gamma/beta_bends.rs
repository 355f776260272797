//! Second derivatives of the quantile function x(p, a, b) of the beta distribution, written so that nothing cancels, as
//! those of the gamma distribution are: by the logarithm of the ratio of a tail and the density.
//!
//! All is for the tail of the side of x; the other one is that with x and y = 1 − x, and a and b, exchanged. Moves of
//! x are those of u = ln(x/y).

use super::beta::digamma_quotient;
use super::beta_bends_of_large as large;
use super::beta_bends_of_large::LogitBends;
use super::incomplete_beta::{Part, SMOOTH, ln_of, rest};
use crate::rules::rule::product;
use crate::{Dual, Number as _};

/// Changes of ∂x/∂p and of the slopes by a and b.
#[derive(Clone, Copy)]
pub(crate) struct Bends {
    /// ∂²x/∂p∂a and ∂²x/∂p∂b, over ∂x/∂p.
    pub(crate) mixed: [f64; 2],
    /// The second derivatives of x by a and b, as matrix.
    pub(crate) second: [[f64; 2]; 2],
}

/// A number with first derivatives by u, a and b.
type Moving = Dual<f64, 3>;

/// The derivatives for 0 < x < 1 and positive parameters.
pub(crate) fn bends(part: Part<f64>, a: f64, b: f64) -> Bends {
    if part.x * (b + 0.5) <= part.y * (a + 0.5) {
        return lower_bends(part, a, b);
    }
    let Bends { mixed: [by_b, by_a], second: [[bb, ba], [ab, aa]] } = lower_bends(part.swap(), b, a);
    Bends { mixed: [by_a, by_b], second: [[-aa, -ab], [-ba, -bb]] }
}

fn lower_bends(part: Part<f64>, a: f64, b: f64) -> Bends {
    let small = a < SMOOTH || b < SMOOTH || part.x * (a + b) < 0.5 * a;
    let LogitBends { mixed, first, second } = if small { by_ratio(part, a, b) } else { large::bends(part, a, b) };
    let Part { x, y, .. } = part;
    let skew = y - x;
    let bend = |i: usize, j: usize| x * y * (product(skew, first[i] * first[j]) + second[i][j]);
    Bends {
        mixed: [mixed[0] + skew * first[0], mixed[1] + skew * first[1]],
        second: [[bend(0, 0), bend(0, 1)], [bend(1, 0), bend(1, 1)]],
    }
}

/// ln S with first and second derivatives by u, a and b, and S itself.
fn logarithm_of_rest(part: Part<f64>, a: f64, b: f64) -> (f64, Dual<Moving, 3>) {
    let Part { x, y, lost } = part;
    let dual = |value: f64, k: usize, slope: f64, bend: f64| {
        let unit = |i: usize, size: f64| if i == k { size } else { 0.0 };
        let inner = Dual { value, tangents: core::array::from_fn(|i| unit(i, slope)) };
        let tangent =
            |i: usize| Dual { value: unit(i, slope), tangents: core::array::from_fn(|j| unit(j, unit(i, bend))) };
        Dual { value: inner, tangents: core::array::from_fn(tangent) }
    };
    let moving = Part { x: dual(x, 0, x * y, x * y * (y - x)), y: dual(y, 0, -x * y, x * y * (x - y)), lost };
    let sum = rest(moving, dual(a, 1, 1.0, 0.0), dual(b, 2, 1.0, 0.0));
    (sum.as_f64(), sum.ln())
}

/// With I = xᵃ·yᵇ·Γ(a + b)/(Γ(a + 1)Γ(b))·S, or without the power of y.
fn by_ratio(part: Part<f64>, a: f64, b: f64) -> LogitBends {
    let Part { x, y, .. } = part;
    let (sum, s) = logarithm_of_rest(part, a, b);
    let (ln_x, ln_y) = (ln_of(part), ln_of(part.swap()));
    let power = if a > 1.0 { 1.0 } else { 0.0 };
    let scale = -sum * (-(1.0 - power) * b * ln_y).exp() / a;
    // The parts of the logarithm of I by a and by b.
    let shapes = [Dual { value: a, tangents: [1.0, 0.0] }, Dual { value: b, tangents: [0.0, 1.0] }];
    let one = Dual::<f64, 2>::ONE;
    let parts = [
        (shapes[1] - one) * digamma_quotient(shapes[0] + one, shapes[1] - one),
        shapes[0] * digamma_quotient(shapes[1], shapes[0]),
    ];
    let slope = [ln_x + parts[0].value + s.tangents[1].value, power * ln_y + parts[1].value + s.tangents[2].value];
    let slopes = slope.map(|slope| scale * slope);
    let by_u = [y, -power * x];
    let scales = [-a.recip(), -(1.0 - power) * ln_y];
    let growth: [f64; 2] = core::array::from_fn(|j| {
        let moved = (s.tangents[0].value + (1.0 - power) * b * x) * slopes[j];
        scales[j] + s.tangents[1 + j].value + moved
    });
    let bend = |i: usize, j: usize| {
        let row = s.tangents[1 + i].tangents;
        let change = parts[i].tangents[j] + row[1 + j] + (by_u[i] + row[0]) * slopes[j];
        slopes[i] * growth[j] + scale * change
    };
    let second = [[bend(0, 0), bend(0, 1)], [bend(1, 0), bend(1, 1)]];
    LogitBends { mixed: growth, first: slopes, second }
}
