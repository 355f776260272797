//! What a recording costs beside its statements: a tiny function, growing sizes, cold against warm memory.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use tapewright::{Capacity, Jacobian, PrimalValue, Real, Reverse, Strategy, Tape};

/// exp(x₀)·x₁·x₁: one statement.
fn tiny<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    (x[0].exp() * x[1] * x[1]).into()
}

/// `n` statements of two arguments on a ring of 64 variables; the gradient is that of a product.
fn chain<S: Strategy>(x: &[Real<S>], n: usize) -> Real<S> {
    let mut ring = [x[0]; 64];
    for k in 0..n {
        ring[k % 64] = (ring[k % 64] * x[1]).into();
    }
    ring[n.wrapping_sub(1) % 64]
}

/// Checks the chain's gradient in closed form: x₀·x₁^m after m multiplications.
fn check_chain<S: Strategy + Reverse<Value = f64>>(tape: &mut Tape<S>, n: usize) {
    let mut gradient = [0.0; 2];
    tape.gradient(|x: &[Real<S>]| chain(x, n), &[3.0, 1.0], &mut gradient).expect("own output");
    let m = n.div_ceil(64);
    assert!((gradient[0] - 1.0).abs() < 1e-12 && (gradient[1] - 3.0 * m as f64).abs() < 1e-9 * m as f64);
}

fn tiny_function(criterion: &mut Criterion) {
    fn of<S: Strategy + Reverse<Value = f64>>(criterion: &mut Criterion, name: &str) {
        let (mut tape, mut gradient) = (Tape::<S>::new(), [0.0; 2]);
        let value = tape.gradient(tiny, &[0.3, 1.7], &mut gradient).expect("own output");
        assert!((gradient[0] - value).abs() < 1e-14 && (gradient[1] - 2.0 * value / 1.7).abs() < 1e-14);
        criterion.bench_function(&format!("tiny/{name}"), |b| {
            b.iter(|| tape.gradient(tiny, black_box(&[0.3, 1.7]), black_box(&mut gradient)));
        });
    }
    criterion.bench_function("tiny/primal", |b| {
        b.iter(|| {
            let [x, y] = black_box([0.3_f64, 1.7]);
            x.exp() * y * y
        });
    });
    of::<Jacobian>(criterion, "jacobian");
    of::<PrimalValue>(criterion, "primal_value");
}

fn growing_sizes(criterion: &mut Criterion) {
    fn of<S: Strategy + Reverse<Value = f64>>(criterion: &mut Criterion, name: &str) {
        let mut group = criterion.benchmark_group(format!("statements/{name}"));
        for n in [100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
            let mut tape = Tape::<S>::new();
            check_chain(&mut tape, n);
            let mut gradient = [0.0; 2];
            group.throughput(Throughput::Elements(n as u64));
            group.bench_function(BenchmarkId::from_parameter(n), |b| {
                b.iter(|| tape.gradient(|x: &[Real<S>]| chain(x, n), black_box(&[3.0, 1.0]), &mut gradient));
            });
        }
        group.finish();
    }
    of::<Jacobian>(criterion, "jacobian");
    of::<PrimalValue>(criterion, "primal_value");
}

fn cold_and_warm(criterion: &mut Criterion) {
    fn of<S: Strategy + Reverse<Value = f64>>(criterion: &mut Criterion, name: &str) {
        const N: usize = 1_000_000;
        let capacity = Capacity { inputs: 2, statements: N, arguments: 2 * N };
        let mut gradient = [0.0; 2];
        let mut run = |tape: &mut Tape<S>| {
            tape.gradient(|x: &[Real<S>]| chain(x, N), black_box(&[3.0, 1.0]), &mut gradient).is_ok()
        };
        let mut group = criterion.benchmark_group(format!("first_gradient/{name}"));
        group.bench_function("cold", |b| b.iter_batched_ref(Tape::new, &mut run, BatchSize::PerIteration));
        group.bench_function("after_hint", |b| {
            b.iter_batched_ref(|| Tape::with_capacity(capacity), &mut run, BatchSize::PerIteration);
        });
        group.bench_function("hint", |b| b.iter_with_large_drop(|| Tape::<S>::with_capacity(capacity)));
        let mut warm = Tape::new();
        check_chain(&mut warm, N);
        group.bench_function("warm", |b| b.iter(|| run(&mut warm)));
        group.finish();
    }
    of::<Jacobian>(criterion, "jacobian");
    of::<PrimalValue>(criterion, "primal_value");
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(15).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = tiny_function, growing_sizes, cold_and_warm
}
criterion_main!(benches);
