//! What it costs that a recording knows its lines: gradients under `S` and under `Traced<S>`, in turns.
//!
//! Prints a table of medians of thread CPU time in microseconds, and of the ratios within a round.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

mod turns;

use std::hint::black_box;
use tapewright::advisor::Program;
use tapewright::policy::{Strict, Tracing};
use tapewright::strategies::WithPolicy;
use tapewright::{Jacobian, PrimalValue, Real, Reuse, Reverse, Strategy, Tape, Taping, Traced};
use tapewright_problems::{Burgers, Gmm, Libor, Lstm, Problem, Workload};
use tapewright_test_support::median;
use turns::seconds;

const ROUNDS: usize = 61;
const PRODUCTS: usize = 1_000_000;

/// Statements that are as short as can be.
struct Products;

impl Program for Products {
    fn run<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> Real<S> {
        products(x)
    }
    fn run_reusing<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Option<Real<S>> {
        Some(products(x))
    }
}

fn products<S: Taping<Value = f64>>(x: &[Real<S>]) -> Real<S> {
    (0..PRODUCTS).fold(x[0].clone(), |y, _| (y * &x[1]).into())
}

/// Seconds of one gradient.
fn gradient<S: Reverse<Value = f64>>(tape: &mut Tape<S>, f: &impl Program, x: &[f64], slopes: &mut [f64]) -> f64 {
    let run = |x: &[Real<S>]| f.run_reusing(x).expect("it is over `S: Taping`");
    seconds(|| tape.gradient(run, black_box(x), slopes).expect("its own output"))
}

fn row<S: Reverse<Value = f64, Policy = Strict> + WithPolicy<Tracing, Strategy: Reverse>>(
    name: &str,
    strategy: &str,
    f: &impl Program,
    x: &[f64],
) {
    let (mut slopes, mut traced_slopes) = (x.to_vec(), x.to_vec());
    let (mut plain, mut traced) = (Tape::<S>::new(), Tape::<Traced<S>>::new());
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let time = gradient(&mut plain, f, x, &mut slopes);
        times.push((time, gradient(&mut traced, f, x, &mut traced_slopes)));
        assert_eq!(slopes, traced_slopes);
    }
    let of = |figure: fn(&(f64, f64)) -> f64| median(times.iter().map(figure).collect());
    let statements = plain.memory().statements;
    let (time, traced, ratio) = (of(|t| t.0 * 1e6), of(|t| t.1 * 1e6), of(|t| t.1 / t.0));
    println!("{name:<10} {strategy:<16} {statements:>8} {time:>10.1} {traced:>10.1} {ratio:>6.2}");
}

fn rows(name: &str, f: &impl Program, x: &[f64]) {
    row::<Jacobian>(name, "Jacobian", f, x);
    row::<Jacobian<f64, Reuse>>(name, "Jacobian, Reuse", f, x);
    row::<PrimalValue>(name, "PrimalValue", f, x);
}

fn workload(problem: impl Problem) {
    let (name, x) = (problem.name(), problem.inputs(0));
    rows(name, &Workload(problem), &x);
}

fn main() {
    println!("{:<10} {:<16} {:>8} {:>10} {:>10} {:>6}", "workload", "strategy", "records", "S", "Traced<S>", "ratio");
    rows("products", &Products, &[3.0, 1.0]);
    workload(Burgers::new(32, 8).expect("a possible size"));
    workload(Gmm::iris());
    workload(Libor::new(80, 40, 1).expect("a possible size"));
    workload(Lstm::synthetic(2, 6, 30).expect("a possible size"));
}
