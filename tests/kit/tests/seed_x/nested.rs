//! Nested recordings: rows X11, X12 and X13.

use crate::everywhere::{close, everywhere, float};
use crate::repeated_sin::repeated_sin;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tapewright::Number as _;
use tapewright::checkpoint::{Stage, TapePool};
use tapewright::external::CallbackAdjoints;
use tapewright::prelude::*;
use tapewright::{Error, SweepError};

fn x11_a_nested_sweep_leaves_the_outer_adjoints_alone<S: Reverse>() {
    for increments in [0.0, 1.0, -2.0] {
        let pool = TapePool::<S>::new();
        let mut tape = Tape::<S>::new();
        let (x, w, y) = tape.record(|scope| {
            let (x, w) = (scope.input(float(0.5)), scope.input(float(3.0)));
            let at = x.value();
            let z = scope.insert_callback(
                std::slice::from_ref(&x),
                &[at.sin()],
                move |adjoints: &mut CallbackAdjoints<S::Value>| {
                    // Many variables, so that the nested identifiers are also those of the outer recording.
                    let mut nested = pool.nested();
                    let x = nested.inputs(&[at; 100]);
                    let y = repeated_sin(50, &x[99]);
                    nested.compute_adjoints(&[(&y, float(1e6))]).expect("its own");
                    assert_ne!(nested.adjoint(&x[99]), Ok(S::Value::ZERO));
                    assert_eq!(nested.adjoint(&x[98]), Ok(S::Value::ZERO));
                    let seed = adjoints.get_and_reset_output(0);
                    adjoints.increment_input(0, float::<S::Value>(increments) * seed);
                    Ok(())
                },
            );
            let y = (&z[0] * &w + &x).eval();
            (x, w, y)
        });
        for _ in 0..2 {
            let adjoints = tape.sweep(&[(&y, S::Value::ONE)]).expect("its own");
            assert_eq!(adjoints.of(&x).expect("its own"), float(3.0 * increments + 1.0));
            assert_eq!(adjoints.of(&w).expect("its own"), float::<S::Value>(0.5).sin());
        }
    }
}

/// What goes wrong inside a stage.
#[derive(Clone, Copy, PartialEq)]
enum Accident {
    ReturnsWhileRecording,
    ReturnsAfterTheSweep,
    PanicsWhileRecording,
    PanicsAfterTheSweep,
    ForeignVariable,
}

fn x12_an_accident_in_a_callback_leaves_everything_usable<S: Reverse>() {
    for accident in [
        Accident::ReturnsWhileRecording,
        Accident::ReturnsAfterTheSweep,
        Accident::PanicsWhileRecording,
        Accident::PanicsAfterTheSweep,
        Accident::ForeignVariable,
    ] {
        let calls = Arc::new(AtomicUsize::new(0));
        let pool = TapePool::<S>::new();
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(float(0.5));
            let (at, calls, pool) = (x.value(), Arc::clone(&calls), pool.clone());
            let stage = move |adjoints: &mut CallbackAdjoints<S::Value>| {
                let now = (calls.fetch_add(1, Ordering::Relaxed) == 0).then_some(accident);
                let seed = adjoints.get_and_reset_output(0);
                let mut nested = pool.nested();
                let x = nested.input(at);
                let half = x.sin().eval();
                match now {
                    Some(Accident::ReturnsWhileRecording) => return Err(SweepError::rule("stage", "early")),
                    Some(Accident::PanicsWhileRecording) => panic!("while recording"),
                    _ => {}
                }
                let y = half.sin().eval();
                let seeds = if now == Some(Accident::ForeignVariable) {
                    let mut other = pool.nested();
                    let z = other.input(at);
                    drop(other);
                    [(z, seed), (y, seed)]
                } else {
                    [(y.clone(), seed), (y, S::Value::ZERO)]
                };
                let swept = nested.compute_adjoints(&seeds.each_ref().map(|(y, seed)| (y, *seed)));
                if let Err(error) = swept {
                    assert!(matches!(error, Error::ForeignVariable { .. }));
                    return Err(SweepError::rule("stage", error));
                }
                match now {
                    Some(Accident::ReturnsAfterTheSweep) => return Err(SweepError::rule("stage", "late")),
                    Some(Accident::PanicsAfterTheSweep) => panic!("after the sweep"),
                    _ => {}
                }
                adjoints.increment_input(0, nested.adjoint(&x).expect("its own"));
                Ok(())
            };
            let z = scope.insert_callback(std::slice::from_ref(&x), &[at.sin().sin()], stage);
            let y = (&z[0] * 2.0).eval();
            (x, y)
        });
        let first = catch_unwind(AssertUnwindSafe(|| tape.sweep(&[(&y, S::Value::ONE)]).map(|_| ())));
        match accident {
            Accident::PanicsWhileRecording | Accident::PanicsAfterTheSweep => drop(first.expect_err("a panic")),
            _ => {
                let error = first.expect("no panic").expect_err("an early return");
                assert!(matches!(&error, Error::Sweep(SweepError::Rule { .. })), "{error:?}");
            }
        }
        // The same recording can be swept, and the tape used again.
        let at = float::<S::Value>(0.5);
        let slope = at.sin().cos() * at.cos();
        let found = tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)).expect("its own");
        close(found, slope + slope, 8);
        let (x, y) = tape.record(|scope| {
            let x = scope.input(at);
            let y = repeated_sin(3, &x);
            (x, y)
        });
        assert!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)).is_ok());
        pool.with(|tape| assert_eq!(tape.memory().statements, 0, "wiped"));
    }
}

/// A function that returns early out of a nested recording, inside a recording that goes on.
fn x12_an_early_return_inside_a_recording_ends_the_nested_one<S: Reverse>() {
    fn local_slope<S: Reverse>(pool: &TapePool<S>, at: S::Value, early: bool) -> Option<S::Value> {
        let mut nested = pool.nested();
        let x = nested.input(at);
        let y = x.sin().eval();
        if early {
            return None;
        }
        nested.compute_adjoints(&[(&y, S::Value::ONE)]).ok()?;
        nested.adjoint(&x).ok()
    }
    let pool = TapePool::<S>::new();
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(0.5));
        let a = (&x * &x).eval();
        assert_eq!(local_slope(&pool, x.value(), true), None);
        let b = (&a * &x).eval();
        assert_eq!(local_slope(&pool, x.value(), false), Some(x.value().cos()));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut nested = pool.nested();
            let x = nested.input(float(1.0));
            let _ = repeated_sin(10, &x);
            panic!("inside");
        }));
        drop(panicked.expect_err("a panic"));
        let y = (&b * &x).eval();
        (x, y)
    });
    assert_eq!(tape.memory().statements, 3);
    assert_eq!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(float(0.5)));
    pool.with(|tape| assert_eq!(tape.memory().statements, 0));
}

/// A panic of the stage itself: in the forward run nothing has been recorded, in the sweep everything can be used
/// again.
fn x12_a_panic_inside_a_stage<S: Reverse>() {
    let armed = Arc::new(AtomicUsize::new(usize::MAX));
    let stage = |x: &Real<S>, fails_at: usize| {
        let armed = Arc::clone(&armed);
        Stage::<S>::new().run(
            x,
            move |x| {
                assert!(fails_at != 0, "in the forward run");
                repeated_sin(5, x)
            },
            move |x| {
                let y = repeated_sin(3, x);
                assert!(armed.load(Ordering::Relaxed) != fails_at, "in the sweep");
                repeated_sin(2, &y)
            },
        )
    };
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(0.5));
        let a = stage(&x, 1);
        drop(catch_unwind(AssertUnwindSafe(|| stage(&a, 0))).expect_err("a panic"));
        let b = stage(&a, 2);
        (x, stage(&b, 3))
    });
    let full = gradient::<S>(|x| repeated_sin(15, &x[0]), &[float(0.5)])[0];
    for fails_at in 1..=3 {
        armed.store(fails_at, Ordering::Relaxed);
        let panicked = catch_unwind(AssertUnwindSafe(|| tape.sweep(&[(&y, S::Value::ONE)]).map(|_| ())));
        drop(panicked.expect_err("a panic"));
        armed.store(usize::MAX, Ordering::Relaxed);
        assert_eq!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(full));
    }
}

fn x13_nested_adjoints_are_computed_and_incremented<S: Reverse>() {
    let pool = TapePool::<S>::new();
    let mut nested = pool.nested();
    let x = nested.inputs(&[float(2.0), float(3.0)]);
    let y = [(&x[0] * &x[1]).eval(), (&x[0] * &x[0]).eval()];
    for seeds in [[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]] {
        nested.compute_adjoints(&[(&y[0], float(seeds[0])), (&y[1], float(seeds[1]))]).expect("its own");
        assert_eq!(nested.adjoint(&x[0]), Ok(float(3.0 * seeds[0] + 4.0 * seeds[1])));
        assert_eq!(nested.adjoint(&x[1]), Ok(float(2.0 * seeds[0])));
    }
    let late = catch_unwind(AssertUnwindSafe(|| nested.input(float(1.0)))).expect_err("it has ended");
    assert!(message(&*late).contains("takes no inputs after"), "{}", message(&*late));
    drop(nested);
    let unswept = pool.nested();
    let early = catch_unwind(AssertUnwindSafe(|| unswept.adjoint(&x[0]))).expect_err("not swept");
    assert!(message(&*early).contains("after `compute_adjoints`"), "{}", message(&*early));
}

fn message(payload: &(dyn std::any::Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("not a text")
}

everywhere!(
    x11_a_nested_sweep_leaves_the_outer_adjoints_alone,
    x12_an_accident_in_a_callback_leaves_everything_usable,
    x12_an_early_return_inside_a_recording_ends_the_nested_one,
    x12_a_panic_inside_a_stage,
    x13_nested_adjoints_are_computed_and_incremented,
);
