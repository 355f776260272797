//! Stages and time loops whose states are views.

use tapewright::checkpoint::{Stage, TimeLoop, closure_stage};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::schedule::{Equidistant, FullTape, Mixed, Multistage, Online, Revolve, Schedule};
use tapewright::storage::SpillOptions;
use tapewright::{Error, SweepError, checkpoint, preaccumulate};
use tapewright_test_support::panic_message;

const SHAPE: [usize; 2] = [9, 11];

/// A field that moves with a wind, and a sum that it leaves behind.
struct State<S: Taping> {
    field: View<S, 2>,
    total: Real<S>,
}
tapewright::variables!(State { field, total });

/// How fast heat flows, everywhere, and a wind.
struct Medium<S: Taping> {
    diffusivity: View<S, 2>,
    wind: Real<S>,
}
tapewright::variables!(Medium { diffusivity, wind });

fn step<S: Taping<Value = f64>>(medium: &Medium<S>, state: &State<S>) -> State<S> {
    let mut field = state.field.clone();
    let range = field.interior(1);
    parallel_for(range, (&mut field, &medium.diffusivity, &medium.wind), |(u, k, w)| {
        let around = u.at::<0, 1>() + u.at::<0, -1>() + u.at::<1, 0>() + u.at::<-1, 0>() - 4.0 * u.at::<0, 0>();
        (u.at::<0, 0>() + k.at::<0, 0>() * around - w * u.at::<0, 0>() * (u.at::<0, 0>() - u.at::<0, -1>()),)
    });
    let total = parallel_sum(field.all(), &field, |u| u.at::<0, 0>().square());
    State { field, total: (&state.total + 0.125 * total).into() }
}

fn numbers(seed: usize) -> Vec<f64> {
    (0..SHAPE[0] * SHAPE[1]).map(|k| 0.1 + ((k * 37 + seed * 11) % 17) as f64 * 0.02).collect()
}

fn inputs<S: Reverse<Value = f64>>(scope: &mut tapewright::Scope<'_, S>) -> (Medium<S>, State<S>) {
    let medium = Medium { diffusivity: scope.view(SHAPE, &numbers(1)), wind: scope.input(0.3) };
    (medium, State { field: scope.view(SHAPE, &numbers(2)), total: scope.input(0.5) })
}

fn outcome<S: Taping<Value = f64>>(state: &State<S>) -> Real<S> {
    let end = parallel_sum(state.field.all(), &state.field, |u| u.at::<0, 0>().powi(3));
    (&state.total * end).into()
}

/// Value and all adjoints.
fn gradient_of<S: Reverse<Value = f64>>(loop_over: impl Fn(&Medium<S>, &State<S>) -> State<S>) -> (f64, Vec<f64>) {
    let mut tape = Tape::<S>::new();
    let (medium, state, y) = tape.record(|scope| {
        let (medium, state) = inputs(scope);
        let y = outcome(&loop_over(&medium, &state));
        (medium, state, y)
    });
    let adjoints = tape.sweep(&[(&y, 1.0)]).expect("swept");
    let mut all = adjoints.of_view(&medium.diffusivity).expect("ours").to_vec();
    all.extend_from_slice(&adjoints.of_view(&state.field).expect("ours"));
    all.push(adjoints.of(&medium.wind).expect("ours"));
    all.push(adjoints.of(&state.total).expect("ours"));
    (y.value(), all)
}

fn all_at_once<S: Reverse<Value = f64>>(steps: usize) -> (f64, Vec<f64>) {
    gradient_of::<S>(|medium, start| {
        let first = State { field: start.field.clone(), total: start.total.clone() };
        (0..steps).fold(first, |state, _| step(medium, &state))
    })
}

#[track_caller]
fn same((y, gradient): &(f64, Vec<f64>), (z, expected): &(f64, Vec<f64>)) {
    assert_eq!(y.to_bits(), z.to_bits());
    for (k, (found, expected)) in gradient.iter().zip(expected).enumerate() {
        // The adjoint of the wind and of the diffusivity is added up in another order.
        assert!((found - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{k}: {found} and {expected}");
    }
    assert!(gradient.iter().filter(|slope| **slope != 0.0).count() > 150, "a gradient of many numbers");
}

fn in_a_loop<S: Reverse<Value = f64>>(settings: impl Fn() -> TimeLoop<S>) -> (f64, Vec<f64>) {
    gradient_of::<S>(|medium, state| {
        let run = settings().run(medium, state, |_, m, s| step(m, s), |_, m, s| step(m, s));
        run.expect("the loop runs")
    })
}

#[test]
fn every_schedule_gives_the_gradient_of_the_full_tape() {
    fn check(schedule: impl Schedule + Clone + Send + Sync + 'static, expected: &(f64, Vec<f64>)) {
        same(&in_a_loop::<Jacobian>(|| TimeLoop::new(schedule.clone())), expected);
    }
    let expected = all_at_once::<Jacobian>(13);
    check(FullTape::new(13), &expected);
    check(Equidistant::new(13, 4), &expected);
    check(Revolve::new(13, 3), &expected);
    check(Multistage::new(13, 2, 2), &expected);
    check(Mixed::new(13, 4), &expected);
    let online = gradient_of::<Jacobian>(|medium, state| {
        let time_loop = TimeLoop::<Jacobian>::new(Online::new(3));
        let go_on = |number: usize, state: &State<Passive>| number < 13 && state.field.values()[12].is_finite();
        time_loop.run_while(medium, state, go_on, |_, m, s| step(m, s), |_, m, s| step(m, s)).expect("it runs")
    });
    same(&online, &expected);
    same(&in_a_loop::<PrimalValue>(|| TimeLoop::new(Revolve::new(13, 3))), &all_at_once::<PrimalValue>(13));
}

#[test]
fn states_go_to_disk_and_come_back() {
    let loop_on_disk = || TimeLoop::new(Multistage::new(12, 1, 3)).disk(SpillOptions::default());
    same(&in_a_loop::<Jacobian>(loop_on_disk), &all_at_once::<Jacobian>(12));
}

#[test]
fn a_recording_of_a_loop_keeps_no_step() {
    let memory = |settings: Option<usize>| {
        let mut tape = Tape::<Jacobian>::new();
        tape.record(|scope| {
            let (shape, ones) = ([100, 100], vec![1.0; 10_000]);
            let medium = Medium { diffusivity: View::filled(shape, 0.1), wind: scope.input(0.3) };
            let state = State { field: scope.view(shape, &ones), total: scope.input(0.5) };
            match settings {
                None => drop((0..64).fold(state, |state, _| step(&medium, &state))),
                Some(slots) => {
                    let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(64, slots));
                    drop(time_loop.run(&medium, &state, |_, m, s| step(m, s), |_, m, s| step(m, s)).expect("it runs"));
                }
            }
        });
        tape.memory().total().used
    };
    let (full, checkpointed) = (memory(None), memory(Some(4)));
    // Of 64 states of 80 kB each, four, the present one and a few for the step that is recorded.
    assert!(checkpointed * 5 < full, "{checkpointed} and {full} bytes");
}

#[test]
fn a_second_sweep_of_a_loop_gives_the_same_bits() {
    let mut tape = Tape::<Jacobian>::new();
    let (state, y) = tape.record(|scope| {
        let (medium, state) = inputs(scope);
        let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(9, 2));
        let end = time_loop.run(&medium, &state, |_, m, s| step(m, s), |_, m, s| step(m, s)).expect("it runs");
        (state, outcome(&end))
    });
    let first = tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&state.field).expect("ours").to_vec();
    let second = tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&state.field).expect("ours").to_vec();
    assert_eq!(first, second);
}

#[test]
fn stages_with_views_have_the_gradient_of_what_they_leave_out() {
    let expected = all_at_once::<Jacobian>(3);
    let stages = gradient_of::<Jacobian>(|medium, start| {
        let state = State { field: start.field.clone(), total: start.total };
        (0..3).fold(state, |state, _| {
            let medium = Medium { diffusivity: medium.diffusivity.clone(), wind: medium.wind };
            let (medium, state): (Medium<Jacobian>, State<Jacobian>) = (medium, state);
            let both = (medium, state);
            Stage::<PrimalValue>::new().run(&both, |(m, s)| step(m, s), |(m, s)| step(m, s))
        })
    });
    same(&stages, &expected);
    let closures = gradient_of::<Jacobian>(|medium, start| {
        let both = (
            Medium { diffusivity: medium.diffusivity.clone(), wind: medium.wind },
            State { field: start.field.clone(), total: start.total },
        );
        closure_stage(
            |(medium, state): &(Medium<Jacobian>, State<Jacobian>)| step(medium, &step(medium, &step(medium, state))),
            &both,
        )
    });
    same(&closures, &expected);
}

#[test]
fn tangents_go_through_stages_and_loops() {
    let directions = |k: usize| numbers(3 + k);
    let field = |k: usize| View::<Tangent<1>, 2>::moving(SHAPE, &numbers(2), move |_| directions(k));
    let medium =
        || Medium::<Tangent<1>> { diffusivity: View::new(SHAPE, &numbers(1)), wind: Real::with_tangent(0.3, [0.25]) };
    let start = |k: usize| State { field: field(k), total: Real::constant(0.5) };
    let plain = outcome(&(0..7).fold(start(0), |state, _| step(&medium(), &state)));
    let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(7, 2));
    let end = time_loop.run(&medium(), &start(0), |_, m, s| step(m, s), |_, m, s| step(m, s)).expect("it runs");
    let looped = outcome(&end);
    assert_eq!(plain.value().to_bits(), looped.value().to_bits());
    let ([found], [expected]) = (looped.tangent(), plain.tangent());
    assert!((found - expected).abs() <= 1e-13 * expected.abs(), "{found} and {expected}");

    // On a recording, by jvp.
    let mut tape = Tape::<Jacobian>::new();
    let (x, y, z) = tape.record(|scope| {
        let x = scope.input(0.3);
        let make = |x: &Real<Jacobian>| {
            let diffusivity = View::new(SHAPE, &numbers(1));
            let medium = Medium { diffusivity, wind: *x };
            (medium, State { field: View::new(SHAPE, &numbers(2)), total: Real::constant(0.5) })
        };
        let (medium, state) = make(&x);
        let plain = outcome(&(0..4).fold(state, |state, _| step(&medium, &state)));
        let (medium, state) = make(&x);
        let time_loop = TimeLoop::<Jacobian>::new(Equidistant::new(4, 2));
        let end = time_loop.run(&medium, &state, |_, m, s| step(m, s), |_, m, s| step(m, s)).expect("it runs");
        (x, plain, outcome(&end))
    });
    let slopes = tape.jvp(&[(&x, 1.0)], &[&y, &z]).expect("swept");
    assert!((slopes[0] - slopes[1]).abs() <= 1e-13 * slopes[0].abs() && slopes[0] != 0.0, "{slopes:?}");
}

#[test]
fn passive_and_paused_loops_keep_nothing() {
    let mut tape = Tape::<Jacobian>::new();
    let end = tape.record(|scope| {
        let (medium, state) = inputs(scope);
        tapewright::pause(|| checkpoint!(Jacobian, &(medium, state), |(m, s)| step(m, s)))
    });
    assert!(!end.field.is_active());
    assert_eq!(tape.memory().statements, 0);
    let medium = Medium::<Passive> { diffusivity: View::new(SHAPE, &numbers(1)), wind: 0.3.into() };
    let state = State { field: View::new(SHAPE, &numbers(2)), total: 0.5.into() };
    let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(5, 2));
    let end = time_loop.run(&medium, &state, |_, m, s| step(m, s), |_, m, s| step(m, s)).expect("it runs");
    let expected = (0..5).fold(state, |state, _| step(&medium, &state));
    assert_eq!(end.field.values(), expected.field.values());
}

#[test]
fn a_stage_that_returns_a_view_from_elsewhere_is_refused() {
    let said = panic_message(|| {
        Tape::<Jacobian>::new().record(|scope| {
            let (x, other) = (scope.view([2], &[1.0, 2.0]), scope.view([2], &[3.0, 4.0]));
            closure_stage(move |_: &View<Jacobian, 1>| -> View<Jacobian, 1> { other.clone() }, &x)
        })
    });
    assert!(said.contains("not among its inputs"), "{said}");
}

#[test]
fn a_stage_that_computes_something_else_the_second_time_is_an_error() {
    let mut tape = Tape::<Jacobian>::new();
    let y = tape.record(|scope| {
        let x = scope.view([3], &[1.0, 2.0, 3.0]);
        let doubled = |factor: f64| {
            move |x: &View<Passive, 1>| {
                let mut y = x.clone();
                parallel_for(y.all(), &mut y, |y| (factor * y.at::<0>(),));
                y
            }
        };
        let other = |x: &View<Jacobian, 1>| {
            let mut y = x.clone();
            parallel_for(y.all(), &mut y, |y| (3.0 * y.at::<0>(),));
            y
        };
        let y = Stage::<Jacobian>::new().named("twice").run(&x, doubled(2.0), other);
        parallel_sum(y.all(), &y, |y| y.at::<0>())
    });
    let error = tape.sweep(&[(&y, 1.0)]).expect_err("it is not the same");
    assert!(matches!(&error, Error::Sweep(SweepError::NotReproducible { stage, .. }) if stage == "twice"), "{error}");
}

fn shrink<S: Taping>(x: &View<S, 1>) -> View<S, 1> {
    x.slice(0..x.len() - 1)
}

#[test]
fn a_state_whose_views_change_their_shape_is_refused() {
    let said = panic_message(|| {
        Tape::<Jacobian>::new().record(|scope| {
            let x = scope.view([4], &[1.0; 4]);
            TimeLoop::<Jacobian>::new(Revolve::new(2, 1))
                .run(&(), &x, |_, (), x| shrink(x), |_, (), x| shrink(x))
                .map(drop)
        })
    });
    assert!(said.contains("other views than the first"), "{said}");
}

#[test]
fn preaccumulated_blocks_refuse_views() {
    let said = panic_message(|| {
        Tape::<Jacobian>::new().record(|scope| {
            let x = scope.input(1.0);
            preaccumulate(&[x], |[x]| View::of_variables([1], core::slice::from_ref(x)))
        })
    });
    assert!(said.contains("no views"), "{said}");
}

#[test]
fn stages_whose_inputs_are_views_alone_share_tapes() {
    let nested = |stages: usize| {
        let mut tape = Tape::<Jacobian>::new();
        let (x, y) = tape.record(|scope| {
            let x = scope.view([100], &[0.5; 100]);
            let mut u = x.clone();
            for _ in 0..stages {
                u = tapewright::checkpoint!(Jacobian, &u, square);
            }
            (x, parallel_sum(u.all(), &u, |u| u.at::<0>()))
        });
        tape.sweep(&[(&y, 1.0)]).expect("swept").of_view(&x).expect("x");
        tape.memory().usage("nested").reserved
    };
    let two = nested(2);
    assert!(two > 0, "the tape of a stage belongs to the recording");
    assert_eq!(nested(20), two);
}

fn square<S: Taping>(x: &View<S, 1>) -> View<S, 1> {
    let mut y = x.clone();
    parallel_for(x.all(), &mut y, |y| (y.at::<0>() * y.at::<0>(),));
    y
}
