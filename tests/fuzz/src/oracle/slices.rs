//! Functions of any number of arguments, and those with rules.

use super::number::{Num, Sum, round, unit};
use super::unary::vanishing;
use crate::program::{Slice, SliceFunction};

fn sum(terms: impl Iterator<Item = Num>) -> Num {
    let mut sum = Sum::ZERO;
    terms.for_each(|term| sum.add(term));
    sum.get()
}

/// Σ x·p.
pub(super) fn inner(x: &[Num], p: &[Num]) -> Num {
    sum(x.iter().zip(p).map(|(x, p)| x.times(*p)))
}

/// The value, and the partials.
#[allow(clippy::cast_precision_loss, reason = "a small number")]
pub(super) fn slice(function: SliceFunction, x: &[Num], c: f64) -> (Num, Vec<Num>) {
    let n = x.len() as f64;
    match function {
        SliceFunction::Sum => (sum(x.iter().copied()), vec![Num::ONE; x.len()]),
        SliceFunction::Dot => {
            let (left, right) = x.split_at(x.len() / 2);
            (inner(left, right), right.iter().chain(left).copied().collect())
        }
        SliceFunction::Combination => {
            let c: Vec<Num> = (0..x.len()).map(|k| Num::exact(round(Slice::coefficient(k, c)))).collect();
            (inner(x, &c), c)
        }
        SliceFunction::LogSumExp => (log_sum(x), x.iter().map(|y| share(*y, x)).collect()),
        SliceFunction::MeanSquare => {
            let squares = sum(x.iter().map(|x| x.times(*x)));
            let scale = Num::near(0.25 / n, 1.0);
            let partial =
                |x: &Num| if x.is_zero() == Some(true) { Num::ZERO } else { x.times(Num::near(0.5 / n, 1.0)) };
            (squares.times(scale), x.iter().map(partial).collect())
        }
    }
}

fn largest(x: &[Num]) -> Num {
    x.iter().fold(Num::exact(f64::NEG_INFINITY), |most, x| if x.v > most.v { *x } else { most })
}

fn log_sum(x: &[Num]) -> Num {
    if x.iter().any(|x| x.is_unknown()) {
        return Num::UNKNOWN;
    }
    if x.iter().any(|x| x.v.is_nan()) {
        return Num::exact(f64::NAN);
    }
    let most = largest(x);
    if !most.v.is_finite() {
        return most;
    }
    let total: f64 = x.iter().map(|x| (x.v - most.v).exp()).sum();
    let error = x.iter().fold(most.e, |most, x| most.max(x.e));
    Num::within(most.v + total.ln(), error + 64.0 * unit() * (1.0 + total.ln().abs()) + 2.0 * unit() * most.v.abs())
}

/// eˣ/Σ eˣ.
#[allow(clippy::cast_precision_loss, reason = "a small number")]
fn share(y: Num, x: &[Num]) -> Num {
    if x.iter().any(|x| x.v.is_nan()) {
        return if x.iter().any(|x| x.is_unknown()) { Num::UNKNOWN } else { Num::exact(f64::NAN) };
    }
    let most = largest(x);
    let error = x.iter().fold(0.0_f64, |most, x| most.max(x.e));
    if error > 0.25 {
        return Num::UNKNOWN;
    }
    let total: f64 = x.iter().map(|x| if x.v == most.v { 1.0 } else { (x.v - most.v).exp() }).sum();
    let d = if y.v == most.v { 0.0 } else { y.v - most.v };
    if d < -vanishing() {
        return Num::ZERO;
    }
    let v = d.exp() / total;
    // Differences are rounded relative to themselves; eᵈ has |d| roundings more.
    Num::within(v, v * ((24.0 + 4.0 * x.len() as f64 + 4.0 * d.abs()) * unit() + 6.0 * error))
}

/// A function with rules: its outputs, and its partials, output by output.
pub(super) fn function(kind: usize, x: &[Num]) -> (Vec<Num>, Vec<Vec<Num>>) {
    let call = |f: fn(f64) -> f64, g: fn(f32) -> f32| {
        #[allow(clippy::cast_possible_truncation, reason = "the number has single precision")]
        let at = |x: f64| if super::number::is_single() { f64::from(g(x as f32)) } else { f(x) };
        if x[0].is_exact() {
            Num::exact(at(x[0].v))
        } else if x[0].is_unknown() {
            Num::UNKNOWN
        } else {
            // The slope is at most 1.
            Num::within(at(x[0].v), x[0].e + 2.0 * unit())
        }
    };
    let add = |a: Num, b: Num| {
        if a.is_exact() && b.is_exact() { Num::exact(round(a.v + b.v)) } else { sum([a, b].into_iter()) }
    };
    let (one, zero) = (Num::ONE, Num::ZERO);
    match kind % 3 {
        0 => (vec![x[0].times(x[1]), add(x[0], x[1])], vec![vec![x[1], x[0]], vec![one, one]]),
        1 => {
            let (sin, cos) = (call(f64::sin, f32::sin), call(f64::cos, f32::cos));
            (vec![sin, cos], vec![vec![cos], vec![-sin]])
        }
        _ => (
            vec![x[0].times(x[1]).times(x[2]), add(x[2], -x[0])],
            vec![vec![x[1].times(x[2]), x[0].times(x[2]), x[0].times(x[1])], vec![-one, zero, one]],
        ),
    }
}
