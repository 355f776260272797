//! Roots of equations: the step of Newton's method that finds tangents of a solution makes it a variable of the base.

use super::{assert_close, second};
use tapewright::implicit::{self, Equations};
use tapewright::prelude::*;
use tapewright::{Dual, Nested, Number, hessian, hvp};

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

/// A root with tangents of its own: they are left out, whatever they are.
#[test]
fn tangents_of_a_root_that_is_not_exact_do_not_matter() {
    let at = |tangent: f64| {
        let root = move |p: &[Real<Jacobian<Dual<f64, 1>>>]| {
            let x = Dual { value: 2.0 + 1e-9, tangents: [tangent] };
            implicit::root(Square, x, p).expect("it is a root")
        };
        hvp::<Jacobian<Dual<f64, 1>>>(root, &[4.0], &[1.0])
    };
    let (value, first, second) = at(0.0);
    assert!((second[0] + 0.03125).abs() < 1e-9, "{second:?}");
    for tangent in [1.0, 1e6, 1e9, f64::NAN] {
        assert_eq!(at(tangent), (value, first.clone(), second.clone()));
    }
    let by_base = |p: &[Real<Jacobian>]| -> Real<Jacobian> {
        let n = Nested::from(p[0]);
        let root = Nested::from_f64(2.0 + 1e-9) + (n - Nested::from_f64(4.0)) * Nested::from_f64(1e9);
        let root = |q: &[Real<Jacobian<Nested<Jacobian>>>]| implicit::root(Square, root, q).expect("it is a root");
        gradient::<Jacobian<Nested<Jacobian>>>(root, &[n])[0].into()
    };
    let slope = gradient::<Jacobian>(by_base, &[4.0])[0];
    assert!((slope + 0.03125).abs() < 1e-9, "{slope}");
}

/// x² = p.
struct Square;

impl<V: Number> Equations<V> for Square {
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[0] * x[0] - p[0]).into()]
    }
}

/// 10⁹·(x − p) + x² = 0, with a Jacobian that has no tangents.
struct Stiff;

impl<V: Number> Equations<V> for Stiff {
    fn evaluate<S: Strategy<Value = V>>(&self, x: &[Real<S>], p: &[Real<S>]) -> Vec<Real<S>> {
        vec![((x[0] - p[0]) * 1e9 + x[0] * x[0]).into()]
    }
    fn jacobian(&self, x: &[V], _: &[V]) -> Option<Vec<V>> {
        Some(vec![V::from_f64(1e9 + 2.0 * x[0].as_f64())])
    }
}

/// Missing tangents are found, however large the values beside them are.
#[test]
fn a_stiff_jacobian_without_tangents_is_refused() {
    let x = (0..20).fold(1.0, |x: f64, _| x - ((x - 1.0) * 1e9 + x * x) / (1e9 + 2.0 * x));
    let mut tape = Tape::<Jacobian<Dual<f64, 1>>>::new();
    let outcome = tape.record(|scope| {
        let p = scope.input(Dual { value: 1.0, tangents: [1.0] });
        implicit::root(Stiff, Number::from_f64(x), &[p]).map(|x| x.value())
    });
    assert!(outcome.is_err(), "{outcome:?}");
}

#[test]
fn second_derivatives_of_a_root_are_the_ones_by_duals() {
    let p = [0.7, 2.9];
    let (value, slopes, expected) = hessian::<Jacobian<Dual<f64, 2>>>(of_root, &p);
    assert!(expected[0][1].abs() > 0.01, "{expected:?}");
    let (found_value, found_slopes, found) = second::<PrimalValue, Jacobian<Nested<PrimalValue>>>(of_root, &p);
    assert_close(&[found_value], &[value]);
    assert_close(&found_slopes, &slopes);
    found.iter().zip(&expected).for_each(|(found, expected)| assert_close(found, expected));
}
