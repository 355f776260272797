//! Loops without steps, loops in loops, loops on several threads, and misuse.

use crate::plans::{Chain, by_loop, inputs, on_one_tape, plans, record, reference, step, weigh};
use tapewright::Number as _;
use tapewright::checkpoint::{Stage, TimeLoop};
use tapewright::pause;
use tapewright::prelude::*;
use tapewright::schedule::{Mixed, Online, Revolve};
use tapewright::tape::AdjointVector;
use tapewright_kit_tests::panics::panic_of;
use tapewright_kit_tests::{all_close, float, for_each_mechanism, holds_results_only};

fn a_loop_without_steps_is_the_identity<S: Reverse>() {
    for plan in plans(0) {
        let mut tape = Tape::<S>::new();
        let (x, end) = tape.record(|scope| {
            let x = scope.inputs(&inputs());
            let end = by_loop(TimeLoop::new(plan.clone()), 0, &x).expect("nothing to store");
            (x, end)
        });
        assert_eq!(end.iter().map(Real::value).collect::<Vec<_>>(), inputs::<S::Value>()[1..]);
        for _ in 0..2 {
            let adjoints = tape.sweep_all(&end, &[2.0, 3.0, 5.0].map(float)).expect("its own");
            assert_eq!(adjoints.of_all(&x), Ok([0.0, 2.0, 3.0, 5.0].map(float).to_vec()));
        }
    }
}

fn a_loop_of_passive_inputs_records_nothing<S: Reverse>() {
    let (value, _) = reference::<S>(9);
    for plan in plans(9) {
        let mut tape = Tape::<S>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&inputs());
            let passive: Vec<Real<S>> = inputs().into_iter().map(Real::constant).collect();
            let end = by_loop(TimeLoop::new(plan.clone()), 9, &passive).expect("room for snapshots");
            assert!(end.iter().all(|u| S::locate(u.id()).is_none()));
            assert_eq!(weigh(&end).value(), value);
            let end = pause(|| by_loop(TimeLoop::new(plan.clone()), 9, &x)).expect("room for snapshots");
            assert!(end.iter().all(|u| S::locate(u.id()).is_none()));
            assert_eq!(weigh(&end).value(), value);
            (x, weigh(&end))
        });
        holds_results_only(&tape, 0);
        assert_eq!(tape.memory().usage("externals").used, 0);
        let adjoints = tape.sweep(&[(&y, S::Value::ONE)]).and_then(|a| a.of_all(&x));
        assert_eq!(adjoints, Ok(vec![float(0.0); 4]));
    }
}

for_each_mechanism!(a_loop_without_steps_is_the_identity, a_loop_of_passive_inputs_records_nothing);

/// A loop in each step of a loop.
#[test]
fn loops_in_loops() {
    type S = Hybrid<f64, Reuse>;
    const OUTER: usize = 5;
    const INNER: usize = 7;
    fn inner<T: Taping>(k: &Real<T>, u: &[Real<T>]) -> Vec<Real<T>> {
        on_one_tape(INNER, &[std::slice::from_ref(k), u].concat())
    }
    let full = gradient::<S>(|x| weigh(&(0..OUTER).fold(x[1..].to_vec(), |u, _| inner(&x[0], &u))), &inputs());
    for (outer, within) in plans(OUTER).into_iter().zip(plans(INNER).into_iter().rev()) {
        let looped = |x: &[Real<S>]| {
            let within = within.clone();
            let end = TimeLoop::<S>::new(outer.clone()).run_while(
                &x[0],
                &x[1..].to_vec(),
                |t, _| t < OUTER,
                |_, k, u| inner(k, u),
                move |_, k, u| {
                    let x = [std::slice::from_ref(k), u].concat();
                    by_loop::<S>(TimeLoop::new(within.clone()), INNER, &x).expect("room for snapshots")
                },
            );
            weigh(&end.expect("room for snapshots"))
        };
        all_close(&gradient::<S>(looped, &inputs()), &full, 500);
    }
}

#[test]
fn a_loop_in_a_stage_and_stages_in_a_loop() {
    type S = Hybrid<f64, Reuse>;
    let (_, full) = reference::<S>(12);
    let in_a_stage = gradient::<S>(
        |x| {
            let by_loop = |x: &Vec<Real<S>>| by_loop::<S>(TimeLoop::new(Revolve::new(12, 2)), 12, x).expect("no disk");
            weigh(&Stage::<S>::new().run(&x.to_vec(), |x| on_one_tape(12, x), by_loop))
        },
        &inputs(),
    );
    let of_stages = gradient::<S>(
        |x| {
            let end = TimeLoop::<S>::new(Mixed::new(12, 3)).run(
                &x[0],
                &x[1..].to_vec(),
                |t, k, u| step(t, k, u),
                |t, k, u| {
                    let both = (k.clone(), u.clone());
                    Stage::<S>::new().run(&both, move |(k, u)| step(t, k, u), move |(k, u)| step(t, k, u))
                },
            );
            weigh(&end.expect("no disk"))
        },
        &inputs(),
    );
    all_close(&in_a_stage, &full, 500);
    all_close(&of_stages, &full, 500);
}

#[test]
fn a_loop_of_unknown_length_needs_to_know_when_it_ends() {
    let mut tape = Tape::<Jacobian>::new();
    let (x, y) = tape.record(|scope| {
        let x = scope.inputs(&inputs());
        let text = panic_of(&mut || {
            let looped = TimeLoop::<Jacobian>::new(Online::new(3)).named("the weather");
            drop(looped.run(&(), &x[0], |_, (), u| u.sin().eval(), |_, (), u| u.sin().eval()));
        });
        assert!(text.contains("the weather") && text.contains("use `run_while`"), "{text}");
        let end = by_loop(TimeLoop::new(Online::new(3)), 20, &x).expect("no disk");
        (x, weigh(&end))
    });
    let (_, gradient) = reference::<Jacobian>(20);
    let found = tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of_all(&x)).expect("its own");
    all_close(&found, &gradient, 500);
}

/// The end of a loop may depend on its state; a second sweep has to come to the same end.
#[test]
fn a_loop_that_ends_where_its_state_says_so() {
    for (limit, steps) in [(0.4, 0), (0.8, 1), (100.0, 8)] {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.input(0.5);
            (x, Chain::Double.by_loop(TimeLoop::new(Online::new(2)), x, &|_, u| u < limit))
        });
        assert_eq!(y.value(), 0.5 * 2.0_f64.powi(steps));
        for _ in 0..2 {
            assert_eq!(tape.sweep(&[(&y, 1.0)]).and_then(|a| a.of(&x)), Ok(2.0_f64.powi(steps)));
        }
    }
}

#[test]
fn a_loop_that_ends_before_its_schedule_does_panics() {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let x = scope.inputs(&inputs());
        let text = panic_of(&mut || drop(by_loop(TimeLoop::new(Revolve::new(20, 3)), 7, &x)));
        assert!(text.contains("number of steps"), "{text}");
        let again = by_loop(TimeLoop::new(Revolve::new(20, 3)), 20, &x).expect("no disk");
        assert_eq!(weigh(&again).value(), reference::<Jacobian>(20).0);
    });
}

#[test]
fn a_state_that_changes_its_shape_panics() {
    let mut tape = Tape::<Jacobian>::new();
    tape.record(|scope| {
        let x = scope.inputs(&[0.5, 0.25]);
        let text = panic_of(&mut || {
            let looped = TimeLoop::<Jacobian>::new(Revolve::new(5, 2)).named("a growing list");
            drop(looped.run(&(), &x, |_, (), u| vec![u[0]; u.len() + 1], |_, (), u| vec![u[0]; u.len() + 1]));
        });
        assert!(text.contains("step 0 of a growing list") && text.contains("3 variables for one of 2"), "{text}");
    });
}

/// One recording, one loop, two sweeps at the same time: one goes on where the loop was, the other begins anew.
#[test]
fn two_threads_sweep_a_loop_at_the_same_time() {
    fn check<S: Reverse<Value = f64, Variable: Sync, Tape: Sync>>() {
        let (_, gradient) = reference::<S>(60);
        for plan in plans(60) {
            let recorded = record::<S>(TimeLoop::new(plan), 60).expect("room for snapshots");
            let barrier = std::sync::Barrier::new(3);
            std::thread::scope(|threads| {
                for seed in [1.0, 2.0, -4.0] {
                    let (tape, x, y, gradient, barrier) =
                        (&recorded.tape, &recorded.x, &recorded.y, &gradient, &barrier);
                    threads.spawn(move || {
                        barrier.wait();
                        for _ in 0..3 {
                            let mut adjoints = AdjointVector::new();
                            let found = tape.sweep_with(&mut adjoints, &[(y, seed)]).and_then(|a| a.of_all(x));
                            let expected: Vec<f64> = gradient.iter().map(|slope| seed * slope).collect();
                            all_close(&found.expect("its own"), &expected, 500);
                        }
                    });
                }
            });
        }
    }
    check::<Jacobian>();
    check::<Hybrid<f64, Reuse>>();
}
