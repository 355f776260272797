//! Comparisons that may hide a derivative, as strategies hear of them.

use crate::contract::Comparison;
use crate::{Float, Number};
use core::ops::RangeInclusive;
use core::panic::Location;

/// A comparison of two expressions, on whose outcome the program may branch.
///
/// # When a branch hides a derivative
///
/// A program that asks whether an active number equals a passive one, and is told that it does, may go on with the
/// passive one, or leave out what would be multiplied by 0. The value is right, and the derivative is lost. The same
/// holds for a test whether an active number is negligible. A tie of active numbers, as between two equal pivots, hides
/// nothing: either choice has the derivative.
///
/// So [`hides`](Self::hides) is true where
///
/// * one side is active, the other is passive, and both are equal, up to rounding: a cosine that is 1 may have come out
///   as 1 + ε;
/// * an active number is asked if it is 0, and its root is between 10⁻³³ and 10⁻¹³ (10⁻¹⁵ and 10⁻⁶): it may be the
///   square of what rounding has left of 0, as the length of a column that depends on others;
/// * both sides are below 10⁻¹⁰ (10⁻⁵ in single precision), and an active one is not larger than a passive threshold;
/// * both sides are active and different, and the larger one is between 10⁻⁶⁶ and 10⁻¹³ (10⁻³⁰ and 10⁻⁶): as iterations
///   test whether an entry is small beside its neighbors times ε. An elimination that looks for a pivot among numbers
///   of 10⁻²⁰⁰ compares smaller ones, and hides nothing.
///
/// Of active numbers that all are exactly 0 an elimination compares two, too, in search of a pivot. So a test of
/// smallness with 0 on both sides is not told from a tie: `|b| <= ε·(|a| + |d|)` at a = b = d = 0 counts as harmless.
pub struct Branch<'a, V, Raw> {
    /// The values of the two sides.
    pub values: [V; 2],
    /// The identifiers in the two sides; none in a literal.
    pub leaves: [&'a [Raw]; 2],
    /// The question of the comparison.
    pub comparison: Comparison,
    /// The comparison's line.
    pub location: &'static Location<'static>,
}

impl<V: Number, Raw> Branch<'_, V, Raw> {
    /// Returns true if the comparison may have hidden a derivative from a recording for which these sides are active.
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

/// Returns true if numbers differ by rounding at most.
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

/// The sizes that rounding, or the square of a rounding, has where 0 is meant, of numbers that are neither large nor
/// small. Smaller numbers are in units in which all are small.
fn of_rounding<V: Float>() -> RangeInclusive<f64> {
    if is_double::<V>() { 1e-66..=1e-13 } else { 1e-30..=1e-6 }
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
            [true, true] => x != y && of_rounding::<V>().contains(&x.abs().max(y.abs())),
            [true, false] => negligible(x, y),
            [false, true] => negligible(y, x),
            [false, false] => false,
        }
}

/// Returns true if the comparison of these numbers may [hide a derivative](Branch), should one of them be active. To be
/// asked first, since it needs no look at identifiers.
#[inline(always)]
pub fn is_suspect<V: Float>(x: V, y: V) -> bool {
    let epsilon = V::epsilon().as_f64();
    let small = if epsilon < 1e-10 { 1e-10 } else { 1e-5 };
    let (x, y) = (x.as_f64(), y.as_f64());
    is_near(x, y, epsilon) | (x.abs() <= small) & (y.abs() <= small)
}
