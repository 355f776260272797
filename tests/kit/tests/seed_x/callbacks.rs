//! Callbacks among statements: rows X8, X9 and X10.

use crate::everywhere::{close, everywhere, float};
use std::sync::{Arc, Mutex};
use tapewright::external::CallbackAdjoints;
use tapewright::prelude::*;
use tapewright::{Number, Scope};

/// x² by a callback, whose slope the sweep sees, and a list of what it saw.
fn square<S: Reverse>(scope: &mut Scope<S>, x: &Real<S>, name: usize, seen: &Arc<Mutex<Vec<(usize, f64)>>>) -> Real<S> {
    let (at, seen) = (x.value(), Arc::clone(seen));
    let outputs =
        scope.insert_callback(std::slice::from_ref(x), &[at * at], move |adjoints: &mut CallbackAdjoints<S::Value>| {
            assert_eq!((adjoints.inputs(), adjoints.outputs()), (1, 1));
            let seed = adjoints.get_and_reset_output(0);
            seen.lock().expect("no panic").push((name, seed.as_f64()));
            adjoints.increment_input(0, (at + at) * seed);
            Ok(())
        });
    outputs.into_iter().next().expect("one output")
}

fn x8_a_variable_that_is_input_and_output_is_not_registered_again<S: Reverse>() {
    let seen = Arc::default();
    let mut tape = Tape::<S>::new();
    // The value and slope of x ← (2x)², three times.
    let exact = (0..3).fold((0.5, 1.0), |(x, dx), _| (4.0 * x * x, 8.0 * x * dx));
    let (start, x) = tape.record(|scope| {
        let start = scope.input(float(0.5));
        let mut x = start.clone();
        for k in 0..3 {
            x *= 2.0;
            x = square(scope, &x, k, &seen); // what was in x is gone, and with it its identifier where those are reused
        }
        (start, x)
    });
    assert_eq!(x.value().as_f64(), exact.0);
    for _ in 0..2 {
        let slope = tape.sweep(&[(&x, S::Value::ONE)]).and_then(|a| a.of(&start)).expect("its own");
        close(slope, float(exact.1), 16);
    }
}

fn x9_callbacks_are_called_where_they_were_inserted<S: Reverse>() {
    let seen = Arc::default();
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(float(1.5));
        observe(scope, 0, &seen);
        let a = (&x * 2.0).eval(); // 3
        let b = square(scope, &a, 1, &seen); // 9
        observe(scope, 2, &seen);
        observe(scope, 3, &seen);
        let c = (&b * 0.5).eval(); // 4.5
        let d = square(scope, &c, 4, &seen); // 20.25
        let e = square(scope, &c, 5, &seen);
        let y = (&d * 3.0 + &e + &x).eval();
        observe(scope, 6, &seen);
        (x, y)
    });
    for _ in 0..2 {
        let slope = tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)).expect("its own");
        assert_eq!(slope.as_f64(), 4.0 * 9.0 * 0.5 * 6.0 * 2.0 + 1.0);
        // From the end: those without outputs whatever is seeded, the others with what the statements behind them left.
        let order = [(6, 0.0), (5, 1.0), (4, 3.0), (3, 0.0), (2, 0.0), (1, 18.0), (0, 0.0)];
        assert_eq!(std::mem::take(&mut *seen.lock().expect("no panic")), order);
    }
    // Where nothing was seeded, callbacks with outputs have nothing to do.
    tape.sweep(&[(&x, S::Value::ONE)]).expect("its own");
    assert_eq!(*seen.lock().expect("no panic"), [(6, 0.0), (3, 0.0), (2, 0.0), (0, 0.0)]);
}

/// A callback without inputs and outputs.
fn observe<S: Reverse>(scope: &mut Scope<S>, name: usize, seen: &Arc<Mutex<Vec<(usize, f64)>>>) {
    let seen = Arc::clone(seen);
    let none = scope.insert_callback(&[], &[], move |adjoints: &mut CallbackAdjoints<S::Value>| {
        assert_eq!((adjoints.inputs(), adjoints.outputs()), (0, 0));
        seen.lock().expect("no panic").push((name, 0.0));
        Ok(())
    });
    assert!(none.is_empty());
}

fn x10_an_output_adjoint_is_read_once<S: Reverse>() {
    let read = Arc::new(Mutex::new(Vec::new()));
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&[float(2.0), float(5.0)]);
        let read = Arc::clone(&read);
        let y =
            scope.insert_callback(&x, &[float(2.0), float(10.0)], move |adjoints: &mut CallbackAdjoints<S::Value>| {
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
}

/// Adjoints that a callback does not ask for are forgotten, and do not arrive at its inputs.
fn x10_an_output_adjoint_that_is_not_read_is_forgotten<S: Reverse>() {
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

everywhere!(
    x8_a_variable_that_is_input_and_output_is_not_registered_again,
    x9_callbacks_are_called_where_they_were_inserted,
    x10_an_output_adjoint_is_read_once,
    x10_an_output_adjoint_that_is_not_read_is_forgotten,
);
