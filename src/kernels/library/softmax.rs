//! Softmax, and the logarithm of a sum of exponentials, along a dimension.

use super::entry::apply;
use super::lines::{LineMemory, Lines};
use crate::kernels::views::view::View;
use crate::nary;
use tapewright_strategies::kernel::launch::{ArrayRule, KeptArrays, contribution};
use tapewright_strategies::kernel::targets::Space;
use tapewright_strategies::rules::Curvature;
use tapewright_strategies::{Number, Taping};

/// Softmax along dimension `along`: sᵢ = exp xᵢ / Σ exp xⱼ, without overflow.
///
/// Computed as exp(xᵢ − m) / Σ exp(xⱼ − m) with the largest element m. If m is infinite, the elements that are equal to
/// it share 1, and the others are 0; one NaN makes a line NaN. The entry keeps s, and its adjoint is
/// x̄ = s·(s̄ − Σ s̄ⱼ·sⱼ).
///
/// ```
/// use tapewright::{kernels::{View, softmax}, prelude::*};
///
/// let x = View::<Passive, 2>::new([2, 2], &[0.0, 3.0_f64.ln(), 1000.0, 1000.0]);
/// let s = softmax(&x, 1);
/// assert!(s.values().iter().zip([0.25, 0.75, 0.5, 0.5]).all(|(s, expected)| (s - expected).abs() < 1e-15));
///
/// // ∂s₁/∂x = s₁·(eᵢ − sᵢ).
/// let share = |x: &[Real<Jacobian>]| softmax(&View::of_variables([2], x), 0).variable([1]);
/// let slopes = gradient::<Jacobian>(share, &[0.0, 3.0_f64.ln()]);
/// assert!(slopes.iter().zip([-0.1875, 0.1875]).all(|(slope, expected)| (slope - expected).abs() < 1e-15));
/// ```
///
/// # Panics
///
/// When there is no such dimension, when the view is half written, and in the cases listed at
/// [`Ex::eval`](crate::Ex::eval).
#[must_use]
#[track_caller]
pub fn softmax<S: Taping, const R: usize, M: Space<S::Value>>(x: &View<S, R, M>, along: usize) -> View<S, R, M> {
    apply(Softmax(Lines::of(&x.shape(), along)), &[x.as_leaf()], x.shape())
}

/// ln Σ exp xⱼ along dimension `along`, without overflow: a view with one dimension less.
///
/// Computed as m + ln Σ exp(xⱼ − m) with the largest element m, as [`logsumexp`](crate::logsumexp) of variables. The
/// entry keeps x, and its adjoint is x̄ᵢ = ȳ·sᵢ with the [`softmax`] s of the line. Reshape a view of rank 1 to
/// `[1, n]` first.
///
/// ```
/// use tapewright::{kernels::{View, logsumexp}, prelude::*};
///
/// let x = View::<Passive, 2>::new([2, 2], &[0.0, 0.0, 1000.0, f64::NEG_INFINITY]);
/// let y: View<Passive, 1> = logsumexp(&x, 1);
/// assert_eq!(y.values(), [2.0_f64.ln(), 1000.0]);
///
/// let first = |x: &[Real<Jacobian>]| {
///     let y: View<_, 1> = logsumexp(&View::of_variables([1, 2], x), 1);
///     y.variable([0])
/// };
/// assert_eq!(gradient::<Jacobian>(first, &[0.0, 0.0]), [0.5, 0.5]);
/// ```
///
/// # Panics
///
/// When there is no such dimension, when the view is half written, and in the cases listed at
/// [`Ex::eval`](crate::Ex::eval). A call compiles only if the result has one dimension less.
#[must_use]
#[track_caller]
pub fn logsumexp<S: Taping, const R: usize, const Q: usize, M: Space<S::Value>>(
    x: &View<S, R, M>,
    along: usize,
) -> View<S, Q, M> {
    const { assert!(Q + 1 == R, "ln Σ exp x along a dimension has one dimension less than x") };
    let (lines, shape) = (Lines::of(&x.shape(), along), x.shape());
    let shape = core::array::from_fn(|d| if d < along { shape[d] } else { shape[d + 1] });
    apply(LogSumExp(lines), &[x.as_leaf()], shape)
}

#[derive(Debug)]
struct Softmax(Lines);

impl Softmax {
    /// Adds s·(r − Σ rⱼ·sⱼ), for adjoints or tangents r: the matrix of partial derivatives is symmetric.
    fn add<V: Number>(&self, s: &[V], r: &[V], sums: &mut [V]) {
        let (lines, [mut m, mut n, mut k]) = (self.0, [LineMemory::new(), LineMemory::new(), LineMemory::new()]);
        for line in 0..lines.count {
            let (s, r) = (lines.read(s, line, &mut m), lines.read(r, line, &mut n));
            if r.iter().all(|r| r.is_nought()) {
                continue;
            }
            let mean = s.iter().zip(r).fold(V::ZERO, |sum, (s, r)| sum + contribution(*r, *s));
            lines.write(sums, line, &mut k, |sums| {
                sums.iter_mut().zip(s).zip(r).for_each(|((sum, s), r)| *sum += contribution(*r - mean, *s));
            });
        }
    }
}

impl<V: Number> ArrayRule<V> for Softmax {
    fn values(&self, [x, _]: [&[V]; 2], result: &mut [V]) {
        let (lines, [mut m, mut n]) = (self.0, [LineMemory::new(), LineMemory::new()]);
        for line in 0..lines.count {
            let x = lines.read(x, line, &mut m);
            lines.write(result, line, &mut n, |result| nary::softmax(x, result));
        }
    }

    fn needs(&self, _: usize) -> [bool; 2] {
        [false, true]
    }

    fn reverse(&self, _: usize, [_, s]: KeptArrays<'_, V>, seeds: &[V], sums: &mut [V]) {
        self.add(s, seeds, sums);
    }

    fn forward(&self, _: usize, [_, s]: KeptArrays<'_, V>, tangents: &[V], sums: &mut [V]) {
        self.add(s, tangents, sums);
    }

    fn sources(&self, k: usize, each: &mut dyn FnMut(usize, usize)) {
        let (line, _) = self.0.place(k);
        (0..self.0.length).for_each(|place| each(0, self.0.element(line, place)));
    }

    fn curvature(&self) -> Curvature {
        Curvature::Everywhere
    }
}

#[derive(Debug)]
struct LogSumExp(Lines);

impl<V: Number> ArrayRule<V> for LogSumExp {
    fn values(&self, [x, _]: [&[V]; 2], result: &mut [V]) {
        let mut memory = LineMemory::new();
        for (line, result) in result.iter_mut().enumerate() {
            *result = nary::ln_of_sum(self.0.read(x, line, &mut memory));
        }
    }

    fn needs(&self, _: usize) -> [bool; 2] {
        [true, false]
    }

    fn reverse(&self, _: usize, [x, _]: KeptArrays<'_, V>, seeds: &[V], sums: &mut [V]) {
        let (lines, [mut m, mut n]) = (self.0, [LineMemory::new(), LineMemory::new()]);
        let mut shares = vec![V::ZERO; lines.length];
        for (line, seed) in seeds.iter().enumerate().filter(|(_, seed)| !seed.is_nought()) {
            nary::softmax(lines.read(x, line, &mut m), &mut shares);
            lines.write(sums, line, &mut n, |sums| {
                sums.iter_mut().zip(&shares).for_each(|(sum, share)| *sum += contribution(*seed, *share));
            });
        }
    }

    fn forward(&self, _: usize, [x, _]: KeptArrays<'_, V>, tangents: &[V], sums: &mut [V]) {
        let (lines, [mut m, mut n]) = (self.0, [LineMemory::new(), LineMemory::new()]);
        let mut shares = vec![V::ZERO; lines.length];
        for (line, sum) in sums.iter_mut().enumerate() {
            let tangents = lines.read(tangents, line, &mut n);
            if tangents.iter().all(|tangent| tangent.is_nought()) {
                continue;
            }
            nary::softmax(lines.read(x, line, &mut m), &mut shares);
            shares.iter().zip(tangents).for_each(|(share, tangent)| *sum += contribution(*tangent, *share));
        }
    }

    fn sources(&self, k: usize, each: &mut dyn FnMut(usize, usize)) {
        (0..self.0.length).for_each(|place| each(0, self.0.element(k, place)));
    }

    fn curvature(&self) -> Curvature {
        Curvature::Everywhere
    }
}
