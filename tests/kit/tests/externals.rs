//! Entries beside the records: external functions, callbacks and stages among positions, and those without inputs or
//! outputs; exchanges; panics in all of them.

#[path = "externals/callbacks.rs"]
mod callbacks;
#[path = "externals/exchanges.rs"]
mod exchanges;
#[path = "externals/lifetimes.rs"]
mod lifetimes;
#[path = "externals/nested.rs"]
mod nested;
#[path = "externals/panics.rs"]
mod panics;
#[path = "externals/stages.rs"]
mod stages;
#[path = "externals/steps.rs"]
mod steps;
#[path = "externals/undeclared.rs"]
mod undeclared;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tapewright::Number as _;
use tapewright::external::{ByFiniteDifferences, ByTangents, CallbackAdjoints};
use tapewright::prelude::*;
use tapewright::tape::AdjointVector;
use tapewright::{Error, External, Rules, Scope, SweepError, external};
use tapewright_kit_tests::panics::{panic_of, panics};
use tapewright_kit_tests::{float, for_each_mechanism};

/// x² by an external function.
fn square<S: Reverse>(x: &Real<S>) -> Real<S> {
    let at = x.value();
    let rules = Rules::new("a square", move |outputs: &[S::Value], inputs: &mut [S::Value]| {
        inputs[0] += outputs[0] * (at + at);
        Ok(())
    });
    external(std::slice::from_ref(x), &[at * at], rules).remove(0)
}

/// A callback without inputs and outputs that counts its calls.
fn count<S: Reverse>(scope: &mut Scope<S>, calls: &Arc<AtomicUsize>) {
    let calls = Arc::clone(calls);
    scope.insert_callback(&[], &[], move |_: &mut CallbackAdjoints<S::Value>| {
        calls.fetch_add(1, Relaxed);
        Ok(())
    });
}

/// Positions directly before and behind callbacks at one place: each is passed by the sweeps that contain it.
fn sweeps_between_positions_pass_the_callbacks_between<S: Reverse>() {
    let calls: [Arc<AtomicUsize>; 3] = Default::default();
    let mut tape = Tape::<S>::new();
    let (x, y, positions) = tape.record(|scope| {
        let x = scope.input(float(3.0));
        let mut positions = vec![scope.position()];
        for calls in &calls {
            count(scope, calls);
            positions.push(scope.position());
        }
        let y = square(&x);
        positions.push(scope.position());
        (x, y, positions)
    });
    let called = || calls.each_ref().map(|calls| calls.swap(0, Relaxed));
    for from in 0..positions.len() {
        for to in 0..=from {
            let mut adjoints = AdjointVector::new();
            tape.seed(&mut adjoints, &[(&x, S::Value::ONE)]).expect("its own");
            tape.sweep_between(&mut adjoints, &positions[from], &positions[to]).expect("its own");
            let between = [0, 1, 2].map(|k| usize::from(to <= k && k < from));
            assert_eq!(called(), between, "from {from} to {to}");
        }
    }
    assert_eq!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(float(6.0)));
    assert_eq!(called(), [1; 3]);
}

/// A recording that is cut directly before, between and behind functions, and goes on.
fn recordings_go_on_behind_external_functions<S: Reverse>() {
    let calls: [Arc<AtomicUsize>; 3] = Default::default();
    let mut tape = Tape::<S>::new();
    let (x, a) = tape.record(|scope| {
        let x = scope.input(float(3.0));
        count(scope, &calls[0]);
        let a = square(&x);
        (x, a)
    });
    let behind = tape.position();
    for round in 0..3 {
        let b = tape.resume(|scope| {
            count(scope, &calls[1]);
            let b = square(&scope.renew(&a).expect("of the earlier part"));
            count(scope, &calls[2]);
            b
        });
        // x⁴.
        assert_eq!(tape.sweep(&[(&b, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(float(108.0)));
        assert_eq!(calls.each_ref().map(|calls| calls.swap(0, Relaxed)), [1; 3], "round {round}");
        let mut adjoints = AdjointVector::new();
        tape.seed(&mut adjoints, &[(&b, S::Value::ONE)]).expect("its own");
        let upper = tape.sweep_between(&mut adjoints, &tape.position(), &behind).expect("its own");
        assert_eq!((upper.of(&a), upper.of(&x)), (Ok(float(18.0)), Ok(float(0.0))));
        assert_eq!(calls.each_ref().map(|calls| calls.swap(0, Relaxed)), [0, 1, 1]);
        let lower = tape.sweep_from_position(&mut adjoints, &behind).expect("its own");
        assert_eq!(lower.of(&x), Ok(float(108.0)));
        assert_eq!(calls.each_ref().map(|calls| calls.swap(0, Relaxed)), [1, 0, 0]);
        tape.reset_to(&behind).expect("its own");
        assert!(matches!(tape.sweep(&[(&b, S::Value::ONE)]).map(|_| ()), Err(Error::ForeignVariable { .. })));
        assert_eq!(tape.sweep(&[(&a, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(float(6.0)));
        assert_eq!(calls.each_ref().map(|calls| calls.swap(0, Relaxed)), [1, 0, 0]);
    }
}

fn functions_of_nothing_and_to_nothing<S: Reverse>() {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(3.0));
        let rule = || {
            let calls = Arc::clone(&calls);
            Rules::new("nothing", move |outputs: &[S::Value], inputs: &mut [S::Value]| {
                assert!(outputs.is_empty() || inputs.is_empty());
                calls.fetch_add(1, Relaxed);
                Ok(())
            })
        };
        // Without inputs there is nothing to differentiate.
        let constants = external::<S>(&[], &[float(1.0), float(2.0)], rule());
        assert!(constants.iter().all(|y| S::locate(y.id()).is_none()));
        assert_eq!(Arc::strong_count(&calls), 1);
        // Without outputs it is called in every sweep.
        assert!(external(std::slice::from_ref(&x), &[], rule()).is_empty());
        assert!(external::<S>(&[], &[], rule()).is_empty());
        // A callback without inputs has outputs of its own.
        let y = scope.insert_callback(&[], &[float(2.0)], |adjoints: &mut CallbackAdjoints<S::Value>| {
            assert_eq!(adjoints.get_and_reset_output(0), float(3.0));
            Ok(())
        });
        (x.clone(), (&y[0] * &x).eval())
    });
    for sweep in 1..3 {
        assert_eq!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(float(2.0)));
        assert_eq!(calls.load(Relaxed), sweep);
    }
}

fn inputs_of_other_recordings_panic<S: Reverse>() {
    let mut finished = Tape::<S>::new();
    let old = finished.record(|scope| scope.input(float(1.0)));
    let mut outer = Tape::<S>::new();
    let mut inner = Tape::<S>::new();
    outer.record(|scope| {
        let x = scope.input(float(2.0));
        let rule = || Rules::new("a rule", |_: &[S::Value], _: &mut [S::Value]| Ok(()));
        let text = panic_of(&mut || drop(external(std::slice::from_ref(&old), &[float(1.0)], rule())));
        assert!(text.contains("not active on this thread"), "{text}");
        inner.record(|scope| {
            let y = scope.input(float(3.0));
            let text = panic_of(&mut || drop(external(&[x.clone(), y.clone()], &[float(1.0)], rule())));
            assert!(text.contains("two recordings"), "{text}");
            let callback = |_: &mut CallbackAdjoints<S::Value>| Ok(());
            let text = panic_of(&mut || drop(scope.insert_callback(std::slice::from_ref(&x), &[float(1.0)], callback)));
            assert!(text.contains("two recordings"), "{text}");
            // Of the outer recording alone, it is recorded there.
            assert_eq!(S::locate(square(&x).id()).map(|(n, _)| n), S::locate(x.id()).map(|(n, _)| n));
            assert_eq!(S::locate(square(&y).id()).map(|(n, _)| n), S::locate(y.id()).map(|(n, _)| n));
        });
    });
    assert_eq!((inner.memory().usage("externals").used > 0, outer.memory().usage("externals").used > 0), (true, true));
}

/// A rule that fails, panics, or records elsewhere; the next sweep is right.
fn rules_that_go_wrong<S: Reverse>() {
    let trick = Arc::new(AtomicUsize::new(0));
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(3.0));
        let how = Arc::clone(&trick);
        let at = x.value();
        let rules = Rules::new("a square", move |outputs: &[S::Value], inputs: &mut [S::Value]| {
            inputs[0] += float(1e9); // partly done before it goes wrong
            match how.load(Relaxed) {
                1 => return Err(SweepError::rule("a square", "on purpose")),
                2 => panic!("on purpose"),
                _ => {}
            }
            let slope = gradient::<S>(|x| (&x[0] * &x[0]).eval(), &[at])[0];
            inputs[0] = outputs[0] * slope;
            Ok(())
        });
        let y = external(std::slice::from_ref(&x), &[at * at], rules).remove(0);
        let y = (&y + &x).eval();
        (x, y)
    });
    for wrong in [1, 2, 1] {
        trick.store(wrong, Relaxed);
        let mut swept = Ok(());
        let panicked = panics(&mut || swept = tape.sweep(&[(&y, S::Value::ONE)]).map(|_| ()));
        let expected = SweepError::Rule { function: "a square".into(), message: "on purpose".into() };
        assert_eq!((panicked, swept), if wrong == 2 { (true, Ok(())) } else { (false, Err(Error::Sweep(expected))) });
        trick.store(0, Relaxed);
        assert_eq!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(float(7.0)));
    }
}

for_each_mechanism!(
    sweeps_between_positions_pass_the_callbacks_between,
    recordings_go_on_behind_external_functions,
    functions_of_nothing_and_to_nothing,
    inputs_of_other_recordings_panic,
    rules_that_go_wrong,
);

fn product<S: Strategy<Value = f64>>(x: &[Real<S>]) -> Vec<Real<S>> {
    vec![x.iter().fold(Real::constant(1.0), |product, x| (product * x).eval())]
}

fn plain_product(x: &[f64]) -> Vec<f64> {
    vec![x.iter().product()]
}

/// Also where nothing would be recorded, and where derivatives go along.
#[test]
fn ready_made_rules_give_the_gradient_and_are_refused_for_another_number_of_inputs() {
    fn refused<S: Strategy<Value = f64>>(x: &[Real<S>]) {
        for made_for in [0, 1, 2, 4, 8, 11] {
            let at = vec![2.0; made_for];
            for text in [
                panic_of(&mut || drop(external(x, &[24.0], ByTangents::new(product, &at)))),
                panic_of(&mut || drop(external(x, &[24.0], ByFiniteDifferences::new(plain_product, &at, 6e-6)))),
            ] {
                let numbers = format!("its rules were made for {made_for} inputs, and it has 3");
                assert!(
                    text.contains("product") && text.contains("cannot be recorded") && text.ends_with(&numbers),
                    "{text}"
                );
            }
        }
    }
    fn accepted<S: Reverse<Value = f64> + Strategy<Value = f64>>() {
        let at = [2.0, 3.0, 4.0];
        let found = gradient::<S>(
            |x| {
                refused(x);
                let y = external(x, &[24.0], ByTangents::new(product, &at))[0];
                (y + external(x, &[24.0], ByFiniteDifferences::new(plain_product, &at, 6e-6))[0]).eval()
            },
            &at,
        );
        // Differences of a function that is linear in each argument: 24·ε divided by 1.2e-5.
        found.iter().zip([24.0, 16.0, 12.0]).for_each(|(a, b)| assert!((a - b).abs() < 1e-9, "{a} {b}"));
    }
    accepted::<Jacobian>();
    refused::<Passive>(Real::wrap_slice(&[2.0, 3.0, 4.0]));
    refused::<Tangent>(&[2.0, 3.0, 4.0].map(|x| Real::with_tangent(x, [1.0])));
}

/// Rules that are called by hand.
#[test]
fn ready_made_rules_compare_lengths_each_time() {
    fn check(rules: impl External<f64>) {
        let text = |result: Result<(), SweepError>| result.expect_err("another length").to_string();
        for inputs in [0, 1, 3, 8, 11] {
            let numbers = format!("its rules were made for 2 inputs, and it has {inputs}");
            assert_eq!(rules.check(inputs, 1), Err(numbers.clone()));
            let (mut adjoints, mut output) = (vec![0.0; inputs], [0.0]);
            assert!(text(rules.reverse(&[1.0], &mut adjoints)).ends_with(&numbers));
            assert!(text(rules.forward(&vec![1.0; inputs], &mut output)).ends_with(&numbers));
            let lanes = rules.reverse_lanes(3, &[1.0; 3], &mut vec![0.0; 3 * inputs]);
            assert!(text(lanes).ends_with(&numbers));
            assert!(adjoints.iter().chain(&output).all(|x| *x == 0.0));
        }
        let outputs = text(rules.reverse(&[1.0, 1.0], &mut [0.0, 0.0]));
        assert!(outputs.ends_with("it was recorded with 2 outputs, and now returns 1"), "{outputs}");
        assert_eq!(rules.check(2, 1), Ok(()));
    }
    check(ByTangents::new(product, &[2.0, 3.0]));
    check(ByFiniteDifferences::new(plain_product, &[2.0, 3.0], 6e-6));
}

/// 2·x₀ and 3·x₁·x₂ at (2, 3, 5), by a rule that only adds, or that does not say so.
struct Adds(bool);

impl External<f64> for Adds {
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        inputs[0] += 2.0 * outputs[0];
        inputs[1] += 15.0 * outputs[1];
        inputs[2] += 9.0 * outputs[1];
        Ok(())
    }
    fn accumulates(&self) -> bool {
        self.0
    }
}

/// The inputs are read before and behind the function, in order and not, and adjoints may be infinite.
#[test]
fn a_rule_that_only_adds_may_be_given_adjoints_that_are_not_0() {
    for (order, scale) in [([0, 1, 2], 1.0), ([0, 2, 1], 1.0), ([0, 1, 2], f64::INFINITY), ([1, 0, 2], 1.0)] {
        let slopes = |accumulates| {
            gradient::<Jacobian>(
                |x| {
                    let before = x[0] * x[1] * x[2];
                    let inputs = order.map(|k| x[k]);
                    let y = external(&inputs, &[4.0, 45.0], Adds(accumulates));
                    (before + y[0] * scale + y[1] + x[0] * 7.0 + x[2] * x[2]).into()
                },
                &[2.0, 3.0, 5.0],
            )
        };
        let (found, expected) = (slopes(true), slopes(false));
        assert_eq!(found, expected, "{order:?} {scale}");
        let mut adjoints = [15.0 + 7.0, 10.0, 6.0 + 10.0];
        order.into_iter().zip([2.0 * scale, 15.0, 9.0]).for_each(|(k, slope)| adjoints[k] += slope);
        assert_eq!(found, adjoints, "{order:?} {scale}");
    }
}
