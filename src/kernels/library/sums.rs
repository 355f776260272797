//! Cumulative sums.

use super::entry::apply;
use super::lines::Lines;
use crate::kernels::views::view::View;
use tapewright_strategies::kernel::launch::{ArrayRule, KeptArrays};
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::rules::Curvature;
use tapewright_strategies::{Number, Taping};

/// Sums of the elements up to each place along dimension `along`, in order: yᵢ = x₀ + … + xᵢ.
///
/// The adjoint is the cumulative sum from the other end, x̄ᵢ = ȳᵢ + ȳᵢ₊₁ + …, and nothing is kept for it. For
/// cumulative sums over all elements, by any rule, see [`parallel_scan`](super::super::parallel_scan).
///
/// ```
/// use tapewright::{kernels::{View, cumulative_sum}, prelude::*};
///
/// let x = View::<Passive, 2>::new([2, 3], &[1.0, 2.0, 4.0, 10.0, 20.0, 40.0]);
/// assert_eq!(cumulative_sum(&x, 1).values(), [1.0, 3.0, 7.0, 10.0, 30.0, 70.0]);
/// assert_eq!(cumulative_sum(&x, 0).values(), [1.0, 2.0, 4.0, 11.0, 22.0, 44.0]);
///
/// let second = |x: &[Real<Jacobian>]| cumulative_sum(&View::of_variables([3], x), 0).variable([1]);
/// assert_eq!(gradient::<Jacobian>(second, &[1.0, 2.0, 4.0]), [1.0, 1.0, 0.0]);
/// ```
///
/// # Panics
///
/// When there is no such dimension, when the view is half written, and in the cases listed at
/// [`Ex::eval`](crate::Ex::eval).
#[must_use]
#[track_caller]
pub fn cumulative_sum<S: Taping, const R: usize, M: Space<S::Value>>(x: &View<S, R, M>, along: usize) -> View<S, R, M> {
    apply(CumulativeSum(Lines::of(&x.shape(), along)), &[x.as_leaf()], x.shape())
}

#[derive(Debug)]
struct CumulativeSum(Lines);

impl CumulativeSum {
    /// Calls `each` with every place along every line, and the sum of the elements up to it.
    fn forwards<V: Number>(&self, x: &[V], mut each: impl FnMut(usize, V)) {
        for line in 0..self.0.count {
            add_up((0..self.0.length).map(|place| self.0.element(line, place)), x, &mut each);
        }
    }
}

impl<V: Number> ArrayRule<V> for CumulativeSum {
    fn values(&self, [x, _]: [&[V]; 2], result: &mut [V]) {
        self.forwards(x, |place, sum| result[place] = sum);
    }

    fn needs(&self, _: usize) -> [bool; 2] {
        [false; 2]
    }

    fn reverse(&self, _: usize, _: KeptArrays<'_, V>, seeds: &[V], sums: &mut [V]) {
        for line in 0..self.0.count {
            let places = (0..self.0.length).rev().map(|place| self.0.element(line, place));
            add_up(places, seeds, &mut |place, sum| sums[place] += sum);
        }
    }

    fn forward(&self, _: usize, _: KeptArrays<'_, V>, tangents: &[V], sums: &mut [V]) {
        self.forwards(tangents, |place, sum| sums[place] += sum);
    }

    fn sources(&self, k: usize, each: &mut dyn FnMut(usize, usize)) {
        let (line, last) = self.0.place(k);
        (0..=last).for_each(|place| each(0, self.0.element(line, place)));
    }

    fn curvature(&self) -> Curvature {
        Curvature::LINEAR
    }
}

/// Calls `each` with these places, in order, and the sums of the elements of `x` so far.
fn add_up<V: Number>(places: impl Iterator<Item = usize>, x: &[V], each: &mut impl FnMut(usize, V)) {
    let mut sum: Option<V> = None;
    for place in places {
        // Not 0 + x, which would lose the sign of a zero.
        let next = sum.map_or(x[place], |sum| sum + x[place]);
        each(place, next);
        sum = Some(next);
    }
}
