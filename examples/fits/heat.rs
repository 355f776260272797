//! What was a plate's temperature before it was measured? The initial state of a heat equation is found from noisy
//! measurements of later states, by L-BFGS and the gradient of the misfit with respect to all of its cells.
//!
//! With `--svg FILE` it also draws the truth, the start of the search and the result.
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

#[path = "heat/picture.rs"]
mod picture;

use argmin::core::{CostFunction, Executor, Gradient, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use clap::Parser;
use std::cell::RefCell;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;

#[derive(Parser)]
struct Options {
    /// Draw the truth, the start and the result
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Cells along each side of the plate.
const N: usize = 48;
const CELLS: usize = N * N;
const SHAPE: [usize; 2] = [N, N];
/// Time steps before each of the measurements.
const PERIODS: [usize; 3] = [6, 6, 12];
/// How far a measurement is off: the standard deviation.
const NOISE: f64 = 0.01;
/// The weight of the squares of differences between neighbors, which noise makes large.
const SMOOTHNESS: f64 = 1e-3;

/// A time step: heat flows between neighbors, and out over the edges, which are kept at 0.
fn step<S: Taping<Value = f64>>(u: &mut View<S, 2>) {
    parallel_for(u.all(), u, |u| {
        let beside = u.or_zero::<1, 0>() + u.or_zero::<-1, 0>() + u.or_zero::<0, 1>() + u.or_zero::<0, -1>();
        (u.at::<0, 0>() + 0.2 * (beside - 4.0 * u.at::<0, 0>()),)
    });
}

/// The states at the times of the measurements.
fn states<S: Taping<Value = f64>>(start: &View<S, 2>) -> Vec<View<S, 2>> {
    let mut u = start.clone();
    let state = |steps: &usize| {
        (0..*steps).for_each(|_| step(&mut u));
        u.clone()
    };
    PERIODS.iter().map(state).collect()
}

/// How badly a plate that starts like this explains the measurements.
fn misfit<S: Strategy<Value = f64>>(start: &View<S, 2>, measured: &[Vec<f64>]) -> Real<S> {
    let roughness = parallel_sum([0..N - 1, 0..N - 1], start, |u| {
        let (right, below) = (u.at::<0, 1>() - u.at::<0, 0>(), u.at::<1, 0>() - u.at::<0, 0>());
        right.square() + below.square()
    });
    states(start).iter().zip(measured).fold((SMOOTHNESS * roughness).eval(), |sum, (state, measured)| {
        let measured = View::new(SHAPE, measured);
        let squares =
            parallel_sum(state.all(), (state, &measured), |(u, m)| (u.at::<0, 0>() - m.at::<0, 0>()).square());
        (sum + squares).eval()
    })
}

/// The misfit as a problem for the optimizer, with one tape for all evaluations. The optimizer asks for the value and
/// for the gradient apart; one recording gives both.
struct Search {
    measured: Vec<Vec<f64>>,
    last: RefCell<Evaluation>,
}

#[derive(Default)]
struct Evaluation {
    tape: Tape<Jacobian>,
    start: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    evaluations: usize,
}

impl Search {
    fn evaluate<R>(&self, start: &[f64], f: impl FnOnce(&Evaluation) -> R) -> Result<R, argmin::core::Error> {
        let mut last = self.last.borrow_mut();
        if last.start != start {
            let (x, value) = last.tape.record(|scope| {
                let x = scope.view(SHAPE, start);
                let value = misfit(&x, &self.measured);
                (x, value)
            });
            last.gradient = last.tape.sweep(&[(&value, 1.0)])?.of_view(&x)?.to_vec();
            (last.start, last.value) = (start.to_vec(), value.value());
            last.evaluations += 1;
        }
        Ok(f(&last))
    }
}

impl CostFunction for &Search {
    type Param = Vec<f64>;
    type Output = f64;
    fn cost(&self, start: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        self.evaluate(start, |last| last.value)
    }
}

impl Gradient for &Search {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;
    fn gradient(&self, start: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        self.evaluate(start, |last| last.gradient.clone())
    }
}

/// A hot disc and a warm bar.
fn truth() -> Vec<f64> {
    let temperature = |k: usize| {
        let (i, j) = ((k / N) as f64 - 17.0, (k % N) as f64 - 17.0);
        let disc = if i * i + j * j < 64.0 { 1.0 } else { 0.0 };
        let bar = if (14.0..20.0).contains(&i) && (0.0..24.0).contains(&j) { 0.6 } else { 0.0 };
        disc + bar
    };
    (0..CELLS).map(temperature).collect()
}

/// Numbers of this standard deviation, always the same ones.
fn noise(count: usize, deviation: f64) -> Vec<f64> {
    let mut state = 20_261_122_u64;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    // The sum of twelve uniform numbers is nearly normal, with deviation 1.
    (0..count).map(|_| deviation * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).collect()
}

/// The root of the mean square of the differences.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    (a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>() / a.len() as f64).sqrt()
}

/// Compares the gradient with differences along one direction.
fn check(search: &Search, start: &Vec<f64>) -> Result<f64, argmin::core::Error> {
    let direction = noise(CELLS, 1.0);
    let moved = |h: f64| -> Vec<f64> { start.iter().zip(&direction).map(|(x, d)| x + h * d).collect() };
    let at = |h: f64| misfit::<Passive>(&View::new(SHAPE, &moved(h)), &search.measured).value();
    let slope: f64 = search.gradient(start)?.iter().zip(&direction).map(|(g, d)| g * d).sum();
    Ok(((at(1e-4) - at(-1e-4)) / 2e-4 / slope - 1.0).abs())
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let truth = truth();
    let disturbed = |state: View<Passive, 2>, noise: &[f64]| -> Vec<f64> {
        state.values().iter().zip(noise).map(|(u, noise)| u + noise).collect()
    };
    let noise = noise(PERIODS.len() * CELLS, NOISE);
    let measured: Vec<Vec<f64>> = states::<Passive>(&View::new(SHAPE, &truth))
        .into_iter()
        .zip(noise.chunks(CELLS))
        .map(|(state, noise)| disturbed(state, noise))
        .collect();

    // The first measurement is where the search begins.
    let start = measured[0].clone();
    let search = Search { measured, last: RefCell::default() };
    let off = check(&search, &start)?;
    println!("the gradient and differences differ by {off:.1e} of the slope");
    assert!(off < 1e-7, "the gradient is wrong");

    let before = (search.evaluate(&start, |last| last.value)?, distance(&start, &truth));
    let time = Instant::now();
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 10).with_tolerance_grad(1e-3)?;
    let found = Executor::new(&search, solver).configure(|state| state.param(start.clone()).max_iters(300)).run()?;
    let seconds = time.elapsed().as_secs_f64();
    let result = found.state().get_best_param().ok_or("the search found nothing")?.clone();
    let after = (found.state().get_best_cost(), distance(&result, &truth));

    let last = search.last.borrow();
    println!("{CELLS} unknown temperatures, {} measurements, {} time steps", 3 * CELLS, PERIODS.iter().sum::<usize>());
    println!("misfit {:.3} → {:.3}, distance from the truth {:.3} → {:.3}", before.0, after.0, before.1, after.1);
    println!(
        "{} iterations, {} gradients in {seconds:.2} s; {} launches and {:.1} kB on the tape for each",
        found.state().get_iter(),
        last.evaluations,
        last.tape.launches().len(),
        last.tape.memory().total().used as f64 / 1e3,
    );
    assert!(after.0 < before.0 / 1.5 && after.1 < before.1 / 1.3, "the search has found nothing");
    if let Some(file) = options.svg {
        std::fs::write(&file, picture::svg(N, &[("truth", &truth), ("start", &start), ("result", &result)]))?;
        println!("drawn to {}", file.display());
    }
    Ok(())
}
