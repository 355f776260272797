//! Whether users find their own mistakes.

use tapewright::check::GradientMismatch;
use tapewright::prelude::*;
use tapewright::{Error, Float, Rules, SweepError, Unary, check_gradient, external, unary, with_partials};

fn smooth<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    vec![(&x[0] * x[1].exp()).eval(), (x[0].sin() + &x[2] * &x[2]).eval(), (&x[2] * 3.0).eval()]
}

const AT: [f64; 3] = [0.7, -1.3, 0.4];

#[test]
fn a_right_gradient_passes() {
    fn check<S: Reverse<Value = f64>>() {
        let report = check_gradient::<S>(smooth, smooth, smooth, &AT).expect("right");
        assert!((report.order - 2.0).abs() < 0.1, "{report:?}");
        assert!((report.products.0 - report.products.1).abs() < 1e-12, "{report:?}");
        assert_eq!(report.taylor.len(), 3, "one for each output");
        // The remainder goes down like the square of the step, the change like the step.
        for rows in &report.taylor[..2] {
            assert_eq!(rows.len(), 24);
            for pair in rows[..8].windows(2) {
                assert_eq!(pair[0].step, 2.0 * pair[1].step);
                let (first, zeroth) = (pair[0].first / pair[1].first, pair[0].zeroth / pair[1].zeroth);
                assert!((3.8..4.2).contains(&first) && (1.9..2.1).contains(&zeroth), "{report:?}");
            }
        }
    }
    check::<Jacobian>();
    check::<Hybrid>();
    check::<Continuation>();
    check::<PrimalValue<f64, Reuse>>();
}

#[test]
fn functions_without_curvature_pass() {
    fn constant<S: Taping<Value = f64>>(_: &[Real<S>]) -> Vec<Real<S>> {
        vec![Real::constant(7.0)]
    }
    fn nothing<S: Taping<Value = f64>>(_: &[Real<S>]) -> Vec<Real<S>> {
        Vec::new()
    }
    fn linear<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![(&x[0] * 2.0 - &x[1]).eval(), x[2].clone(), Real::constant(7.0)]
    }
    assert!(check_gradient!(Jacobian, linear, &AT).is_ok_and(|report| report.order > 1.9));
    assert!(check_gradient!(Jacobian, constant, &AT).is_ok());
    assert!(check_gradient!(Jacobian, constant, &[]).is_ok());
    assert!(check_gradient!(Jacobian, nothing, &AT).is_ok());
}

#[test]
fn functions_of_any_collection_of_outputs_are_checked() {
    fn one<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
        (&x[0] * x[1].exp() + unary::<S, Wrong, _>(&x[2])).eval()
    }
    fn right<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
        smooth(x).swap_remove(0)
    }
    fn nested<S: Taping<Value = f64>>(x: &[Real<S>]) -> ([Real<S>; 2], Option<Real<S>>) {
        ([right(x), x[0].sin().eval()], Some(one(x)))
    }
    let error = check_gradient!(Jacobian, one, &AT).expect_err("wrong");
    assert!(matches!(error, GradientMismatch::Difference { input: 2, output: 0, .. }), "{error}");
    assert_eq!(check_gradient!(Jacobian, right, &AT).expect("right").taylor.len(), 1);
    assert_eq!(check_gradient!(PrimalValue, |x| (x[0] * x[1]).eval(), &AT).expect("right").taylor.len(), 1);
    let error = check_gradient!(PrimalValue, nested, &AT).expect_err("wrong");
    assert!(matches!(error, GradientMismatch::Difference { input: 2, output: 2, .. }), "{error}");
}

/// A rule that is wrong in forward and reverse mode alike, by a factor.
struct Wrong;
impl Unary for Wrong {
    fn value<V: Float>(x: V) -> V {
        x.sin()
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        x.cos() * V::from_f64(1.001)
    }
}

#[test]
fn a_wrong_rule_is_found_by_differences() {
    fn f<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![(&x[0] * &x[2]).eval(), (unary::<S, Wrong, _>(&x[1]) + &x[0]).eval(), x[2].exp().eval()]
    }
    for error in [check_gradient!(Jacobian, f, &AT), check_gradient!(PrimalValue, f, &AT)] {
        let error = error.expect_err("wrong");
        let GradientMismatch::Difference { input: 1, output: 1, derivative, quotient } = error else {
            panic!("{error:?}")
        };
        assert!((derivative / quotient - 1.001).abs() < 1e-8);
        assert!(error.to_string().contains("output 1 with respect to input 1"), "{error}");
    }
}

/// A square root with a slope that is too large.
struct WrongRoot;
impl Unary for WrongRoot {
    fn value<V: Float>(x: V) -> V {
        x.sqrt()
    }
    fn derivative<V: Float>(_: V, y: V) -> V {
        V::from_f64(7.0) / y
    }
}

#[test]
fn a_wrong_rule_is_found_near_the_end_of_its_domain() {
    fn f<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![unary::<S, WrongRoot, _>(&x[0]).eval()]
    }
    for at in [0.001, 0.004, 0.1, 2.0] {
        let found = check_gradient!(Jacobian, f, &[at]);
        assert!(matches!(found, Err(GradientMismatch::Difference { input: 0, output: 0, .. })), "{at}: {found:?}");
    }
}

#[test]
fn a_wrong_rule_is_found_beside_a_large_output() {
    fn f<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![(x[1].exp() * 1e12).eval(), unary::<S, Wrong, _>(&x[0]).eval()]
    }
    let found = check_gradient!(Jacobian, f, &AT);
    assert!(matches!(found, Err(GradientMismatch::Difference { input: 0, output: 1, .. })), "{found:?}");
}

#[test]
fn a_wrong_reverse_rule_is_found_by_forward_mode() {
    /// x₀·x₂ with partials of the caller: right where it is not swept.
    fn f<S: Taping<Value = f64>>(x: &[Real<S>], wrong: f64) -> Vec<Real<S>> {
        let product = with_partials(
            &[x[0].clone(), x[2].clone()],
            x[0].value() * x[2].value(),
            &[x[2].value(), x[0].value() + wrong],
        );
        vec![x[1].sin().eval(), (&product * &x[1]).eval()]
    }
    let right = |x: &[Real<Tangent>]| f(x, 0.0);
    let found = check_gradient::<Jacobian>(|x| f(x, 0.0), right, |x| f(x, 1e-3), &AT).expect_err("wrong");
    let GradientMismatch::Modes { input: 2, output: 1, forward, reverse } = found else { panic!("{found:?}") };
    assert!((reverse - forward - 1e-3 * AT[1]).abs() < 1e-12, "{found}");
    assert!(found.to_string().contains("forward mode") && found.to_string().contains("reverse mode"), "{found}");
    assert!(check_gradient::<Jacobian>(|x| f(x, 0.0), right, |x| f(x, 0.0), &AT).is_ok());
}

/// x₀·sin x₁ by an external function with this factor in its rule.
fn by_rule<S: Reverse<Value = f64>>(x: &[Real<S>], factor: f64) -> Vec<Real<S>> {
    let (a, b) = (x[0].value(), x[1].value());
    let rules = Rules::new("a product", move |outputs, inputs| {
        if factor.is_nan() {
            return Err(SweepError::rule("a product", "it has none"));
        }
        inputs[0] += outputs[0] * b.sin();
        inputs[1] += outputs[0] * a * b.cos() * factor;
        Ok(())
    });
    external(x, &[a * b.sin()], rules)
}

#[test]
fn a_wrong_external_rule_is_found() {
    fn f<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![(&x[0] * x[1].sin()).eval()]
    }
    let check = |factor| check_gradient::<PrimalValue>(f, f, |x| by_rule(x, factor), &[0.7, 1.3]);
    assert!(check(1.0).is_ok());
    let found = check(0.99).expect_err("wrong");
    assert!(matches!(found, GradientMismatch::Modes { input: 1, output: 0, .. }), "{found:?}");
    let failed = check(f64::NAN).expect_err("a rule that fails");
    assert!(matches!(failed, GradientMismatch::Failed(Error::Sweep(SweepError::Rule { .. }))), "{failed:?}");
    assert!(failed.to_string().contains("it has none"), "{failed}");
}

#[test]
fn another_value_with_recording_is_found() {
    fn f<S: Taping<Value = f64>>(x: &[Real<S>], more: f64) -> Vec<Real<S>> {
        vec![x[0].clone(), (&x[1] + more).eval()]
    }
    let found = check_gradient::<Jacobian>(|x| f(x, 0.0), |x| f(x, 0.0), |x| f(x, 0.25), &AT).expect_err("another");
    assert_eq!(found, GradientMismatch::Value { output: 1, plain: AT[1], taped: AT[1] + 0.25 });
    assert!(found.to_string().contains("output 1"), "{found}");
}

#[test]
fn numbers_that_are_not_finite_are_named() {
    fn f<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![x[1].sin().eval(), x[0].sqrt().eval(), x[2].eval_sin()]
    }
    trait EvalSin {
        fn eval_sin(&self) -> Self;
    }
    impl<S: Taping> EvalSin for Real<S> {
        fn eval_sin(&self) -> Self {
            self.sin().eval()
        }
    }
    for x in [[-1.0, 0.5, 0.5], [f64::NAN, 0.5, 0.5], [f64::INFINITY, 0.5, 0.5], [0.0, 0.5, 0.5]] {
        let found = check_gradient!(Jacobian, f, &x).expect_err("not finite");
        assert_eq!(found, GradientMismatch::NotFinite { output: 1 }, "{x:?}");
    }
}

#[test]
fn a_kink_is_found_and_named() {
    fn f<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![x[0].sin().eval(), (x[1].abs() + &x[0]).eval()]
    }
    let found = check_gradient!(Jacobian, f, &[0.4, 0.0]).expect_err("no derivative there");
    // abs'(0) = 0 is the central difference, too, so no single derivative stands out.
    let GradientMismatch::Taylor { output: 1, order } = found else { panic!("{found:?}") };
    assert!((order - 1.0).abs() < 0.1, "{found}");
    assert!(check_gradient!(Jacobian, f, &[0.4, 0.1]).is_ok());
}

/// What is found wrong of a right function at these points.
fn false_alarms<const N: usize>(
    name: &str,
    points: &[[f64; N]],
    check: impl Fn(&[f64]) -> Result<tapewright::check::GradientCheck, GradientMismatch>,
) {
    for x in points {
        let found = check(x);
        assert!(found.is_ok(), "{name} at {x:?}: {}", found.unwrap_err());
    }
}

#[test]
fn derivatives_that_are_rounding_errors_raise_no_alarm() {
    type R<S> = Real<S>;
    fn circle<S: Taping<Value = f64>>(x: &[R<S>]) -> Vec<R<S>> {
        let (s, c) = (x[0].sin().eval(), x[0].cos().eval());
        vec![(&s * &s + &c * &c).eval(), (&s * &s + &c * &c - 1.0).eval()]
    }
    fn length<S: Taping<Value = f64>>(x: &[R<S>]) -> Vec<R<S>> {
        let (s, c) = (x[0].sin().eval(), x[0].cos().eval());
        vec![(2.0 * &c - &s).eval().hypot((2.0 * &s + &c).eval()).eval()]
    }
    /// 10⁻⁴·x², and three numbers of order 1 that cancel.
    fn cancels<S: Taping<Value = f64>>(x: &[R<S>]) -> Vec<R<S>> {
        let (s, c) = (3.0 * 0.3_f64.sin(), 3.0 * 0.3_f64.cos());
        vec![((&x[0] + 0.3).sin() * 3.0 - x[0].sin() * c - x[0].cos() * s + x[0].powi(2) * 1e-4).eval()]
    }
    /// x², as what is left of a number of 10⁶ or 10¹⁰.
    fn beside<S: Taping<Value = f64>>(x: &[R<S>]) -> Vec<R<S>> {
        [1e6, 1e10].map(|large| ((x[0].powi(2) + large).eval() - large).eval()).into()
    }
    let points: Vec<[f64; 1]> = (-20..=20).map(|k| [0.1 * f64::from(k)]).collect();
    false_alarms("circle", &points, |x| check_gradient!(Jacobian, circle, x));
    false_alarms("length", &points, |x| check_gradient!(Jacobian, length, x));
    false_alarms("cancels", &points, |x| check_gradient!(Jacobian, cancels, x));
    false_alarms("beside", &points, |x| check_gradient!(Jacobian, beside, x));
}

/// A rule that is wrong in both modes alike by 10⁻⁶ of itself.
struct Slightly;
impl Unary for Slightly {
    fn value<V: Float>(x: V) -> V {
        x.sin()
    }
    fn derivative<V: Float>(x: V, _: V) -> V {
        x.cos() * V::from_f64(1.0 + 1e-6)
    }
}

#[test]
fn a_millionth_is_found() {
    fn alone<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![unary::<S, Slightly, _>(&x[0]).eval()]
    }
    fn with_others<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        let s = unary::<S, Slightly, _>(&x[0]).eval();
        vec![x[0].exp().eval(), (&s * x[0].exp() + 1.0).eval(), (&s * 1e-3 - 5.0).eval()]
    }
    // cos is 0 at π/2, so there the mistake is none.
    for k in -14..=14 {
        let x = [0.1 * f64::from(k)];
        let found = [check_gradient!(Jacobian, alone, &x), check_gradient!(Hybrid, with_others, &x)];
        for found in found {
            let kind = matches!(found, Err(GradientMismatch::Taylor { .. } | GradientMismatch::Difference { .. }));
            assert!(kind, "{x:?}: {found:?}");
        }
    }
}

#[test]
fn a_reverse_rule_that_is_not_finite_is_found() {
    fn f<S: Taping<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
        vec![(&x[0] * x[1].sin()).eval()]
    }
    for factor in [f64::INFINITY, f64::NEG_INFINITY] {
        let found = check_gradient::<Jacobian>(f, f, |x| by_rule(x, factor), &[0.7, 1.3]).expect_err("wrong");
        assert!(matches!(found, GradientMismatch::Modes { input: 1, output: 0, .. }), "{found:?}");
    }
}
