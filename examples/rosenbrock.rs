//! The least value of the chained Rosenbrock function of 10,000 variables, by Newton's method with a line search: in
//! each iteration a sparse Hessian matrix, and its sparse Cholesky factors by faer.
//!
//! Where the matrix is not positive definite, a multiple of the unit matrix is added to it. The search begins at
//! 1 + sin i. From the usual start, −1.2, 1, −1.2, …, it takes more iterations than there are variables, since each of
//! them waits for the one before it.
//!
//! `cargo run --release --example rosenbrock --features faer`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use faer::linalg::cholesky::llt::factor::LltError as Indefinite;
use faer::linalg::solvers::Solve;
use faer::sparse::SparseColMatRef;
use faer::sparse::linalg::LltError;
use faer::sparse::linalg::solvers::{Llt, SymbolicLlt};
use faer::{Col, Side};
use std::error::Error;
use tapewright::Dual;
use tapewright::prelude::*;
use tapewright::sparse::SparseHessian;

const VARIABLES: usize = 10_000;
/// The norm of the gradient at the end.
const TOLERANCE: f64 = 1e-8;

/// Three colors, and the check of the pattern: four tangents find the matrix by one recording.
type S = PrimalValue<Dual<f64, 4>>;

fn rosenbrock<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let mut sum = Real::from(0.0);
    for x in x.windows(2) {
        sum += 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
    }
    sum
}

fn plain(x: &[f64]) -> f64 {
    rosenbrock::<Passive>(Real::wrap_slice(x)).value()
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// What an iteration began with, and what it did.
struct Iteration {
    value: f64,
    slope: f64,
    /// The multiple of the unit matrix that was added.
    shift: f64,
    /// The part of the step that was taken.
    length: f64,
}

/// What is kept between iterations.
struct Newton {
    tape: Tape<S>,
    hessian: SparseHessian<f64, 4>,
    /// The order of elimination, and where the factors have entries.
    analysis: SymbolicLlt<usize>,
    gradient: Vec<f64>,
}

impl Newton {
    fn new(x: &[f64]) -> Result<Self, Box<dyn Error>> {
        let mut tape = Tape::new();
        let hessian = SparseHessian::new(&mut tape, rosenbrock, x)?;
        // The transposed matrix is the same one, and by columns.
        let matrix = hessian.matrix().as_faer().transpose();
        let analysis = SymbolicLlt::try_new(matrix.symbolic(), Side::Lower)?;
        Ok(Self { tape, hessian, analysis, gradient: vec![0.0; x.len()] })
    }

    /// p with (H + s·I)·p = −g, and s: 0 if H is positive definite, and otherwise the first of 1, 2, 4, … for which
    /// the sum is.
    fn step(&self) -> Result<(Col<f64>, f64), LltError> {
        let matrix = self.hessian.matrix();
        let places = matrix.as_faer().transpose();
        let downhill = Col::from_fn(self.gradient.len(), |i| -self.gradient[i]);
        let mut values = matrix.values().to_vec();
        let mut shift = 0.0;
        loop {
            let shifted = SparseColMatRef::new(places.symbolic(), &values);
            match Llt::try_new_with_symbolic(self.analysis.clone(), shifted, Side::Lower) {
                Err(LltError::Numeric(Indefinite::NonPositivePivot { .. })) => {}
                factors => return Ok((factors?.solve(downhill), shift)),
            }
            let more = if shift == 0.0 { 1.0 } else { shift };
            shift += more;
            let diagonal = (0..matrix.pattern().rows()).filter_map(|i| matrix.pattern().find(i, i));
            diagonal.for_each(|at| values[at] += more);
        }
    }

    /// Goes from `x` to a lower place, unless the gradient is 0 there, up to the tolerance.
    fn iterate(&mut self, x: &mut Vec<f64>) -> Result<Iteration, Box<dyn Error>> {
        let value = self.hessian.evaluate(&mut self.tape, rosenbrock, x, &mut self.gradient)?;
        let slope = norm(&self.gradient);
        if slope < TOLERANCE {
            return Ok(Iteration { value, slope, shift: 0.0, length: 0.0 });
        }
        let (step, shift) = self.step()?;
        let descent: f64 = step.iter().zip(&self.gradient).map(|(p, g)| p * g).sum();
        let moved = |length: f64| -> Vec<f64> { x.iter().zip(step.iter()).map(|(x, p)| x + length * p).collect() };
        let enough = |length: f64| plain(&moved(length)) <= value + 1e-4 * length * descent;
        let mut halved = std::iter::successors(Some(1.0), |length| Some(0.5 * length)).take(40);
        let length = halved.find(|length| enough(*length)).ok_or("the step does not lead downhill")?;
        *x = moved(length);
        Ok(Iteration { value, slope, shift, length })
    }
}

/// The iterations from a start to a place where the gradient is 0, this place, and what was kept.
type Minimum = (Vec<Iteration>, Vec<f64>, Newton);

fn minimize(mut x: Vec<f64>) -> Result<Minimum, Box<dyn Error>> {
    let mut newton = Newton::new(&x)?;
    let mut iterations = Vec::new();
    loop {
        let iteration = newton.iterate(&mut x)?;
        let ended = iteration.length == 0.0;
        iterations.push(iteration);
        if ended {
            return Ok((iterations, x, newton));
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let start = (0..VARIABLES).map(|i| 1.0 + (i as f64).sin()).collect();
    let (iterations, x, newton) = minimize(start)?;
    let (entries, colors) = (newton.hessian.matrix().pattern().entries(), newton.hessian.coloring().count());
    println!("{VARIABLES} variables, {entries} entries in the Hessian matrix, {colors} colors");
    println!("{:>9} {:>12} {:>12} {:>6} {:>8}", "iteration", "value", "|gradient|", "shift", "step");
    for (k, Iteration { value, slope, shift, length }) in iterations.iter().enumerate() {
        println!("{k:>9} {value:>12.4e} {slope:>12.4e} {shift:>6} {length:>8}");
    }
    let slope = iterations.last().expect("there is a first iteration").slope;
    assert!(slope < TOLERANCE, "the gradient is {slope:e} at the end");
    let error = x.iter().map(|x| (x - 1.0).abs()).fold(0.0, f64::max);
    println!("all variables are 1, up to {error:.1e}");
    assert!(error < 1e-6, "this is not the least value");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_iteration_leads_downhill_and_the_last_ones_converge_quadratically() {
        let start = (0..100).map(|i| 1.0 + f64::from(i).sin()).collect();
        let (iterations, x, newton) = minimize(start).expect("there is a least value");
        assert!(iterations.windows(2).all(|pair| pair[1].value < pair[0].value));
        assert!(iterations.iter().any(|iteration| iteration.shift > 0.0), "the Hessian matrix is indefinite somewhere");
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-6));
        let near: Vec<f64> = iterations.iter().map(|iteration| iteration.slope).filter(|slope| *slope < 0.1).collect();
        assert!(near.windows(2).all(|pair| pair[1] < 100.0 * pair[0] * pair[0] + TOLERANCE), "{near:?}");
        assert_eq!(newton.hessian.coloring().count(), 3);
    }

    #[test]
    fn the_usual_start_takes_more_iterations_than_variables() {
        let start = (0..40).map(|i| if i % 2 == 0 { -1.2 } else { 1.0 }).collect();
        let (iterations, _, _) = minimize(start).expect("there is a minimum");
        assert!(iterations.len() > 40, "{}", iterations.len());
    }
}
