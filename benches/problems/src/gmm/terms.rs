//! The terms of the objective: over any strategy, over `f64`, and their adjoints.

use super::{Prior, factor_length};
use tapewright::{Real, Taping};

/// exp of each factor's diagonal, and the sum of each diagonal.
#[inline(always)]
pub(super) fn diagonals<S: Taping>(d: usize, factors: &[Real<S>]) -> (Vec<Real<S>>, Vec<Real<S>>) {
    let mut q = Vec::with_capacity(factors.len());
    let mut sums = Vec::with_capacity(factors.len());
    for factor in factors.chunks_exact(factor_length(d)) {
        let mut sum = Real::from(0.0);
        for entry in &factor[..d] {
            q.push(entry.exp().into());
            sum += entry;
        }
        sums.push(sum);
    }
    (q, sums)
}

/// [`diagonals`] over `f64`.
#[inline(always)]
pub(super) fn diagonals_plain(d: usize, factors: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut q = Vec::with_capacity(factors.len());
    let mut sums = Vec::with_capacity(factors.len());
    for factor in factors.chunks_exact(factor_length(d)) {
        let mut sum = 0.0;
        for entry in &factor[..d] {
            q.push(entry.exp());
            sum += entry;
        }
        sums.push(sum);
    }
    (q, sums)
}

/// ‖Q·(point − mean)‖² with Q's diagonal `q` and its strictly `lower` triangle; leaves the differences in `centered` and
/// their products with Q in `scaled`.
///
/// Each slice is a parameter of its own and the function is not inlined: then the compiler knows that they do not
/// overlap.
#[inline(never)]
pub(super) fn distance<S: Taping>(
    point: &[f64],
    mean: &[Real<S>],
    q: &[Real<S>],
    lower: &[Real<S>],
    centered: &mut [Real<S>],
    scaled: &mut [Real<S>],
) -> Real<S> {
    for ((centered, x), mean) in centered.iter_mut().zip(point).zip(mean) {
        centered.assign(*x - mean);
    }
    for ((scaled, q), centered) in scaled.iter_mut().zip(q).zip(&*centered) {
        scaled.assign(q * centered);
    }
    let mut lower = lower;
    for (i, centered) in centered.iter().enumerate() {
        let below = &mut scaled[i + 1..];
        let (column, rest) = lower.split_at(below.len());
        for (scaled, entry) in below.iter_mut().zip(column) {
            *scaled += entry * centered;
        }
        lower = rest;
    }
    let mut sum = Real::from(0.0);
    for scaled in &*scaled {
        sum += scaled * scaled;
    }
    sum
}

/// [`distance`] over `f64`.
#[inline(never)]
pub(super) fn distance_plain(
    point: &[f64],
    mean: &[f64],
    q: &[f64],
    lower: &[f64],
    centered: &mut [f64],
    scaled: &mut [f64],
) -> f64 {
    for ((centered, x), mean) in centered.iter_mut().zip(point).zip(mean) {
        *centered = x - mean;
    }
    for ((scaled, q), centered) in scaled.iter_mut().zip(q).zip(&*centered) {
        *scaled = q * centered;
    }
    let mut lower = lower;
    for (i, centered) in centered.iter().enumerate() {
        let below = &mut scaled[i + 1..];
        let (column, rest) = lower.split_at(below.len());
        for (scaled, entry) in below.iter_mut().zip(column) {
            *scaled += entry * centered;
        }
        lower = rest;
    }
    let mut sum = 0.0;
    for scaled in &*scaled {
        sum += scaled * scaled;
    }
    sum
}

/// ln Σ exp, statement by statement. The maximum is an active copy.
#[inline(never)]
pub(super) fn logsumexp<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let mut max = x[0].clone();
    for x in &x[1..] {
        max = x.more(&max).select(x, &max);
    }
    let mut sum = Real::from(0.0);
    for x in x {
        sum += (x - &max).exp();
    }
    (&max + sum.ln()).into()
}

/// [`logsumexp`] over `f64`.
#[inline(never)]
pub(super) fn logsumexp_plain(x: &[f64]) -> f64 {
    let mut max = x[0];
    for x in &x[1..] {
        if *x > max {
            max = *x;
        }
    }
    let mut sum = 0.0;
    for x in x {
        sum += (x - max).exp();
    }
    max + sum.ln()
}

/// The prior's terms that depend on inputs.
pub(super) fn wishart<S: Taping>(prior: Prior, factors: &[Real<S>], q: &[Real<S>], sums: &[Real<S>]) -> Real<S> {
    let (d, length) = (q.len() / sums.len(), factors.len() / sums.len());
    let mut total = Real::from(0.0);
    for ((q, factor), sum) in q.chunks_exact(d).zip(factors.chunks_exact(length)).zip(sums) {
        let mut square = Real::from(0.0);
        for entry in q.iter().chain(&factor[d..]) {
            square += entry * entry;
        }
        total += 0.5 * prior.gamma * prior.gamma * &square - f64::from(prior.m) * sum;
    }
    total
}

/// [`wishart`] over `f64`.
pub(super) fn wishart_plain(prior: Prior, factors: &[f64], q: &[f64], sums: &[f64]) -> f64 {
    let (d, length) = (q.len() / sums.len(), factors.len() / sums.len());
    let mut total = 0.0;
    for ((q, factor), sum) in q.chunks_exact(d).zip(factors.chunks_exact(length)).zip(sums) {
        let mut square = 0.0;
        for entry in q.iter().chain(&factor[d..]) {
            square += entry * entry;
        }
        total += 0.5 * prior.gamma * prior.gamma * square - f64::from(prior.m) * sum;
    }
    total
}

/// Turns `x` into its softmax and returns ln Σ exp.
pub(super) fn softmax(x: &mut [f64]) -> f64 {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for x in &mut *x {
        *x = (*x - max).exp();
        sum += *x;
    }
    for x in x {
        *x /= sum;
    }
    max + sum.ln()
}

/// Adds to the adjoints of one component's mean and factor (of its diagonal's exponential, so far), given that of main.
pub(super) fn component_adjoint(
    (q, lower): (&[f64], &[f64]),
    (centered, scaled): (&[f64], &[f64]),
    to_main: f64,
    to_mean: &mut [f64],
    to_factor: &mut [f64],
) {
    let (to_q, mut to_lower) = to_factor.split_at_mut(q.len());
    let mut lower = lower;
    for i in 0..q.len() {
        let below = &scaled[i + 1..];
        let (column, rest) = lower.split_at(below.len());
        let (to_column, to_rest) = to_lower.split_at_mut(below.len());
        let mut to_centered = q[i] * scaled[i];
        for ((scaled, entry), to_entry) in below.iter().zip(column).zip(to_column) {
            to_centered += entry * scaled;
            *to_entry -= to_main * scaled * centered[i];
        }
        to_q[i] -= to_main * scaled[i] * centered[i];
        to_mean[i] += to_main * to_centered;
        (lower, to_lower) = (rest, to_rest);
    }
}

/// The value of [`wishart`]. Adds its part to the adjoints of the factors and completes these, given in `to_mains` the
/// adjoints of main summed over the points.
pub(super) fn wishart_adjoint(
    prior: Prior,
    (factors, q, sums): (&[f64], &[f64], &[f64]),
    to_mains: &[f64],
    to_factors: &mut [f64],
) -> f64 {
    let (d, length) = (q.len() / sums.len(), factors.len() / sums.len());
    let (weight, m) = (prior.gamma * prior.gamma, f64::from(prior.m));
    for (c, to_factor) in to_factors.chunks_exact_mut(length).enumerate() {
        let (to_diagonal, to_lower) = to_factor.split_at_mut(d);
        for (to_entry, q) in to_diagonal.iter_mut().zip(&q[c * d..]) {
            *to_entry = (*to_entry + weight * q) * q + to_mains[c] - m;
        }
        for (to_entry, entry) in to_lower.iter_mut().zip(&factors[c * length + d..]) {
            *to_entry += weight * entry;
        }
    }
    wishart_plain(prior, factors, q, sums)
}
