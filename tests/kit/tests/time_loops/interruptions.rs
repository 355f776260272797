//! Loops that are cancelled, that panic, and that do not compute the same twice.

use crate::everywhere::{close, everywhere, float, holds_results_only};
use crate::plans::{by_loop, inputs, plans, reference, step, weigh};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tapewright::Number as _;
use tapewright::checkpoint::{Stage, TimeLoop};
use tapewright::prelude::*;
use tapewright::schedule::{Equidistant, FullTape, Revolve};
use tapewright::{Error, SweepError};

const STEPS: usize = 11;

/// The gradient of the weighed state that was recorded is right.
fn assert_right<S: Reverse>(tape: &mut Tape<S>, x: &[Real<S>], y: &Real<S>) {
    let (_, gradient) = reference::<S>(STEPS);
    let found = tape.sweep(&[(y, S::Value::ONE)]).and_then(|a| a.of_all(x)).expect("its own");
    found.iter().zip(&gradient).for_each(|(found, expected)| close(*found, *expected, 500));
}

fn a_cancelled_run_records_nothing<S: Reverse>() {
    for plan in plans(STEPS) {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&inputs());
            for calls in [1, 6] {
                let left = AtomicUsize::new(calls);
                let looped = TimeLoop::new(plan.clone()).named("the weather").progress(move |_| {
                    if left.fetch_sub(1, Relaxed) == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
                let error = by_loop(looped, STEPS, &x).expect_err("cancelled");
                assert_eq!(error, Error::Sweep(SweepError::Cancelled { what: String::from("the weather") }));
            }
            let end = by_loop(TimeLoop::new(plan.clone()), STEPS, &x).expect("room for snapshots");
            (x, end)
        });
        holds_results_only(&tape, 3);
        let y = tape.resume(|scope| weigh(&scope.renew_all(&y).expect("of the earlier part")));
        assert_right(&mut tape, &x, &y);
    }
}

fn a_cancelled_sweep_can_be_done_again<S: Reverse>() {
    for plan in plans(STEPS) {
        // Calls of the hook until it says stop.
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let hook = Arc::clone(&left);
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&inputs());
            let looped = TimeLoop::new(plan.clone()).progress(move |_| {
                if hook.fetch_sub(1, Relaxed) == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let end = by_loop(looped, STEPS, &x).expect("room for snapshots");
            (x, weigh(&end))
        });
        for calls in [1, 2, 9, 14] {
            left.store(calls, Relaxed);
            let error = tape.sweep(&[(&y, S::Value::ONE)]).map(|_| ()).expect_err("cancelled");
            assert!(matches!(error, Error::Sweep(SweepError::Cancelled { .. })), "{error:?}");
            left.store(usize::MAX, Relaxed);
            assert_right(&mut tape, &x, &y);
        }
    }
}

fn a_panic_of_a_step_leaves_everything_usable<S: Reverse>() {
    for plan in plans(STEPS) {
        // The step that panics, without and with recording.
        let (plain, taped) = <(Arc<AtomicUsize>, Arc<AtomicUsize>)>::default();
        plain.store(5, Relaxed);
        taped.store(5, Relaxed);
        let mut tape = Tape::<S>::new();
        let record = |x: &[Real<S>]| {
            let (plain, taped) = (Arc::clone(&plain), Arc::clone(&taped));
            let end = TimeLoop::<S>::new(plan.clone()).run_while(
                &x[0],
                &x[1..].to_vec(),
                |t, _| t < STEPS,
                move |t, k, u| {
                    assert!(t != plain.load(Relaxed), "a plain step");
                    step(t, k, u)
                },
                move |t, k, u| {
                    let u = step(t, k, u);
                    assert!(t != taped.load(Relaxed), "a recorded step");
                    u
                },
            );
            weigh(&end.expect("room for snapshots"))
        };
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&inputs());
            drop(catch_unwind(AssertUnwindSafe(|| record(&x))).expect_err("a panic"));
            plain.store(usize::MAX, Relaxed);
            taped.store(usize::MAX, Relaxed);
            let y = record(&x);
            (x, y)
        });
        for fails_at in [STEPS - 1, 3, 0] {
            // The first sweep may have all steps recorded already; a second one has to record them.
            assert_right(&mut tape, &x, &y);
            taped.store(fails_at, Relaxed);
            let swept = catch_unwind(AssertUnwindSafe(|| tape.sweep(&[(&y, S::Value::ONE)]).map(|_| ())));
            drop(swept.expect_err("a panic"));
            taped.store(usize::MAX, Relaxed);
        }
        assert_right(&mut tape, &x, &y);
    }
}

everywhere!(
    a_cancelled_run_records_nothing,
    a_cancelled_sweep_can_be_done_again,
    a_panic_of_a_step_leaves_everything_usable,
);

/// A step that gives another result from the given call on.
fn drifting<T: Taping<Value = f64>>(calls: &AtomicUsize, changes_at: usize, u: &Real<T>) -> Real<T> {
    let late = calls.fetch_add(1, Relaxed) >= changes_at;
    (u.sin() + if late { 0.5 + 1e-14 } else { 0.5 }).eval()
}

fn drifting_loop(
    plan: impl tapewright::schedule::Schedule + Clone + Send + Sync + 'static,
    changes_at: usize,
) -> Vec<Result<f64, Error>> {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.7);
        let (plain, taped) = (Arc::clone(&calls), calls);
        let looped = TimeLoop::<Jacobian>::new(plan).named("the drift");
        let y = looped.run(
            &(),
            &x,
            move |_, (), u| drifting(&plain, changes_at, u),
            move |_, (), u| drifting(&taped, changes_at, u),
        );
        (x, y.expect("no disk"))
    });
    (0..2).map(|_| tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x))).collect()
}

#[test]
fn steps_that_are_not_reproducible_are_named() {
    let slope = (0..10).fold((0.7_f64, 1.0), |(u, d), _| (u.sin() + 0.5, d * u.cos())).1;
    let is_named = |result: &Result<f64, Error>, steps: &[usize]| {
        let Err(Error::Sweep(SweepError::NotReproducible { stage, outputs })) = result else { panic!("{result:?}") };
        assert!(steps.iter().any(|step| *stage == format!("step {step} of the drift")), "{stage}");
        assert_eq!(*outputs, 0..1);
        let shown = result.as_ref().expect_err("it is one").to_string();
        assert!(shown.contains("the drift is not reproducible") && shown.contains("random numbers"), "{shown}");
    };
    // A single snapshot: 9 steps forward, the last recorded, then 8 again and the last but one recorded, which comes
    // out differently. In a second sweep everything does, and that is noticed as soon as a step is recorded.
    let revolve = drifting_loop(Revolve::new(10, 1), 12);
    is_named(&revolve[0], &[8]);
    is_named(&revolve[1], &[9]);
    let equidistant = drifting_loop(Equidistant::new(10, 3), 11);
    is_named(&equidistant[0], &[7]);
    is_named(&equidistant[1], &[9]);
    // Each step is evaluated once: the first sweep is right, the second computes something else and says so.
    let full = drifting_loop(FullTape::new(10), 10);
    assert!(full[0].as_ref().is_ok_and(|found| (found - slope).abs() < 1e-14), "{full:?}");
    is_named(&full[1], &[0]);
    // Reproducible from the first evaluation to the last.
    assert!(drifting_loop(Revolve::new(10, 1), usize::MAX).iter().all(Result::is_ok));
}

#[test]
fn who_does_not_want_it_is_not_told() {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.7);
        let (plain, taped) = (Arc::clone(&calls), Arc::clone(&calls));
        let looped = TimeLoop::<Jacobian>::new(Revolve::new(10, 2)).checked(false);
        let y = looped.run(&(), &x, move |_, (), u| drifting(&plain, 13, u), move |_, (), u| drifting(&taped, 13, u));
        (x, y.expect("no disk"))
    });
    let slope = tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)).expect("nobody looks");
    assert!(slope.is_finite());
}

/// Bits are compared, not numbers: NaN is NaN, and −0 is not 0.
#[test]
fn states_are_compared_bit_by_bit() {
    fn nan<T: Taping<Value = f64>>(u: &Real<T>) -> Real<T> {
        (u.sqrt() - 1.0).eval()
    }
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.7);
        let looped = TimeLoop::<Jacobian>::new(Revolve::new(10, 2));
        (x, looped.run(&(), &x, |_, (), u| nan(u), |_, (), u| nan(u)).expect("no disk"))
    });
    assert!(y.value().is_nan());
    assert!(tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)).expect("reproducible").is_nan());

    let stage = |plain: f64, taped: f64| {
        let mut tape = Tape::<Jacobian>::new();
        let y = tape.record(|scope| {
            let x = scope.input(0.0);
            let stage = Stage::<Jacobian>::new().named("a sign");
            stage.run(&x, move |x| (x * plain).eval(), move |x| (x * taped).eval())
        });
        tape.sweep(&[(&y, 1.0)]).map(|_| ())
    };
    assert_eq!(stage(1.0, 1.0), Ok(()));
    let error = stage(1.0, -1.0).expect_err("another sign");
    let expected = SweepError::NotReproducible { stage: String::from("a sign"), outputs: 0..1 };
    assert_eq!(error, Error::Sweep(expected));
}

/// A stage that gives another number of outputs when it is recorded, checked or not.
#[test]
fn a_stage_with_another_number_of_outputs_is_not_reproducible() {
    for checked in [true, false] {
        for (plain, taped) in [(3, 2), (2, 3), (1, 0)] {
            let mut tape = Tape::<Jacobian>::new();
            let (x, y) = tape.record(|scope| {
                let x = scope.input(0.5);
                let stage = Stage::<Jacobian>::new().checked(checked).named("a list");
                let y = stage.run(&x, move |x| vec![(x * 2.0).eval(); plain], move |x| vec![(x * 2.0).eval(); taped]);
                (x, y)
            });
            let error = tape.sweep_all(&y, &vec![1.0; plain]).and_then(|a| a.of(&x));
            let expected = SweepError::NotReproducible { stage: String::from("a list"), outputs: 0..0 };
            assert_eq!(error, Err(Error::Sweep(expected)), "{plain} {taped} {checked}");
        }
    }
}

/// Many outputs are compared in blocks, and the block is named.
#[test]
fn the_outputs_that_differ_are_named() {
    for (n, at) in [(1, 0), (63, 62), (64, 7), (65, 64), (1000, 999), (1000, 500)] {
        let mut tape = Tape::<PrimalValue>::new();
        let y = tape.record(|scope| {
            let x = scope.input(0.5);
            let stage = Stage::<PrimalValue>::new();
            stage.run(
                &x,
                move |x| vec![x.sin().eval(); n],
                move |x| (0..n).map(|k| if k == at { x.cos().eval() } else { x.sin().eval() }).collect::<Vec<_>>(),
            )
        });
        let error = tape.sweep(&[(&y[0], float(1.0))]).map(|_| ()).expect_err("another output");
        let Error::Sweep(SweepError::NotReproducible { outputs, .. }) = error else { panic!("{error:?}") };
        assert!(outputs.contains(&at) && outputs.len() <= n.div_ceil(64), "{outputs:?} {at}");
    }
}
