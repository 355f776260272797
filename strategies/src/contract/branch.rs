//! Comparisons that may hide a derivative, as they are reported to strategies.

use crate::{Comparison, Float, Number};
use core::panic::Location;

/// A comparison of two expressions, on whose outcome the program may branch.
///
/// # When a branch hides a derivative
///
/// A program that tests whether an active value equals a passive one, and finds that it does, may continue with the
/// passive value, or leave out a term that would be multiplied by 0. The value is right, and the derivative is lost. A
/// test whether an active value is negligible loses it in the same way. A tie of active values, as between two equal
/// pivots, hides nothing: either choice has the derivative.
///
/// [`hides`](Self::hides) therefore returns true where
///
/// * one side is active, the other is passive, and both are equal up to rounding (a cosine that should be 1 may come
///   out as 1 + ε);
/// * both sides are below 10⁻¹⁰ (10⁻⁵ in single precision), and an active one is not larger than a passive threshold;
/// * both sides are active, below 10⁻¹³ (10⁻⁶), and different, as when an iteration tests whether an entry is small
///   compared with ε times its neighbours.
pub struct Branch<'a, V, Raw> {
    /// The values of the two sides.
    pub values: [V; 2],
    /// The identifiers of the leaves of each side; empty for a literal.
    pub leaves: [&'a [Raw]; 2],
    /// Source location of the comparison.
    pub location: &'static Location<'static>,
}

impl<V: Number, Raw> Branch<'_, V, Raw> {
    /// Returns true if the comparison may have hidden a derivative from a recording in which the sides are active or
    /// passive as `active` says.
    #[must_use]
    pub fn hides(&self, active: [bool; 2]) -> bool {
        let [x, y] = self.values;
        let is_equality = self.comparison == Comparison::Equal;
        (0..V::LANES).any(|k| {
            let sides = [x.lane(k), y.lane(k)].map(|side| side.as_f64());
            hides::<V::Lane>(sides, active) || is_equality && active[0] != active[1] && is_left::<V::Lane>(sides)
        })
    }

    /// The smallest distance between the two sides, over all lanes.
    #[must_use]
    pub fn margin(&self) -> f64 {
        let [x, y] = self.values;
        let distance = |k| (x.lane(k).as_f64() - y.lane(k).as_f64()).abs();
        (0..V::LANES).map(distance).fold(f64::INFINITY, f64::min)
    }
}

/// Returns true if two values differ by rounding at most.
#[inline(always)]
fn is_near(x: f64, y: f64, epsilon: f64) -> bool {
    (x - y).abs() <= 4.0 * epsilon * x.abs().max(y.abs())
}

/// Returns true if one number is 0 and the other the square of what rounding leaves where 0 is meant, of numbers that
/// are neither large nor small.
fn is_left<V: Float>([x, y]: [f64; 2]) -> bool {
    let squares = if is_double::<V>() { 1e-66..=1e-26 } else { 1e-30..=1e-12 };
    (x == 0.0 || y == 0.0) && squares.contains(&(x - y).abs())
}

fn is_double<V: Float>() -> bool {
    V::epsilon().as_f64() < 1e-10
}

fn hides<V: Float>([x, y]: [f64; 2], active: [bool; 2]) -> bool {
    let both_below = |limit: f64| x.abs() <= limit && y.abs() <= limit;
    let negligible = |number: f64, threshold: f64| {
        is_near(number, threshold, V::epsilon().as_f64())
            || both_below(if is_double::<V>() { 1e-10 } else { 1e-5 }) && number.abs() <= threshold
    };
    x.is_finite()
        && y.is_finite()
        && match active {
            [true, true] => x != y && both_below(if is_double::<V>() { 1e-13 } else { 1e-6 }),
            [true, false] => negligible(x, y),
            [false, true] => negligible(y, x),
            [false, false] => false,
        }
}

/// Returns true if comparing these values may [hide a derivative](Branch) if one of them is active. A cheap filter to
/// call first, since it does not look at identifiers.
#[inline(always)]
pub fn is_suspect<V: Float>(x: V, y: V) -> bool {
    let epsilon = V::epsilon().as_f64();
    let small = if epsilon < 1e-10 { 1e-10 } else { 1e-5 };
    let (x, y) = (x.as_f64(), y.as_f64());
    is_near(x, y, epsilon) | (x.abs() <= small) & (y.abs() <= small)
}
