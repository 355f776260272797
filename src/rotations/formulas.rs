//! The formulas of all functions. Quaternions are (x, y, z, w), with the scalar last, as nalgebra keeps them.

use super::formula::Formula;
use super::kernels::{arc_quotient, stumpff};
use core::f64::consts::PI;
use tapewright_strategies::Float;

fn lit<V: Float>(value: f64) -> V {
    V::from_f64(value)
}

fn square<V: Float>(x: &[V]) -> V {
    x.iter().fold(V::ZERO, |sum, x| sum + *x * *x)
}

fn inner<V: Float>(x: [V; 3], y: [V; 3]) -> V {
    x[0] * y[0] + x[1] * y[1] + x[2] * y[2]
}

fn cross<V: Float>(x: [V; 3], y: [V; 3]) -> [V; 3] {
    [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
}

/// A power of two that scales the largest of these numbers to between 1 and 2, so that no square that matters, and no
/// derivative of one, over- or underflows.
fn scale<V: Float>(x: &[V]) -> f64 {
    let largest = x.iter().fold(0.0, |most: f64, x| most.max(x.as_f64().abs()));
    if !largest.is_finite() {
        return 1.0;
    }
    let exponent = largest.to_bits() >> 52;
    f64::from_bits((2046 - exponent).max(1) << 52)
}

fn norm<V: Float>(x: &[V]) -> V {
    let scale = scale(x);
    x.iter().fold(V::ZERO, |sum, x| sum + (*x * lit(scale)) * (*x * lit(scale))).sqrt() * lit(scale.recip())
}

/// x/|x|.
fn unit<V: Float, const N: usize>(x: [V; N]) -> [V; N] {
    let scale = lit(scale(&x));
    let x = x.map(|x| x * scale);
    let norm = square(&x).sqrt();
    x.map(|x| x / norm)
}

fn split<V: Float>(x: &[V; 6]) -> ([V; 3], [V; 3]) {
    ([x[0], x[1], x[2]], [x[3], x[4], x[5]])
}

/// ω ↦ (½·c₁(s/4)·ω, c₀(s/4)) with s = |ω|².
pub(super) struct Turn;
impl Formula<3> for Turn {
    fn value<V: Float>(turn: &[V; 3], k: usize) -> V {
        let quarter = square(turn) * lit(0.25);
        if k == 3 { stumpff(quarter, 0.0) } else { lit::<V>(0.5) * stumpff(quarter, 1.0) * turn[k] }
    }
}

/// (φ/sin φ)/|q|, where φ ≤ ½π is half the angle of a rotation. Its sign is the one of w.
fn arc<V: Float>(q: &[V; 4]) -> V {
    let norm = norm(q);
    let positive = |w: V| arc_quotient(w / norm) / norm;
    if q[3] < V::ZERO { -positive(-q[3]) } else { positive(q[3]) }
}

/// q ↦ 2·v·(φ/sin φ)/|q|, the turn by at most π.
pub(super) struct TurnOf;
impl Formula<4> for TurnOf {
    fn value<V: Float>(q: &[V; 4], k: usize) -> V {
        lit::<V>(2.0) * arc(q) * q[k]
    }
    fn breaks(q: &[f64; 4]) -> bool {
        q[3] == 0.0
    }
}

/// q ↦ 2·atan2(|v|, |w|).
pub(super) struct Angle;
impl Formula<4> for Angle {
    fn value<V: Float>(q: &[V; 4], _: usize) -> V {
        let w = if q[3] < V::ZERO { -q[3] } else { q[3] };
        lit::<V>(2.0) * norm(&q[..3]).atan2(w)
    }
    fn breaks(q: &[f64; 4]) -> bool {
        q[3] == 0.0 || q[..3] == [0.0; 3]
    }
}

/// q ↦ 4·|v|²·((φ/sin φ)/|q|)².
pub(super) struct SquaredAngle;
impl Formula<4> for SquaredAngle {
    fn value<V: Float>(q: &[V; 4], _: usize) -> V {
        let twice = lit::<V>(2.0) * arc(q);
        square(&[twice * q[0], twice * q[1], twice * q[2]])
    }
    fn breaks(q: &[f64; 4]) -> bool {
        q[3] == 0.0
    }
}

/// (ω, ρ) ↦ ρ + c₂·ω×ρ + c₃·ω×(ω×ρ).
pub(super) struct Screw;
impl Formula<6> for Screw {
    fn value<V: Float>(x: &[V; 6], k: usize) -> V {
        let (turn, shift) = split(x);
        let (s, once) = (square(&turn), cross(turn, shift));
        shift[k] + stumpff(s, 2.0) * once[k] + stumpff(s, 3.0) * cross(turn, once)[k]
    }
}

/// The inverse of `Screw`, (ω, t) ↦ t − ½·ω×t + d·ω×(ω×t), where d = (1 − ½θ·cot ½θ)/θ² = ¼·(c₂ − c₃)/c₁ at θ²/4.
pub(super) struct ScrewOf;
impl Formula<6> for ScrewOf {
    fn value<V: Float>(x: &[V; 6], k: usize) -> V {
        let (turn, moved) = split(x);
        let (quarter, once) = (square(&turn) * lit(0.25), cross(turn, moved));
        let twice = lit::<V>(0.25) * (stumpff(quarter, 2.0) - stumpff(quarter, 3.0)) / stumpff(quarter, 1.0);
        moved[k] - lit::<V>(0.5) * once[k] + twice * cross(turn, once)[k]
    }
}

/// (θ, ρ) ↦ (c₁·ρ + θ·c₂·(−ρ₂, ρ₁)) at θ².
pub(super) struct PlanarScrew;
impl Formula<3> for PlanarScrew {
    fn value<V: Float>(x: &[V; 3], k: usize) -> V {
        let [angle, a, b] = *x;
        let (along, across) = (stumpff(angle * angle, 1.0), angle * stumpff(angle * angle, 2.0));
        if k == 0 { along * a - across * b } else { across * a + along * b }
    }
}

/// The inverse of `PlanarScrew`, with ½θ·cot ½θ = c₀/c₁ at θ²/4.
pub(super) struct PlanarScrewOf;
impl Formula<3> for PlanarScrewOf {
    fn value<V: Float>(x: &[V; 3], k: usize) -> V {
        let [angle, a, b] = *x;
        let half = angle * lit(0.5);
        let along = stumpff(half * half, 0.0) / stumpff(half * half, 1.0);
        if k == 0 { along * a + half * b } else { along * b - half * a }
    }
}

/// (a, b) ↦ (u×h, u·h), where h halves the angle between the unit vectors u and v along a and b; then |u + v|².
pub(super) struct Between;
impl Formula<6> for Between {
    fn value<V: Float>(x: &[V; 6], k: usize) -> V {
        let (a, b) = split(x);
        let (u, v) = (unit(a), unit(b));
        let sum = [u[0] + v[0], u[1] + v[1], u[2] + v[2]];
        match k {
            4 => square(&sum),
            3 => inner(u, unit(sum)),
            _ => cross(u, unit(sum))[k],
        }
    }
}

/// x ↦ x/|x|.
pub(super) struct Direction;
impl<const N: usize> Formula<N> for Direction {
    fn value<V: Float>(x: &[V; N], k: usize) -> V {
        unit(*x)[k]
    }
}

/// A rotation matrix, row by row, ↦ its quaternion with w ≥ 0: the largest row of 4·q·qᵀ, divided by its length.
pub(super) struct QuaternionOf;
impl Formula<9> for QuaternionOf {
    fn value<V: Float>(x: &[V; 9], k: usize) -> V {
        let [a, b, c, d, e, f, g, h, i] = *x;
        let one = V::ONE;
        let products = [
            [one + a - e - i, b + d, c + g, h - f],
            [b + d, one - a + e - i, f + h, c - g],
            [c + g, f + h, one - a - e + i, d - b],
            [h - f, c - g, d - b, one + a + e + i],
        ];
        let largest = (0..3).fold(3, |most, r| if products[r][r] > products[most][most] { r } else { most });
        let row = products[largest];
        let entry = row[k] / (lit::<V>(2.0) * row[largest].sqrt());
        if row[3] < V::ZERO { -entry } else { entry }
    }
}

/// A rotation matrix, row by row, ↦ roll, pitch and yaw.
pub(super) struct EulerAngles;
impl Formula<9> for EulerAngles {
    fn value<V: Float>(x: &[V; 9], k: usize) -> V {
        let locked = Self::breaks(&x.map(|x| x.as_f64()));
        match k {
            0 if locked => (-x[5]).atan2(x[4]),
            0 => x[7].atan2(x[8]),
            1 => (-x[6]).atan2(norm(&[x[0], x[3]])),
            _ if locked => V::ZERO,
            _ => x[3].atan2(x[0]),
        }
    }
    fn breaks(x: &[f64; 9]) -> bool {
        x[0] == 0.0 && x[3] == 0.0
    }
}

/// exp of a quaternion.
pub(super) struct QuaternionExp;
impl Formula<4> for QuaternionExp {
    fn value<V: Float>(q: &[V; 4], k: usize) -> V {
        let s = square(&q[..3]);
        q[3].exp() * if k == 3 { stumpff(s, 0.0) } else { stumpff(s, 1.0) * q[k] }
    }
}

/// ln of a quaternion.
pub(super) struct QuaternionLn;
impl Formula<4> for QuaternionLn {
    fn value<V: Float>(q: &[V; 4], k: usize) -> V {
        let vector = &q[..3];
        if k == 3 {
            let above = (q[3] - V::ONE) * (q[3] + V::ONE) + square(vector);
            return if above.abs() < lit(0.5) { lit::<V>(0.5) * above.ln_1p() } else { norm(q).ln() };
        }
        let arc = arc(q);
        q[k] * if q[3] < V::ZERO { lit::<V>(PI) / norm(vector) + arc } else { arc }
    }
}
