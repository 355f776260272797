//! Convolutions with a small mask.

use super::entry::apply;
use crate::kernels::views::view::View;
use core::ops::Range;
use tapewright_strategies::kernel::launch::{ArrayRule, KeptArrays, are_finite, contribution};
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::rules::Curvature;
use tapewright_strategies::{Number, Taping};

/// Values that a convolution reads outside a view: the example of [`convolve`] has all three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Zeros.
    Zero,
    /// The element of the view that is nearest.
    Nearest,
    /// The elements of the view, repeated in all directions.
    Periodic,
}

impl Outside {
    /// The element along a dimension of this length that is read at `place`; `None` for a zero.
    fn element(self, place: isize, length: usize) -> Option<usize> {
        let inside = usize::try_from(place).ok().filter(|place| *place < length);
        match self {
            Self::Zero => inside,
            Self::Nearest => Some(inside.unwrap_or(if place < 0 { 0 } else { length - 1 })),
            Self::Periodic => Some(place.rem_euclid(length.cast_signed()).cast_unsigned()),
        }
    }
}

/// Convolution of a view with a small mask: `y[i] = Σ mask[k]·x[i + c − k]`, where c is the middle of the mask,
/// `length / 2` along each dimension.
///
/// The mask is mirrored, as usual: reverse it for a correlation. Both may be active. The entry keeps x if the mask is
/// active, and the mask if x is. The adjoints are correlations: `Σ mask[k]·ȳ[j + k − c]` for `x[j]`, and
/// `Σ ȳ[i]·x[i + c − k]` for `mask[k]`. The time is proportional to the number of elements times that of the mask.
///
/// ```
/// use tapewright::{kernels::{Outside, View, convolve}, prelude::*};
///
/// let x = View::<Passive, 1>::new([4], &[1.0, 2.0, 4.0, 8.0]);
/// let slope = View::new([3], &[0.5, 0.0, -0.5]); // yᵢ = (xᵢ₊₁ − xᵢ₋₁)/2
/// assert_eq!(convolve(&x, &slope, Outside::Zero).values(), [1.0, 1.5, 3.0, -2.0]);
/// assert_eq!(convolve(&x, &slope, Outside::Nearest).values(), [0.5, 1.5, 3.0, 2.0]);
/// assert_eq!(convolve(&x, &slope, Outside::Periodic).values(), [-3.0, 1.5, 3.0, -1.5]);
///
/// let of_x = |x: &[Real<Jacobian>]| {
///     let slope = View::new([3], &[0.5, 0.0, -0.5]);
///     convolve(&View::of_variables([4], x), &slope, Outside::Zero).variable([1])
/// };
/// assert_eq!(gradient::<Jacobian>(of_x, &[1.0, 2.0, 4.0, 8.0]), [-0.5, 0.0, 0.5, 0.0]);
/// let of_mask = |mask: &[Real<Jacobian>]| {
///     let x = View::new([4], &[1.0, 2.0, 4.0, 8.0]);
///     convolve(&x, &View::of_variables([3], mask), Outside::Zero).variable([1])
/// };
/// assert_eq!(gradient::<Jacobian>(of_mask, &[0.5, 0.0, -0.5]), [4.0, 2.0, 1.0]);
/// ```
///
/// # Panics
///
/// When the mask is longer than the view along a dimension, when one of them is half written, and in the cases listed
/// at [`Ex::eval`](crate::Ex::eval).
#[must_use]
#[track_caller]
pub fn convolve<S: Taping, const R: usize, M: Space<S::Value>>(
    x: &View<S, R, M>,
    mask: &View<S, R, M>,
    outside: Outside,
) -> View<S, R, M> {
    let (shape, small) = (x.shape(), mask.shape());
    assert!(
        (0..R).all(|d| small[d] <= shape[d]),
        "a mask of shape {small:?} is longer than a view of shape {shape:?}: a mask has at most as many elements along \
         each dimension"
    );
    apply(Convolution { shape, mask: small, outside }, &[x.as_leaf(), mask.as_leaf()], shape)
}

#[derive(Debug)]
struct Convolution<const R: usize> {
    shape: [usize; R],
    mask: [usize; R],
    outside: Outside,
}

/// Adjacent elements of the result, one element of the mask, and the elements of x that it is multiplied by for them.
struct Run {
    /// Index in the mask.
    weight: usize,
    /// Elements of the result.
    to: Range<usize>,
    /// First of as many elements of x.
    from: usize,
}

impl Run {
    fn source(&self) -> Range<usize> {
        self.from..self.from + self.to.len()
    }
}

impl<const R: usize> Convolution<R> {
    /// The element of x along dimension `d` that is read for element `i` of the result and `k` of the mask.
    fn along(&self, d: usize, i: usize, k: usize) -> Option<usize> {
        let place = (i + self.mask[d] / 2).cast_signed() - k.cast_signed();
        self.outside.element(place, self.shape[d])
    }

    /// Calls `each` with all runs, row by row of the result.
    fn runs(&self, mut each: impl FnMut(&Run)) {
        let row = self.shape[R - 1];
        let rows = self.shape[..R - 1].iter().product::<usize>();
        let weights = self.mask[..R - 1].iter().product::<usize>();
        for to in 0..rows {
            for weight in 0..weights {
                if let Some(from) = self.row(to, weight) {
                    (0..self.mask[R - 1]).for_each(|k| self.runs_of_row(k, [to * row, from * row], weight, &mut each));
                }
            }
        }
    }

    /// The row of x that is read for a row of the result and a row of the mask.
    fn row(&self, mut to: usize, mut weight: usize) -> Option<usize> {
        let (mut from, mut stride) = (0, 1);
        for d in (0..R - 1).rev() {
            from += stride * self.along(d, to % self.shape[d], weight % self.mask[d])?;
            (to, weight, stride) = (to / self.shape[d], weight / self.mask[d], stride * self.shape[d]);
        }
        Some(from)
    }

    /// The runs for element `k` of a row of the mask: the elements next to the ends one by one.
    fn runs_of_row(&self, k: usize, [to, from]: [usize; 2], weight: usize, each: &mut impl FnMut(&Run)) {
        let (length, middle, mask) = (self.shape[R - 1], self.mask[R - 1] / 2, self.mask[R - 1]);
        let weight = weight * mask + k;
        // Element i reads i + middle − k.
        let inside = k.saturating_sub(middle)..(length + k).saturating_sub(middle).min(length);
        let mut one = |i: usize| {
            let source = self.along(R - 1, i, k);
            source.into_iter().for_each(|j| each(&Run { weight, to: to + i..to + i + 1, from: from + j }));
        };
        (0..inside.start).for_each(&mut one);
        (inside.end..length).for_each(&mut one);
        let first = inside.start + middle - k;
        each(&Run { weight, to: to + inside.start..to + inside.end, from: from + first });
    }
}

impl<V: Number, const R: usize> ArrayRule<V> for Convolution<R> {
    fn values(&self, [x, mask]: [&[V]; 2], result: &mut [V]) {
        result.fill(V::ZERO);
        self.runs(|run| add(mask[run.weight], &x[run.source()], &mut result[run.to.clone()]));
    }

    fn needs(&self, operand: usize) -> [bool; 2] {
        [operand == 1, operand == 0]
    }

    fn reverse(&self, operand: usize, [x, mask]: KeptArrays<'_, V>, seeds: &[V], sums: &mut [V]) {
        if operand == 0 {
            let usual = are_finite(mask) && are_finite(seeds);
            self.runs(|run| add_part(usual, mask[run.weight], &seeds[run.to.clone()], &mut sums[run.source()]));
        } else {
            let usual = are_finite(x) && are_finite(seeds);
            self.runs(|run| sums[run.weight] += inner(usual, &seeds[run.to.clone()], &x[run.source()]));
        }
    }

    fn forward(&self, operand: usize, [x, mask]: KeptArrays<'_, V>, tangents: &[V], sums: &mut [V]) {
        if operand == 0 {
            let usual = are_finite(mask) && are_finite(tangents);
            self.runs(|run| add_part(usual, mask[run.weight], &tangents[run.source()], &mut sums[run.to.clone()]));
        } else {
            let usual = are_finite(x) && are_finite(tangents);
            self.runs(|run| add_part(usual, tangents[run.weight], &x[run.source()], &mut sums[run.to.clone()]));
        }
    }

    fn sources(&self, k: usize, each: &mut dyn FnMut(usize, usize)) {
        let (row, i) = (k / self.shape[R - 1], k % self.shape[R - 1]);
        let columns = self.mask[R - 1];
        let read = |weight: usize| {
            let from = self.row(row, weight / columns)? * self.shape[R - 1];
            self.along(R - 1, i, weight % columns).map(|j| from + j)
        };
        let used = || (0..self.mask.iter().product()).filter_map(|weight| Some((weight, read(weight)?)));
        used().for_each(|(_, from)| each(0, from));
        used().for_each(|(weight, _)| each(1, weight));
    }

    /// Element k of x, among those that are read, with element k of the mask.
    fn curvature(&self) -> Curvature {
        Curvature::Halves
    }
}

/// Adds `factor`·x.
#[inline(always)]
fn add<V: Number>(factor: V, x: &[V], sums: &mut [V]) {
    sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += factor * *x);
}

/// Adds a factor times seeds or tangents; zero times anything is zero, which is `usual` for finite numbers.
#[inline(always)]
fn add_part<V: Number>(usual: bool, factor: V, x: &[V], sums: &mut [V]) {
    if usual {
        return add(factor, x, sums);
    }
    sums.iter_mut().zip(x).for_each(|(sum, x)| *sum += contribution(*x, factor));
}

/// Σ of seeds times numbers, in sixteen sums side by side; zero times anything is zero.
#[inline(always)]
fn inner<V: Number>(usual: bool, seeds: &[V], x: &[V]) -> V {
    if !usual {
        return seeds.iter().zip(x).fold(V::ZERO, |sum, (seed, x)| sum + contribution(*seed, *x));
    }
    let mut sums = [V::ZERO; 16];
    let (seeds, x) = (seeds.chunks_exact(16), x.chunks_exact(16));
    let rest = seeds.remainder().iter().zip(x.remainder()).fold(V::ZERO, |sum, (seed, x)| sum + *seed * *x);
    for (seeds, x) in seeds.zip(x) {
        sums.iter_mut().zip(seeds).zip(x).for_each(|((sum, seed), x)| *sum += *seed * *x);
    }
    sums.into_iter().fold(rest, |all, sum| all + sum)
}
