//! Callbacks: adjoints that they read, and one object for many stages. That they are called where they were inserted is
//! tested by the conformance kit (`callbacks_in_order`).

use crate::stages::{exact, repeated_sin, stages};
use std::sync::{Arc, Mutex};
use tapewright::checkpoint::TapePool;
use tapewright::external::{Callback, CallbackAdjoints};
use tapewright::prelude::*;
use tapewright::{External, Number, SweepError};
use tapewright_kit_tests::{float, for_each_mechanism};

fn an_output_adjoint_is_read_once<S: Reverse>() {
    let read = Arc::new(Mutex::new(Vec::new()));
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[float(2.0), float(5.0)]);
        let read = Arc::clone(&read);
        let y =
            scope.insert_callback(&x, &[float(2.0), float(10.0)], move |adjoints: &mut CallbackAdjoints<S::Value>| {
                assert_eq!((adjoints.inputs(), adjoints.outputs()), (2, 2));
                let both = [0, 1].map(|k| adjoints.get_and_reset_output(k));
                let again = [0, 1].map(|k| adjoints.get_and_reset_output(k));
                read.lock().expect("no panic").push((both.map(Number::as_f64), again.map(Number::as_f64)));
                adjoints.increment_input(0, both[0]);
                adjoints.increment_input(0, float::<S::Value>(5.0) * both[1]);
                adjoints.increment_input(1, float::<S::Value>(2.0) * both[1]);
                Ok(())
            });
        (x, y)
    });
    for seeds in [[1.0, 0.0], [0.25, 4.0]] {
        let adjoints = tape.sweep_all(&y, &seeds.map(float)).expect("its own");
        let found = adjoints.of_all(&x).expect("its own");
        assert_eq!(found, [seeds[0] + 5.0 * seeds[1], 2.0 * seeds[1]].map(float::<S::Value>));
        assert_eq!(read.lock().expect("no panic").pop(), Some((seeds, [0.0; 2])));
        // Nothing is left at the outputs for the next one.
    }
    // Where nothing arrives there is nothing to do.
    tape.sweep(&[(&x[0], S::Value::ONE)]).expect("its own");
    assert_eq!(read.lock().expect("no panic").pop(), None);
}

/// Adjoints that a callback does not ask for are forgotten, and do not arrive at its inputs.
fn an_output_adjoint_that_is_not_read_is_forgotten<S: Reverse>() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(2.0));
        let callback = |_: &mut CallbackAdjoints<S::Value>| Ok(());
        let mut y = x.clone();
        for _ in 0..3 {
            y = scope.insert_callback(&[y], &[float(2.0)], callback).remove(0);
        }
        let y = (&y * &x).eval();
        (x, y)
    });
    assert_eq!(tape.sweep(&[(&y, float(1.0))]).and_then(|a| a.of(&x)), Ok(float(2.0)));
}

for_each_mechanism!(an_output_adjoint_is_read_once, an_output_adjoint_that_is_not_read_is_forgotten);

/// One object for all stages, as the literature has it. There its stacks are popped by a sweep; here a stage is known by
/// its number, so that a second sweep finds it, too.
#[derive(Default)]
struct Sines {
    stages: Mutex<Vec<(usize, f64)>>,
    pool: TapePool<Jacobian>,
}

impl Sines {
    fn reverse(&self, k: usize, adjoints: &mut CallbackAdjoints<f64>) -> Result<(), SweepError> {
        let (n, x) = self.stages.lock().expect("no panic")[k];
        let seed = adjoints.get_and_reset_output(0);
        let mut nested = self.pool.nested();
        let x = nested.input(x);
        let y = repeated_sin(n, &x);
        let swept = nested.compute_adjoints(&[(&y, seed)]).and_then(|()| nested.adjoint(&x));
        adjoints.increment_input(0, swept.map_err(|error| SweepError::rule("sines", error))?);
        Ok(())
    }
}

/// An object for each stage.
struct Stage(Arc<Sines>, usize);

impl Callback<f64> for Stage {
    fn compute_adjoint(&self, adjoints: &mut CallbackAdjoints<'_, f64>) -> Result<(), SweepError> {
        self.0.reverse(self.1, adjoints)
    }
}

/// In the order of the literature: tape, input, recording, stages, output, seed, sweep, result.
#[test]
fn stages_may_be_callbacks_of_one_object_or_of_many() {
    for (n, one_object) in [0, 1, 3, 4, 5, 1000].into_iter().flat_map(|n| [(n, true), (n, false)]) {
        let sines = Arc::new(Sines::default());
        let mut recording = Tape::<Jacobian>::new().start();
        let mut scope = recording.scope();
        let x = scope.input(0.7);
        let mut y = x;
        for (k, m) in stages(n).enumerate() {
            sines.stages.lock().expect("no panic").push((m, y.value()));
            let value = repeated_sin(m, &Real::<Passive>::constant(y.value())).value();
            let this = Arc::clone(&sines);
            y = if one_object {
                scope.insert_callback(&[y], &[value], move |a: &mut CallbackAdjoints<f64>| this.reverse(k, a))[0]
            } else {
                scope.insert_callback(&[y], &[value], Stage(this, k))[0]
            };
        }
        let mut tape = recording.finish();
        let (value, slope) = exact(n, 0.7);
        assert_eq!(y.value(), value);
        for seed in [1.0, -2.0] {
            assert_eq!(tape.sweep(&[(&y, seed)]).and_then(|a| a.of(&x)), Ok(seed * slope), "{n} sines");
        }
        drop(tape);
        assert_eq!(Arc::strong_count(&sines), 1, "the tape's are gone with it");
    }
}

/// The trait's default name is the type's.
#[test]
fn callbacks_have_names() {
    struct Unnamed;
    impl Callback<f64> for Unnamed {
        fn compute_adjoint(&self, _: &mut CallbackAdjoints<'_, f64>) -> Result<(), SweepError> {
            Err(SweepError::rule(Callback::name(self), "on purpose"))
        }
    }
    let mut tape = Tape::<Jacobian>::new();
    let y = tape.record(|scope| {
        let x = scope.input(1.0);
        scope.insert_callback(&[x], &[1.0], Unnamed)[0]
    });
    let error = tape.sweep(&[(&y, 1.0)]).expect_err("on purpose").to_string();
    assert!(error.contains("Unnamed") && error.contains("on purpose"), "{error}");
    let rule: Box<dyn External<f64>> = Box::new(tapewright::Rules::new("a name", |_, _| Ok(())));
    assert_eq!(rule.name(), "a name");
}
