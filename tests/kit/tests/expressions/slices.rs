//! Functions of slices.

use approx::assert_relative_eq;
use tapewright::prelude::*;
use tapewright::{Number, dot, linear_combination, logsumexp, sum};

/// n numbers in (−1, 1).
fn numbers(n: usize) -> Vec<f64> {
    (0_u32..).take(n).map(|k| (f64::from(k) * 0.7).sin()).collect()
}

/// The inputs, with every `stride`-th replaced by a constant of the same value.
fn partly_passive<S: Strategy>(x: &[Real<S>], stride: usize) -> Vec<Real<S>> {
    x.iter().enumerate().map(|(k, x)| if k.is_multiple_of(stride) { Real::constant(x.value()) } else { *x }).collect()
}

/// Checks sum, dot, linear combination and logsumexp of these numbers, every `stride`-th of them passive.
fn assert_slice_functions(numbers: &[f64], stride: usize) {
    let active = |k: usize, slope: f64| if k.is_multiple_of(stride) { 0.0 } else { slope };
    let gradient = |slope: &dyn Fn(usize) -> f64| (0..numbers.len()).map(|k| active(k, slope(k))).collect::<Vec<_>>();
    let coefficients: Vec<f64> = numbers.iter().map(|x| 3.0 * x + 0.1).collect();

    let (value, slopes) = both!(|x| sum(&partly_passive(x, stride)), numbers);
    assert_eq!((value, slopes), (numbers.iter().sum(), gradient(&|_| 1.0)));

    let (value, slopes) = both!(|x| dot(&partly_passive(x, stride), &partly_passive(x, stride)), numbers);
    assert_eq!((value, slopes), (numbers.iter().map(|x| x * x).sum(), gradient(&|k| 2.0 * numbers[k])));

    let (value, slopes) = both!(|x| linear_combination(&coefficients, &partly_passive(x, stride)), numbers);
    assert_eq!(value, numbers.iter().zip(&coefficients).map(|(x, c)| c * x).sum::<f64>());
    assert_eq!(slopes, gradient(&|k| coefficients[k]));

    let (value, slopes) = both!(|x| logsumexp(&partly_passive(x, stride)), numbers);
    let total: f64 = numbers.iter().map(|x| x.exp()).sum();
    assert_relative_eq!(value, total.ln(), max_relative = 1e-13);
    assert_relative_eq!(slopes[..], gradient(&|k| numbers[k].exp() / total)[..], max_relative = 1e-11);
}

#[test]
fn functions_of_300_arguments() {
    assert_slice_functions(&numbers(300), usize::MAX);
    assert_slice_functions(&numbers(300), 3);
}

#[test]
fn functions_of_100_000_arguments() {
    assert_slice_functions(&numbers(100_000), usize::MAX);
    assert_slice_functions(&numbers(100_000), 3);
}

#[test]
fn functions_of_slices_are_one_statement() {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let x = scope.inputs(&numbers(300));
        [sum(&x), dot(&x, &x), linear_combination(&[1.0; 300], &x), logsumexp(&x)]
    });
    assert_eq!((tape.memory().statements, tape.memory().arguments), (4, 300 + 600 + 300 + 300));
}

#[test]
fn functions_of_slices_with_repeated_arguments_add_their_slopes() {
    fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let x = [x[0], x[1], x[0], x[0]];
        (sum(&x) + dot(&x, &x) * 10.0 + linear_combination(&[1.0, 2.0, 3.0, 4.0], &x) * 100.0).into()
    }
    assert_eq!(both!(f, &[3.0, 2.0]), (11.0 + 310.0 + 2800.0, vec![3.0 + 180.0 + 800.0, 1.0 + 40.0 + 200.0]));
}

#[test]
fn functions_of_empty_slices_are_passive() {
    fn f<S: Strategy>(x: &[Real<S>]) -> Real<S> {
        let none = &x[..0];
        assert_eq!(logsumexp(none).value().as_f64(), f64::NEG_INFINITY);
        (sum(none) + dot(none, none) + linear_combination(&[], none) + x[0]).into()
    }
    assert_eq!(both!(f, &[3.0]), (3.0, vec![1.0]));
}
