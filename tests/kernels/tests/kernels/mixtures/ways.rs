//! The same programs in other ways: along tangents, for several adjoint vectors, under other strategies, in parts, on
//! disk, and replayed.

use super::views::Views;
use super::{Made, Program, bits, close, run, tolerance};
use crate::at_every_level;
use tapewright::kernels::View;
use tapewright::prelude::*;
use tapewright::storage::SpillOptions;
use tapewright::strategies::Spills;
use tapewright::tape::{AdjointVector, LaneVector};
use tapewright::{Number, Spilled};

/// Values and gradient.
pub(super) fn expected<V: Number>(program: &Program<V>) -> (Vec<u64>, Vec<V>) {
    let mut made = Made::<Jacobian<V>>::of(program, Tape::new());
    (bits(&made.values()), made.gradient(&program.seeds))
}

#[test]
fn programs_have_the_same_bits_at_every_level() {
    fn check<V: Number>(seed: u64) {
        let program = Program::<V>::random(seed);
        at_every_level(|| {
            let (values, gradient) = expected(&program);
            (values, bits(&gradient))
        });
    }
    for seed in 0..60 {
        check::<f64>(seed);
        check::<f32>(seed);
    }
}

fn several_vectors<S: Reverse>(seed: u64) {
    let program = Program::<S::Value>::random(seed);
    let mut made = Made::<S>::of(&program, Tape::new());
    let scales = [1.0, 0.0, -0.5].map(S::Value::from_f64);
    let seeds: Vec<Vec<_>> = program.seeds.iter().map(|seed| scales.iter().map(|by| *seed * *by).collect()).collect();
    let mut lanes = LaneVector::new(3);
    let pairs: Vec<_> = made.outputs.iter().zip(&seeds).map(|(y, seeds)| (y, &seeds[..])).collect();
    let found = made.tape.sweep_lanes_with(&mut lanes, &pairs).expect("swept");
    let lane = |lane: usize| {
        let views = made.start.views.iter().flat_map(|view| found.of_view(view, lane).expect("an input").into_owned());
        let mut all: Vec<_> = views.collect();
        all.extend(made.start.numbers.iter().map(|x| found.of(x).expect("an input")[lane]));
        bits(&all)
    };
    let lanes = [lane(0), lane(1), lane(2)];
    for (k, found) in lanes.into_iter().enumerate() {
        let seeds: Vec<_> = seeds.iter().map(|seeds| seeds[k]).collect();
        assert_eq!(found, bits(&made.gradient(&seeds)), "lane {k} of program {seed}");
    }
}

#[test]
fn several_adjoint_vectors_have_the_bits_of_one() {
    for seed in 0..40 {
        several_vectors::<Jacobian>(seed);
        several_vectors::<PrimalValue<f32, Reuse>>(seed);
    }
}

/// Σ seed·tangent of the outputs is gradient·direction.
fn tangents<V: Number>(seed: u64) {
    let program = Program::<V>::random(seed);
    let mut made = Made::<Jacobian<V>>::of(&program, Tape::new());
    let gradient = made.gradient(&program.seeds);
    let directions: Vec<Vec<V>> = (1..3).map(|k| Program::<V>::random(seed + 100 * k).views.concat()).collect();
    let n = made.start.views[0].len();
    let direction = |k: usize, at: usize| directions[k][at % directions[k].len()];
    let views = (0..3).map(|v| {
        View::<Tangent<2, V>, 4>::moving(program.shape, &program.views[v], |k| {
            (0..n).map(|i| direction(k, v * n + i)).collect()
        })
    });
    let numbers = (0..2).map(|j| Real::with_tangent(program.numbers[j], [0, 1].map(|k| direction(k, 3 * n + j))));
    let outputs = run(&program, &mut Views { views: views.collect(), numbers: numbers.collect() });
    assert_eq!(bits(&outputs.iter().map(Real::value).collect::<Vec<_>>()), bits(&made.values()));
    for k in 0..2 {
        let found: f64 =
            outputs.iter().zip(&program.seeds).map(|(y, seed)| y.tangent()[k].as_f64() * seed.as_f64()).sum();
        let expected: f64 = gradient.iter().enumerate().map(|(i, x)| x.as_f64() * direction(k, i).as_f64()).sum();
        assert!((found - expected).abs() <= 2.0 * tolerance::<V>(), "program {seed}: {found} and {expected}");
    }
    // Along the numbers alone by a sweep over the recording.
    let seeds: Vec<_> = made.start.numbers.iter().zip([0.25, -1.0]).map(|(x, t)| (x, V::from_f64(t))).collect();
    let outputs: Vec<_> = made.outputs.iter().collect();
    let found = made.tape.jvp(&seeds, &outputs).expect("swept");
    let found: f64 = found.iter().zip(&program.seeds).map(|(y, seed)| y.as_f64() * seed.as_f64()).sum();
    let expected = gradient[3 * n].as_f64() * 0.25 - gradient[3 * n + 1].as_f64();
    assert!((found - expected).abs() <= 2.0 * tolerance::<V>(), "program {seed}: {found} and {expected}");
}

#[test]
fn tangents_are_those_of_the_adjoints() {
    for seed in 0..60 {
        tangents::<f64>(seed);
        tangents::<f32>(seed);
    }
}

/// The same under another strategy, whose variables may be dropped and their identifiers used again.
fn under<S: Reverse>(seed: u64, tape: Tape<S>) {
    let program = Program::<S::Value>::random(seed);
    let (values, gradient) = expected(&program);
    let mut made = Made::<S>::of(&program, tape);
    assert_eq!(bits(&made.values()), values, "program {seed}");
    close(&made.gradient(&program.seeds), &gradient, "another strategy");
    close(&made.gradient(&program.seeds), &gradient, "a second sweep");
}

#[test]
fn every_strategy_has_the_adjoints_of_the_first() {
    for seed in 0..15 {
        under::<PrimalValue>(seed, Tape::new());
        under::<PrimalValue<f64, Reuse>>(seed, Tape::new());
        under::<PrimalValue<f32, Reuse>>(seed, Tape::new());
        under::<Jacobian<f64, Reuse>>(seed, Tape::new());
        under::<Hybrid>(seed, Tape::new());
        under::<Hybrid<f64, Reuse>>(seed, Tape::new());
        under::<Continuation>(seed, Tape::new());
        under::<Continuation<f64, Reuse>>(seed, Tape::new());
    }
}

#[test]
fn recordings_on_disk_have_the_same_adjoints() {
    fn spilled<S: Spills>() -> Tape<S> {
        Tape::spilled(SpillOptions::default().slab(4096).memory(2 * 4096 + 1024))
            .expect("a directory for temporary files")
    }
    for seed in 0..30 {
        under::<Jacobian<f64, Linear, Spilled>>(seed, spilled());
        under::<PrimalValue<f64, Reuse, Spilled>>(seed, spilled());
    }
    let on_disk = |seed| {
        let made = Made::<Jacobian<f64, Linear, Spilled>>::of(&Program::random(seed), spilled());
        made.tape.spill_usage().arrays_on_disk > 0
    };
    assert!((0..30).filter(|seed| on_disk(*seed)).count() > 5, "some arrays are on disk");
}

/// A program in parts, each of which is a part of a recording that is resumed; some parts are recorded, forgotten and
/// recorded again.
fn parts<S: Reverse>(seed: u64) {
    let program = Program::<S::Value>::random(seed);
    let (values, gradient) = expected(&program);
    let mut tape = Tape::<S>::new();
    let start = tape.record(|scope| {
        let views = program.views.iter().map(|view| scope.view(program.shape, view)).collect();
        Views { views, numbers: scope.inputs(&program.numbers) }
    });
    let (mut state, mut positions) = (start.clone(), vec![tape.position()]);
    for (k, step) in program.steps.iter().enumerate() {
        let run = |tape: &mut Tape<S>, state: &Views<S>, step| {
            tape.resume(|scope| {
                let views = state.views.iter().map(|view| scope.renew_view(view).expect("of it")).collect();
                let mut state = Views { views, numbers: scope.renew_all(&state.numbers).expect("of it") };
                state.run(step);
                state
            })
        };
        if k % 2 == 1 {
            // Something else, that is forgotten.
            drop(run(&mut tape, &state, &program.steps[k / 2]));
            tape.reset_to(&positions[k]).expect("the end of a part");
        }
        state = run(&mut tape, &state, step);
        positions.push(tape.position());
    }
    let outputs = tape.resume(|scope| {
        let views = state.views.iter().map(|view| scope.renew_view(view).expect("of it"));
        let mut outputs: Vec<_> = views.flat_map(|view| view.to_variables()).collect();
        outputs.extend(scope.renew_all(&state.numbers).expect("of it"));
        outputs
    });
    assert_eq!(bits(&outputs.iter().map(Real::value).collect::<Vec<_>>()), values, "program {seed}");
    let mut vector = AdjointVector::new();
    let seeds: Vec<_> = outputs.iter().zip(program.seeds.iter().copied()).collect();
    tape.seed(&mut vector, &seeds).expect("seeded");
    positions.push(tape.position());
    for ends in positions.windows(2).rev() {
        tape.sweep_between(&mut vector, &ends[1], &ends[0]).expect("swept");
    }
    let adjoints = tape.sweep_from_position(&mut vector, &positions[0]).expect("swept");
    let views = start.views.iter().flat_map(|view| adjoints.of_view(view).expect("an input").into_owned());
    let mut found: Vec<_> = views.collect();
    found.extend(adjoints.of_all(&start.numbers).expect("inputs"));
    close(&found, &gradient, &format!("parts of program {seed}"));
}

#[test]
fn programs_in_parts_have_the_adjoints_of_the_whole() {
    for seed in 0..15 {
        parts::<Jacobian>(seed);
        parts::<PrimalValue<f32, Reuse>>(seed);
        parts::<PrimalValue>(seed);
        parts::<Hybrid>(seed);
        parts::<Continuation>(seed);
    }
}

/// All values, adjoints, and tangents along the numbers.
fn all_of(made: &mut Made<PrimalValue>, seeds: &[f64]) -> [Vec<u64>; 3] {
    let values: Vec<_> = made.outputs.iter().map(|y| made.tape.value_of(y).expect("of it")).collect();
    let directions: Vec<_> = made.start.numbers.iter().map(|x| (x, 0.5)).collect();
    let tangents = made.tape.jvp(&directions, &made.outputs.iter().collect::<Vec<_>>()).expect("swept");
    [bits(&values), bits(&tangents), bits(&made.gradient(seeds))]
}

#[test]
fn replays_of_some_inputs_or_all_have_the_bits_of_recordings_there() {
    fn guarded() -> Tape<PrimalValue> {
        let mut tape = Tape::new();
        tape.set_guards(true);
        tape
    }
    for seed in 0..40 {
        let mut program = Program::<f64>::random(seed);
        // Branches of a step over variables depend on none of them, but what it makes constant stays what it was.
        program.steps.retain(|step| step.kind != "variables");
        let mut made = Made::of(&program, guarded());
        let compare = |made: &mut Made<_>, program: &Program<f64>, what: &str| {
            let expected = all_of(&mut Made::of(program, guarded()), &program.seeds);
            assert_eq!(all_of(made, &program.seeds), expected, "{what} of program {seed}: {:?}", program.steps);
            let plain = all_of(&mut Made::of(program, Tape::new()), &program.seeds);
            assert_eq!(plain, expected, "guards change nothing in program {seed}");
        };
        for other in [seed + 7, seed + 8, seed] {
            program.start_at(other);
            let mut new = made.tape.new_inputs();
            for (x, value) in made.start.numbers.iter().zip(&program.numbers) {
                new = new.variable(x, *value).expect("an input");
            }
            for (x, values) in made.start.views.iter().zip(&program.views) {
                new = new.view(x, values).expect("an input");
            }
            new.replay().expect("replayed");
            compare(&mut made, &program, "all inputs");
            program.numbers[1] = 0.25;
            made.tape.replay(&[(&made.start.numbers[1], program.numbers[1])]).expect("replayed");
            compare(&mut made, &program, "one number");
            program.views[0] = program.views[2].clone();
            let new = made.tape.new_inputs().view(&made.start.views[0], &program.views[0]).expect("an input");
            new.replay().expect("replayed");
            compare(&mut made, &program, "one view");
        }
    }
}
