//! Loops that are canceled, that panic, and that do not compute the same twice.

use crate::plans::{Chain, FAILS_AT, Plan, by_loop, inputs, plans, record, weigh};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tapewright::checkpoint::{Progress, Stage, TimeLoop};
use tapewright::prelude::*;
use tapewright::schedule::{Equidistant, FullTape, Revolve};
use tapewright::{Error, SweepError};
use tapewright_kit_tests::panics::panics;
use tapewright_kit_tests::{for_each_mechanism, holds_results_only};

const STEPS: usize = 11;

/// A hook that says stop after so many calls.
fn stops_after(calls: Arc<AtomicUsize>) -> impl Fn(&Progress) -> ControlFlow<()> + Send + Sync + 'static {
    move |_| if calls.fetch_sub(1, Relaxed) == 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn a_cancelled_run_records_nothing<S: Reverse>() {
    for plan in plans(STEPS) {
        let mut tape = Tape::<S>::new();
        tape.record(|scope| {
            let x = scope.inputs(&inputs());
            for calls in [1, 6] {
                let hook = stops_after(Arc::new(calls.into()));
                let looped = TimeLoop::new(plan.clone()).named("the weather").progress(hook);
                let error = by_loop(looped, STEPS, &x).expect_err("cancelled");
                assert_eq!(error, Error::Sweep(SweepError::Cancelled { what: String::from("the weather") }));
            }
        });
        holds_results_only(&tape, 0);
    }
}

fn a_cancelled_sweep_can_be_done_again<S: Reverse>() {
    for plan in plans(STEPS) {
        let left = Arc::new(AtomicUsize::new(usize::MAX));
        let looped = TimeLoop::<S>::new(plan.clone()).progress(stops_after(Arc::clone(&left)));
        let mut recorded = record(looped, STEPS).expect("room for snapshots");
        for calls in [1, 2, 9, 14] {
            left.store(calls, Relaxed);
            let error = recorded.swept(1.0).expect_err("cancelled");
            assert!(matches!(error, Error::Sweep(SweepError::Cancelled { .. })), "{error:?}");
            left.store(usize::MAX, Relaxed);
            recorded.assert_right(STEPS);
        }
    }
}

/// A step panics, without and with recording: in the run, and in sweeps, of which the first may have all steps recorded
/// already.
fn a_panic_of_a_step_leaves_everything_usable<S: Reverse>() {
    for plan in plans(STEPS) {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&inputs());
            FAILS_AT.set([5, 5]);
            assert!(panics(&mut || drop(by_loop(TimeLoop::new(plan.clone()), STEPS, &x))));
            FAILS_AT.set([usize::MAX; 2]);
            let end = by_loop(TimeLoop::new(plan.clone()), STEPS, &x).expect("room for snapshots");
            (x, weigh(&end))
        });
        let mut recorded = crate::plans::Recorded { tape, x, y };
        for fails_at in [STEPS - 1, 3, 0] {
            recorded.assert_right(STEPS);
            FAILS_AT.set([usize::MAX, fails_at]);
            assert!(panics(&mut || drop(recorded.swept(1.0))));
            FAILS_AT.set([usize::MAX; 2]);
        }
        recorded.assert_right(STEPS);
    }
}

for_each_mechanism!(
    a_cancelled_run_records_nothing,
    a_cancelled_sweep_can_be_done_again,
    a_panic_of_a_step_leaves_everything_usable,
);

/// The slopes of ten steps by two sweeps, where the value of a step changes at this call.
fn drifting(looped: TimeLoop<Jacobian>, changes_at: usize) -> [Result<f64, Error>; 2] {
    let chain = Chain::Drift(Arc::default(), changes_at);
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.7);
        (x, chain.by_loop(looped.named("the drift"), x, &|t, _| t < 10))
    });
    [(); 2].map(|()| tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)))
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
    let revolve = drifting(TimeLoop::new(Revolve::new(10, 1)), 12);
    is_named(&revolve[0], &[8]);
    is_named(&revolve[1], &[9]);
    let equidistant = drifting(TimeLoop::new(Equidistant::new(10, 3)), 11);
    is_named(&equidistant[0], &[7]);
    is_named(&equidistant[1], &[9]);
    // Each step is evaluated once: the first sweep is right, the second computes something else and says so.
    let full = drifting(TimeLoop::new(FullTape::new(10)), 10);
    assert!(full[0].as_ref().is_ok_and(|found| (found - slope).abs() < 1e-14), "{full:?}");
    is_named(&full[1], &[0]);
    // Reproducible from the first evaluation to the last.
    assert!(drifting(TimeLoop::new(Revolve::new(10, 1)), usize::MAX).iter().all(Result::is_ok));
    // Who does not want it is not told.
    let unchecked = drifting(TimeLoop::new(Revolve::new(10, 2)).checked(false), 13);
    assert!(unchecked.iter().flatten().filter(|slope| slope.is_finite()).count() == 2, "{unchecked:?}");
}

/// Bits are compared, not numbers: NaN is NaN, and −0 is not 0.
#[test]
fn states_are_compared_bit_by_bit() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.7);
        (x, Chain::Root.by_loop(TimeLoop::new(Plan::Revolve(Revolve::new(10, 2))), x, &|t, _| t < 10))
    });
    assert!(y.value().is_nan());
    assert!(tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)).expect("reproducible").is_nan());

    let sign = |taped: f64| swept(Stage::new().named("a sign"), 0.0, vec![1.0], vec![taped]);
    assert_eq!(sign(1.0), Ok(()));
    let expected = SweepError::NotReproducible { stage: String::from("a sign"), outputs: 0..1 };
    assert_eq!(sign(-1.0), Err(Error::Sweep(expected)));
}

/// Sweeps a stage whose outputs are its input times these factors, without a recording and with one.
fn swept(stage: Stage<Jacobian>, at: f64, plain: Vec<f64>, taped: Vec<f64>) -> Result<(), Error> {
    fn scaled<T: Taping<Value = f64>>(x: &Real<T>, factors: &[f64]) -> Vec<Real<T>> {
        factors.iter().map(|factor| (x * *factor).eval()).collect()
    }
    let mut tape = Tape::<Jacobian>::new();
    let y = tape.record(|scope| {
        let x = scope.input(at);
        stage.run(&x, move |x| scaled(x, &plain), move |x| scaled(x, &taped))
    });
    tape.sweep(&[(&y[0], 1.0)]).map(|_| ())
}

/// A stage that gives another number of outputs when it is recorded, checked or not.
#[test]
fn a_stage_with_another_number_of_outputs_is_not_reproducible() {
    for checked in [true, false] {
        for (plain, taped) in [(3, 2), (2, 3), (1, 0)] {
            let stage = Stage::new().checked(checked).named("a list");
            let error = swept(stage, 0.5, vec![2.0; plain], vec![2.0; taped]);
            let expected = SweepError::NotReproducible { stage: String::from("a list"), outputs: 0..0 };
            assert_eq!(error, Err(Error::Sweep(expected)), "{plain} {taped} {checked}");
        }
    }
}

/// Many outputs are compared in blocks, and the block is named.
#[test]
fn the_outputs_that_differ_are_named() {
    for (n, at) in [(1, 0), (63, 62), (64, 7), (65, 64), (1000, 999), (1000, 500)] {
        let mut other = vec![2.0; n];
        other[at] = 3.0;
        let error = swept(Stage::new(), 0.5, vec![2.0; n], other).expect_err("another output");
        let Error::Sweep(SweepError::NotReproducible { outputs, .. }) = error else { panic!("{error:?}") };
        assert!(outputs.contains(&at) && outputs.len() <= n.div_ceil(64), "{outputs:?} {at}");
    }
}
