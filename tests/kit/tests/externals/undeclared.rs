//! Variables that a stage depends on must be among its inputs: one that comes in by another way is a panic that says so.

use std::sync::{Arc, Mutex, PoisonError};
use tapewright::checkpoint::{Stage, TimeLoop, closure_stage};
use tapewright::prelude::*;
use tapewright::schedule::{FullTape, Revolve};
use tapewright::{Error, Number, pause, preaccumulate_by_reverse};
use tapewright_kit_tests::panics::{panic_of, panics};
use tapewright_kit_tests::{close, float, for_each_mechanism};

/// A panic that says what was not declared, and by its recording's number where it is from.
#[track_caller]
fn undeclared<S: Reverse>(of: &Real<S>, f: &mut dyn FnMut()) {
    let text = panic_of(f);
    let (number, _) = S::locate(of.id()).expect("an active variable");
    assert!(text.contains("a stage"), "{text}");
    assert!(text.contains(&format!("a variable of recording {number} that is not among its inputs")), "{text}");
    assert!(text.contains("must be declared as an input"), "{text}");
}

/// Runs `f` with variables of a recording, and checks that the recording goes on as if nothing had been.
fn in_a_recording<S: Reverse>(f: &dyn Fn(&Real<S>, &Real<S>)) {
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

/// A variable that a stage captures, if there is one; its identifier may be one that is counted.
type Captured<S> = Arc<Mutex<Option<Real<S>>>>;

fn cell<S: Reverse>(variable: &Real<S>) -> Captured<S> {
    Arc::new(Mutex::new(Some(variable.clone())))
}

fn get<S: Reverse>(cell: &Captured<S>) -> Option<Real<S>> {
    cell.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Uses of a captured variable beside a declared one.
#[derive(Clone, Copy)]
enum Use {
    InAStatement,
    InASlice,
    Returned,
}

/// sin x, or something with a captured variable.
fn sine<S: Reverse>(x: &Real<S>, captured: &Captured<S>, how: Use) -> Real<S> {
    match (get(captured), how) {
        (None, _) => x.sin().eval(),
        (Some(k), Use::InAStatement) => (x * &k).eval(),
        (Some(k), Use::InASlice) => tapewright::sum(&[x.clone(), k]),
        (Some(k), Use::Returned) => k,
    }
}

fn a_captured_variable_is_refused<S: Reverse<Variable: Send>>() {
    in_a_recording::<S>(&|x, k| {
        for how in [Use::InAStatement, Use::InASlice, Use::Returned] {
            // Where all inputs are passive, too.
            for x in [x.clone(), Real::constant(float(3.0))] {
                let kept = cell(k);
                let stage = move |x: &Real<S>| sine(x, &kept, how);
                undeclared(k, &mut || drop(closure_stage(stage.clone(), &x)));
            }
        }
    });
}

/// Under reused identifiers, the last copy of the captured variable goes away inside the stage.
fn a_captured_variable_that_is_dropped_inside<S: Reverse<Variable: Send>>() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        let (x, k) = (scope.input(float(2.0)), scope.input(float(5.0)));
        for used in [true, false] {
            let kept = cell(&(&k * 3.0).sin().eval());
            let stage = move |x: &Real<S>| {
                let k = kept.lock().expect("no panic while it is locked").take();
                let value = k.as_ref().map_or(float(1.0), Real::value);
                let y = if used { k.map(|k| (&k * x).eval()) } else { None };
                y.unwrap_or_else(|| (x * value.as_f64()).eval())
            };
            assert_eq!(panics(&mut || drop(closure_stage(stage.clone(), &x))), used);
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

#[test]
fn preaccumulated_blocks_refuse_it_too() {
    type S = Hybrid<f64, Reuse>;
    in_a_recording::<S>(&|x, k| {
        let inputs = [x.clone()];
        undeclared(k, &mut || _ = preaccumulate_by_reverse::<S, S, _, _>(&inputs, |[x]| (x * k).eval()));
        undeclared(k, &mut || _ = preaccumulate_by_reverse::<S, S, _, Real<S>>(&inputs, |_| k.clone()));
        let passive = [Real::<S>::constant(1.0)];
        undeclared(k, &mut || _ = preaccumulate_by_reverse::<S, S, _, Real<S>>(&passive, |_| k.clone()));
        undeclared(k, &mut || _ = preaccumulate_by_reverse::<S, S, _, _>(&passive, |[x]| (x * k).eval()));
    });
}

/// A loop of a state without parameters.
fn looped<S: Reverse<Variable: Send>>(
    looped: TimeLoop<S>,
    x: &Real<S>,
    captured: &Captured<S>,
    how: Use,
) -> Result<Real<S>, Error> {
    let captured = Arc::clone(captured);
    looped.run(&(), x, |_, (), u| u.sin().eval(), move |_, (), u| sine(u, &captured, how))
}

/// In a loop the steps that are recorded are not those that are run first: the sweep panics, and can be done again.
#[test]
fn steps_of_a_loop_refuse_it_when_they_are_recorded() {
    type S = Hybrid<f64, Reuse>;
    for how in [Use::InAStatement, Use::Returned] {
        let mut tape = Tape::<S>::new();
        let captured = Captured::<S>::default();
        let (x, k, y) = tape.record(|scope| {
            let (x, k) = (scope.input(0.5), scope.input(5.0));
            let y = looped(TimeLoop::new(Revolve::new(6, 2)), &x, &captured, how).expect("no disk");
            (x, k, y)
        });
        let full = gradient::<S>(|x| (0..6).fold(x[0].clone(), |u, _| u.sin().eval()), &[0.5]);
        for _ in 0..2 {
            assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)), Ok(full[0]));
            *captured.lock().unwrap_or_else(PoisonError::into_inner) = Some(k.clone());
            let text = panic_of(&mut || _ = tape.sweep(&[(&y, 1.0)]));
            // Its recording has ended: that is why it is refused, whatever the stage.
            let (number, _) = S::locate(k.id()).expect("active");
            assert!(text.contains(&format!("variable of recording {number}")), "{text}");
            *captured.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
    // Recorded at once: in sight of the recording that it is from, it is still not declared.
    in_a_recording::<S>(&|x, k| {
        let loop_of_three = || looped(TimeLoop::new(FullTape::new(3)), x, &cell(k), Use::InAStatement);
        undeclared(k, &mut || drop(loop_of_three()));
    });
}

/// A stage that is recorded while an outer recording goes on, because the sweep is inside it.
#[test]
fn a_sweep_inside_a_recording_hides_it() {
    type S = Hybrid<f64, Reuse>;
    in_a_recording::<S>(&|_, k| {
        let mut inner = Tape::<S>::new();
        let kept = cell(k);
        let y = inner.record(|scope| {
            let x = scope.input(0.5);
            Stage::<S>::new().run(&x, |x| x.sin().eval(), move |x| sine(x, &kept, Use::InAStatement))
        });
        undeclared(k, &mut || _ = inner.sweep(&[(&y, 1.0)]));
    });
}

/// Passive variables, numbers and values of variables are constants.
#[test]
fn constants_may_be_captured() {
    type S = Hybrid<f64, Reuse>;
    let found = gradient::<S>(
        |x| {
            let passive = cell(&Real::<S>::constant(3.0));
            let (number, value) = (0.5, x[1].value());
            // What is computed in a pause is passive.
            let paused = cell(&pause(|| (&x[1] * 2.0).eval()));
            closure_stage(
                move |x: &Real<S>| {
                    let nested: Real<S> = pause(|| (x * 1.0).eval());
                    ((x * &get(&passive).expect("a constant") * number).sin() * value
                        + x * &get(&paused).expect("a constant") * &nested)
                        .eval()
                },
                &x[0],
            )
        },
        &[0.5, 2.0],
    );
    // 2·sin(1.5·x) + 4·x·(x as a constant).
    close(found[0], 3.0 * 0.75_f64.cos() + 2.0, 16);
    assert_eq!(found[1], 0.0);
}

for_each_mechanism!(a_captured_variable_is_refused, a_captured_variable_that_is_dropped_inside);
