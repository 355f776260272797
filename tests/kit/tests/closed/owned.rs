//! Strategies whose variables are not `Copy`: what needs no copies runs on them.

use super::differentiated;
use num_complex::Complex;
use tapewright::strategies::num_traits::{FloatConst, Inv, NumAssignRef, NumRef, Pow, RefNum, Signed, pow};
use tapewright::{Closed, Jacobian, Reuse};

type Owned = Jacobian<f64, Reuse>;

/// (Σxᵢ)·Πxᵢ − |x₀ − x₁|³/π, with clones and references only.
fn with_clones<T>(x: &[T]) -> T
where
    T: NumRef + NumAssignRef + Signed + FloatConst + Clone + Inv<Output = T> + Pow<i32, Output = T> + PartialOrd,
    T: for<'a> std::iter::Sum<&'a T> + for<'a> std::iter::Product<&'a T>,
    for<'a> &'a T: RefNum<T>,
{
    let sum: T = x.iter().sum();
    let product: T = x.iter().product();
    let mut result = &sum * &product;
    let distance = if x[0] > x[1] { &x[0] - &x[1] } else { &x[1] - &x[0] };
    result -= &(Pow::pow(distance.abs(), 3) * T::PI().inv());
    result
}

/// Σ(re·im) of powers of a complex number.
fn complex<T: tapewright::strategies::num_traits::Num + Clone>(x: &[T]) -> T {
    let z = Complex::new(x[0].clone(), x[1].clone());
    let w = pow(z.clone(), 5) / (z + Complex::i());
    w.re * w.im
}

#[test]
fn code_that_clones_runs_under_a_strategy_without_copies() {
    let x = [3.0, 2.0, 5.0];
    let pi = std::f64::consts::PI;
    let (value, gradient) = differentiated::<Owned>(with_clones, &x);
    assert_eq!((value, &gradient), (with_clones(&x), &differentiated::<Jacobian>(with_clones, &x).1));
    approx::assert_relative_eq!(
        gradient[..],
        [30.0 + 100.0 - 3.0 / pi, 30.0 + 150.0 + 3.0 / pi, 30.0 + 60.0][..],
        max_relative = 1e-14
    );
    let z = [0.7, -0.4];
    assert_eq!(differentiated::<Owned>(complex, &z), differentiated::<Jacobian>(complex, &z));
}

#[test]
fn functions_borrow_their_variables() {
    let f = |x: &[Closed<Owned>]| {
        let root = (x[0].sin() + x[0].exp() * 2.0).sqrt();
        root.max(&x[1]) + root.clamp(&x[1], &Closed::from(10.0)) + x[1].floor() + x[0].mul_add(&x[1], &root)
    };
    let (value, gradient) = differentiated(f, &[0.5, 1.5]);
    let root: f64 = (0.5_f64.sin() + 2.0 * 0.5_f64.exp()).sqrt();
    let slope = (0.5_f64.cos() + 2.0 * 0.5_f64.exp()) / (2.0 * root);
    approx::assert_relative_eq!(value, 3.0 * root + 1.0 + 0.75, max_relative = 1e-15);
    approx::assert_relative_eq!(gradient[..], [3.0 * slope + 1.5, 0.5][..], max_relative = 1e-15);
}
