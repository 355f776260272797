//! Logistic regression by Newton's method: which columns of a table foretell an event, and how much does each matter?
//!
//! A step solves H·p = −g by conjugate gradients. They need products of the Hessian matrix with vectors, each of them
//! one recording and one sweep over numbers with a tangent, and never the matrix itself.
//!
//! `cargo run --release --example newton`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use std::error::Error;
use tapewright::prelude::*;
use tapewright::{Dual, dot, linear_combination};
use tapewright_problems::random::SplitMix64;

const ROWS: usize = 2000;
/// A constant, 12 measurements that hang together, and 7 marks that are 0 or 1.
const COLUMNS: usize = 20;
const MEASUREMENTS: usize = 12;
/// What large weights cost.
const RIDGE: f64 = 1e-4;

/// Rows of measurements, each with its outcome: 1 where the event took place, else 0.
struct Table {
    rows: Vec<[f64; COLUMNS]>,
    outcomes: Vec<f64>,
}

/// A row. Three hidden factors move all measurements, so these are correlated. Marks become rarer by column.
fn row(random: &mut SplitMix64) -> [f64; COLUMNS] {
    let factors = [(); 3].map(|()| random.normal());
    core::array::from_fn(|column| match column {
        0 => 1.0,
        1..=MEASUREMENTS => factors[column % 3] + 0.3 * factors[(column + 1) % 3] + 0.5 * random.normal(),
        _ => f64::from(u8::from(random.u01() < 2.0 / column as f64)),
    })
}

impl Table {
    /// The same numbers on every machine.
    fn new() -> Self {
        let mut random = SplitMix64::new(20);
        let truth: [f64; COLUMNS] = core::array::from_fn(|k| if k % 4 == 3 { 0.0 } else { random.symmetric() });
        let rows: Vec<_> = (0..ROWS).map(|_| row(&mut random)).collect();
        let chance = |row: &[f64; COLUMNS]| sigmoid(score(row, &truth));
        let outcomes = rows.iter().map(|row| f64::from(u8::from(random.u01() < chance(row)))).collect();
        Self { rows, outcomes }
    }
}

fn score(row: &[f64], weights: &[f64]) -> f64 {
    row.iter().zip(weights).map(|(x, w)| x * w).sum()
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The mean of −ln of the probability of each outcome, given these weights, and the price of the weights.
fn loss<S: Strategy>(weights: &[Real<S>], table: &Table) -> Real<S> {
    let mut sum = Real::from(0.0);
    for (row, outcome) in table.rows.iter().zip(&table.outcomes) {
        let score = linear_combination(row, weights);
        sum += score.softplus() - *outcome * score;
    }
    (sum / table.rows.len() as f64 + 0.5 * RIDGE * dot(weights, weights)).eval()
}

fn plain_loss(weights: &[f64], table: &Table) -> f64 {
    loss::<Passive>(Real::wrap_slice(weights), table).value()
}

/// The loss with its derivatives at a point, on a tape that is kept.
struct Derivatives<'t, S: Reverse> {
    table: &'t Table,
    tape: Tape<S>,
    gradient: Vec<f64>,
    product: Vec<[f64; 1]>,
    /// How many products have been computed.
    products: usize,
}

impl<'t, S: Reverse<Value = Dual<f64, 1>> + Strategy> Derivatives<'t, S> {
    fn new(table: &'t Table) -> Self {
        let (gradient, product) = (vec![0.0; COLUMNS], vec![[0.0]; COLUMNS]);
        Self { table, tape: Tape::new(), gradient, product, products: 0 }
    }

    /// The loss. Leaves its gradient in `gradient`, and the Hessian matrix times the direction in `product`.
    fn along(&mut self, weights: &[f64], direction: &[[f64; 1]]) -> Result<f64, tapewright::Error> {
        let Self { table, tape, gradient, product, products } = self;
        *products += 1;
        tape.hessian_times(|w| loss(w, table), weights, direction, gradient, product)
    }
}

fn norm(x: &[f64]) -> f64 {
    score(x, x).sqrt()
}

/// p with H·p = −g, up to a residual of this norm, by conjugate gradients.
fn newton_step<S: Reverse<Value = Dual<f64, 1>> + Strategy>(
    at: &mut Derivatives<'_, S>,
    weights: &[f64],
    gradient: &[f64],
    tolerance: f64,
) -> Result<Vec<f64>, tapewright::Error> {
    let mut step = vec![0.0; COLUMNS];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut direction: Vec<[f64; 1]> = residual.iter().map(|r| [*r]).collect();
    let mut square = score(&residual, &residual);
    while square.sqrt() > tolerance {
        at.along(weights, &direction)?;
        let curvature: f64 = direction.iter().zip(&at.product).map(|(d, h)| d[0] * h[0]).sum();
        let length = square / curvature;
        for k in 0..COLUMNS {
            step[k] += length * direction[k][0];
            residual[k] -= length * at.product[k][0];
        }
        let next = score(&residual, &residual);
        for (direction, residual) in direction.iter_mut().zip(&residual) {
            direction[0] = residual + next / square * direction[0];
        }
        square = next;
    }
    Ok(step)
}

/// What an iteration began with, and what it took.
struct Iteration {
    loss: f64,
    gradient: f64,
    products: usize,
    length: f64,
}

/// The weights of least loss, where the norm of the gradient is at most `tolerance`, and how they were found.
fn fit<S: Reverse<Value = Dual<f64, 1>> + Strategy>(
    table: &Table,
    tolerance: f64,
) -> Result<(Vec<f64>, Vec<Iteration>), tapewright::Error> {
    let mut at = Derivatives::<S>::new(table);
    let (mut weights, mut iterations) = (vec![0.0; COLUMNS], Vec::new());
    loop {
        let loss = at.along(&weights, &[[0.0]; COLUMNS])?;
        let gradient = at.gradient.clone();
        let slope = norm(&gradient);
        at.products = 0;
        if slope <= tolerance {
            iterations.push(Iteration { loss, gradient: slope, products: 0, length: 0.0 });
            return Ok((weights, iterations));
        }
        // The closer, the more exactly: so it converges faster than linearly.
        let step = newton_step(&mut at, &weights, &gradient, slope * slope.sqrt().min(0.5))?;
        let moved = |length: f64| -> Vec<f64> { weights.iter().zip(&step).map(|(w, p)| w + length * p).collect() };
        let descent = score(&gradient, &step);
        // At the end the loss changes by less than it is rounded by.
        let enough = |length: f64| plain_loss(&moved(length), table) <= loss + 1e-4 * length * descent + 1e-14 * loss;
        let halved = std::iter::successors(Some(1.0), |length| Some(0.5 * length));
        let length = halved.take(30).find(|length| enough(*length)).expect("the step leads downhill");
        iterations.push(Iteration { loss, gradient: slope, products: at.products, length });
        weights = moved(length);
    }
}

/// The largest difference of a product of the Hessian matrix from differences of gradients along the same direction, as
/// a part of its norm.
fn error_of_product(weights: &[f64], table: &Table) -> Result<f64, tapewright::Error> {
    let mut random = SplitMix64::new(3);
    let direction: Vec<[f64; 1]> = weights.iter().map(|_| [random.symmetric()]).collect();
    let mut at = Derivatives::<PrimalValue<Dual<f64, 1>>>::new(table);
    at.along(weights, &direction)?;
    let slopes = |by: f64| -> Vec<f64> {
        let moved: Vec<f64> = weights.iter().zip(&direction).map(|(w, d)| w + by * d[0]).collect();
        gradient::<Jacobian>(|w| loss(w, table), &moved)
    };
    let (up, down) = (slopes(1e-5), slopes(-1e-5));
    let differences: Vec<f64> = (0..COLUMNS).map(|k| (up[k] - down[k]) / 2e-5 - at.product[k][0]).collect();
    Ok(norm(&differences) / norm(at.product.as_flattened()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let table = Table::new();
    let events: f64 = table.outcomes.iter().sum();
    println!("{ROWS} rows of {COLUMNS} columns, {events} events");
    let (weights, iterations) = fit::<Jacobian<Dual<f64, 1>>>(&table, 1e-12)?;
    println!("{:>9} {:>18} {:>10} {:>9} {:>7}", "iteration", "loss", "|gradient|", "products", "step");
    for (k, Iteration { loss, gradient, products, length }) in iterations.iter().enumerate() {
        println!("{k:>9} {loss:>18.15} {gradient:>10.2e} {products:>9} {length:>7}");
    }
    let last = iterations.last().expect("the last iteration ends the search");
    assert!(last.gradient <= 1e-12, "the gradient is {:e} at the end", last.gradient);

    let error = error_of_product(&weights, &table)?;
    println!("a product of the Hessian matrix differs from differences of gradients by {error:.1e} of its norm");
    assert!(error < 1e-8, "the product is wrong");
    let right = table.rows.iter().zip(&table.outcomes).filter(|(row, y)| (score(*row, &weights) > 0.0) == (**y > 0.5));
    println!("{:.1} % of the outcomes are the likelier ones", 100.0 * right.count() as f64 / ROWS as f64);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H·v in closed form: the mean of p·(1 − p)·x·(x·v) over the rows, and the ridge.
    fn product_by_hand(weights: &[f64], direction: &[f64], table: &Table) -> Vec<f64> {
        let mut product: Vec<f64> = direction.iter().map(|v| RIDGE * v).collect();
        for row in &table.rows {
            let p = sigmoid(score(row, weights));
            let factor = p * (1.0 - p) * score(row, direction) / ROWS as f64;
            product.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * x);
        }
        product
    }

    #[track_caller]
    fn products_are_right<S: Reverse<Value = Dual<f64, 1>> + Strategy>() {
        let table = Table::new();
        let mut random = SplitMix64::new(1);
        let mut at = Derivatives::<S>::new(&table);
        for _ in 0..3 {
            let weights: Vec<f64> = (0..COLUMNS).map(|_| random.symmetric()).collect();
            let direction: Vec<[f64; 1]> = (0..COLUMNS).map(|_| [random.symmetric()]).collect();
            at.along(&weights, &direction).expect("tapes in memory do not fail");
            let expected = product_by_hand(&weights, direction.as_flattened(), &table);
            let scale = norm(&expected);
            for (found, expected) in at.product.as_flattened().iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-13 * scale, "{found} and {expected}");
            }
        }
    }

    #[test]
    fn products_are_those_of_the_closed_form_under_every_kind_of_strategy() {
        products_are_right::<Jacobian<Dual<f64, 1>>>();
        products_are_right::<PrimalValue<Dual<f64, 1>>>();
        products_are_right::<Hybrid<Dual<f64, 1>>>();
    }

    #[test]
    fn a_product_is_the_slope_of_gradients() {
        let table = Table::new();
        let error = error_of_product(&[0.2; COLUMNS], &table).expect("tapes in memory do not fail");
        assert!(error < 1e-8, "{error:e}");
    }

    #[test]
    fn the_fit_solves_the_equations_of_the_scores() {
        let table = Table::new();
        let (weights, _) = fit::<Jacobian<Dual<f64, 1>>>(&table, 1e-12).expect("tapes in memory do not fail");
        for column in 0..COLUMNS {
            let surplus =
                |(row, outcome): (&[f64; COLUMNS], &f64)| row[column] * (sigmoid(score(row, &weights)) - outcome);
            let mean = table.rows.iter().zip(&table.outcomes).map(surplus).sum::<f64>() / ROWS as f64;
            assert!((mean + RIDGE * weights[column]).abs() < 1e-12, "column {column}: {mean:e}");
        }
    }

    /// Exact steps square the error; steps that are exact up to √|g| raise it to the power of 3/2.
    #[test]
    fn the_gradient_vanishes_faster_than_linearly() {
        let (_, iterations) = fit::<Jacobian<Dual<f64, 1>>>(&Table::new(), 1e-12).expect("tapes in memory do not fail");
        assert!(iterations.len() <= 15, "{} iterations", iterations.len());
        let near = iterations.windows(2).filter(|pair| pair[0].gradient < 1e-3 && pair[0].gradient > 1e-8);
        let orders: Vec<f64> = near.map(|pair| pair[1].gradient.ln() / pair[0].gradient.ln()).collect();
        assert!(!orders.is_empty() && orders.iter().all(|order| *order > 1.2), "{orders:?}");
        assert!(iterations.iter().rev().skip(1).all(|iteration| iteration.products <= COLUMNS + 5));
    }
}
