//! What it costs that a recording knows its lines: gradients under `S` and under `Traced<S>`, in turns.
//!
//! Prints a table of medians of thread CPU time in microseconds, and of the ratios within a round.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

mod turns;

use std::hint::black_box;
use tapewright::{Jacobian, PrimalValue, Real, Reuse, Reverse, Tape, Taping, Traceable, Traced};
use tapewright_problems::{Burgers, Gmm, Libor, Lstm, Problem};
use turns::{median, seconds};

const ROUNDS: usize = 61;
const PRODUCTS: usize = 1_000_000;

/// A function under any strategy, and the point at which it is differentiated.
trait Function {
    fn name(&self) -> &'static str;
    fn at(&self) -> Vec<f64>;
    fn eval<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Real<S>;
}

struct Workload<P>(P);
impl<P: Problem> Function for Workload<P> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn at(&self) -> Vec<f64> {
        self.0.inputs(0)
    }
    fn eval<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Real<S> {
        self.0.eval(0, x)
    }
}

/// Statements that are as short as can be.
struct Products;
impl Function for Products {
    fn name(&self) -> &'static str {
        "products"
    }
    fn at(&self) -> Vec<f64> {
        vec![3.0, 1.0]
    }
    fn eval<S: Taping<Value = f64>>(&self, x: &[Real<S>]) -> Real<S> {
        (0..PRODUCTS).fold(x[0].clone(), |y, _| (y * &x[1]).into())
    }
}

/// Seconds of one gradient.
fn gradient<S: Reverse<Value = f64>>(tape: &mut Tape<S>, f: &impl Function, x: &[f64], slopes: &mut [f64]) -> f64 {
    seconds(|| tape.gradient(|x: &[Real<S>]| f.eval(x), black_box(x), slopes).expect("its own output"))
}

fn row<S: Traceable<Value = f64>>(strategy: &str, f: &impl Function) {
    let x = f.at();
    let (mut slopes, mut traced_slopes) = (x.clone(), x.clone());
    let (mut plain, mut traced) = (Tape::<S>::new(), Tape::<Traced<S>>::new());
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let time = gradient(&mut plain, f, &x, &mut slopes);
        times.push((time, gradient(&mut traced, f, &x, &mut traced_slopes)));
        assert_eq!(slopes, traced_slopes);
    }
    let of = |figure: fn(&(f64, f64)) -> f64| median(times.iter().map(figure).collect());
    let (statements, name) = (plain.memory().statements, f.name());
    let (time, traced, ratio) = (of(|t| t.0 * 1e6), of(|t| t.1 * 1e6), of(|t| t.1 / t.0));
    println!("{name:<10} {strategy:<16} {statements:>8} {time:>10.1} {traced:>10.1} {ratio:>6.2}");
}

fn rows(f: &impl Function) {
    row::<Jacobian>("Jacobian", f);
    row::<Jacobian<f64, Reuse>>("Jacobian, Reuse", f);
    row::<PrimalValue>("PrimalValue", f);
}

fn main() {
    println!("{:<10} {:<16} {:>8} {:>10} {:>10} {:>6}", "workload", "strategy", "records", "S", "Traced<S>", "ratio");
    rows(&Products);
    rows(&Workload(Burgers::new(32, 8).expect("a possible size")));
    rows(&Workload(Gmm::iris()));
    rows(&Workload(Libor::new(80, 40, 1).expect("a possible size")));
    rows(&Workload(Lstm::synthetic(2, 6, 30).expect("a possible size")));
}
