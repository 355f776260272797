//! Jacobian matrices of small, tall and wide functions: in forward mode, by a tape, and by the driver that chooses.
//!
//! The matrices are compared first. Times are the least of rounds in turns.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

mod turns;

use std::hint::black_box;
use tapewright::dense::{DenseJacobian, Function, Way};
use tapewright::prelude::*;
use turns::seconds;

/// Outputs that are sums of products, a statement for each term.
struct Products(usize);

impl Function for Products {
    fn outputs<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> impl AsRef<[Real<S>]> {
        let n = x.len();
        let row = |i: usize| {
            let mut sum = x[i % n];
            for j in 0..n {
                sum = (sum * 0.5 + x[j] * x[(i + j) % n]).into();
            }
            sum
        };
        (0..self.0).map(row).collect::<Vec<_>>()
    }
}

/// Values of a curve, a sum of decays with two parameters each, as residuals of a fit.
struct Curve(usize);

impl Function for Curve {
    fn outputs<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> impl AsRef<[Real<S>]> {
        let row = |i: usize| {
            let t = i as f64 / self.0 as f64;
            let mut sum = x[x.len() - 1];
            for pair in x.chunks_exact(2) {
                sum += pair[0] * (-pair[1] * t).exp();
            }
            sum
        };
        (0..self.0).map(row).collect::<Vec<_>>()
    }
}

/// Steps of a pendulum that is pushed, seen at some of them.
struct Steps(usize);

impl Function for Steps {
    fn outputs<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> impl AsRef<[Real<S>]> {
        let (n, m) = (x.len(), self.0);
        let steps = 2 * n.max(m);
        let (mut angle, mut speed) = (x[0], x[1 % n]);
        let mut outputs = Vec::with_capacity(m);
        for step in 0..steps {
            let push = x[step * n / steps];
            speed = (speed + 0.01 * (push - angle.sin())).into();
            angle = (angle + 0.01 * speed).into();
            if (step + 1) * m / steps > outputs.len() {
                outputs.push(angle);
            }
        }
        outputs
    }
}

/// A layer of a network: each output a statement of all inputs.
struct Layer(Vec<Vec<f64>>);

impl Layer {
    fn new(m: usize, n: usize) -> Self {
        let weight = |i: usize, j: usize| 0.1 + (i * 7 + j * 3) as f64 % 5.0 / n as f64;
        Self((0..m).map(|i| (0..n).map(|j| weight(i, j)).collect()).collect())
    }
}

impl Function for Layer {
    fn outputs<S: Strategy<Value = f64>>(&self, x: &[Real<S>]) -> impl AsRef<[Real<S>]> {
        let row = |weights: &Vec<f64>| tapewright::linear_combination(weights, x).tanh().eval();
        self.0.iter().map(row).collect::<Vec<_>>()
    }
}

/// One line: ns of each way, and of the driver beside the better one.
fn line<const N: usize>(name: &str, f: &impl Function, m: usize, n: usize) -> f64 {
    let x: Vec<f64> = (0..n).map(|k| 0.3 + 0.4 * (k as f64).sin()).collect();
    let mut found = [(); 3].map(|()| (vec![0.0; m], vec![0.0; m * n]));
    let mut drivers = [
        DenseJacobian::<Tangent<N>, Jacobian>::always(Way::Forward),
        DenseJacobian::always(Way::Tape),
        DenseJacobian::new(),
    ];
    let mut least = [f64::MAX; 3];
    let repeats = 1 + 2000 / (m * n);
    for round in 0..40 {
        for ((driver, (values, entries)), least) in drivers.iter_mut().zip(&mut found).zip(&mut least) {
            let mut run = || driver.evaluate(f, black_box(&x), values, entries).expect("it fits");
            let time = seconds(|| (0..repeats).for_each(|_| run())) / repeats as f64;
            if round > 2 {
                *least = least.min(time);
            }
        }
    }
    for (found, expected) in found[1..].iter().flat_map(|way| way.1.iter().zip(&found[0].1)) {
        assert!((found - expected).abs() <= 1e-11 * (1.0 + expected.abs()), "{name}: {found}, {expected} forward");
    }
    let way = if drivers[2].way() == Some(Way::Forward) { "forward" } else { "tape" };
    let [forward, by_tape, chosen] = least.map(|seconds| 1e9 * seconds);
    let ratio = chosen / forward.min(by_tape);
    println!("| {name} | {m} × {n} | {N} | {forward:.0} | {by_tape:.0} | {way} | {chosen:.0} | {ratio:.2} |");
    ratio
}

fn main() {
    println!("| function | shape | directions | forward, ns | tape, ns | driver takes | driver, ns | of the better |");
    println!("|---|---|--:|--:|--:|---|--:|--:|");
    let shapes = [
        (2, 2),
        (2, 9),
        (3, 6),
        (6, 6),
        (1, 8),
        (1, 30),
        (30, 3),
        (25, 5),
        (12, 20),
        (20, 20),
        (50, 50),
        (200, 5),
        (200, 20),
        (5, 200),
        (5, 50),
        (5, 16),
        (5, 24),
        (16, 24),
    ];
    let mut worst = 0.0_f64;
    for (m, n) in shapes {
        worst = worst.max(line::<8>("products", &Products(m), m, n));
        worst = worst.max(line::<8>("curve", &Curve(m), m, n));
        worst = worst.max(line::<8>("steps", &Steps(m), m, n));
        worst = worst.max(line::<8>("layer", &Layer::new(m, n), m, n));
    }
    println!("\nworst: {worst:.2}");
}
