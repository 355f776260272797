//! Hessians under every kind of strategy, along stages, in forward mode and of third order.

use tapewright::external::ByTangents;
use tapewright::prelude::*;
use tapewright::{Dual, Number, Spilled, dot, external, hessian, hvp, logsumexp, preaccumulate};
use tapewright_kit_tests::Tight;

/// Smooth, with every kind of statement: products, functions, sums over slices, a block.
fn energy<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let mut y = (&x[0] * &x[1] + x[2].sin()).eval();
    for k in 0..40 {
        let (a, b) = (&x[k % 3], &x[(k + 1) % 3]);
        y = (&y * 0.9 + (a * b).exp() * 0.01 - (a / (b * b + 1.0)).tanh()).eval();
    }
    let inner = dot(x, &[y.clone(), x[0].clone(), x[1].clone()]);
    let block = preaccumulate(&[x[0].clone(), x[2].clone()], |[a, b]| ((a * b).sin() + a * a).eval());
    (inner * logsumexp(x) + &block * &y).into()
}

const AT: [f64; 3] = [0.4, -0.7, 1.1];

/// The gradient and the Hessian by central differences of plain gradients.
fn differences() -> (Vec<f64>, Vec<Vec<f64>>) {
    let slopes = |j: usize, h: f64| {
        let mut x = AT;
        x[j] += h;
        gradient::<Jacobian>(energy, &x)
    };
    let h = 1e-3;
    let column = |j: usize| {
        let (a, b, c, d) = (slopes(j, 2.0 * h), slopes(j, h), slopes(j, -h), slopes(j, -2.0 * h));
        (0..3).map(|i| (-a[i] + 8.0 * b[i] - 8.0 * c[i] + d[i]) / (12.0 * h)).collect::<Vec<f64>>()
    };
    (gradient::<Jacobian>(energy, &AT), (0..3).map(column).collect())
}

fn assert_close(found: &[f64], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{found} is not {expected}");
    }
    assert_eq!(found.len(), expected.len());
}

fn is_right<S: Reverse<Value = Dual<f64, 2>>>() {
    let (slopes, columns) = differences();
    let (value, gradient, rows) = hessian::<S>(energy, &AT);
    assert_eq!(value, energy::<Passive>(&AT.map(Real::constant)).value());
    assert_close(&gradient, &slopes);
    rows.iter().zip(&columns).for_each(|(row, column)| assert_close(row, column));
}

/// Adjoints and partials whose values are 0 and whose tangents are not: of sums, of products, of functions of slices,
/// of external functions, in several adjoint vectors and along the recording.
fn zeros_with_tangents_count<S: Reverse<Value = Dual<f64, 2>>>() {
    let f = |x: &[Real<S>]| {
        let u = (&x[0] - 1.0).eval();
        let v = (&x[1] * &u).eval();
        let turned = external(core::slice::from_ref(&u), &[u.value() * u.value()], square(u.value()));
        (&u * &u + &v * &v + dot(core::slice::from_ref(&u), core::slice::from_ref(&u)) + &turned[0] + &x[1] * &x[1])
            .into()
    };
    let (value, gradient, rows) = hessian::<S>(f, &[1.0, 0.0]);
    assert_eq!((value, gradient, rows), (0.0, vec![0.0; 2], vec![vec![6.0, 0.0], vec![0.0, 2.0]]));

    // The same by two adjoint vectors, and by a forward sweep where the strategy has one.
    let mut tape = Tape::<S>::new();
    let at = [(1.0, [1.0, 0.0]), (0.0, [0.0, 1.0])].map(|(value, tangents)| Dual { value, tangents });
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&at);
        let y = f(&x);
        (x, y)
    });
    let lanes = tape.sweep_lanes(&[(&y, [Dual::ONE, Dual { value: 0.0, tangents: [1.0, 0.0] }])]).expect("its own");
    let [first, second] = lanes.of(&x[0]).expect("its own");
    let all = lanes.of_all(core::slice::from_ref(&x[0])).expect("its own");
    assert_eq!(all, [[first, second]]);
    assert_eq!((first.value, first.tangents), (0.0, [6.0, 0.0]));
    assert_eq!((second.value, second.tangents), (0.0, [0.0, 0.0]), "the gradient, which is 0, times the seed");
}

/// The rule of x².
fn square<V: Number>(x: V) -> tapewright::Rules<V> {
    tapewright::Rules::new("a square", move |outputs: &[V], inputs: &mut [V]| {
        inputs[0] += outputs[0] * (x + x);
        Ok(())
    })
}

/// The test `name` for each kind of strategy, each index manager and a layer. What depends on their combination is in
/// `conformance`.
macro_rules! under {
    ($($name:ident $strategy:ty;)*) => { $(
        #[test]
        fn $name() {
            is_right::<$strategy>();
            zeros_with_tangents_count::<$strategy>();
        }
    )* };
}
under! {
    jacobian Jacobian<Dual<f64, 2>>;
    primal_value_reuse_spilled PrimalValue<Dual<f64, 2>, Reuse, Spilled<Tight>>;
    hybrid_reuse Hybrid<Dual<f64, 2>, Reuse>;
    continuation Continuation<Dual<f64, 2>>;
}

#[test]
fn single_precision() {
    let (_, expected, rows) =
        hessian::<Jacobian<Dual<f64, 2>>>(energy, &AT.map(|x| f64::from(<f32 as Number>::from_f64(x))));
    let (_, gradient, found) = hessian::<Jacobian<Dual<f32, 2>>>(energy, &AT.map(Number::from_f64));
    let close = |a: f32, b: f64| (f64::from(a) - b).abs() <= 2e-5 * b.abs().max(1.0);
    assert!(gradient.iter().zip(&expected).all(|(a, b)| close(*a, *b)));
    assert!(found.iter().flatten().zip(rows.iter().flatten()).all(|(a, b)| close(*a, *b)), "{found:?} {rows:?}");
}

#[test]
fn third_derivatives_by_duals_of_duals() {
    type Third = PrimalValue<Dual<Dual<f64, 1>, 1>>;
    // x³·y: ∂³/∂x³ = 6y, ∂³/∂x²∂y = 6x.
    let f = |x: &[Real<Third>]| (x[0] * x[0] * x[0] * x[1]).into();
    let inner = |value: f64, tangent: f64| Dual { value, tangents: [tangent] };
    let x = [inner(2.0, 1.0), inner(5.0, 0.0)];
    let (_, gradient, product) = hvp::<Third>(f, &x, &[inner(1.0, 0.0), inner(0.0, 0.0)]);
    assert_eq!(gradient.iter().map(|g| g.value).collect::<Vec<_>>(), [60.0, 8.0]);
    assert_eq!(product.iter().map(|p| p.value).collect::<Vec<_>>(), [60.0, 12.0]);
    assert_eq!(product.iter().map(|p| p.tangents[0]).collect::<Vec<_>>(), [30.0, 12.0]);
}

#[test]
fn forward_mode_over_duals() {
    type Twice = Tangent<1, Dual<f64, 1>>;
    let x = Dual { value: 0.7, tangents: [1.0] };
    let (value, slope) = tapewright::value_and_derivative(|x: Real<Twice>| (x.sin() * x).into(), x);
    let (sin, cos) = 0.7_f64.sin_cos();
    assert_eq!(value.value, sin * 0.7);
    assert!((slope.value - (sin + 0.7 * cos)).abs() < 1e-15);
    assert!((slope.tangents[0] - (2.0 * cos - 0.7 * sin)).abs() < 1e-15);
}

/// Inside a recording, a derivative of a function that captures a variable of the recording.
#[test]
fn nested_derivatives_of_functions_that_capture_outer_variables() {
    // d/dx [ x · d/dy (x·y²) at y = 3 ] = d/dx [6x²] = 12x.
    type Outer = Jacobian<Dual<f64, 1>>;
    let x = Dual { value: 2.0, tangents: [1.0] };
    let f = |x: &[Real<Outer>]| -> Real<Outer> {
        let captured = x[0].value();
        let inner = gradient::<Jacobian<Dual<f64, 1>>>(
            |y| (y[0] * y[0] * Real::constant(captured)).into(),
            &[Dual::from_f64(3.0)],
        )[0];
        (x[0] * Real::constant(inner)).into()
    };
    // The inner slope, 6x, is a constant of the outer recording, but it carries the tangent of x.
    let gradient = gradient::<Outer>(f, &[x]);
    assert_eq!((gradient[0].value, gradient[0].tangents), (12.0, [6.0]));
}

#[test]
fn rules_by_tangents_have_second_derivatives() {
    type S = Jacobian<Dual<f64, 1>>;
    fn inner<T: Taping>(x: &[Real<T>]) -> Vec<Real<T>> {
        vec![(x[0].exp() * &x[1]).into()]
    }
    let f = |x: &[Real<S>]| {
        let values: Vec<Dual<f64, 1>> = x.iter().map(Real::value).collect();
        let rule = ByTangents::new(inner::<Tangent<8, Dual<f64, 1>>>, &values);
        let outputs = inner::<Passive<Dual<f64, 1>>>(&values.iter().map(|x| Real::constant(*x)).collect::<Vec<_>>());
        external(x, &[outputs[0].value()], rule).remove(0)
    };
    let (_, _, found) = hvp::<S>(f, &[0.5, 3.0], &[1.0, 0.25]);
    let e = 0.5_f64.exp();
    assert_close(&found, &[e * 3.0 + 0.25 * e, e]);
}

#[test]
fn lengths_are_checked() {
    let mut tape = Tape::<Jacobian<Dual<f64, 1>>>::new();
    let (mut gradient, mut products) = ([0.0; 2], [[0.0]; 2]);
    let f = |x: &[Real<Jacobian<Dual<f64, 1>>>]| (x[0] * x[1]).into();
    let found = tape.hessian_times(f, &[1.0, 2.0], &[[1.0]], &mut gradient, &mut products);
    assert!(found.expect_err("one direction is missing").to_string().contains("entries of directions"));
}
