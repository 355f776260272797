//! The same programs as states that go through stages and time loops.

use super::views::Views;
use super::ways::expected;
use super::{Made, Program, bits, close};
use std::sync::Arc;
use tapewright::Spilled;
use tapewright::checkpoint::{Stage, TimeLoop};
use tapewright::kernels::View;
use tapewright::prelude::*;
use tapewright::schedule::{Equidistant, FullTape, Mixed, Multistage, Revolve, Schedule};
use tapewright::storage::SpillOptions;

/// A program as a state that goes through stages or a loop.
struct State<S: Taping> {
    views: Vec<View<S, 4>>,
    numbers: Vec<Real<S>>,
}
tapewright::variables!(State { views, numbers });

fn step<S: Taping>(program: &Program<S::Value>, k: usize, state: &State<S>) -> State<S> {
    let mut views = Views { views: state.views.clone(), numbers: state.numbers.clone() };
    views.run(&program.steps[k]);
    State { views: views.views, numbers: views.numbers }
}

fn by<S: Reverse>(seed: u64, mut tape: Tape<S>, whole: impl Fn(&Arc<Program<S::Value>>, State<S>) -> State<S>) {
    let program = Arc::new(Program::<S::Value>::random(seed));
    let (values, gradient) = expected(&program);
    let (start, outputs) = tape.record(|scope| {
        let views = program.views.iter().map(|view| scope.view(program.shape, view)).collect();
        let start = Views { views, numbers: scope.inputs(&program.numbers) };
        let end = whole(&program, State { views: start.views.clone(), numbers: start.numbers.clone() });
        let mut outputs: Vec<_> = end.views.iter().flat_map(View::to_variables).collect();
        outputs.extend(end.numbers);
        (start, outputs)
    });
    let mut made = Made { tape, start, outputs };
    assert_eq!(bits(&made.values()), values, "program {seed}");
    close(&made.gradient(&program.seeds), &gradient, &format!("program {seed}"));
    close(&made.gradient(&program.seeds), &gradient, &format!("program {seed} again"));
}

/// Each step as a stage, recorded under the strategy `T`.
fn stages<S: Reverse, T: Reverse<Value = S::Value>>(seed: u64, tape: Tape<S>) {
    by(seed, tape, |program, start| {
        (0..program.steps.len()).fold(start, |state, k| {
            let [first, second] = [Arc::clone(program), Arc::clone(program)];
            Stage::<T>::new().run(&state, move |state| step(&first, k, state), move |state| step(&second, k, state))
        })
    });
}

#[test]
fn programs_in_stages() {
    for seed in 0..15 {
        stages::<Jacobian, Jacobian>(seed, Tape::new());
        stages::<Jacobian, PrimalValue<f64, Reuse>>(seed, Tape::new());
        stages::<PrimalValue<f64, Reuse>, Hybrid>(seed, Tape::new());
        stages::<Continuation, Jacobian>(seed, Tape::new());
    }
}

fn looped<S: Reverse>(seed: u64, tape: Tape<S>, settings: impl Fn(usize) -> TimeLoop<S>) {
    by(seed, tape, |program, start| {
        let [first, second] = [Arc::clone(program), Arc::clone(program)];
        let time_loop = settings(program.steps.len());
        let end = time_loop.run(&(), &start, move |k, (), s| step(&first, k, s), move |k, (), s| step(&second, k, s));
        end.expect("the loop runs")
    });
}

fn scheduled<S: Reverse, P: Schedule + Clone + Send + Sync + 'static>(seed: u64, schedule: impl Fn(usize) -> P) {
    looped::<S>(seed, Tape::new(), |n| TimeLoop::new(schedule(n)));
}

#[test]
fn programs_in_loops_of_every_schedule() {
    for seed in 0..15 {
        scheduled::<Jacobian, _>(seed, FullTape::new);
        scheduled::<Jacobian, _>(seed, |n| Equidistant::new(n, 2));
        scheduled::<PrimalValue<f64, Reuse>, _>(seed, |n| Revolve::new(n, 2));
        scheduled::<Hybrid, _>(seed, |n| Mixed::new(n, 2));
        looped::<Jacobian<f32>>(seed, Tape::new(), |n| {
            TimeLoop::new(Multistage::new(n, 1, 1)).disk(SpillOptions::default())
        });
    }
}

#[test]
fn programs_in_loops_within_recordings_on_disk() {
    for seed in 0..12 {
        let options = || SpillOptions::default().slab(4096).memory(2 * 4096 + 1024);
        let tape = Tape::spilled(options()).expect("a directory for temporary files");
        looped::<Jacobian<f64, Linear, Spilled>>(seed, tape, |n| TimeLoop::new(Revolve::new(n, 2)));
        let tape = Tape::spilled(options()).expect("a directory for temporary files");
        looped::<PrimalValue<f64, Reuse, Spilled>>(seed, tape, |n| TimeLoop::new(Revolve::new(n, 1)));
        let tape = Tape::spilled(options()).expect("a directory for temporary files");
        stages::<Jacobian<f64, Linear, Spilled>, Jacobian>(seed, tape);
    }
}
