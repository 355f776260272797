//! Steps of Levenberg and Marquardt for problems of any kind: who calls it solves the systems of the steps.

use core::fmt;
use std::error::Error;
use tapewright::residuals::{Linearization, NormalMatrix, Problem};

/// When a minimization ends.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Largest number of iterations.
    pub iterations: u64,
    /// Decrease of the cost, as a part of it, below which the minimum counts as found.
    pub decrease: f64,
}

/// An iteration, for reports.
#[derive(Clone, Copy, Debug)]
pub struct Iteration {
    /// Number of the iteration, counted from 1.
    pub number: u64,
    /// Cost after it.
    pub cost: f64,
    /// Damping of its step.
    pub damping: f64,
    /// Length of its step.
    pub step: f64,
    /// True if the step was taken, because the cost decreased.
    pub is_taken: bool,
}

/// Result of a minimization.
#[derive(Clone, Debug)]
pub struct Minimum {
    /// The parameters.
    pub x: Vec<f64>,
    /// The cost before.
    pub start: f64,
    /// The cost.
    pub cost: f64,
    /// Number of iterations.
    pub iterations: u64,
    /// Reason of the end.
    pub end: End,
}

/// Reason of the end of a minimization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The cost decreases no more.
    Converged,
    /// The limit of iterations was reached.
    Iterations,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Converged => "converged",
            Self::Iterations => "not converged, because the limit of iterations was reached",
        })
    }
}

/// Minimizes the cost of a problem. `solve` returns the step δ with `(JᵀJ + D)·δ = −g` for a matrix that has the
/// damping D already, and g; `report` is called after each iteration.
///
/// The damping follows the quality of the last step as Nielsen describes (*Damping parameter in Marquardt's method*,
/// IMM-REP-1999-05, equation 2.9).
///
/// # Errors
///
/// Those of the problem at its start values, and of `solve`.
pub fn minimize(
    problem: &Problem,
    limits: Limits,
    mut solve: impl FnMut(&NormalMatrix, &[f64]) -> Result<Vec<f64>, Box<dyn Error>>,
    mut report: impl FnMut(Iteration),
) -> Result<Minimum, Box<dyn Error>> {
    let mut at = Linearization::new(problem)?;
    let mut x = problem.start().to_vec();
    let (mut moved, mut damping, mut growth) = (x.clone(), 1e-4, 2.0);
    at.evaluate(&x)?;
    let (start, mut iterations) = (at.cost(), 0);
    let mut converged = start == 0.0;
    while !converged && iterations < limits.iterations {
        iterations += 1;
        let gradient = at.gradient();
        let normal = at.normal_matrix();
        let damped: Vec<f64> = normal.diagonal().iter().map(|entry| damping * entry.clamp(1e-6, 1e32)).collect();
        normal.add_to_diagonal(&damped);
        let step = solve(normal, &gradient)?;
        problem.plus(&x, &step, &mut moved)?;
        // By the linear model, the cost decreases by −½·δᵀ(g − Dδ).
        let of_model = |((step, damped), g): ((&f64, &f64), &f64)| 0.5 * step * (damped * step - g);
        let expected: f64 = step.iter().zip(&damped).zip(&gradient).map(of_model).sum();
        // Some points have no finite cost, as those behind a camera: a shorter step has.
        let before = at.cost();
        let cost = problem.cost(&moved).unwrap_or(f64::INFINITY);
        let quality = (before - cost) / expected;
        let is_taken = quality > 0.0;
        let length = step.iter().map(|d| d * d).sum::<f64>().sqrt();
        if is_taken {
            converged = before - cost <= limits.decrease * before || cost == 0.0;
            core::mem::swap(&mut x, &mut moved);
            at.evaluate(&x)?;
        } else {
            converged = expected <= limits.decrease * before;
        }
        report(Iteration { number: iterations, cost: at.cost(), damping, step: length, is_taken });
        (damping, growth) = if is_taken {
            (damping * (1.0 - (2.0 * quality - 1.0).powi(3)).max(1.0 / 3.0), 2.0)
        } else {
            (damping * growth, 2.0 * growth)
        };
    }
    let end = if converged { End::Converged } else { End::Iterations };
    Ok(Minimum { x, start, cost: at.cost(), iterations, end })
}
