//! An external function: A·x = b by the LU decomposition of nalgebra, as one entry on the tape, beside an elimination
//! that is recorded statement by statement.
#![allow(clippy::cast_precision_loss, reason = "bytes become megabytes, to a few digits")]

use nalgebra::{DMatrix, DVector, Dyn, LU};
use std::error::Error;
use std::time::Instant;
use tapewright::{External, SweepError, check_gradient, external, prelude::*};

/// P·A = L·U, and x.
struct Solution {
    factors: LU<f64, Dyn, Dyn>,
    x: DVector<f64>,
}

/// The inputs are the rows of A, then b.
impl Solution {
    fn new(inputs: &[f64], n: usize) -> Option<Self> {
        let (matrix, b) = inputs.split_at(n * n);
        let factors = DMatrix::from_row_slice(n, n, matrix).lu();
        let x = factors.solve(&DVector::from_column_slice(b))?;
        Some(Self { factors, x })
    }

    /// λ with Aᵀ·λ = right-hand side.
    fn transposed(&self, right: &[f64]) -> Option<DVector<f64>> {
        let mut lambda = DVector::from_column_slice(right);
        let solvable = self.factors.lu_internal().tr_solve_upper_triangular_mut(&mut lambda);
        self.factors.l().tr_solve_lower_triangular_mut(&mut lambda);
        self.factors.p().inv_permute_rows(&mut lambda);
        solvable.then_some(lambda)
    }
}

impl External<f64> for Solution {
    fn name(&self) -> String {
        String::from("linear solve")
    }

    /// b̄ += λ and Ā −= λ·xᵀ, with Aᵀ·λ = x̄.
    fn reverse(&self, outputs: &[f64], inputs: &mut [f64]) -> Result<(), SweepError> {
        let lambda =
            self.transposed(outputs).ok_or_else(|| SweepError::rule("linear solve", "the matrix is singular"))?;
        let (matrix, b) = inputs.split_at_mut(self.x.len() * self.x.len());
        for ((row, b), lambda) in matrix.chunks_exact_mut(self.x.len()).zip(b).zip(lambda.iter()) {
            row.iter_mut().zip(self.x.iter()).for_each(|(a, x)| *a -= lambda * x);
            *b += lambda;
        }
        Ok(())
    }

    /// A·ẋ = ḃ − Ȧ·x.
    fn forward(&self, inputs: &[f64], outputs: &mut [f64]) -> Result<(), SweepError> {
        let (matrix, b) = inputs.split_at(self.x.len() * self.x.len());
        for ((row, b), slope) in matrix.chunks_exact(self.x.len()).zip(b).zip(outputs.iter_mut()) {
            *slope = b - row.iter().zip(self.x.iter()).map(|(a, x)| a * x).sum::<f64>();
        }
        let slopes = self.factors.solve(&DVector::from_column_slice(outputs));
        let slopes = slopes.ok_or_else(|| SweepError::rule("linear solve", "the matrix is singular"))?;
        outputs.copy_from_slice(slopes.as_slice());
        Ok(())
    }

    fn owned_bytes(&self) -> usize {
        let n = self.x.len();
        (n * n + n) * size_of::<f64>()
    }
}

/// x with A·x = b: one entry on the tape.
fn solve<S: Reverse<Value = f64>>(inputs: &[Real<S>], n: usize) -> Vec<Real<S>> {
    let values: Vec<f64> = inputs.iter().map(Real::value).collect();
    let solution = Solution::new(&values, n).expect("the matrix is regular");
    let x: Vec<f64> = solution.x.iter().copied().collect();
    external(inputs, &x, solution)
}

/// The same by Gaussian elimination without pivoting, statement by statement.
fn eliminate<S: Strategy>(inputs: &[Real<S>], n: usize) -> Vec<Real<S>> {
    let (matrix, b) = inputs.split_at(n * n);
    let (mut a, mut x) = (matrix.to_vec(), b.to_vec());
    for k in 0..n {
        for i in k + 1..n {
            let factor = (a[i * n + k] / a[k * n + k]).eval();
            for j in k + 1..n {
                a[i * n + j] = (a[i * n + j] - factor * a[k * n + j]).into();
            }
            x[i] = (x[i] - factor * x[k]).into();
        }
    }
    for k in (0..n).rev() {
        for j in k + 1..n {
            x[k] = (x[k] - a[k * n + j] * x[j]).into();
        }
        x[k] = (x[k] / a[k * n + k]).into();
    }
    x
}

/// A matrix with a strong diagonal, and a right-hand side.
fn system(n: usize) -> Vec<f64> {
    let entry = |k: usize| 0.5 * (1.7 * k as f64).sin() + if k.is_multiple_of(n + 1) { n as f64 } else { 0.0 };
    (0..n * n).map(entry).chain((0..n).map(|k| (0.3 * k as f64).cos())).collect()
}

/// Records and sweeps |x|²; prints what it took, and returns the gradient.
fn gradient_of(
    how: &str,
    n: usize,
    f: impl Fn(&[Real<Jacobian>], usize) -> Vec<Real<Jacobian>>,
) -> Result<Vec<f64>, tapewright::Error> {
    let inputs = system(n);
    let mut tape = Tape::<Jacobian>::new();
    let mut gradient = vec![0.0; inputs.len()];
    let (mut fastest, rounds) = (f64::INFINITY, 20);
    for _ in 0..rounds {
        let start = Instant::now();
        tape.gradient(
            |inputs| {
                let x = f(inputs, n);
                tapewright::dot(&x, &x)
            },
            &inputs,
            &mut gradient,
        )?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    let memory = tape.memory();
    println!(
        "  {how:<12} {:7} statements, {:6.3} MB, one gradient in {:7.3} ms",
        memory.statements,
        (memory.total().used - memory.usage("tables").used) as f64 / 1e6,
        1e3 * fastest
    );
    Ok(gradient)
}

fn main() -> Result<(), Box<dyn Error>> {
    // The rules against forward mode and differences of the elimination.
    let n = 6;
    let report = check_gradient::<Jacobian>(|x| eliminate(x, n), |x| eliminate(x, n), |x| solve(x, n), &system(n))?;
    println!("the rules are right: wᵀ·(J·v) = {:.15}, (Jᵀ·w)·v = {:.15}", report.products.0, report.products.1);
    println!("the Taylor remainder is of order {:.2}", report.order);

    for n in [20, 60, 120] {
        println!("A·x = b with {n} unknowns: the gradient of |x|² for all {} inputs", n * n + n);
        let by_statements = gradient_of("elimination", n, eliminate)?;
        let by_rules = gradient_of("nalgebra", n, solve)?;
        let largest = by_statements.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        assert!(by_statements.iter().zip(&by_rules).all(|(a, b)| (a - b).abs() <= 1e-12 * largest), "both agree");
    }
    Ok(())
}
