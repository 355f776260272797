//! A nonlinear diffusion problem, −Δu + u³ = f on the unit square with u = 0 around it, by Newton's method: in each
//! iteration a recording on a kept tape, its sparse Jacobian matrix, and sparse LU factors by faer.
//!
//! The right-hand side is the one that has a known solution, sin πx · sin πy. The error of the five-point stencil is of
//! second order: cells half as wide give a quarter of it.
//!
//! `cargo run --release --example diffusion --features faer`
#![allow(clippy::cast_precision_loss, reason = "counts are small")]

use faer::Col;
use faer::linalg::solvers::Solve;
use faer::sparse::linalg::solvers::{Lu, SymbolicLu};
use std::error::Error;
use std::f64::consts::PI;
use tapewright::prelude::*;
use tapewright::sparse::SparseJacobian;

/// The equations at the inner corners of a grid of square cells.
struct Problem {
    /// How many cells are side by side, one more than there are inner points.
    cells: usize,
    /// The right-hand side at each inner point, row by row.
    f: Vec<f64>,
    /// The solution of the differential equation there.
    solution: Vec<f64>,
}

impl Problem {
    fn new(cells: usize) -> Self {
        let at = |k: usize| (PI * k as f64 / cells as f64).sin();
        let rows = 1..cells;
        let solution: Vec<f64> = rows.flat_map(|i| (1..cells).map(move |j| at(i) * at(j))).collect();
        let f = solution.iter().map(|u| 2.0 * PI * PI * u + u.powi(3)).collect();
        Self { cells, f, solution }
    }

    /// −Δu + u³ − f at each inner point, by the five-point stencil.
    fn residuals<S: Strategy>(&self, u: &[Real<S>]) -> Vec<Real<S>> {
        let n = self.cells - 1;
        let per_square = (self.cells * self.cells) as f64;
        // 0 is the border, and so is n + 1.
        let inner = |k: usize| (1..=n).contains(&k);
        let at = |i: usize, j: usize| if inner(i) && inner(j) { u[(i - 1) * n + j - 1] } else { Real::from(0.0) };
        let mut residuals = Vec::with_capacity(n * n);
        for i in 1..=n {
            for j in 1..=n {
                let (c, f) = (at(i, j), self.f[residuals.len()]);
                let around = at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1);
                residuals.push(((4.0 * c - around) * per_square + c * c * c - f).into());
            }
        }
        residuals
    }
}

fn largest(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |most, number| most.max(number.abs()))
}

/// What has been found on a grid.
struct Found {
    u: Vec<f64>,
    /// The largest residual before each iteration, and after the last one.
    residuals: Vec<f64>,
    entries: usize,
    sweeps: usize,
}

/// Newton's method from u = 0.
fn solve(problem: &Problem) -> Result<Found, Box<dyn Error>> {
    let mut tape = Tape::<Jacobian>::new();
    let mut u = vec![0.0; problem.f.len()];
    // Pattern, coloring and order of elimination are found once.
    let mut kept: Option<(SparseJacobian<f64>, SymbolicLu<usize>)> = None;
    let tolerance = 1e-10 * largest(problem.f.iter().copied());
    let mut residuals = Vec::new();
    loop {
        let (x, y) = tape.record(|scope| {
            let x = scope.inputs(&u);
            let y = problem.residuals(&x);
            (x, y)
        });
        residuals.push(largest(y.iter().map(Real::value)));
        let (jacobian, analysis) = if let Some(kept) = &mut kept {
            kept
        } else {
            let jacobian = SparseJacobian::new(&tape, &x, &y)?;
            let analysis = SymbolicLu::try_new(jacobian.matrix().as_faer().transpose().symbolic())?;
            kept.insert((jacobian, analysis))
        };
        if residuals[residuals.len() - 1] < tolerance {
            let (entries, sweeps) = (jacobian.matrix().pattern().entries(), jacobian.sweeps());
            return Ok(Found { u, residuals, entries, sweeps });
        }
        if residuals.len() > 20 {
            return Err("Newton's method does not converge".into());
        }
        // faer takes matrices by columns. What lies by rows in memory is the transposed matrix by columns.
        let matrix = jacobian.evaluate(&mut tape, &x, &y)?.as_faer().transpose();
        let factors = Lu::try_new_with_symbolic(analysis.clone(), matrix)?;
        let step = factors.solve_transpose(Col::from_fn(y.len(), |k| -y[k].value()));
        u.iter_mut().zip(step.iter()).for_each(|(u, step)| *u += step);
    }
}

/// The largest difference from the solution of the differential equation, on a grid; prints how it was found.
fn error(cells: usize) -> Result<f64, Box<dyn Error>> {
    let problem = Problem::new(cells);
    let Found { u, residuals, entries, sweeps } = solve(&problem)?;
    let error = largest(u.iter().zip(&problem.solution).map(|(u, solution)| u - solution));
    let unknowns = u.len();
    println!("{cells} × {cells} cells: {unknowns} unknowns, {entries} entries, {sweeps} adjoint vectors for them");
    residuals.iter().enumerate().for_each(|(k, residual)| println!("  iteration {k}: residual {residual:.2e}"));
    println!("  error {error:.3e}");
    Ok(error)
}

fn main() -> Result<(), Box<dyn Error>> {
    let errors = [25, 50, 100].map(error).into_iter().collect::<Result<Vec<f64>, _>>()?;
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        println!("order {order:.3}");
        assert!((order - 2.0).abs() < 0.05, "the error is not of second order");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_those_of_the_formula() {
        let problem = Problem::new(7);
        let u: Vec<f64> = (0..36).map(|k| f64::from(k).sin()).collect();
        let residuals = |u: &[Real<Jacobian>]| problem.residuals(u);
        let (_, matrix) = tapewright::sparse::sparse_jacobian(residuals, &u).expect("tapes in memory do not fail");
        assert_eq!(matrix.pattern().entries(), 5 * 36 - 4 * 6);
        for (row, column, value) in matrix.iter() {
            let expected = if row == column { 4.0 * 49.0 + 3.0 * u[row] * u[row] } else { -49.0 };
            assert!((value - expected).abs() < 1e-12 * expected.abs(), "({row}, {column}): {value}, not {expected}");
        }
    }

    #[test]
    fn newtons_method_converges_quadratically() {
        let found = solve(&Problem::new(12)).expect("there is a solution");
        let relative: Vec<f64> = found.residuals.iter().map(|residual| residual / found.residuals[0]).collect();
        assert!(relative.len() <= 7, "{relative:?}");
        assert!(relative.windows(2).all(|pair| pair[1] <= 2.0 * pair[0] * pair[0] + 1e-10), "{relative:?}");
    }
}
