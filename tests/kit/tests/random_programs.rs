//! Random straight-line programs over all functions: every strategy gives the same value and, up to rounding, the same
//! gradient as forward mode; differences agree with it, and `f32` with `f64`.
//!
//! When a program fails, the smallest one that does is printed. The seed is fixed.

use proptest::prelude::{ProptestConfig, prop_assert, proptest};
use proptest::test_runner::{RngSeed, TestCaseError};
use tapewright::{Float, Number};
use tapewright::{Spilled, prelude::*};

#[path = "random_programs/functions.rs"]
mod functions;
#[path = "random_programs/magnitude.rs"]
mod magnitude;
#[path = "random_programs/program.rs"]
mod program;

use magnitude::Magnitude;
use program::{INPUTS, Step, inputs, programs, run, run_gently, smooth_programs};

/// A name, a value and a gradient.
type Found<V> = (&'static str, V, Vec<V>);

fn by_reverse<S: Reverse>(steps: &[Step], x: &[S::Value]) -> Found<S::Value> {
    let (value, gradient) = value_and_gradient::<S>(|x| run(steps, x), x);
    (core::any::type_name::<S>(), value, gradient)
}

fn by_forward<S: Forward>(steps: &[Step], x: &[S::Value]) -> Found<S::Value> {
    let (values, rows) = jacobian_forward::<S>(|x| vec![run(steps, x)], x);
    (core::any::type_name::<S>(), values[0], rows.concat())
}

/// Lists the reverse strategies in families: within one, results are equal bit for bit. The row `f64: [A, B] [C];`
/// becomes the two families `vec![by_reverse::<A>(…), by_reverse::<B>(…)]` and `vec![by_reverse::<C>(…)]` of a function
/// `f64`.
macro_rules! reverse_strategies {
    ($($value:ident: $([$($strategy:ty),+])+;)*) => {
        mod families {
            use super::*;
            $(pub(super) fn $value(steps: &[Step], x: &[core::primitive::$value]) -> Vec<Vec<Found<core::primitive::$value>>> {
                vec![$(vec![$(by_reverse::<$strategy>(steps, x)),+]),+]
            })*
        }
    };
}

reverse_strategies! {
    f64:
        [Jacobian, Jacobian<f64, Reuse, Spilled>]
        [PrimalValue, PrimalValue<f64, Reuse>]
        [Hybrid, Hybrid<f64, Reuse>]
        [Continuation<f64, Reuse>];
    f32:
        [Jacobian<f32>]
        [PrimalValue<f32>];
}

/// Fails unless all results are equal, bit for bit.
fn assert_same<V: Float>(family: &[Found<V>]) -> Result<(), TestCaseError> {
    let (first, value, gradient) = &family[0];
    for (name, same_value, same) in family {
        prop_assert!(value == same_value, "values {value} by {first} and {same_value} by {name}");
        prop_assert!(gradient == same, "{first}: {gradient:?}\n{name}: {same:?}");
    }
    Ok(())
}

/// Fails unless the forward results are equal, and the reverse ones within their families, and these agree with forward
/// mode.
fn assert_all_agree<V: Float>(
    steps: &[Step],
    x: &[V],
    forward: &[Found<V>],
    families: &[Vec<Found<V>>],
) -> Result<(), TestCaseError> {
    assert_same(forward)?;
    let (_, value, expected) = &forward[0];
    prop_assert!(value.is_finite() && expected.iter().all(|g| g.is_finite()), "{value}, {expected:?}");
    let passive: Vec<Real<Passive<V>>> = x.iter().map(|x| Real::constant(*x)).collect();
    prop_assert!(run(steps, &passive).value() == *value, "the value under Passive");
    let (_, _, magnitudes) = by_forward::<Magnitude<V, INPUTS>>(steps, x);
    for family in families {
        assert_same(family)?;
        let (name, same, gradient) = &family[0];
        prop_assert!(value == same, "values {value} and {same} by {name}");
        for ((a, b), magnitude) in gradient.iter().zip(expected).zip(&magnitudes) {
            // Each way from an input to the output has at most one statement for each step and four factors in it. The
            // errors of so many roundings add up like a random walk; underflow has its own.
            let tolerance = V::epsilon() * V::from_f64(16.0) * *magnitude + V::min_positive_value() * V::from_f64(1e6);
            prop_assert!(
                (*a - *b).abs() <= tolerance,
                "{name}: {a}, but {b} forward; magnitude {magnitude}\n{gradient:?}\n{expected:?}"
            );
        }
    }
    Ok(())
}

fn gently<S: Reverse>(steps: &[Step], x: &[f64]) -> (f64, Vec<f64>) {
    let x: Vec<S::Value> = x.iter().map(|x| S::Value::from_f64(*x)).collect();
    let (value, gradient) = value_and_gradient::<S>(|x| run_gently(steps, x), &x);
    (value.as_f64(), gradient.into_iter().map(Number::as_f64).collect())
}

fn max_norm(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |max, x| max.max(x.abs()))
}

fn max_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).fold(0.0, |max, (x, y)| max.max((x - y).abs()))
}

/// The slope in a direction by central differences of fourth order.
fn slope(steps: &[Step], x: &[f64], direction: &[f64]) -> f64 {
    let at = |h: f64| {
        let moved: Vec<Real<Passive>> = x.iter().zip(direction).map(|(x, d)| Real::constant(x + h * d)).collect();
        run_gently(steps, &moved).value()
    };
    let h = 1e-4;
    (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(feature = "wide") { 2000 } else { 500 }, failure_persistence: None, rng_seed: RngSeed::Fixed(2026), ..ProptestConfig::default() })]

    #[test]
    fn strategies_agree(steps in programs(), x in inputs()) {
        // Directions do not influence one another: in any number they give the same bits.
        let forward = [by_forward::<Tangent<3>>(&steps, &x), by_forward::<Tangent<1>>(&steps, &x)];
        assert_all_agree(&steps, &x, &forward, &families::f64(&steps, &x))?;
    }

    #[test]
    fn strategies_agree_in_single_precision(steps in programs(), x in inputs()) {
        let x: Vec<f32> = x.iter().map(|x| Number::from_f64(*x)).collect();
        assert_all_agree(&steps, &x, &[by_forward::<Tangent<3, f32>>(&steps, &x)], &families::f32(&steps, &x))?;
    }

    #[test]
    fn gradients_agree_with_differences(steps in smooth_programs(), x in inputs(), direction in inputs()) {
        let (_, gradient) = gently::<PrimalValue>(&steps, &x);
        let expected: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
        let found = slope(&steps, &x, &direction);
        let scale = max_norm(&gradient).max(1.0);
        prop_assert!((found - expected).abs() <= 1e-6 * scale, "slope {found}, by the gradient {expected}");
    }

    #[test]
    fn single_precision_agrees_with_double(steps in smooth_programs(), x in inputs()) {
        let rounded: Vec<f64> = x.iter().map(|x| f64::from(<f32 as Number>::from_f64(*x))).collect();
        let (value, gradient) = gently::<Jacobian>(&steps, &rounded);
        for (narrow, slopes) in [gently::<Jacobian<f32>>(&steps, &rounded), gently::<PrimalValue<f32>>(&steps, &rounded)] {
            prop_assert!((narrow - value).abs() <= 1e-2, "values {narrow} and {value}");
            prop_assert!(max_distance(&slopes, &gradient) <= 5e-2 * max_norm(&gradient).max(1.0), "{slopes:?} and {gradient:?}");
        }
    }
}
