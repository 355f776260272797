//! Trait of rules, and products as sweeps form them.

use crate::Number;
use crate::rules::Curvature;
use core::fmt;

/// The arrays that a rule may keep: its first operand, and its second one. A rule of one operand keeps its result in
/// the second place. An array that is not kept is empty.
pub type KeptArrays<'a, V> = [&'a [V]; 2];

/// A function of one or two arrays to a new array, with its derivatives: what an external function is for variables.
///
/// Arrays have the lengths that the rule was made for. Adjoints and tangents are added, so that a rule may write them
/// without temporaries.
pub trait ArrayRule<V: Number>: fmt::Debug + Send + Sync + 'static {
    /// Computes the result. A rule of one operand finds an empty slice as its second one. `result` has unspecified
    /// contents at first.
    fn values(&self, operands: [&[V]; 2], result: &mut [V]);

    /// Returns which arrays the derivative with respect to an operand needs.
    fn needs(&self, operand: usize) -> [bool; 2];

    /// Adds the adjoints of an operand, given those of the result.
    fn reverse(&self, operand: usize, kept: KeptArrays<'_, V>, seeds: &[V], sums: &mut [V]);

    /// Adds the tangents of the result that follow from the tangents of an operand.
    fn forward(&self, operand: usize, kept: KeptArrays<'_, V>, tangents: &[V], sums: &mut [V]);

    /// Calls `each` with operand and index of all elements that element `k` of the result depends on.
    fn sources(&self, k: usize, each: &mut dyn FnMut(usize, usize));

    /// Pairs of these elements in which an element of the result is not linear.
    fn curvature(&self) -> Curvature;
}

/// Returns true if all parts of all numbers are finite, so that a product of theirs is no exception to *zero times
/// anything is zero*.
#[must_use]
pub fn are_finite<V: Number>(numbers: &[V]) -> bool {
    // Without an exit, so that the compiler finds a loop for registers.
    numbers.iter().fold(true, |all, number| all & (0..V::PARTS).all(|k| number.part(k).is_finite()))
}

/// Returns seed · partial; 0 if one of them is 0, whatever the other one is.
#[inline]
#[must_use]
pub fn contribution<V: Number>(seed: V, partial: V) -> V {
    if crate::counts(seed, partial) { seed.contribution(partial) } else { V::ZERO }
}

#[cfg(test)]
mod tests {
    use super::{are_finite, contribution};
    use crate::Dual;

    #[test]
    fn tangents_count_as_parts() {
        assert!(are_finite(&[Dual { value: 1.0, tangents: [2.0] }]));
        assert!(!are_finite(&[Dual { value: 1.0, tangents: [f64::NAN] }]));
        assert!(!are_finite(&[1.0, f64::INFINITY]));
        assert!(are_finite::<f64>(&[]));
    }

    #[test]
    fn zero_times_anything_is_zero() {
        assert_eq!(
            [contribution(0.0, f64::NAN), contribution(f64::INFINITY, 0.0), contribution(2.0, 3.0)],
            [0.0, 0.0, 6.0]
        );
    }
}
