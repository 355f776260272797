//! Recordings that are swept from one output after the other: sweeps begin at the output, and leave out what it does
//! not depend on. Each has the bits of the first sweep with a new adjoint vector, which passes all records.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
#![allow(clippy::type_complexity, reason = "each type is used once")]

use super::lanes::bits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tapewright::external::CallbackAdjoints;
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::tape::{AdjointVector, LaneVector};
use tapewright::{Error, Rules, Scope, dot, external, prelude::*};
use tapewright_kit_tests::everywhere;

/// Number of steps; each has a dozen records.
const STEPS: usize = 150;

/// Inputs and outputs of a recording.
type Variables<S> = (Vec<Real<S>>, Vec<Real<S>>);

/// A time series: in each step a new input, a state of this step and of the one before, two parameters, an output that
/// keeps its identifier where identifiers are reused, and temporary variables. `extra` makes a further output.
fn series<S: Reverse<Value = f64>>(
    scope: &mut Scope<S>,
    extra: &mut dyn FnMut(&mut Scope<S>, usize, &Real<S>) -> Option<Real<S>>,
) -> Variables<S> {
    let theta = scope.inputs(&[0.3, -0.7]);
    let (mut x, mut y) = (theta.clone(), vec![theta[0].clone(), Real::constant(2.0)]);
    let mut before = Real::constant(0.0);
    for step in 0..STEPS {
        let new = scope.input(0.01 * step as f64 - 0.4);
        let state: Real<S> = (&new * &theta[0] + (&new * 3.0).sin()).into();
        let mut output: Real<S> = (&state * &before).into();
        for _ in 0..4 {
            let temporary: Real<S> = (&output * &theta[1]).cos().into();
            output = (temporary * &state - &before).into();
        }
        output += &new;
        output *= 1.5;
        if step % 7 == 0 {
            y.push(output.clone());
        }
        y.push(dot(&[output.clone(), state.clone()], &[state.clone(), new.clone()]));
        y.extend(extra(scope, step, &state));
        y.push(output);
        x.push(new);
        before = state;
    }
    y.push(x[STEPS / 2].clone());
    (x, y)
}

fn no_more<S: Reverse>(_: &mut Scope<S>, _: usize, _: &Real<S>) -> Option<Real<S>> {
    None
}

/// The outputs and seeds of a sweep.
fn seeds<S: Reverse<Value = f64>>(y: &[Real<S>], at: usize) -> Vec<(&Real<S>, f64)> {
    match at % 5 {
        0 => vec![(&y[at], 1.0), (&y[at], -0.25), (&y[y.len() - 1 - at], 2.0)],
        1 => vec![(&y[at], f64::INFINITY)],
        2 => vec![(&y[at], 0.0), (&y[at / 2], -0.0)],
        _ => vec![(&y[at], 1.0 + at as f64)],
    }
}

fn found<S: Reverse<Value = f64>>(
    tape: &Tape<S>,
    vector: &mut AdjointVector<f64>,
    (x, seeds): (&[Real<S>], &[(&Real<S>, f64)]),
) -> Vec<u64> {
    let adjoints = tape.sweep_with(vector, seeds).expect("of this recording");
    adjoints.of_all(x).expect("of this recording").into_iter().map(bits).collect()
}

/// Sweeps from every third output, in a jumbled order, and compares with sweeps over all records.
#[track_caller]
fn agrees<S: Reverse<Value = f64>>(tape: &Tape<S>, (x, y): &Variables<S>, vector: &mut AdjointVector<f64>) {
    for k in 0..y.len() / 3 {
        let seeds = seeds(y, (k * 101) % y.len());
        let expected = found(tape, &mut AdjointVector::new(), (x, &seeds));
        assert!(found(tape, vector, (x, &seeds)) == expected, "sweep {k}, {seeds:?}");
    }
}

/// True if the tape has an outline, which sweeps of values that are restored on the way cannot use.
fn is_outlined<S: Reverse>(tape: &Tape<S>) -> bool {
    tape.memory().usage("outline").reserved > 0
}

fn each_output_of_a_series<S: Reverse<Value = f64>>() {
    let (mut tape, mut vector) = (Tape::<S>::new(), AdjointVector::new());
    for _ in 0..2 {
        let variables = tape.record(|scope| series(scope, &mut no_more));
        agrees(&tape, &variables, &mut vector);
        let restores = std::mem::needs_drop::<S::Id>() && tape.memory().usage("values").reserved > 0;
        assert_eq!(is_outlined(&tape), !restores, "{}", tape.memory());
    }
}

fn several_vectors_at_once<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| series(scope, &mut no_more));
    for width in [1, 3, 8] {
        let mut kept = LaneVector::new(width);
        for k in 0..40 {
            let at = (k * 17) % (y.len() - width);
            let unit: Vec<Vec<f64>> =
                (0..width).map(|i| (0..width).map(|l| if l == i { 1.0 } else { 0.0 }).collect()).collect();
            let seeds: Vec<_> = y[at..].iter().zip(&unit).map(|(y, unit)| (y, &unit[..])).collect();
            let mut new = LaneVector::new(width);
            let expected = tape.sweep_lanes_with(&mut new, &seeds).expect("of it");
            let found = tape.sweep_lanes_with(&mut kept, &seeds).expect("of it");
            for x in &x {
                let [found, expected] = [&found, &expected].map(|found| found.of(x).expect("of it"));
                assert!(found.iter().map(|a| bits(*a)).eq(expected.iter().map(|a| bits(*a))), "sweep {k}");
            }
        }
    }
}

fn external_functions_and_callbacks<S: Reverse<Value = f64>>() {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut tape = Tape::<S>::new();
    let variables = tape.record(|scope| {
        series(scope, &mut |scope, step, state| {
            if step == 20 || step == 120 {
                let calls = Arc::clone(&calls);
                scope.insert_callback(&[], &[], move |_: &mut CallbackAdjoints<f64>| {
                    calls.fetch_add(1, Relaxed);
                    Ok(())
                });
            }
            let at = state.value();
            let rules = Rules::new("powers", move |outputs: &[f64], inputs: &mut [f64]| {
                inputs[0] += outputs[0] * 2.0 * at + outputs[1] * 3.0 * at * at;
                Ok(())
            });
            let mut powers = external(std::slice::from_ref(state), &[at * at, at * at * at], rules);
            (step % 3 == 0).then(|| powers.remove(step % 2))
        })
    });
    agrees(&tape, &variables, &mut AdjointVector::new());
    calls.store(0, Relaxed);
    let mut vector = AdjointVector::new();
    (0..50).for_each(|_| _ = tape.sweep_with(&mut vector, &[(&variables.1[5], 1.0)]).expect("of it"));
    assert_eq!(calls.load(Relaxed), 100, "every sweep calls what has no results");
}

fn launches_of_kernels<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let variables = tape.record(|scope| {
        let mut field: Option<View<S, 1>> = None;
        series(scope, &mut |_, step, state| {
            let field = match &mut field {
                None => field.insert(View::of_variables([3], &[state.clone(), state.clone(), Real::constant(1.0)])),
                Some(field) => field,
            };
            if step % 4 == 0 {
                parallel_for(field.interior(1), &mut *field, |u| (u.at::<0>() + 0.5 * u.at::<-1>() * u.at::<1>(),));
            }
            (step % 5 == 0).then(|| (parallel_sum(field.all(), &*field, |u| u.at::<0>().square()) * state).into())
        })
    });
    agrees(&tape, &variables, &mut AdjointVector::new());
}

fn a_rule_that_fails_leaves_nothing_behind<S: Reverse<Value = f64>>() {
    let mut tape = Tape::<S>::new();
    let (x, y) = tape.record(|scope| {
        series(scope, &mut |_, step, state| {
            let rules = Rules::new("refusal", move |outputs: &[f64], inputs: &mut [f64]| {
                inputs[0] += outputs[0];
                if step == 60 { Err(tapewright::SweepError::Unsupported { what: "step 60".into() }) } else { Ok(()) }
            });
            external(std::slice::from_ref(state), &[state.value()], rules).pop()
        })
    });
    let mut vector = AdjointVector::new();
    for (k, output) in y.iter().enumerate() {
        let seeds = [(output, 1.0)];
        let expected = tape.sweep_with(&mut AdjointVector::new(), &seeds).map(|adjoints| adjoints.of_all(&x));
        let found = tape.sweep_with(&mut vector, &seeds).map(|adjoints| adjoints.of_all(&x));
        assert_eq!(found, expected, "output {k}");
    }
}

fn parts_of_a_recording_that_grows_and_shrinks<S: Reverse<Value = f64>>() {
    let (mut tape, mut vector) = (Tape::<S>::new(), AdjointVector::new());
    let mut variables = tape.record(|scope| series(scope, &mut no_more));
    agrees(&tape, &variables, &mut vector);
    let end = tape.position();
    for _ in 0..2 {
        let (x, y) = tape.resume(|scope| {
            let (x, mut y) = series(scope, &mut no_more);
            let earlier = scope.renew(&variables.1[40]).expect("of it");
            y.push((earlier * &x[3]).into());
            (x, y)
        });
        let all = ([variables.0.clone(), x].concat(), [variables.1.clone(), y].concat());
        agrees(&tape, &all, &mut vector);
        tape.reset_to(&end).expect("the end of a part");
        agrees(&tape, &variables, &mut vector);
    }
    // The outline of the recording before says nothing of this one.
    variables = tape.record(|scope| {
        _ = series(scope, &mut no_more);
        series(scope, &mut no_more)
    });
    agrees(&tape, &variables, &mut vector);
}

everywhere!(
    each_output_of_a_series,
    several_vectors_at_once,
    external_functions_and_callbacks,
    launches_of_kernels,
    a_rule_that_fails_leaves_nothing_behind,
    parts_of_a_recording_that_grows_and_shrinks,
);

/// Between two sweeps that leave out records, one from position to position finds nothing of theirs.
#[test]
fn sweeps_between_positions_use_the_same_vector() {
    let (mut tape, mut vector) = (Tape::<Jacobian>::new(), AdjointVector::new());
    let ((x, y), half, end) = tape.record(|scope| {
        let first = series(scope, &mut no_more);
        let half = scope.position();
        let second = series(scope, &mut no_more);
        ((first.0, [first.1, second.1].concat()), half, scope.position())
    });
    for at in (0..y.len()).rev().step_by(9) {
        _ = tape.sweep_with(&mut vector, &[(&y[at], 1.0)]).expect("of it");
        let sweep = |vector: &mut AdjointVector<f64>| {
            vector.reset();
            tape.seed(vector, &[(&y[at], 1.0)])?;
            _ = tape.sweep_between(vector, &end, &half)?;
            tape.sweep_from_position(vector, &half)?.of_all(&x)
        };
        assert_eq!(sweep(&mut vector), sweep(&mut AdjointVector::new()));
    }
    assert!(is_outlined(&tape));
}

/// A vector that served another tape meanwhile, and a foreign variable among the seeds.
#[test]
fn a_vector_in_turn_for_several_tapes() {
    let mut tapes = [const { None }; 2].map(|_: Option<()>| Tape::<Jacobian>::new());
    let variables = tapes.each_mut().map(|tape| tape.record(|scope| series(scope, &mut no_more)));
    let mut vector = AdjointVector::new();
    for _ in 0..3 {
        for (tape, variables) in tapes.iter().zip(&variables) {
            agrees(tape, variables, &mut vector);
        }
        let refused = tapes[0].sweep_with(&mut vector, &[(&variables[1].1[7], 1.0)]);
        assert!(matches!(refused, Err(Error::ForeignVariable { .. })));
    }
}
