//! Record, sweep and whole gradient of every workload under every strategy, beside the primal and a hand-written
//! adjoint.
//!
//! Every gradient is checked against the hand-written adjoint before it is timed.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use tapewright::{Continuation, Jacobian, PrimalValue, Real, Reverse, Tape};
use tapewright_problems::{Burgers, ExpSq, Gmm, Laplacian, Libor, Lstm, Problem, RepeatedSin, total};

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// Fails unless the strategy's gradient is the hand-written one.
fn check<S: Reverse<Value = f64>>(problem: &impl Problem, by_hand: &[f64]) {
    let mut tape = Tape::<S>::new();
    let (_, gradient) = total(problem, |k, x, g| {
        tape.gradient(|x: &[Real<S>]| problem.eval(k, x), x, g).expect("the output belongs to the recording")
    });
    let largest = by_hand.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
    for (a, b) in by_hand.iter().zip(&gradient) {
        assert!((a - b).abs() <= 1e-12 * largest, "{}: {a} by hand, {b} by the tape", problem.name());
    }
}

/// Evaluation 0 of a workload under one strategy, on a warm tape.
fn strategy<S: Reverse<Value = f64>>(group: &mut Group<'_>, name: &str, problem: &impl Problem, by_hand: &[f64]) {
    check::<S>(problem, by_hand);
    let x = problem.inputs(0);
    let mut gradient = vec![0.0; x.len()];
    let mut tape = Tape::<S>::new();
    let mut inputs = Vec::new();
    let mut record = |tape: &mut Tape<S>| {
        tape.record(|scope| {
            scope.inputs_into(&x, &mut inputs);
            problem.eval(0, &inputs)
        })
    };
    group.bench_function(format!("{name}/record"), |b| b.iter(|| record(&mut tape)));
    let output = record(&mut tape);
    group.bench_function(format!("{name}/sweep"), |b| b.iter(|| tape.sweep(&[(&output, 1.0)]).is_ok()));
    group.bench_function(format!("{name}/gradient"), |b| {
        b.iter(|| tape.gradient(|x: &[Real<S>]| problem.eval(0, x), black_box(&x), &mut gradient));
    });
}

fn workload(criterion: &mut Criterion, problem: &impl Problem) {
    let mut group = criterion.benchmark_group(problem.name());
    let x = problem.inputs(0);
    let mut gradient = vec![0.0; x.len()];
    group.bench_function("primal", |b| b.iter(|| problem.plain(0, black_box(&x))));
    group.bench_function("by_hand", |b| b.iter(|| problem.adjoint(0, black_box(&x), &mut gradient)));
    let (_, by_hand) = total(problem, |k, x, g| problem.adjoint(k, x, g));
    strategy::<Jacobian>(&mut group, "jacobian", problem, &by_hand);
    strategy::<PrimalValue>(&mut group, "primal_value", problem, &by_hand);
    strategy::<Continuation>(&mut group, "continuation", problem, &by_hand);
    group.finish();
}

fn workloads(criterion: &mut Criterion) {
    workload(criterion, &Burgers::default());
    workload(criterion, &Gmm::iris());
    workload(criterion, &Gmm::synthetic(10, 25, 1000).expect("a possible size"));
    workload(criterion, &Laplacian::default());
    workload(criterion, &RepeatedSin::new(1_000_000).expect("a possible size"));
    workload(criterion, &Libor::new(80, 40, 10).expect("a possible size"));
    workload(criterion, &Lstm::synthetic(2, 14, 1024).expect("a possible size"));
    workload(criterion, &ExpSq::new(1000).expect("a possible size"));
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(15).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = workloads
}
criterion_main!(benches);
