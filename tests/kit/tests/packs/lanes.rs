//! Gradients in lanes under every kind of strategy, against each evaluation alone.

use tapewright::packs::{Pack, Registered};
use tapewright::prelude::*;
use tapewright::{Dual, Number, Spilled, dot, external, logsumexp, preaccumulate};
use tapewright_kit_tests::Tight;

/// Functions that are the same bits in packs: no transcendental ones, choices lane by lane, a block, slices, an
/// external function.
fn program<S: Taping>(x: &[Real<S>]) -> Real<S> {
    let mut y = (&x[0] * &x[1] + x[2].sqrt()).eval();
    for k in 0..30 {
        let (a, b) = (&x[k % 3], &x[(k + 1) % 3]);
        let rise = (a * b - 0.4).max(0.0).eval();
        let fall = (&y * 0.5).abs().min(3.0).eval();
        y = y.less(&rise).select(&(&y + &rise).eval(), &(&fall - b * b).eval());
        y = (y.clamp(-5.0, 5.0) / (a * a + 1.5) + b.copysign(&y)).eval();
    }
    let block = preaccumulate(&[x[0].clone(), y.clone()], |[a, b]| (a * b + a / (b * b + 1.0)).eval());
    let square =
        external(core::slice::from_ref(&block), &[block.value() * block.value()], square(block.value())).remove(0);
    (dot(x, &[y.clone(), block, square]) * y.powi(2)).into()
}

fn square<V: Number>(x: V) -> tapewright::Rules<V> {
    tapewright::Rules::new("a square", move |outputs: &[V], inputs: &mut [V]| {
        inputs[0] += outputs[0] * (x + x);
        Ok(())
    })
}

const SETS: [[f64; 3]; 4] = [[0.4, -0.7, 1.1], [1.4, 0.2, 0.0], [-0.3, 2.0, 3.5], [0.0, 0.0, 1.0]];

fn lanes_are_evaluations<S: Reverse<Value = Pack<4>>>() {
    let x: [Pack<4>; 3] = core::array::from_fn(|i| Pack(SETS.map(|set| set[i])));
    let (value, gradient) = value_and_gradient::<S>(program, &x);
    for (k, set) in SETS.iter().enumerate() {
        let (alone, slopes) = value_and_gradient::<Jacobian>(program, set);
        assert_eq!(value[k], alone, "set {k}");
        let found: Vec<f64> = gradient.iter().map(|slope| slope[k]).collect();
        assert_eq!(found, slopes, "set {k}");
    }
}

/// √ of the chosen number: the slope of the other lane, infinite, contributes nothing; nor does a NaN.
fn zero_times_infinity_is_zero_in_lanes<S: Reverse<Value = Pack<4>>>() {
    let f = |x: &[Real<S>]| {
        let positive = x[0].max(0.0).eval();
        (positive.sqrt() + x[0].less(0.0).select(&Real::from(1.0), &(&x[0] * 2.0).eval())).into()
    };
    let gradient = gradient::<S>(f, &[Pack([4.0, -1.0, 1.0, -9.0])]);
    assert_eq!(gradient[0].0, [2.25, 0.0, 2.5, 0.0]);
    // In one statement, too.
    let f = |x: &[Real<S>]| x[0].sqrt().max(x[1].ln()).into();
    let gradient = tapewright::gradient::<S>(f, &[Pack([0.0, 4.0, 1.0, 0.0]), Pack([1e9, 0.0, 1.0, 1.0])]);
    assert_eq!(gradient[0].0, [0.0, 0.25, 0.5, f64::INFINITY]);
    assert_eq!(gradient[1].0, [1e-9, 0.0, 0.0, 0.0]);
}

/// Functions that return one of their arguments, of variables, literals and expressions.
fn choice<S: Taping>(x: &[Real<S>]) -> [Real<S>; 8] {
    let [x, y] = [&x[0], &x[1]];
    [
        x.max(y).eval(),
        x.min(y).eval(),
        x.max(0.0).eval(),
        x.min(1.0).eval(),
        (x * y).max(y).eval(),
        (y - x).min(x * 2.0).eval(),
        x.clamp(-1.0, 1.0).eval(),
        (x.max(y) * x.min(y)).eval(),
    ]
}

fn choices_are_those_of_numbers<S8, S1, V>()
where
    S8: Reverse<Value = Pack<8, V>>,
    S1: Reverse<Value = V>,
    V: Registered,
{
    let special = [0.0, -0.0, 1.0, -1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(V::from_f64);
    let same = |a: V, b: V| a.is_nan() && b.is_nan() || a == b && a.is_sign_negative() == b.is_sign_negative();
    for y in special {
        for output in 0..8 {
            let x = [Pack(special), Pack([y; 8])];
            let (values, slopes) = value_and_gradient::<S8>(|x| choice(x)[output].clone(), &x);
            for (lane, x) in special.into_iter().enumerate() {
                let (value, slope) = value_and_gradient::<S1>(|x| choice(x)[output].clone(), &[x, y]);
                assert!(same(values[lane], value), "value {output} of {x} and {y}: {}, not {value}", values[lane]);
                for (found, expected) in slopes.iter().zip(slope) {
                    let found = found[lane];
                    assert!(same(found, expected), "slope of {output} at {x} and {y}: {found}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn choices_of_packs_are_those_of_numbers() {
    choices_are_those_of_numbers::<Jacobian<Pack<8>>, Jacobian, f64>();
    choices_are_those_of_numbers::<PrimalValue<Pack<8>>, PrimalValue, f64>();
    choices_are_those_of_numbers::<Jacobian<Pack<8, f32>>, Jacobian<f32>, f32>();
    choices_are_those_of_numbers::<PrimalValue<Pack<8, f32>>, PrimalValue<f32>, f32>();
}

/// An external function whose slope is infinite in a lane in which no adjoint arrives.
fn external_functions_are_silent_in_lanes<S: Reverse<Value = Pack<4>>>() {
    let f = |x: &[Real<S>]| {
        let root = Pack(x[0].value().0.map(f64::sqrt));
        let rule = tapewright::Rules::new("a root", move |outputs: &[Pack<4>], inputs: &mut [Pack<4>]| {
            inputs[0] += outputs[0] * (Pack::from_f64(0.5) / root);
            Ok(())
        });
        let y = external(x, &[root], rule).remove(0);
        // Only the lanes in which the argument is above 1.
        x[0].more(1.0).select(&y, &Real::from(0.0))
    };
    assert_eq!(gradient::<S>(f, &[Pack([0.0, 4.0, 1.0, 16.0])])[0].0, [0.0, 0.25, 0.0, 0.125]);
}

/// The tests for each kind of strategy, each index manager and a layer. What depends on their combination is in
/// `conformance`.
macro_rules! under {
    ($($name:ident $strategy:ty;)*) => { $(
        #[test]
        fn $name() {
            lanes_are_evaluations::<$strategy>();
            zero_times_infinity_is_zero_in_lanes::<$strategy>();
            external_functions_are_silent_in_lanes::<$strategy>();
        }
    )* };
}
under! {
    jacobian Jacobian<Pack<4>>;
    primal_value_reuse_spilled PrimalValue<Pack<4>, Reuse, Spilled<Tight>>;
    hybrid_reuse Hybrid<Pack<4>, Reuse>;
    continuation Continuation<Pack<4>>;
}

#[test]
fn forward_mode_in_lanes() {
    type S = Tangent<1, Pack<4>>;
    let (value, slope) = tapewright::value_and_derivative(
        |x: Real<S>| (x.less(0.5).select(&(x * x).eval(), &(x * 3.0).eval()) * x).into(),
        Pack([0.25, 2.0, -1.0, 0.0]),
    );
    assert_eq!(value.0, [0.015_625, 12.0, -1.0, 0.0]);
    assert_eq!(slope.0, [0.1875, 12.0, 3.0, 0.0]);
}

#[test]
fn functions_of_slices_in_lanes() {
    let f = |x: &[Real<Jacobian<Pack<2>>>]| logsumexp(x);
    let gradient = gradient::<Jacobian<Pack<2>>>(f, &[Pack([1.0, 300.0]), Pack([1.0, -300.0])]);
    assert_eq!((gradient[0].0, gradient[1].0), ([0.5, 1.0], [0.5, (-600.0_f64).exp()]));
}

#[test]
fn single_precision_and_other_widths() {
    fn close<const N: usize>() {
        let x = Pack::<N, f32>::from_lanes(|k| Number::from_f64(0.5 + f64::from(u8::try_from(k).expect("few lanes"))));
        let gradient = gradient::<PrimalValue<Pack<N, f32>>>(|x| (x[0] * x[0].ln()).into(), &[x]);
        for k in 0..N {
            assert!((gradient[0][k] - (x[k].ln() + 1.0)).abs() <= 1e-6);
        }
    }
    close::<2>();
    close::<4>();
    close::<8>();
    close::<16>();
    close::<3>();
}

#[test]
fn hessians_in_lanes() {
    type S = Jacobian<Dual<Pack<4>, 1>>;
    let x = Pack([1.0, 2.0, 3.0, 4.0]);
    let (_, _, product) = tapewright::hvp::<S>(|x| (x[0] * x[0] * x[0]).into(), &[x], &[Pack::ONE]);
    assert_eq!(product[0].0, [6.0, 12.0, 18.0, 24.0]);
}

#[test]
#[should_panic(expected = "all lanes of its numbers agree on")]
fn a_branch_on_which_lanes_disagree() {
    let _ = gradient::<Jacobian<Pack<2>>>(|x| if x[0] > 0.0 { x[0] } else { (-x[0]).into() }, &[Pack([1.0, -1.0])]);
}

#[test]
fn a_branch_on_which_lanes_agree() {
    let f = |x: &[Real<Jacobian<Pack<2>>>]| if x[0] > 0.0 { x[0] } else { (-x[0]).into() };
    assert_eq!(gradient::<Jacobian<Pack<2>>>(f, &[Pack([-1.0, -2.0])])[0].0, [-1.0, -1.0]);
}
