//! Nested recordings. That they are swept alone is tested by the conformance kit (`nested_recording_in_a_rule`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tapewright::Number as _;
use tapewright::checkpoint::TapePool;
use tapewright::external::CallbackAdjoints;
use tapewright::prelude::*;
use tapewright::{Error, SweepError};
use tapewright_kit_tests::panics::{panic_of, panics};
use tapewright_kit_tests::{close, float, for_each_mechanism};

/// An accident in a nested recording, which the callback leaves early.
#[derive(Clone, Copy, PartialEq)]
enum Accident {
    ReturnsWhileRecording,
    PanicsAfterTheSweep,
    ForeignVariable,
}

fn an_accident_in_a_callback_leaves_everything_usable<S: Reverse>() {
    for accident in [Accident::ReturnsWhileRecording, Accident::PanicsAfterTheSweep, Accident::ForeignVariable] {
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
                let mut y = x.sin().eval();
                if now == Some(Accident::ReturnsWhileRecording) {
                    return Err(SweepError::rule("stage", "early"));
                }
                y = if now == Some(Accident::ForeignVariable) { pool.nested().input(at) } else { y.sin().eval() };
                if let Err(error) = nested.compute_adjoints(&[(&y, seed)]) {
                    assert!(matches!(error, Error::ForeignVariable { .. }));
                    return Err(SweepError::rule("stage", error));
                }
                assert!(now != Some(Accident::PanicsAfterTheSweep), "after the sweep");
                adjoints.increment_input(0, nested.adjoint(&x).expect("its own"));
                Ok(())
            };
            let z = scope.insert_callback(std::slice::from_ref(&x), &[at.sin().sin()], stage);
            let y = (&z[0] * 2.0).eval();
            (x, y)
        });
        let mut first = Ok(());
        let panicked = panics(&mut || first = tape.sweep(&[(&y, S::Value::ONE)]).map(|_| ()));
        let failed = matches!(&first, Err(Error::Sweep(SweepError::Rule { .. })));
        assert_eq!((panicked, failed), (accident == Accident::PanicsAfterTheSweep, !panicked), "{first:?}");
        // The same recording can be swept, and the tape used again.
        let at = float::<S::Value>(0.5);
        let slope = at.sin().cos() * at.cos();
        let found = tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)).expect("its own");
        close(found, slope + slope, 8);
        let found = tape.gradient(|x| (&x[0] * &x[0]).into(), &[at], &mut [at]);
        assert_eq!(found, Ok(at * at));
        pool.with(|tape| assert_eq!(tape.memory().statements, 0, "wiped"));
    }
}

for_each_mechanism!(an_accident_in_a_callback_leaves_everything_usable);

#[test]
fn nested_adjoints_are_computed_for_one_seed_after_another() {
    let pool = TapePool::<Hybrid<f64, Reuse>>::new();
    let mut nested = pool.nested();
    let x = nested.inputs(&[2.0, 3.0]);
    let y = [(&x[0] * &x[1]).eval(), (&x[0] * &x[0]).eval()];
    for seeds in [[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]] {
        nested.compute_adjoints(&[(&y[0], seeds[0]), (&y[1], seeds[1])]).expect("its own");
        assert_eq!(nested.adjoint(&x[0]), Ok(3.0 * seeds[0] + 4.0 * seeds[1]));
        assert_eq!(nested.adjoint(&x[1]), Ok(2.0 * seeds[0]));
    }
    let late = panic_of(&mut || _ = nested.input(1.0)); // it has ended
    assert!(late.contains("takes no inputs after"), "{late}");
    drop(nested);
    let unswept = pool.nested();
    let early = panic_of(&mut || _ = unswept.adjoint(&x[0]));
    assert!(early.contains("after `compute_adjoints`"), "{early}");
}
