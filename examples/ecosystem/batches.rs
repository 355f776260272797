//! Logistic regression by mini-batches: Adam's steps, each from the gradient of a batch of rows.
//!
//! The loss of one row is recorded once, as a [program](tapewright::programs): the weights are its parameters, rows its
//! scenarios. A batch is a part of the table, which is read where it lies.
//!
//! `cargo run --release -p tapewright-ecosystem --example batches`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use std::error::Error;
use tapewright::prelude::*;
use tapewright::programs::{Program, rows};
use tapewright_problems::random::SplitMix64;

const ROWS: usize = 65_536;
const FEATURES: usize = 12;
/// Numbers of a row: the features, and 1 for yes or 0 for no.
const COLUMNS: usize = FEATURES + 1;
/// Rows of a batch.
const BATCH: usize = 256;
const EPOCHS: usize = 12;

/// −ln of the probability of what happened: ln(1 + e^z) − y·z, where z = w·x.
fn loss<S: Strategy>(weights: &[Real<S>], row: &[Real<S>]) -> Real<S> {
    let z = tapewright::dot(weights, &row[..FEATURES]);
    // Without overflow, and without a branch.
    (z.max(0.0) + (-z.abs()).exp().ln_1p() - row[FEATURES] * z).eval()
}

/// Kingma's and Ba's method (*Adam: a method for stochastic optimization*, 2015, algorithm 1).
#[derive(Default)]
struct Adam {
    steps: i32,
    first: [f64; FEATURES],
    second: [f64; FEATURES],
}

impl Adam {
    fn step(&mut self, rate: f64, weights: &mut [f64; FEATURES], gradient: &[f64]) {
        self.steps += 1;
        let [first, second] = [0.9_f64, 0.999].map(|decay| 1.0 - decay.powi(self.steps));
        for k in 0..FEATURES {
            self.first[k] += 0.1 * (gradient[k] - self.first[k]);
            self.second[k] += 0.001 * (gradient[k].powi(2) - self.second[k]);
            weights[k] -= rate * self.first[k] / first / ((self.second[k] / second).sqrt() + 1e-8);
        }
    }
}

/// The table, row by row. The first feature is a constant.
fn table(truth: &[f64; FEATURES]) -> Vec<f64> {
    let mut random = SplitMix64::new(3);
    let mut row = || {
        let x: [f64; FEATURES] = core::array::from_fn(|k| if k == 0 { 1.0 } else { random.normal() });
        let z: f64 = x.iter().zip(truth).map(|(x, w)| x * w).sum();
        let happened = f64::from(random.u01() < 1.0 / (1.0 + (-z).exp()));
        x.into_iter().chain([happened])
    };
    (0..ROWS).flat_map(|_| row()).collect()
}

/// The gradient by hand: the mean of (p − y)·x.
fn by_hand(weights: &[f64; FEATURES], table: &[f64]) -> [f64; FEATURES] {
    let mut sums = [0.0; FEATURES];
    for row in table.chunks_exact(COLUMNS) {
        let z: f64 = row.iter().zip(weights).map(|(x, w)| x * w).sum();
        let off = 1.0 / (1.0 + (-z).exp()) - row[FEATURES];
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += off * x);
    }
    sums.map(|sum| sum * COLUMNS as f64 / table.len() as f64)
}

fn main() -> Result<(), Box<dyn Error>> {
    let truth = core::array::from_fn(|k| 0.25 * (k as f64 - 5.0));
    let table = table(&truth);
    let program = Program::new(|weights, row| [loss(weights, row)]);
    let (mut weights, mut adam) = ([0.0; FEATURES], Adam::default());
    for epoch in 0..EPOCHS {
        let (mut sum, rate) = (0.0, 0.02 * 0.5_f64.powi(i32::try_from(epoch)?));
        for batch in table.chunks_exact(BATCH * COLUMNS) {
            let found = program.gradient(&weights, rows(batch, COLUMNS))?;
            adam.step(rate, &mut weights, &found.mean_gradient(0));
            sum += found.mean(0) * BATCH as f64;
        }
        println!("epoch {epoch:>2}: loss {:.6}", sum / ROWS as f64);
    }

    let all = program.gradient(&weights, rows(&table, COLUMNS))?;
    let gradient = all.mean_gradient(0);
    let difference = gradient.iter().zip(by_hand(&weights, &table)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!("the gradient over all rows is the one of the closed form, up to {difference:.1e}");
    assert!(difference < 1e-13, "the gradient is wrong");
    // A batch's gradient has a standard error of 1/√(4·256) at the most; steps of the last epochs are small beside it.
    let slope = gradient.iter().map(|slope| slope.abs()).fold(0.0, f64::max);
    assert!(slope < 2e-3, "the mean has a slope of {slope}");
    // The curvature is some 0.1 along each weight, so the weights have standard errors of 1/√(0.1·65536).
    for (found, truth) in weights.iter().zip(truth) {
        assert!((found - truth).abs() < 0.08, "{found}, but the rows were made with {truth}");
    }
    Ok(())
}
