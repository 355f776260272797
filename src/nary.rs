//! Statements over slices, of any length.

use crate::expr::Real;
use smallvec::SmallVec;
use tapewright_strategies::contract::Given;
use tapewright_strategies::rules::Curvature;
use tapewright_strategies::{Float, Nary, Number, Scratch, Taping, by_lanes2, with_row};

/// Records `R` over these arguments as one statement.
///
/// Functions of a slice of your own are added in this way: implement [`Nary`] for a type and call this function.
///
/// # Panics
///
/// When `R` uses constants and there are not as many as arguments, and in the cases listed at
/// [`Ex::eval`](crate::Ex::eval).
#[track_caller]
pub fn nary<S: Taping, R: Nary<S::Value>>(arguments: &[&[Real<S>]], constants: &[S::Value]) -> Real<S> {
    let n: usize = arguments.iter().map(|part| part.len()).sum();
    assert_eq!(
        constants.len(),
        R::CONSTANTS * n,
        "a function with {} constants for each of {n} arguments got {}",
        R::CONSTANTS,
        constants.len()
    );
    let value = R::value(&values_of(arguments), constants);
    let peeled: SmallVec<[&[S::Variable]; 2]> = arguments.iter().map(|part| Real::peel(part)).collect();
    Real::from_parts(value, S::record_nary::<R>(&peeled, constants, value))
}

/// The values of the arguments, one after the other.
fn values_of<S: Taping>(arguments: &[&[Real<S>]]) -> Scratch<S::Value> {
    let mut values = Scratch::new();
    for part in arguments {
        values.extend(part.iter().map(Real::peek));
    }
    values
}

/// The sum of a slice as one statement.
///
/// # Panics
///
/// When [`Ex::eval`](crate::Ex::eval) does.
///
/// ```
/// use tapewright::prelude::*;
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { tapewright::sum(x) }
/// assert_eq!(gradient::<Jacobian>(f, &[1.0; 300]), [1.0; 300]);
/// ```
#[track_caller]
pub fn sum<S: Taping>(terms: &[Real<S>]) -> Real<S> {
    let value = sum_of(terms, terms, |x, _| x.peek());
    Real::from_parts(value, S::record_nary::<Total>(&[Real::peel(terms)], &[], value))
}

/// The inner product of two slices as one statement.
///
/// # Panics
///
/// When the slices differ in length, and in the cases listed at [`Ex::eval`](crate::Ex::eval).
#[track_caller]
pub fn dot<S: Taping>(x: &[Real<S>], y: &[Real<S>]) -> Real<S> {
    assert_eq!(x.len(), y.len(), "dot needs slices of equal length, not {} and {}", x.len(), y.len());
    let value = sum_of(x, y, |x, y| x.peek() * y.peek());
    Real::from_parts(value, S::record_nary::<Inner>(&[Real::peel(x), Real::peel(y)], &[], value))
}

/// Σ cᵢ·xᵢ with passive coefficients, as one statement.
///
/// # Panics
///
/// When the slices differ in length, and in the cases listed at [`Ex::eval`](crate::Ex::eval).
#[track_caller]
pub fn linear_combination<S: Taping>(coefficients: &[f64], x: &[Real<S>]) -> Real<S> {
    assert_eq!(
        coefficients.len(),
        x.len(),
        "linear_combination needs slices of equal length, not {} and {}",
        coefficients.len(),
        x.len()
    );
    if let Some(constants) = S::Value::borrowed(coefficients) {
        return combination(constants, x);
    }
    with_row(S::Value::ZERO, x.len(), |constants| {
        constants.iter_mut().zip(coefficients).for_each(|(to, from)| *to = S::Value::from_f64(*from));
        combination(constants, x)
    })
}

#[track_caller]
fn combination<S: Taping>(constants: &[S::Value], x: &[Real<S>]) -> Real<S> {
    let value = sum_of(x, constants, |x, c| *c * x.peek());
    Real::from_parts(value, S::record_nary::<Combination>(&[Real::peel(x)], constants, value))
}

/// ln Σ exp(xᵢ) as one statement, without overflow; −∞ for an empty slice. The partials add up to 1; where the value is
/// infinite, the arguments that are equal to it share them.
///
/// # Panics
///
/// When [`Ex::eval`](crate::Ex::eval) does.
#[track_caller]
pub fn logsumexp<S: Taping>(x: &[Real<S>]) -> Real<S> {
    nary::<S, LogSumExp>(&[x], &[])
}

/// The Euclidean norm √Σ xᵢ² as one statement, without over- or underflow; 0 for an empty slice. The partials are
/// xᵢ/‖x‖. Where all xᵢ are 0 there is no derivative: the partials are singular, NaN under
/// [`Strict`](crate::policy::Strict), like the partials of `hypot` at (0, 0). If the norm is infinite, the infinite
/// arguments share the slope.
///
/// # Panics
///
/// When [`Ex::eval`](crate::Ex::eval) does.
///
/// ```
/// use tapewright::prelude::*;
///
/// fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> { tapewright::norm(x) }
/// assert_eq!(gradient::<Jacobian>(f, &[3e200, 0.0, -4e200]), [0.6, 0.0, -0.8]);
/// ```
#[track_caller]
pub fn norm<S: Taping>(x: &[Real<S>]) -> Real<S> {
    nary::<S, Norm>(&[x], &[])
}

fn total<V: Number>(terms: impl Iterator<Item = V>) -> V {
    terms.fold(V::ZERO, |a, b| a + b)
}

/// The sum of the terms of two slices of one length. Long sums are formed in eight parts, so that an addition need not
/// wait for the one before.
#[inline(always)]
fn sum_of<V: Number, A, B>(a: &[A], b: &[B], term: impl Fn(&A, &B) -> V) -> V {
    const PARTS: usize = 8;
    let mut parts = [V::ZERO; PARTS];
    let add = |sum: V, (a, b): (&A, &B)| sum + term(a, b);
    if a.len() < 2 * PARTS {
        return a.iter().zip(b).fold(V::ZERO, add);
    }
    let (a, b) = (a.chunks_exact(PARTS), b.chunks_exact(PARTS));
    let rest = a.remainder().iter().zip(b.remainder());
    for (a, b) in a.zip(b) {
        for k in 0..PARTS {
            parts[k] = add(parts[k], (&a[k], &b[k]));
        }
    }
    let [a, b, c, d, e, f, g, h] = parts;
    rest.fold((a + b + (c + d)) + (e + f + (g + h)), add)
}

struct Total;
impl<V: Number> Nary<V> for Total {
    const UNIT: bool = true;
    const CURVATURE: Curvature = Curvature::LINEAR;
    fn value(x: &[V], _: &[V]) -> V {
        sum_of(x, x, |x, _| *x)
    }
    fn partials(_: &[V], _: &[V], partials: &mut [V]) {
        partials.fill(V::ONE);
    }
}

struct Inner;
impl<V: Number> Nary<V> for Inner {
    const CURVATURE: Curvature = Curvature::Halves;
    const GIVEN: Given = Given::OtherHalf;
    fn value(xy: &[V], _: &[V]) -> V {
        let (x, y) = xy.split_at(xy.len() / 2);
        sum_of(x, y, |x, y| *x * *y)
    }
    fn partials(xy: &[V], _: &[V], partials: &mut [V]) {
        let (x, y) = xy.split_at(xy.len() / 2);
        let (for_x, for_y) = partials.split_at_mut(x.len());
        for_x.copy_from_slice(y);
        for_y.copy_from_slice(x);
    }
}

struct Combination;
impl<V: Number> Nary<V> for Combination {
    const CONSTANTS: usize = 1;
    const CURVATURE: Curvature = Curvature::LINEAR;
    const GIVEN: Given = Given::Constants;
    fn value(x: &[V], c: &[V]) -> V {
        sum_of(x, c, |x, c| *c * *x)
    }
    fn partials(_: &[V], c: &[V], partials: &mut [V]) {
        partials.copy_from_slice(c);
    }
}

struct LogSumExp;
impl<V: Number> Nary<V> for LogSumExp {
    fn value(x: &[V], _: &[V]) -> V {
        ln_of_sum(x)
    }

    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        softmax(x, partials);
    }
}

/// ln Σ exp(xᵢ), without overflow.
pub(crate) fn ln_of_sum<V: Number>(x: &[V]) -> V {
    V::from_lanes(|k| log_sum_exp(x.iter().map(|x| x.lane(k))))
}

/// Softmax: exp(xᵢ − max)/Σ exp(xⱼ − max), the partials of ln Σ exp(xᵢ). The value of that is not used: where max is
/// large, it has lost ln Σ exp(xⱼ − max).
pub(crate) fn softmax<V: Number>(x: &[V], shares: &mut [V]) {
    let max = V::from_lanes(|k| largest(x.iter().map(|x| x.lane(k))));
    for (share, x) in shares.iter_mut().zip(x) {
        *share = by_lanes2(*x, max, exp_of_difference);
    }
    let factor = V::ONE / total(shares.iter().copied());
    for share in shares {
        *share = *share * factor;
    }
}

fn log_sum_exp<V: Float>(x: impl Iterator<Item = V> + Clone) -> V {
    let max = largest(x.clone());
    match x.clone().position(|x| x.as_f64() == max.as_f64()) {
        Some(top) if max.is_finite() => {
            let others = x.clone().take(top).chain(x.skip(top + 1));
            max + total(others.map(|x| (x - max).exp())).ln_1p()
        }
        _ if x.clone().any(Float::is_nan) => V::nan(),
        _ => max,
    }
}

fn exp_of_difference<V: Float>(x: V, max: V) -> V {
    // The difference of equal infinities is NaN.
    if x.is_infinite() && x.as_f64() == max.as_f64() { V::ONE } else { (x - max).exp() }
}

/// The largest value; −∞ for an empty iterator.
fn largest<V: Float>(x: impl Iterator<Item = V>) -> V {
    x.fold(V::neg_infinity(), V::max)
}

struct Norm;
impl<V: Number> Nary<V> for Norm {
    fn value(x: &[V], _: &[V]) -> V {
        V::from_lanes(|k| length(x.iter().map(|x| x.lane(k))))
    }

    /// Partials ±qᵢ/√Σ qⱼ² with q = x/p, where p is the xᵢ of largest magnitude. Unlike the derivatives of xᵢ/‖x‖,
    /// their derivatives do not cancel where one argument is much larger than the others: qᵢ is 1 then, and constant.
    fn partials(x: &[V], _: &[V], partials: &mut [V]) {
        let pivot = V::from_lanes(|k| pivot(x.iter().map(|x| x.lane(k))));
        for (partial, x) in partials.iter_mut().zip(x) {
            *partial = by_lanes2(*x, pivot, share_of_pivot);
        }
        let length = total(partials.iter().map(|q| *q * *q)).sqrt();
        for partial in partials {
            *partial = pivot.signum() * *partial / length;
        }
    }
}

/// √Σ xᵢ², by the squares themselves if they neither overflow nor underflow.
fn length<V: Float>(x: impl Iterator<Item = V> + Clone) -> V {
    let squares = total(x.clone().map(|x| x * x));
    if squares > V::min_positive_value() / V::epsilon() && squares.is_finite() {
        return squares.sqrt();
    }
    let pivot = pivot(x.clone());
    if pivot.as_f64() == 0.0 || !pivot.is_finite() {
        return pivot.abs();
    }
    pivot.abs() * total(x.map(|x| share_of_pivot(x, pivot)).map(|q| q * q)).sqrt()
}

/// The value of largest magnitude; NaN if there is a NaN and nothing infinite.
fn pivot<V: Float>(x: impl Iterator<Item = V>) -> V {
    let is_larger = |x: V, other: V| x.is_infinite() || (x.is_nan() && !other.is_infinite()) || x.abs() > other.abs();
    x.fold(V::zero(), |largest, x| if is_larger(x, largest) { x } else { largest })
}

/// x/p; where p is infinite, the sign of x if x is infinite, too.
fn share_of_pivot<V: Float>(x: V, pivot: V) -> V {
    match (pivot.is_infinite(), x.is_infinite()) {
        (false, _) => x / pivot,
        (true, true) => x.signum() * pivot.signum(),
        (true, false) => V::zero(),
    }
}
