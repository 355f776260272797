//! Other numbers: single precision, duals of duals, variables that are not copied, and packs.

use super::{D1, three};
use nalgebra::{Isometry3, UnitQuaternion, Vector6};
use tapewright::prelude::*;
use tapewright::rotations::{self, RotationScalar};
use tapewright::{Closed, Dual, Number};
use tapewright_linalg_tests::assert_close;

/// The third entry of a logarithm after two turns, over variables that need not be `Copy`.
fn chain<T: RotationScalar>(x: &[T]) -> T {
    let factors = [1.0, 0.75, 0.5, 0.25, 0.0, -0.25];
    let tangent = Vector6::from_fn(|i, _| x[i % 3].clone() * nalgebra::convert::<f64, T>(factors[i]));
    let motion = rotations::exp::<Isometry3<T>>(&tangent);
    let twice = rotations::power(&motion, nalgebra::convert::<f64, T>(0.75)) * motion;
    let tangent = rotations::log(&twice);
    tangent[0].clone() + tangent[5].clone()
}

fn on<S: Taping>(x: &[Real<S>]) -> Real<S> {
    chain(Closed::wrap_slice(x)).open()
}

const POINTS: [[f64; 3]; 4] = [[0.0; 3], [1e-20, 0.0, -2e-20], [1e-4, 2e-4, -3e-4], [0.5, -0.3, 0.8]];

#[test]
fn every_strategy_finds_the_same() {
    for x in POINTS {
        // Both powers have the same axis: the tangent is 1.75 times what it was.
        let expected = [1.75, 0.0, 1.75 * -0.25];
        assert_close("jacobian", &gradient::<Jacobian>(on, &x), &expected, 100.0 * f64::EPSILON);
        assert_close("reuse", &gradient::<Jacobian<f64, Reuse>>(on, &x), &expected, 100.0 * f64::EPSILON);
        assert_close("hybrid", &gradient::<Hybrid>(on, &x), &expected, 100.0 * f64::EPSILON);
        assert_close("continuation", &gradient::<Continuation>(on, &x), &expected, 100.0 * f64::EPSILON);
    }
}

#[test]
fn single_precision_is_rounded_once_a_statement() {
    for x in POINTS {
        let x = x.map(<f32 as Number>::from_f64);
        let slopes: Vec<f64> = gradient::<Jacobian<f32>>(on, &x).into_iter().map(f64::from).collect();
        assert_close("single", &slopes, &[1.75, 0.0, 1.75 * -0.25], 100.0 * f64::from(f32::EPSILON));
        let value = f64::from(chain(&x));
        let expected = f64::from(1.75 * x[0] - 0.4375 * x[2]);
        assert!((value - expected).abs() <= 100.0 * f64::from(f32::EPSILON) * expected.abs(), "{value} not {expected}");
    }
}

/// Third derivatives at the identity: ω₁ of the quaternion of ω is ½ω₁ − |ω|²·ω₁/48.
#[test]
fn third_derivatives_at_the_identity() {
    type D2 = Dual<D1, 1>;
    let number = |first: f64, second: f64| D2 {
        value: Dual { value: 0.0, tangents: [first] },
        tangents: [Dual { value: second, tangents: [0.0] }],
    };
    let f = |x: &[Real<Jacobian<D2>>]| rotations::exp::<UnitQuaternion<_>>(&three(Closed::wrap_slice(x))).i.open();
    let slopes = gradient::<Jacobian<D2>>(f, &[number(1.0, 1.0), number(0.5, -2.0), number(0.0, 0.0)]);
    let third: Vec<f64> = slopes.iter().map(|slope| slope.tangents[0].tangents[0]).collect();
    // The Hessian of |ω|²·ω₁ moves by 2·(v₁·I + v·e₁ᵀ + e₁·vᵀ) along v; times w.
    let right = [-(6.0 - 2.0) / 48.0, -2.0 * (-2.0 + 0.5) / 48.0, 0.0];
    assert_close("third", &third, &right, 1e-15);
}

/// Lanes may lie on both sides of every branch inside.
#[cfg(feature = "packs")]
#[test]
fn lanes_are_single_evaluations() {
    use tapewright::packs::Pack;
    let at = |k: usize| Pack::<4>::from_lanes(|lane| POINTS[lane][k]);
    let (value, slopes) = value_and_gradient::<Jacobian<Pack<4>>>(on, &[at(0), at(1), at(2)]);
    for (lane, x) in POINTS.iter().enumerate() {
        let (one, gradient) = value_and_gradient::<Jacobian>(on, x);
        assert_eq!(value.lane(lane).to_bits(), one.to_bits());
        assert_close("lanes", &slopes.iter().map(|slope| slope.lane(lane)).collect::<Vec<_>>(), &gradient, 1e-15);
    }
}
