//! ndarray: how many bicycles cross a bridge? A Poisson regression on a table that is an `Array2`.
//!
//! Its columns become views, and a column is one statement of the recording: `score += weight · column`. The gradient
//! comes back as an `Array1`, and is compared with the closed form Xᵀ(exp(X·w) − y)/rows in ndarray's own products.
//!
//! `cargo run --release -p tapewright-ecosystem --example bicycles`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use ndarray::{Array1, Array2, ArrayView1, Axis, array};
use std::error::Error;
use tapewright::kernels::{View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright_problems::random::SplitMix64;

/// Hours that were counted.
const HOURS: usize = 5000;

/// A constant, the temperature in units of 10 °C above 10 °C, rain, the weekend, and rush hours.
fn table(random: &mut SplitMix64) -> Array2<f64> {
    let mut table = Array2::ones((HOURS, 5));
    for mut row in table.rows_mut() {
        row[1] = random.normal();
        row[2] = f64::from(random.u01() < 0.2);
        row[3] = f64::from(random.u01() < 2.0 / 7.0);
        row[4] = f64::from(random.u01() < 0.25) * (1.0 - 0.7 * row[3]);
    }
    table
}

/// A number from the Poisson distribution of this mean: arrivals at random times, until 1 is over.
fn poisson(mean: f64, random: &mut SplitMix64) -> f64 {
    let mut time = -random.u01().ln();
    let mut count = 0.0;
    while time < mean {
        time -= random.u01().ln();
        count += 1.0;
    }
    count
}

/// The mean of exp(s) − y·s over all rows, where s = X·w: −ln of the likelihood, up to a constant.
fn loss<S: Taping<Value = f64>>(columns: &[View<S, 1>], counts: &View<S, 1>, weights: &View<S, 1>) -> Real<S> {
    let mut score = View::zeros(counts.shape());
    for (column, weight) in columns.iter().zip(&weights.to_variables()) {
        parallel_for(score.all(), (&mut score, column, weight), |(s, x, w)| (s.at::<0>() + w * x.at::<0>(),));
    }
    let sum = parallel_sum(score.all(), (&score, counts), |(s, y)| s.at::<0>().exp() - y.at::<0>() * s.at::<0>());
    (sum / counts.len() as f64).into()
}

/// The table as the tape reads it, made once.
struct Data {
    columns: Vec<View<Jacobian, 1>>,
    counts: View<Jacobian, 1>,
}

impl Data {
    fn new(table: &Array2<f64>, counts: &Array1<f64>) -> Self {
        // Columns of a table that lies in memory by rows: views take any layout.
        let columns = table.axis_iter(Axis(1)).map(|column: ArrayView1<f64>| View::from_array(&column)).collect();
        Self { columns, counts: View::from_array(counts) }
    }

    /// The loss and its gradient.
    fn gradient(
        &self,
        tape: &mut Tape<Jacobian>,
        weights: &Array1<f64>,
    ) -> Result<(f64, Array1<f64>), tapewright::Error> {
        let (weights, loss) = tape.record(|scope| {
            let weights = scope.view_from_array(weights);
            let loss = loss(&self.columns, &self.counts, &weights);
            (weights, loss)
        });
        let gradient = Array1::from_vec(tape.sweep(&[(&loss, 1.0)])?.of_view(&weights)?.into_owned());
        Ok((loss.value(), gradient))
    }
}

/// The gradient by hand, as products of arrays.
fn by_hand(table: &Array2<f64>, counts: &Array1<f64>, weights: &Array1<f64>) -> Array1<f64> {
    table.t().dot(&(table.dot(weights).exp() - counts)) / counts.len() as f64
}

fn norm(x: &Array1<f64>) -> f64 {
    x.dot(x).sqrt()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut random = SplitMix64::new(7);
    let truth = array![2.5, 0.3, -0.8, -0.5, 0.9];
    let table = table(&mut random);
    let counts = table.dot(&truth).mapv(|score| poisson(score.exp(), &mut random));
    println!("{HOURS} hours, {} bicycles", counts.sum());

    let data = Data::new(&table, &counts);
    let mut tape = Tape::new();
    let mut weights = Array1::zeros(truth.len());
    // Steps down the gradient, scaled by the mean count: for it the slopes grow.
    let scale = 1.0 / counts.mean().ok_or("there are hours")?;
    let (mut steps, mut apart) = (0, 0.0_f64);
    let (loss, gradient) = loop {
        let (loss, gradient) = data.gradient(&mut tape, &weights)?;
        apart = apart.max(norm(&(&gradient - &by_hand(&table, &counts, &weights))));
        if norm(&gradient) < 1e-10 {
            break (loss, gradient);
        }
        weights.scaled_add(-0.5 * scale, &gradient);
        steps += 1;
        assert!(steps < 5000, "the gradient is still {:e}", norm(&gradient));
    };
    println!("after {steps} steps the loss is {loss:.6}, its gradient {:.1e}", norm(&gradient));
    println!("all gradients are those of the closed form, up to {apart:.1e}");
    // The means are of numbers up to some 100, each rounded a few times.
    assert!(apart < 1e-12, "a gradient is wrong");
    println!("a recording has {} launches of kernels", tape.launches().len());
    for ((name, found), truth) in
        ["constant", "per 10 °C", "rain", "weekend", "rush hour"].iter().zip(&weights).zip(&truth)
    {
        println!("{name:<10} {found:7.3}, the data were made with {truth:4.1}");
        // A standard error is at most 0.02 here: 1/√(curvature) with some 200,000 bicycles.
        assert!((found - truth).abs() < 0.05, "{name} is wrong");
    }
    Ok(())
}
