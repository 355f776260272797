//! What a stage depends on must be among its inputs: a variable that comes in by another way is a panic that says so.

use super::everywhere::{close, everywhere, float};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use tapewright::checkpoint::{Stage, TimeLoop, closure_stage};
use tapewright::prelude::*;
use tapewright::schedule::{FullTape, Revolve};
use tapewright::{Number, pause, preaccumulate_by_reverse};

/// The text of a panic.
fn panics<R>(f: impl FnOnce() -> R) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).map(|_| ()).expect_err("a panic");
    let text = payload.downcast_ref::<String>().cloned();
    text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).expect("a text")
}

/// A panic that says what was not declared, and by its recording's number where it is from.
#[track_caller]
fn undeclared<S: Reverse, R>(of: &Real<S>, f: impl FnOnce() -> R) {
    let text = panics(f);
    let (number, _) = S::locate(of.id()).expect("an active variable");
    assert!(text.contains("a stage"), "{text}");
    assert!(text.contains(&format!("a variable of recording {number} that is not among its inputs")), "{text}");
    assert!(text.contains("must be declared as an input"), "{text}");
}

/// Runs `f` with variables of a recording, and checks that the recording goes on as if nothing had been.
fn in_a_recording<S: Reverse>(f: impl FnOnce(&Real<S>, &Real<S>)) {
    let mut tape = Tape::<S>::new();
    let (x, k, y) = tape.record(|scope| {
        let (x, k) = (scope.input(float(2.0)), scope.input(float(5.0)));
        let before = (&x * &k).eval();
        f(&x, &k);
        let y = (&before * &x).eval();
        (x, k, y)
    });
    assert_eq!((tape.memory().statements, tape.memory().usage("externals").used), (2, 0), "{}", tape.memory());
    let adjoints = tape.sweep(&[(&y, S::Value::ONE)]).expect("its own");
    assert_eq!([adjoints.of(&x), adjoints.of(&k)], [20.0, 4.0].map(|slope| Ok(float(slope))));
}

/// A variable that can be captured by a stage, whichever the strategy; its identifier may be one that is counted.
fn cell<S: Reverse>(variable: &Real<S>) -> Mutex<Real<S>> {
    Mutex::new(variable.clone())
}

fn get<S: Reverse>(cell: &Mutex<Real<S>>) -> Real<S> {
    cell.lock().expect("no panic while it is locked").clone()
}

fn a_captured_variable_is_refused<S: Reverse<Variable: Send>>() {
    // Used in a statement, with and without declared variables; in a function of slices; returned as it is.
    in_a_recording::<S>(|x, k| {
        let kept = cell(k);
        undeclared(k, || closure_stage(move |x: &Real<S>| (x * &get(&kept)).eval(), x));
    });
    in_a_recording::<S>(|x, k| {
        let kept = cell(k);
        undeclared(k, || closure_stage(move |x: &Real<S>| (get(&kept).sin() + x).eval(), x));
    });
    in_a_recording::<S>(|x, k| {
        let kept = cell(k);
        undeclared(k, || closure_stage(move |x: &Real<S>| tapewright::sum(&[x.clone(), get(&kept)]), x));
    });
    in_a_recording::<S>(|x, k| {
        let kept = cell(k);
        undeclared(k, || closure_stage(move |_: &Real<S>| get(&kept), x));
    });
    // Where all inputs are passive, too.
    in_a_recording::<S>(|_, k| {
        let kept = cell(k);
        undeclared(k, || closure_stage(move |x: &Real<S>| (x * &get(&kept)).eval(), &Real::constant(float(3.0))));
        let kept = cell(k);
        undeclared(k, || closure_stage(move |_: &Real<S>| get(&kept), &Real::constant(float(3.0))));
    });
}

/// Under reused identifiers, the last copy of the captured variable goes away inside the stage.
fn a_captured_variable_that_is_dropped_inside<S: Reverse<Variable: Send>>() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let (x, k) = (scope.input(float(2.0)), scope.input(float(5.0)));
        for used in [true, false] {
            let kept = Mutex::new(Some((&k * 3.0).sin().eval()));
            let stage = move |x: &Real<S>| {
                let k = kept.lock().expect("no panic while it is locked").take();
                let value = k.as_ref().map_or(float(1.0), Real::value);
                let y = if used { k.map(|k| (&k * x).eval()) } else { None };
                y.unwrap_or_else(|| (x * value.as_f64()).eval())
            };
            let ended = catch_unwind(AssertUnwindSafe(|| closure_stage(stage, &x)));
            assert_eq!(ended.is_err(), used);
        }
        // What its identifier was given to is not disturbed.
        let z = (&x * &k).eval();
        let y = closure_stage(|x: &Real<S>| (x * 2.0).eval(), &x);
        (x, (&y * &z).eval())
    });
    // 2x·xk
    let found = tape.sweep(&[(&y, S::Value::ONE)]).and_then(|adjoints| adjoints.of(&x));
    assert_eq!(found, Ok(float(4.0 * 2.0 * 5.0)));
}

fn preaccumulated_blocks_refuse_it_too<S: Reverse>() {
    in_a_recording::<S>(|x, k| {
        let inputs = [x.clone()];
        undeclared(k, || preaccumulate_by_reverse::<S, S, _, _>(&inputs, |[x]| (x * k).eval()));
        undeclared(k, || preaccumulate_by_reverse::<S, S, _, Real<S>>(&inputs, |_| k.clone()));
        let passive = [Real::<S>::constant(float(1.0))];
        undeclared(k, || preaccumulate_by_reverse::<S, S, _, Real<S>>(&passive, |_| k.clone()));
        undeclared(k, || preaccumulate_by_reverse::<S, S, _, _>(&passive, |[x]| (x * k).eval()));
    });
}

/// In a loop the steps that are recorded are not those that are run first: the sweep panics, and can be done again.
fn steps_of_a_loop_refuse_it_when_they_are_recorded<S: Reverse<Variable: Send>>() {
    for returned in [false, true] {
        let mut tape = Tape::<S>::new();
        let captured: std::sync::Arc<Mutex<Option<Real<S>>>> = std::sync::Arc::default();
        let (x, k, y) = tape.record(|scope| {
            let (x, k) = (scope.input(float(0.5)), scope.input(float(5.0)));
            let steal = std::sync::Arc::clone(&captured);
            let y = TimeLoop::<S>::new(Revolve::new(6, 2)).run(
                &(),
                &x,
                |_, (), u| u.sin().eval(),
                move |_, (), u| match &*steal.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
                    Some(k) if returned => k.clone(),
                    Some(k) => (u * k).eval(),
                    None => u.sin().eval(),
                },
            );
            (x, k, y.expect("no disk"))
        });
        let full = gradient::<S>(|x| (0..6).fold(x[0].clone(), |u, _| u.sin().eval()), &[float(0.5)]);
        for _ in 0..2 {
            assert_eq!(tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of(&x)), Ok(full[0]));
            *captured.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(k.clone());
            let text = panics(|| tape.sweep(&[(&y, S::Value::ONE)]).map(|_| ()));
            // Its recording has ended: that is why it is refused, whatever the stage.
            let (number, _) = S::locate(k.id()).expect("active");
            assert!(text.contains(&format!("variable of recording {number}")), "{text}");
            *captured.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
        }
    }
    // Recorded at once: in sight of the recording that it is from, it is still not declared.
    in_a_recording::<S>(|x, k| {
        let kept = cell(k);
        undeclared(k, || {
            TimeLoop::<S>::new(FullTape::new(3)).run(
                &(),
                x,
                |_, (), u| u.sin().eval(),
                move |_, (), u| (u * &get(&kept)).eval(),
            )
        });
    });
}

/// A stage that is recorded while an outer recording goes on, because the sweep is inside it.
fn a_sweep_inside_a_recording_hides_it<S: Reverse<Variable: Send>>() {
    in_a_recording::<S>(|_, k| {
        let mut inner = Tape::<S>::new();
        let kept = cell(k);
        let y = inner.record(|scope| {
            let x = scope.input(float(0.5));
            Stage::<S>::new().run(&x, |x| x.sin().eval(), move |x| (x * &get(&kept)).eval())
        });
        undeclared(k, || inner.sweep(&[(&y, S::Value::ONE)]).map(|_| ()));
    });
}

/// Passive variables, numbers and values of variables are constants.
fn constants_may_be_captured<S: Reverse<Variable: Send>>() {
    let found = gradient::<S>(
        |x| {
            let passive = cell(&Real::<S>::constant(float(3.0)));
            let (number, value) = (0.5, x[1].value().as_f64());
            // What is computed in a pause is passive.
            let paused = cell(&pause(|| (&x[1] * 2.0).eval()));
            closure_stage(
                move |x: &Real<S>| {
                    let nested: Real<S> = pause(|| (x * 1.0).eval());
                    ((x * &get(&passive) * number).sin() * value + x * &get(&paused) * &nested).eval()
                },
                &x[0],
            )
        },
        &[float(0.5), float(2.0)],
    );
    // 2·sin(1.5·x) + 4·x·(x as a constant).
    close(found[0], float(3.0 * 0.75_f64.cos() + 2.0), 16);
    assert_eq!(found[1], float(0.0));
}

everywhere!(
    a_captured_variable_is_refused,
    a_captured_variable_that_is_dropped_inside,
    preaccumulated_blocks_refuse_it_too,
    steps_of_a_loop_refuse_it_when_they_are_recorded,
    a_sweep_inside_a_recording_hides_it,
    constants_may_be_captured,
);
