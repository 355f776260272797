//! Stages, time loops and preaccumulated blocks in recordings that are computed again: they are recorded where they are
//! called.

use crate::beside_tapes::BesideTapes;
use crate::{COUNT, datum};
use tapewright::checkpoint::{Stage, TimeLoop, closure_stage};
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::programs::{Program, ProgramReal, scenarios};
use tapewright::schedule::Revolve;
use tapewright::strategies::{Instructions, Replay};
use tapewright::{Error, SweepError, checkpoint, preaccumulate, preaccumulate_by_reverse};

fn waves<S: Taping<Value = f64>>(steps: usize, x: &Real<S>) -> Real<S> {
    (0..steps).fold(x.clone(), |x, k| (x.sin() * (1.5 - 0.1 * k as f64)).into())
}

/// The functions of the tests are rows: their name, parameters and data, values, and the number of recordings.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident($p:ident, $d:ident) $body:block in $recordings:literal)*) => {
        $(
            $(#[$doc])*
            fn $name<S: Reverse<Value = f64>>($p: &[Real<S>], $d: &[Real<S>]) -> Vec<Real<S>> $body
        )*
        const ROWS: &[(&str, usize)] = &[$((stringify!($name), $recordings)),*];
        fn all<S: Reverse<Value = f64>>(index: usize, p: &[Real<S>], d: &[Real<S>]) -> Vec<Real<S>> {
            [$($name::<S>),*][index](p, d)
        }
    };
}

functions! {
    a_stage(p, d) {
        let y = checkpoint!(S, &(&p[0] * &d[0]).eval(), |x| waves(5, x));
        vec![(&y * &p[1]).into()]
    } in 1
    a_closure(p, d) {
        let both = (p[0].clone(), d.to_vec());
        let step = |(p, d): &(Real<S>, Vec<Real<S>>)| vec![(p * &d[0]).eval(), (&d[0] / &d[1]).sqrt().eval()];
        closure_stage(step, &both)
    } in 1
    stages_in_stages(p, d) {
        let outer = |x: &Real<S>| closure_stage(|x: &Real<S>| waves(3, x), &(x * 2.0).eval());
        vec![(closure_stage(outer, &d[0]) + &p[0]).into(), closure_stage(outer, &p[1])]
    } in 1
    /// Its branch is one of the program: the data take both.
    a_branch_inside(p, d) {
        let inside = |x: &Real<S>| if *x > 1.5 { (x * x).eval() } else { x.sin().eval() };
        vec![(closure_stage(inside, &d[0]) * &p[0]).into()]
    } in 2
    /// What a stage compares from outside is none of its inputs, and decides all the same.
    a_branch_on_what_is_outside(p, d) {
        let outside = d[0].clone();
        let inside = move |x: &Real<S>| if outside > 1.5 { (x * x).eval() } else { x.sin().eval() };
        vec![(closure_stage(inside, &d[1]) * &p[0]).into()]
    } in 2
    /// A stage of constants, whose result is a constant in each recording.
    a_stage_of_constants(p, d) {
        let outside = d[0].clone();
        let inside = move |x: &Real<S>| if outside > 1.5 { (x * x).eval() } else { x.sin().eval() };
        vec![(closure_stage(inside, &Real::from(3.0)) * &p[0] * &d[1]).into()]
    } in 2
    /// Reads the value of a variable from outside, which takes three values.
    a_value_of_what_is_outside(p, d) {
        let outside = d[1].clone();
        let inside = move |x: &Real<S>| (x * outside.value()).eval();
        vec![(closure_stage(inside, &d[0]) * &p[0]).into()]
    } in 3
    outputs_of_a_length_that_data_decide(p, d) {
        let inside = |x: &Real<S>| if *x > 1.5 { vec![x.clone(), x.clone()] } else { vec![x.clone()] };
        let all = closure_stage(inside, &d[0]);
        vec![all.iter().fold((&p[0] * &d[1]).eval(), |sum, y| (sum + y).into())]
    } in 2
    /// Without results in the scenarios that come first.
    outputs_that_may_be_missing(p, d) {
        let inside = |x: &Real<S>| if *x > 1.9 { Some((x * x).eval()) } else { None };
        let y = closure_stage(inside, &d[0]).unwrap_or_else(|| (&p[1] * 2.0).into());
        vec![(&y * &p[0]).into()]
    } in 2
    a_view_that_may_be_missing(p, d) {
        let inside = |x: &View<S, 1>| {
            let sum = parallel_sum(x.all(), x, |x| x.at::<0>());
            if sum > 4.5 { Some(halved(x)) } else { None }
        };
        let found = closure_stage(inside, &View::of_variables([2], d));
        vec![found.map_or_else(|| p[1].clone(), |x| parallel_sum(x.all(), &x, |x| x.at::<0>().square()))]
    } in 2
    a_panic_that_is_caught(p, d) {
        let inside = |x: &Real<S>| {
            assert!(*x > 1.5, "too small");
            (x * x).eval()
        };
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| closure_stage(inside, &d[0])));
        vec![caught.unwrap_or_else(|_| (&p[0] * 2.0).eval())]
    } in 2
    a_tape_inside(p, d) {
        let inside = |x: &Real<S>| {
            let mut tape = Tape::<PrimalValue>::new();
            let (a, y) = tape.record(|scope| {
                let (a, b) = (scope.input(2.0), scope.input(3.0));
                // Compares a variable of its own tape, from outside; and so it does when a sweep runs it again.
                let inner = move |a: &Real<PrimalValue>| if b > 2.5 { (a * a).eval() } else { (a * 3.0).eval() };
                (a, closure_stage(inner, &a))
            });
            let slope = tape.sweep(&[(&y, 1.0)]).unwrap().of(&a).unwrap();
            // This recording has ended.
            (x * if y > 3.0 { slope } else { 1.0 }).eval()
        };
        vec![(closure_stage(inside, &d[0]) * &p[0]).into()]
    } in 1
    /// Its result is its input.
    nothing_inside(p, d) { vec![closure_stage(Real::clone, &d[0]), closure_stage(Real::clone, &p[1])] } in 1
    a_time_loop(p, d) {
        let step = |k: usize, p: &Real<S>, x: &Vec<Real<S>>| {
            vec![(&x[0] + p * x[1].sin() * 0.125).eval(), (&x[1] - &x[0] * (0.25 / (k + 1) as f64)).eval()]
        };
        let plain = |k: usize, p: &Real<Passive>, x: &Vec<Real<Passive>>| {
            vec![(x[0] + p * x[1].sin() * 0.125).eval(), (x[1] - x[0] * (0.25 / (k + 1) as f64)).eval()]
        };
        TimeLoop::<S>::new(Revolve::new(7, 2)).run(&p[0], &d.to_vec(), plain, step).unwrap()
    } in 1
    a_loop_without_steps(p, d) {
        let step = |_: usize, (): &(), x: &Real<S>| x.clone();
        let plain = |_: usize, (): &(), x: &Real<Passive>| *x;
        vec![(TimeLoop::<S>::new(Revolve::new(0, 1)).run(&(), &d[0], plain, step).unwrap() * &p[0]).into()]
    } in 1
    a_block(p, d) {
        let inputs = vec![p[0].clone(), d[0].clone(), d[1].clone()];
        let block = |x: &Vec<Real<S>>| vec![(x[0].sin() * &x[1]).eval(), (&x[1] / &x[2]).eval()];
        let found = preaccumulate_by_reverse::<S, S, _, _>(&inputs, block);
        vec![(&found[0] * &found[1] * &p[1]).into()]
    } in 1
}

#[test]
fn each_scenario_gives_what_a_tape_gives_that_records_it() {
    for (index, (name, recordings)) in ROWS.iter().enumerate() {
        for width in [1, 8, 64] {
            let beside = BesideTapes { name, width, count: COUNT, datum, tolerance: 1e-13 };
            let (on_program, on_tape) = (|p: &[_], d: &[_]| all(index, p, d), |x: &[_]| all(index, &x[..2], &x[2..]));
            beside.check(on_program, on_tape, [[0.5, 1.25], [0.75, -1.0]], |_, _, found| {
                let branches = found.branches();
                assert_eq!((branches.recordings, branches.alone), (*recordings, 0), "{name}: {branches}");
            });
        }
    }
}

#[test]
fn a_replay_computes_blocks_again_with_the_bits_of_a_recording() {
    type P = PrimalValue;
    for (index, (name, _)) in ROWS.iter().enumerate() {
        let record = |at: &[f64]| {
            let mut tape = Tape::<P>::new();
            tape.set_guards(true);
            let (x, y) = tape.record(|scope| {
                let x = scope.inputs(at);
                let y = all(index, &x[..2], &x[2..]);
                (x, y)
            });
            (tape, x, y)
        };
        let results = |tape: &mut Tape<P>, x: &[Real<P>], y: &[Real<P>]| -> Vec<(u64, Vec<u64>)> {
            let one = |y: &Real<P>| {
                let value = tape.value_of(y).unwrap();
                let slopes = tape.sweep(&[(y, 1.0)]).unwrap().of_all(x).unwrap();
                (value.to_bits(), slopes.into_iter().map(f64::to_bits).collect())
            };
            y.iter().map(one).collect()
        };
        let (mut tape, x, y) = record(&[0.5, 1.25, 2.0, 3.0]);
        for (d0, follows) in [(2.25, true), (0.5, false), (3.0, true)] {
            // Other branches of the same data.
            let branches = [
                "a_branch_inside",
                "a_branch_on_what_is_outside",
                "a_stage_of_constants",
                "outputs_of_a_length_that_data_decide",
                "outputs_that_may_be_missing",
                "a_view_that_may_be_missing",
                "a_panic_that_is_caught",
            ]
            .contains(name);
            let before = results(&mut tape, &x, &y);
            let outcome = tape.replay(&[(&x[0], 0.75), (&x[2], d0)]);
            if branches && !follows {
                assert!(matches!(outcome, Err(Error::Sweep(SweepError::BranchChanged { .. }))), "{name}: {outcome:?}");
                assert_eq!(results(&mut tape, &x, &y), before, "{name}");
                continue;
            }
            assert_eq!(outcome, Ok(()), "{name} at {d0}");
            let (mut again, at, result) = record(&[0.75, 1.25, d0, 3.0]);
            assert_eq!(results(&mut tape, &x, &y), results(&mut again, &at, &result), "{name} at {d0}");
        }
    }
}

/// The statements of a recording of two chains of sines, each a stage of strategy `T`.
fn statements<S: Replay<Value = f64>, T: Reverse<Value = f64>>(guards: bool, steps: usize) -> usize {
    let mut tape = Tape::<S>::new();
    tape.set_guards(guards);
    tape.record(|scope| {
        let x = scope.input(0.5);
        let y = checkpoint!(T, &x, move |x| waves(steps, x));
        checkpoint!(T, &y, move |x| waves(steps, x))
    });
    tape.memory().statements
}

#[test]
fn stages_run_apart_unless_the_recording_is_computed_again() {
    assert_eq!(statements::<PrimalValue, PrimalValue>(false, 50), 0);
    assert_eq!(statements::<PrimalValue, PrimalValue>(true, 50), 100);
    assert_eq!(statements::<Instructions, Instructions>(true, 50), 100);
    // Stages of another strategy cannot be recorded there.
    assert_eq!(statements::<PrimalValue, Jacobian>(true, 50), 0);
    assert_eq!(statements::<Instructions, PrimalValue>(true, 50), 0);
}

#[test]
fn recordings_of_more_than_a_million_variables_keep_checkpoints() {
    let steps = (1 << 20) + 1;
    assert_eq!(statements::<PrimalValue, PrimalValue>(true, steps), steps);
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.5);
        let step = |_: usize, (): &(), x: &Real<PrimalValue>| waves(100, x);
        let plain = |_: usize, (): &(), x: &Real<Passive>| waves(100, x);
        let y = TimeLoop::new(Revolve::new(20_000, 20)).run(&(), &x, plain, step).unwrap();
        (x, y)
    });
    // One step was recorded to see how long all would be.
    assert_eq!(tape.memory().statements, 100);
    assert!(tape.sweep(&[(&y, 1.0)]).unwrap().of(&x).unwrap().is_finite());
    assert!(tape.replay(&[(&x, 0.75)]).is_err());
}

#[test]
fn loops_over_large_views_keep_checkpoints() {
    let arrays = |steps: u16| {
        let mut tape = Tape::<PrimalValue>::new();
        tape.set_guards(true);
        let step = |_: usize, (): &(), u: &View<PrimalValue, 1>| halved(u);
        let plain = |_: usize, (): &(), u: &View<Passive, 1>| halved(u);
        let (x, y) = tape.record(|scope| {
            let x = scope.view([1000], &vec![0.5; 1000]);
            let end = TimeLoop::new(Revolve::new(usize::from(steps), 3)).run(&(), &x, plain, step).unwrap();
            let y = parallel_sum(end.all(), &end, |u| u.at::<0>());
            (x, y)
        });
        let adjoints = tape.sweep(&[(&y, 1.0)]).unwrap();
        let slopes = adjoints.of_view(&x).unwrap();
        assert!(slopes.iter().all(|slope| (slope - 0.5_f64.powi(i32::from(steps))).abs() < 1e-15));
        tape.replay(&[]).is_ok()
    };
    assert_eq!([100, 2000].map(arrays), [true, false]);
}

fn halved<S: Taping<Value = f64>>(u: &View<S, 1>) -> View<S, 1> {
    let mut next = u.clone();
    parallel_for(u.all(), &mut next, |u| (0.5 * u.at::<0>(),));
    next
}

#[test]
fn loops_whose_later_steps_are_longer_keep_checkpoints() {
    fn length(k: usize) -> usize {
        if k == 0 { 1 } else { 100_000 }
    }
    let mut tape = Tape::<PrimalValue>::new();
    tape.set_guards(true);
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.5);
        let step = |k: usize, (): &(), x: &Real<PrimalValue>| (0..length(k)).fold(*x, |x, _| (x * 0.5 + 0.25).eval());
        let plain = |k: usize, (): &(), x: &Real<Passive>| (0..length(k)).fold(*x, |x, _| (x * 0.5 + 0.25).eval());
        let y = TimeLoop::new(Revolve::new(20, 5)).run(&(), &x, plain, step).unwrap();
        (x, y)
    });
    assert!(tape.memory().statements < 1_200_000);
    assert_eq!(tape.sweep(&[(&y, 1.0)]).unwrap().of(&x).unwrap(), 0.0);
    assert!(tape.replay(&[(&x, 0.75)]).is_err());
}

/// Blocks of another strategy, and their results, which may be none.
fn apart<S: Reverse<Value = f64>>(kind: usize, x: &Real<S>) -> Vec<Real<S>> {
    fn twice<T: Taping<Value = f64>>(x: &Real<T>) -> Vec<Real<T>> {
        if *x > 1.9 { vec![(x * x).eval()] } else { vec![] }
    }
    fn fails<T: Taping<Value = f64>>(x: &Real<T>) -> Vec<Real<T>> {
        assert!(*x > 1.9, "too small");
        vec![(x * x).eval()]
    }
    let caught =
        |f: &dyn Fn() -> Vec<Real<S>>| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or_default();
    match kind {
        0 => Stage::<Jacobian>::new().run::<S, _, _, _>(x, twice, twice),
        1 => preaccumulate(core::array::from_ref(x), |[x]| twice(x)),
        2 => preaccumulate_by_reverse::<Jacobian, _, _, _>(x, twice),
        3 => caught(&|| Stage::<Jacobian>::new().run::<S, _, _, _>(x, fails, fails)),
        4 => caught(&|| preaccumulate(core::array::from_ref(x), |[x]| fails(x))),
        _ => caught(&|| preaccumulate_by_reverse::<Jacobian, _, _, _>(x, fails)),
    }
}

#[test]
fn what_runs_apart_and_returns_nothing_has_decided_by_its_inputs() {
    for kind in 0..6 {
        let f = |p: &[ProgramReal], d: &[ProgramReal]| {
            [apart(kind, &d[0]).into_iter().fold((p[0] * d[1]).eval(), |sum, y| (sum + y).eval())]
        };
        let found = Program::new(f).gradients(&[0.5], &[[1.0, 2.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0]]).unwrap();
        assert_eq!(found.values, [1.0, 1.5, 5.0, 9.5], "kind {kind}");
        let slopes = [[0.0, 0.5], [0.0, 0.5], [4.0, 0.5], [6.0, 0.5]];
        assert_eq!(found.gradients, slopes, "kind {kind}");
    }
}

#[test]
fn a_stage_whose_two_functions_differ_is_recorded_alone_and_fails_its_check() {
    let f = |_: &[ProgramReal], d: &[ProgramReal]| {
        let plain = |x: &Real<Passive>| -> Real<Passive> { (x * x).into() };
        [Stage::<Instructions>::new().named("two functions").run(&d[0], plain, |x: &ProgramReal| (x * x * x).eval())]
    };
    assert_eq!(Program::new(f).values(&[], &[[2.0], [3.0]]).unwrap().values, [4.0, 9.0]);
    let error = Program::new(f).gradients(&[], &[[2.0], [3.0]]).unwrap_err();
    assert!(error.to_string().contains("two functions"), "{error}");
}

#[test]
fn a_stage_of_another_strategy_is_recorded_alone() {
    let f = |p: &[ProgramReal], d: &[ProgramReal]| [checkpoint!(Jacobian, &(p[0] * d[0]).eval(), |x| waves(5, x))];
    let program = Program::new(f);
    let found = program.gradients(&[0.5], scenarios(COUNT, 1, |k, d| d[0] = datum(k)[0])).unwrap();
    assert_eq!(found.branches().alone, COUNT);
    let gradient = gradient::<Jacobian>(|x| waves(5, &(x[0] * x[1]).eval()), &[0.5, datum(7)[0]]);
    assert_eq!(found.gradients[7], gradient[1..]);
}

#[test]
fn a_panic_in_a_stage_leaves_a_program_that_works() {
    let f = |_: &[ProgramReal], d: &[ProgramReal]| {
        let inside = |x: &ProgramReal| {
            assert!(*x < 2.5, "too large");
            (x * x).eval()
        };
        [closure_stage(inside, &d[0])]
    };
    let program = Program::new(f);
    assert_eq!(program.gradients(&[], &[[2.0]]).unwrap().gradients, [[4.0]]);
    let run = || program.gradients(&[], &[[2.0], [3.0]]);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err());
    assert_eq!(program.gradients(&[], &[[1.0]]).unwrap().gradients, [[2.0]]);
}
