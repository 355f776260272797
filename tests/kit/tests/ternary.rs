//! Rules of three arguments under every kind of strategy: in reverse, forward, twice, in lanes, replayed, and where
//! they are singular.

use tapewright::nodes::ClosedOperand;
use tapewright::packs::Pack;
use tapewright::policy::{self, Policy, Strict};
use tapewright::prelude::*;
use tapewright::tape::Replay;
use tapewright::{Closed, Dual, Float, Nested, Number, Ternary, hessian, ternary};

/// (x, y, z) ↦ x·y²·sin z.
struct Product;
impl Ternary for Product {
    fn value<V: Float>(x: V, y: V, z: V) -> V {
        x * y * y * z.sin()
    }
    fn partial_first<V: Float>(_: V, y: V, z: V, _: V) -> V {
        y * y * z.sin()
    }
    fn partial_second<V: Float>(x: V, y: V, z: V, _: V) -> V {
        V::from_f64(2.0) * x * y * z.sin()
    }
    fn partial_third<V: Float>(x: V, y: V, z: V, _: V) -> V {
        x * y * y * z.cos()
    }
}

type Of<S> = fn(&[Real<S>]) -> Real<S>;

/// Operands of every form: variables, expressions and literals, in each place; the last is a sum of expressions.
fn forms<S: Taping>() -> Vec<Of<S>> {
    vec![
        |v| ternary::<_, Product, _, _, _>(&v[0], &v[1], &v[2]).into(),
        |v| ternary::<_, Product, _, _, _>(&v[2], &v[0], &v[1]).into(),
        |v| ternary::<_, Product, _, _, _>(1.5, &v[1], &v[2]).into(),
        |v| ternary::<_, Product, _, _, _>(&v[0], 1.5, &v[2]).into(),
        |v| ternary::<_, Product, _, _, _>(&v[0], &v[1], 1.5).into(),
        |v| ternary::<_, Product, _, _, _>(&v[0], 1.5, 0.5).into(),
        |v| ternary::<_, Product, _, _, _>(1.5, 0.5, &v[0]).into(),
        |v| ternary::<_, Product, _, _, _>(&v[0], &v[0], &v[0]).into(),
        |v| (ternary::<_, Product, _, _, _>(&v[0] - &v[1], &v[2], &v[0] * 2.0) * &v[1]).into(),
        |v| (ternary::<_, Product, _, _, _>(-&v[0], v[1].exp(), &v[2] + &v[0]) + &v[2]).into(),
    ]
}

/// The same by operators and functions of one argument.
fn plain<S: Taping>() -> Vec<Of<S>> {
    vec![
        |v| (&v[0] * v[1].powi(2) * v[2].sin()).into(),
        |v| (&v[2] * v[0].powi(2) * v[1].sin()).into(),
        |v| (1.5 * v[1].powi(2) * v[2].sin()).into(),
        |v| (&v[0] * 2.25 * v[2].sin()).into(),
        |v| (&v[0] * v[1].powi(2) * 1.5_f64.sin()).into(),
        |v| (&v[0] * 2.25 * 0.5_f64.sin()).into(),
        |v| (0.375 * v[0].sin()).into(),
        |v| (v[0].powi(3) * v[0].sin()).into(),
        |v| ((&v[0] - &v[1]) * v[2].powi(2) * (&v[0] * 2.0).sin() * &v[1]).into(),
        |v| (-&v[0] * v[1].exp().powi(2) * (&v[2] + &v[0]).sin() + &v[2]).into(),
    ]
}

const POINTS: [[f64; 3]; 4] = [[0.7, -1.3, 0.4], [-2.0, 0.5, 3.0], [1.0, 0.0, -0.0], [0.0, 2.5, -1.0]];

fn assert_close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "{what}: {a:e}, expected {b:e}");
}

fn assert_all_close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    a.iter().zip(b).for_each(|(a, b)| assert_close(*a, *b, tolerance, what));
}

fn reverse<S: Reverse<Value = f64>>() {
    for (n, (form, expected)) in forms::<S>().into_iter().zip(plain::<Jacobian>()).enumerate() {
        for x in POINTS {
            let (value, slopes) = value_and_gradient::<S>(form, &x);
            let (plain, gradient) = value_and_gradient::<Jacobian>(expected, &x);
            assert_close(value, plain, 1e-14, &format!("form {n} at {x:?}"));
            assert_all_close(&slopes, &gradient, 1e-14, &format!("∇ of form {n} at {x:?}"));
        }
    }
}

#[test]
fn gradients_under_each_strategy() {
    reverse::<Jacobian>();
    reverse::<PrimalValue>();
    reverse::<PrimalValue<f64, Reuse>>();
    reverse::<Hybrid>();
    reverse::<Continuation>();
}

#[test]
fn tangents() {
    for (form, expected) in forms::<Tangent<3>>().into_iter().zip(plain::<Jacobian>()) {
        for x in POINTS {
            let rows = jacobian_forward(|x| vec![form(x)], &x).1.concat();
            assert_all_close(&rows, &gradient::<Jacobian>(expected, &x), 1e-14, "tangents");
        }
    }
}

#[test]
fn single_precision() {
    for (form, expected) in forms::<Jacobian<f32>>().into_iter().zip(plain::<Jacobian>()) {
        let x = [0.75, -1.25, 0.5];
        let found: Vec<f64> =
            gradient::<Jacobian<f32>>(form, &x.map(Number::from_f64)).into_iter().map(f64::from).collect();
        assert_all_close(&found, &gradient::<Jacobian>(expected, &x), 2e-6, "single precision");
    }
}

#[test]
fn second_derivatives() {
    type S = Jacobian<Dual<f64, 3>>;
    type Twice = Jacobian<Nested<Jacobian>>;
    let forms = forms::<S>().into_iter().zip(forms::<Twice>());
    for (n, ((form, nested), expected)) in forms.zip(plain::<S>()).enumerate() {
        for x in POINTS {
            let what = format!("form {n} at {x:?}");
            let (_, _, plain) = hessian::<S>(expected, &x);
            assert_all_close(&hessian::<S>(form, &x).2.concat(), &plain.concat(), 1e-13, &what);
            let mut base = Tape::<Jacobian>::new();
            let (inputs, slopes) = base.record(|scope| {
                let inputs = scope.inputs(&x);
                let slopes = value_and_gradient::<Twice>(nested, Real::numbers(&inputs)).1;
                (inputs, slopes)
            });
            for (slope, row) in slopes.iter().zip(plain) {
                let adjoints = base.sweep(&[(&Real::from(*slope), 1.0)]).expect("its own");
                assert_all_close(&adjoints.of_all(&inputs).expect("inputs"), &row, 1e-13, &what);
            }
        }
    }
}

#[test]
fn third_derivatives() {
    type Inner = Dual<f64, 1>;
    // x ↦ x³·sin x, whose third derivative is 6·sin x + 18x·cos x − 9x²·sin x − x³·cos x.
    let f: Of<Jacobian<Dual<Inner, 1>>> = |v| ternary::<_, Product, _, _, _>(&v[0], &v[0], &v[0]).into();
    let x = 0.7_f64;
    let inner = |value, tangent| Dual { value, tangents: [tangent] };
    let at = Dual { value: inner(x, 1.0), tangents: [inner(1.0, 0.0)] };
    let found = gradient(f, &[at])[0].tangents[0].tangents[0];
    let expected = 6.0 * x.sin() + 18.0 * x * x.cos() - 9.0 * x * x * x.sin() - x * x * x * x.cos();
    assert_close(found, expected, 1e-13, "the third derivative");
}

#[test]
fn lanes() {
    for (form, alone) in forms::<PrimalValue<Pack<4>>>().into_iter().zip(forms::<PrimalValue>()) {
        let x = [0, 1, 2].map(|i| Pack(core::array::from_fn(|lane| POINTS[lane][i])));
        let (value, slopes) = value_and_gradient(form, &x);
        for (lane, x) in POINTS.iter().enumerate() {
            let (plain, gradient) = value_and_gradient(alone, x);
            assert_close(value[lane], plain, 1e-14, "a lane");
            let found: Vec<f64> = slopes.iter().map(|slope| slope[lane]).collect();
            assert_all_close(&found, &gradient, 1e-14, "a lane");
        }
    }
}

fn replayed<S: Reverse<Value = f64> + Replay>() {
    for form in forms::<S>() {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&POINTS[0]);
            let y = form(&x);
            (x, y)
        });
        for at in POINTS {
            let mut new = tape.new_inputs();
            for (x, at) in x.iter().zip(at) {
                new = new.variable(x, at).expect("an input");
            }
            new.replay().expect("replayed");
            let (value, gradient) = value_and_gradient::<S>(form, &at);
            assert_eq!(tape.value_of(&y).expect("of it"), value);
            let adjoints = tape.sweep(&[(&y, 1.0)]).expect("swept");
            assert_eq!(*adjoints.of_all(&x).expect("inputs"), *gradient);
        }
    }
}

#[test]
fn replays() {
    replayed::<PrimalValue>();
}

#[test]
fn closed_operands_of_every_form() {
    fn all<S: Strategy>(x: &[Closed<S>]) -> Vec<Closed<S>> {
        let (x, y, z) = (x[0], x[1], x[2]);
        vec![
            (&y).apply_second::<Product>(&x, &z),
            y.apply_second::<Product>(&x, z),
            y.apply_second::<Product>(&x, 1.5),
            1.5.apply_second::<Product>(&x, z),
            1.5.apply_second::<Product>(&x, 0.5),
        ]
    }
    let values: Vec<f64> = all::<Passive>(&POINTS[0].map(Closed::from)).iter().map(Closed::value).collect();
    let [x, y, z] = POINTS[0];
    let expected =
        [(x, y, z), (x, y, z), (x, y, 1.5), (x, 1.5, z), (x, 1.5, 0.5)].map(|(x, y, z)| Product::value(x, y, z));
    assert_eq!(values, expected);
    let f = |v: &[Real<Jacobian>]| all(Closed::wrap_slice(v)).into_iter().map(Closed::open).sum();
    let terms = |v: &[Real<Jacobian>]| {
        let product = |y: &Real<Jacobian>, z: &Real<Jacobian>| (v[0] * y.powi(2) * z.sin()).eval();
        let (y, z) = (Real::from(1.5), Real::from(0.5));
        (product(&v[1], &v[2]) * 2.0 + product(&v[1], &y) + product(&y, &v[2]) + product(&y, &z)).into()
    };
    assert_all_close(&gradient::<Jacobian>(f, &POINTS[0]), &gradient::<Jacobian>(terms, &POINTS[0]), 1e-14, "closed");
}

/// (x, y, z) ↦ x + z·√y, which has a vertical tangent at y = 0.
struct Rooted;
impl Ternary for Rooted {
    fn value<V: Float>(x: V, y: V, z: V) -> V {
        x + z * y.sqrt()
    }
    fn partial_first<V: Float>(_: V, _: V, _: V, _: V) -> V {
        V::ONE
    }
    fn partial_second<V: Float>(_: V, y: V, z: V, _: V) -> V {
        V::from_f64(0.5) * z / y.sqrt()
    }
    fn partial_third<V: Float>(_: V, y: V, _: V, _: V) -> V {
        y.sqrt()
    }
    fn singular<V: Float>(_: V, y: V, _: V) -> bool {
        y.as_f64() == 0.0
    }
}

fn at_the_root<P: Policy>() -> Result<Vec<f64>, tapewright::Error> {
    let mut slopes = vec![f64::NAN; 3];
    let f = |x: &[Real<Jacobian<f64, Linear, InMemory, P>>]| ternary::<_, Rooted, _, _, _>(x[0], x[1], x[2]).into();
    Tape::new().gradient(f, &[1.0, 0.0, 2.0], &mut slopes)?;
    Ok(slopes)
}

#[test]
fn policies() {
    assert_eq!(at_the_root::<Strict>().expect("swept"), [1.0, f64::INFINITY, 0.0]);
    assert_eq!(at_the_root::<policy::Subgradient>().expect("swept"), [1.0, 0.0, 0.0]);
    let error = at_the_root::<policy::Checked>().expect_err("it is singular");
    assert!(error.to_string().contains("Rooted"), "{error}");
}
