//! Sweeps with several adjoint vectors at once, and forward sweeps, beside the sweep with one vector, over the workloads.
//!
//! Every lane is compared with a sweep of its own, bit for bit, before anything is timed. With `TAPEWRIGHT_TABLE=1` in
//! the environment, the program prints a table instead: least thread CPU times, measured in turns; `TAPEWRIGHT_WORKLOAD`
//! names a workload if not all are wanted.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of repetitions")]

mod turns;

use criterion::Criterion;
use std::hint::black_box;
use std::time::Duration;
use tapewright::{Jacobian, PrimalValue, Real, Reuse, Reverse, Tape};
use tapewright_problems::{Burgers, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem};
use turns::seconds;

/// The first evaluation of a workload, recorded.
struct Run<S: Reverse> {
    tape: Tape<S>,
    inputs: Vec<Real<S>>,
    output: Real<S>,
}

impl<S: Reverse<Value = f64>> Run<S> {
    fn new(problem: &impl Problem) -> Self {
        let mut tape = Tape::new();
        let (inputs, output) = tape.record(|scope| {
            let inputs = scope.inputs(&problem.inputs(0));
            let output = problem.eval(0, &inputs);
            (inputs, output)
        });
        Self { tape, inputs, output }
    }

    fn alone(&mut self) -> f64 {
        let adjoints = self.tape.sweep(&[(&self.output, black_box(1.0))]).expect("its own output");
        adjoints.of(&self.inputs[0]).expect("its own input")
    }

    fn lanes<const N: usize>(&mut self) -> [f64; N] {
        let seeds = black_box(core::array::from_fn(|lane| lane as f64 + 1.0));
        let adjoints = self.tape.sweep_lanes(&[(&self.output, seeds)]).expect("its own output");
        adjoints.of(&self.inputs[0]).expect("its own input")
    }

    fn forward(&mut self) -> f64 {
        self.tape.jvp(&[(&self.inputs[0], black_box(1.0))], &[&self.output]).expect("its own variables")[0]
    }

    fn forward_lanes<const N: usize>(&mut self) -> [f64; N] {
        let tangents = black_box(core::array::from_fn(|lane| lane as f64 + 1.0));
        self.tape.jvp_lanes(&[(&self.inputs[0], tangents)], &[&self.output]).expect("its own variables")[0]
    }

    /// Fails unless eight lanes are, bit for bit, eight sweeps.
    fn check(&mut self, name: &str) {
        let seeds: [f64; 8] = core::array::from_fn(|lane| if lane == 5 { 0.0 } else { lane as f64 - 2.5 });
        let lanes = self.tape.sweep_lanes(&[(&self.output, seeds)]).expect("its own output");
        let lanes: Vec<[f64; 8]> = self.inputs.iter().map(|x| lanes.of(x).expect("its own input")).collect();
        for (lane, seed) in seeds.into_iter().enumerate() {
            let adjoints = self.tape.sweep(&[(&self.output, seed)]).expect("its own output");
            for (x, found) in self.inputs.iter().zip(&lanes) {
                let expected = adjoints.of(x).expect("its own input");
                assert!(found[lane].to_bits() == expected.to_bits(), "{name}: {} and {expected}", found[lane]);
            }
        }
    }
}

/// One line of the table: the time of a sweep with one vector, and the others as multiples of it, each the ratio of two
/// least times.
fn line<S: Reverse<Value = f64>>(run: &mut Run<S>, name: &str, strategy: &str) {
    // So often that a turn takes 10 ms.
    run.alone();
    let repeats = ((0.01 / seconds(|| run.alone()).max(1e-6)) as usize).max(1);
    let mut least = [f64::MAX; 9];
    for _ in 0..9 {
        let mut timed = |f: &mut dyn FnMut(&mut Run<S>)| seconds(|| (0..repeats).for_each(|_| f(run)));
        let figures = [
            timed(&mut |run| _ = black_box(run.alone())),
            timed(&mut |run| _ = black_box(run.lanes::<1>())),
            timed(&mut |run| _ = black_box(run.lanes::<2>())),
            timed(&mut |run| _ = black_box(run.lanes::<4>())),
            timed(&mut |run| _ = black_box(run.lanes::<8>())),
            timed(&mut |run| _ = black_box(run.lanes::<16>())),
            timed(&mut |run| _ = black_box(run.forward())),
            timed(&mut |run| _ = black_box(run.forward_lanes::<2>())),
            timed(&mut |run| _ = black_box(run.forward_lanes::<8>())),
        ];
        least.iter_mut().zip(figures).for_each(|(least, figure)| *least = least.min(figure));
    }
    let alone = least[0];
    let [_, lanes @ ..] = least.map(|time| time / alone);
    let ratios: Vec<String> = lanes.iter().map(|lanes| format!("{lanes:.2}")).collect();
    let further = (lanes[7] - lanes[5]) / 7.0;
    println!("| {name} | {strategy} | {:.3} | {} | {further:.2} |", 1e3 * alone / repeats as f64, ratios.join(" | "));
}

/// Checks one workload under one strategy, then times it: with criterion, or as a line of the table.
fn timed<S: Reverse<Value = f64>>(criterion: Option<&mut Criterion>, problem: &impl Problem, strategy: &str) {
    let mut run = Run::<S>::new(problem);
    run.check(problem.name());
    let Some(criterion) = criterion else { return line(&mut run, problem.name(), strategy) };
    let mut group = criterion.benchmark_group(format!("lanes/{}/{strategy}", problem.name()));
    group.bench_function("alone", |b| b.iter(|| run.alone()));
    group.bench_function("8", |b| b.iter(|| run.lanes::<8>()));
    group.finish();
}

fn workload(mut criterion: Option<&mut Criterion>, problem: &impl Problem) {
    if std::env::var("TAPEWRIGHT_WORKLOAD").is_ok_and(|name| name != problem.name()) {
        return;
    }
    timed::<Jacobian>(criterion.as_deref_mut(), problem, "jacobian");
    timed::<Jacobian<f64, Reuse>>(criterion.as_deref_mut(), problem, "jacobian reuse");
    timed::<PrimalValue>(criterion, problem, "primal_value");
}

fn workloads(mut criterion: Option<&mut Criterion>) {
    workload(criterion.as_deref_mut(), &Burgers::default());
    workload(criterion.as_deref_mut(), &Gmm::synthetic(10, 25, 1000).expect("a possible size"));
    workload(criterion.as_deref_mut(), &Laplacian::default());
    workload(criterion.as_deref_mut(), &Libor::new(80, 40, 10).expect("a possible size"));
    workload(criterion.as_deref_mut(), &Lstm::synthetic(2, 14, 1024).expect("a possible size"));
    workload(criterion, &ExpSq::new(1000).expect("a possible size"));
}

fn main() {
    if std::env::var_os("TAPEWRIGHT_TABLE").is_some_and(|value| value == "1") {
        println!(
            "| workload | strategy | one vector, ms | 1 lane | 2 lanes | 4 lanes | 8 lanes | 16 lanes \
             | `jvp` | 2 directions | 8 directions | each further |"
        );
        println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
        return workloads(None);
    }
    let times = (Duration::from_millis(300), Duration::from_secs(1));
    let mut criterion =
        Criterion::default().sample_size(15).warm_up_time(times.0).measurement_time(times.1).configure_from_args();
    workloads(Some(&mut criterion));
    criterion.final_summary();
}
