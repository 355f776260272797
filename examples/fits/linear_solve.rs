//! A·x = b by the LU decomposition of nalgebra, as one entry on the tape, beside the same decomposition, and a plain
//! elimination, that are recorded statement by statement.
#![allow(clippy::cast_precision_loss, reason = "bytes become megabytes, to a few digits")]

use nalgebra::{DMatrix, DVector};
use std::error::Error;
use std::time::Instant;
use tapewright::{Closed, check_gradient, linalg, prelude::*};

/// x with A·x = b: one entry on the tape. The inputs are the rows of A, then b.
fn solve<S: Taping<Value = f64>>(inputs: &[Real<S>], n: usize) -> Vec<Real<S>> {
    let (matrix, b) = Closed::wrap_slice(inputs).split_at(n * n);
    let x = linalg::solve(&DMatrix::from_row_slice(n, n, matrix), &DVector::from_column_slice(b));
    x.expect("the matrix is regular").iter().map(|x| x.clone().open()).collect()
}

/// The same by nalgebra's own algorithm over closed variables, statement by statement.
fn record<S: Taping<Value = f64>>(inputs: &[Real<S>], n: usize) -> Vec<Real<S>> {
    let (matrix, b) = Closed::wrap_slice(inputs).split_at(n * n);
    let x = DMatrix::from_row_slice(n, n, matrix).lu().solve(&DVector::from_column_slice(b));
    x.expect("the matrix is regular").iter().map(|x| x.clone().open()).collect()
}

/// The same by Gaussian elimination without pivoting.
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
    assert!(tape.hidden_branches().is_empty(), "{how}: {}", tape.hidden_branches());
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
    // The rule against forward mode and differences of the elimination.
    let n = 6;
    let report = check_gradient::<Jacobian>(|x| eliminate(x, n), |x| eliminate(x, n), |x| solve(x, n), &system(n))?;
    println!("the rule is right: wᵀ·(J·v) = {:.15}, (Jᵀ·w)·v = {:.15}", report.products.0, report.products.1);
    println!("the Taylor remainder is of order {:.2}", report.order);

    for n in [20, 60, 120] {
        println!("A·x = b with {n} unknowns: the gradient of |x|² for all {} inputs", n * n + n);
        let by_statements = gradient_of("elimination", n, eliminate)?;
        let by_nalgebra = gradient_of("nalgebra", n, record)?;
        let by_rules = gradient_of("one entry", n, solve)?;
        let largest = by_statements.iter().fold(0.0_f64, |m, g| m.max(g.abs()));
        let agree = |other: &[f64]| by_statements.iter().zip(other).all(|(a, b)| (a - b).abs() <= 1e-12 * largest);
        assert!(agree(&by_nalgebra) && agree(&by_rules), "all agree");
    }
    Ok(())
}
