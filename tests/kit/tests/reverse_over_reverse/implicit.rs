//! Roots of equations: the step of Newton's method that finds tangents of a solution makes it a variable of the base.

use super::{assert_close, second};
use tapewright::implicit::{self, Equations};
use tapewright::prelude::*;
use tapewright::{Dual, Nested, Number, hessian};

/// x³ + p₀·x = p₁.
struct Cubic;

impl<V: Number> Equations<V> for Cubic {
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0] * x[0] * x[0] + p[0] * x[0] - p[1]).into()]
    }
}

fn of_root<S: Taping>(p: &[Real<S>]) -> Real<S> {
    let [a, b] = [0, 1].map(|k| p[k].value().as_f64());
    let x = (0..60).fold(1.0, |x: f64, _| x - (x * x * x + a * x - b) / (3.0 * x * x + a));
    let x = implicit::root(Cubic, Number::from_f64(x), p).expect("it is a root");
    (x.exp() * &p[0] + &x * &x).into()
}

#[test]
fn second_derivatives_of_a_root_are_the_ones_by_duals() {
    let p = [0.7, 2.9];
    let (value, slopes, expected) = hessian::<Jacobian<Dual<f64, 2>>, _, 2>(of_root, &p);
    assert!(expected[0][1].abs() > 0.01, "{expected:?}");
    let (found_value, found_slopes, found) = second::<Jacobian, Jacobian<Nested<Jacobian>>>(of_root, &p);
    assert_close(&[found_value], &[value]);
    assert_close(&found_slopes, &slopes);
    found.iter().zip(&expected).for_each(|(found, expected)| assert_close(found, expected));
    let (_, _, found) = second::<PrimalValue, PrimalValue<Nested<PrimalValue>>>(of_root, &p);
    found.iter().zip(&expected).for_each(|(found, expected)| assert_close(found, expected));
}
