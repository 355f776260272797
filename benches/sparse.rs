//! Sparse Jacobian and Hessian matrices: what pattern, coloring and entries cost, beside one recording of the function.
//!
//! The five-point stencil of a nonlinear diffusion problem on a square, with as many outputs as inputs, by statements and as
//! an array kernel; and the chained Rosenbrock function, whose Hessian matrix is tridiagonal. Every entry is checked against
//! its formula before anything is timed. Then a dense Jacobian matrix with many more rows than columns: by `jacobian`, which
//! takes the direction that costs less, and by rows. Medians of thread CPU times; each is given in multiples of the recording of the same turn.
//!
//! ```text
//! RUSTFLAGS=-Ctarget-cpu=native cargo bench --bench sparse
//! ```
#![allow(clippy::cast_precision_loss, reason = "counts")]

mod turns;

use clap::Parser;
use std::hint::black_box;
use tapewright::kernels::{View, parallel_for};
use tapewright::prelude::*;
use tapewright::sparse::{Coloring, SparseHessian, SparseJacobian};
use tapewright::{Dual, jacobian as dense_jacobian};
use tapewright_test_support::median;
use turns::seconds;

#[derive(Parser)]
struct Options {
    /// Turns in which everything is measured.
    #[arg(long, default_value_t = 9)]
    rounds: usize,
    /// Small sizes, to see that all is right: the ratios mean nothing.
    #[arg(long)]
    small: bool,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// −Δu + u³ on a square of `n` × `n` points, with u = 0 around it.
fn diffusion<S: Strategy>(n: usize, u: &[Real<S>]) -> Vec<Real<S>> {
    let zero = Real::from(0.0);
    let at = |row: usize, column: usize| if row < n && column < n { u[row * n + column] } else { zero };
    let mut outputs = Vec::with_capacity(n * n);
    for i in 0..n {
        for j in 0..n {
            let (north, south) = (at(i.wrapping_sub(1), j), at(i + 1, j));
            let (west, east) = (at(i, j.wrapping_sub(1)), at(i, j + 1));
            let c = u[i * n + j];
            outputs.push((4.0 * c - north - south - west - east + c * c * c).into());
        }
    }
    outputs
}

/// The same as one launch of an array kernel.
fn diffusion_by_kernel<S: Taping<Value = f64>>(n: usize, u: &[Real<S>]) -> Vec<Real<S>> {
    let u = View::of_variables([n, n], u);
    let mut residual = View::zeros([n, n]);
    parallel_for(u.all(), (&u, &mut residual), |(u, _)| {
        let c = u.at::<0, 0>();
        let beside = u.or_zero::<-1, 0>() + u.or_zero::<1, 0>() + u.or_zero::<0, -1>() + u.or_zero::<0, 1>();
        (4.0 * c - beside + c * c * c,)
    });
    residual.to_variables()
}

/// Residuals of a sum of damped waves with these parameters, at `rows` times.
fn residuals<S: Strategy>(rows: usize, p: &[Real<S>]) -> Vec<Real<S>> {
    let at = |row: usize| {
        let time = row as f64 / rows as f64;
        let mut sum = Real::from(0.0);
        for wave in p.chunks_exact(4) {
            sum += wave[0] * (-wave[1] * time).exp() * (wave[2] * time + wave[3]).sin();
        }
        sum
    };
    (0..rows).map(at).collect()
}

fn rosenbrock<S: Strategy>(x: &[Real<S>]) -> Real<S> {
    let mut sum = Real::from(0.0);
    for x in x.windows(2) {
        sum += 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2);
    }
    sum
}

fn point(n: usize) -> Vec<f64> {
    (0..n).map(|k| 1.0 + 0.1 * (k as f64).sin()).collect()
}

/// Medians of the ratios of all times of a turn to the first one, which comes last, too.
fn medians(rounds: usize, timed: &mut [&mut dyn FnMut()]) -> (f64, Vec<f64>) {
    let mut ratios = vec![Vec::new(); timed.len()];
    let mut firsts = Vec::new();
    for _ in 0..rounds.max(1) {
        let first = seconds(&mut *timed[0]);
        firsts.push(first);
        for k in 1..timed.len() {
            ratios[k].push(seconds(&mut *timed[k]) / first);
        }
        ratios[0].push(seconds(&mut *timed[0]) / first);
    }
    (median(firsts), ratios.into_iter().map(median).collect())
}

fn jacobian(options: &Options, n: usize) {
    let u = point(n * n);
    let mut tape = Tape::<Jacobian>::new();
    let record = |tape: &mut Tape<Jacobian>| {
        tape.record(|scope| {
            let u = scope.inputs(&u);
            let y = diffusion(n, &u);
            (u, y)
        })
    };
    let (x, y) = record(&mut tape);
    let pattern = tape.jacobian_pattern(&x, &y).expect("there is a pattern");
    let mut jacobian = SparseJacobian::with_pattern(pattern.clone());
    let matrix = jacobian.evaluate(&mut tape, &x, &y).expect("the pattern is right");
    for (row, column, value) in matrix.iter() {
        let expected = if row == column { 4.0 + 3.0 * u[row] * u[row] } else { -1.0 };
        assert!((value - expected).abs() < 1e-12, "({row}, {column}): {value}, not {expected}");
    }
    assert_eq!(pattern.entries(), 5 * n * n - 4 * n);
    let (sweeps, entries) = (jacobian.sweeps(), pattern.entries() as f64);
    let mut other = Tape::<Jacobian>::new();
    let mut gradient = Tape::<Jacobian>::new();
    let mut slopes = vec![0.0; n * n];
    let (milliseconds, found) = medians(
        options.rounds,
        &mut [
            &mut || drop(black_box(record(&mut other))),
            &mut || drop(black_box(record(&mut Tape::new()))),
            &mut || drop(black_box(tape.jacobian_pattern(&x, &y))),
            &mut || drop(black_box(Coloring::of_rows(&pattern))),
            &mut || {
                let sum = |u: &[Real<Jacobian>]| tapewright::sum(&diffusion(n, u));
                _ = black_box(gradient.gradient(sum, &u, &mut slopes));
            },
        ],
    );
    let mut evaluated = Tape::<Jacobian>::new();
    let (x, y) = record(&mut evaluated);
    let (evaluation, _) = medians(
        options.rounds,
        &mut [&mut || {
            _ = black_box(jacobian.evaluate(&mut evaluated, &x, &y).map(|matrix| matrix.values()[0]));
        }],
    );
    println!(
        "| {} | {:.0} | {sweeps} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.1} | {:.3} |",
        n * n,
        entries,
        1e3 * milliseconds,
        found[1],
        found[2],
        found[3],
        evaluation / milliseconds,
        found[4],
        1e9 * evaluation / entries,
        found[0],
    );
}

fn hessian(options: &Options, n: usize) {
    type S = PrimalValue<Dual<f64, 4>>;
    let x = point(n);
    let mut tape = Tape::<S>::new();
    let mut hessian = SparseHessian::<f64, 4>::new(&mut tape, rosenbrock, &x).expect("there is a pattern");
    let mut slopes = vec![0.0; n];
    hessian.evaluate(&mut tape, rosenbrock, &x, &mut slopes).expect("the pattern is right");
    let entries = hessian.matrix().pattern().entries();
    assert_eq!(entries, 3 * n - 2);
    for (i, j, value) in hessian.matrix().iter() {
        let left = if i > 0 { 200.0 } else { 0.0 };
        let right = if i + 1 < n { 1200.0 * x[i] * x[i] - 400.0 * x[i + 1] + 2.0 } else { 0.0 };
        let expected = if i == j { left + right } else { -400.0 * x[i.min(j)] };
        assert!((value - expected).abs() < 1e-9 * expected.abs(), "({i}, {j}): {value}, not {expected}");
    }
    let colors = hessian.coloring().count();
    let mut plain = Tape::<PrimalValue>::new();
    let mut other = Tape::<S>::new();
    let mut gradient = vec![0.0; n];
    let (seconds, found) = medians(
        options.rounds,
        &mut [
            &mut || _ = black_box(plain.gradient(rosenbrock, &x, &mut gradient)),
            &mut || drop(black_box(SparseHessian::<f64, 4>::new(&mut other, rosenbrock, &x))),
            &mut || _ = black_box(hessian.evaluate(&mut tape, rosenbrock, &x, &mut slopes)),
        ],
    );
    println!(
        "| {n} | {entries} | {colors} | {:.2} | {:.2} | {:.2} | {:.1} | {:.3} |",
        1e3 * seconds,
        found[1],
        found[2],
        1e9 * seconds * found[2] / entries as f64,
        found[0],
    );
}

fn kernels(options: &Options, n: usize) {
    let u = point(n * n);
    let mut tape = Tape::<Jacobian>::new();
    let record = |tape: &mut Tape<Jacobian>| {
        tape.record(|scope| {
            let u = scope.inputs(&u);
            let y = diffusion_by_kernel(n, &u);
            (u, y)
        })
    };
    let mut statements = Tape::<Jacobian>::new();
    let by_statements = |tape: &mut Tape<Jacobian>| {
        tape.record(|scope| {
            let u = scope.inputs(&u);
            let y = diffusion(n, &u);
            (u, y)
        })
    };
    let (x, y) = record(&mut tape);
    let (p, q) = by_statements(&mut statements);
    let pattern = tape.jacobian_pattern(&x, &y).expect("there is a pattern");
    assert_eq!(pattern, statements.jacobian_pattern(&p, &q).expect("there is a pattern"));
    let (mut other, mut kept) = (Tape::<Jacobian>::new(), Tape::<Jacobian>::new());
    let (seconds, found) = medians(
        options.rounds,
        &mut [
            &mut || drop(black_box(by_statements(&mut other))),
            &mut || drop(black_box(record(&mut kept))),
            &mut || drop(black_box(statements.jacobian_pattern(&p, &q))),
            &mut || drop(black_box(tape.jacobian_pattern(&x, &y))),
        ],
    );
    println!(
        "| {} | {:.2} | {:.2} | {:.2} | {:.2} | {:.3} |",
        n * n,
        1e3 * seconds,
        found[1],
        found[2],
        found[3],
        found[0]
    );
}

/// The Jacobian matrix by rows, eight at a time.
fn by_rows(x: &[f64], rows: usize) -> Vec<Vec<f64>> {
    let mut tape = Tape::<Jacobian>::new();
    let (inputs, outputs) = tape.record(|scope| {
        let inputs = scope.inputs(x);
        let outputs = residuals(rows, &inputs);
        (inputs, outputs)
    });
    let mut matrix = Vec::with_capacity(rows);
    for outputs in outputs.chunks(8) {
        let seed = |lane: usize| core::array::from_fn(|k| if k == lane { 1.0 } else { 0.0 });
        let seeds: Vec<(_, [f64; 8])> = outputs.iter().enumerate().map(|(k, output)| (output, seed(k))).collect();
        let adjoints = tape.sweep_lanes(&seeds).expect("its own outputs");
        let columns: Vec<[f64; 8]> = inputs.iter().map(|x| adjoints.of(x).expect("an input")).collect();
        matrix.extend((0..outputs.len()).map(|k| columns.iter().map(|column| column[k]).collect::<Vec<_>>()));
    }
    matrix
}

fn tall(options: &Options, rows: usize) {
    let x = [1.0, 0.5, 3.0, 0.1, 0.5, 1.5, 7.0, 0.2];
    let expected = by_rows(&x, rows);
    let found = dense_jacobian::<Jacobian>(|x| residuals(rows, x), &x).1;
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 1e-13, "{found}, not {expected}");
    }
    let mut kept = Tape::<Jacobian>::new();
    let mut slopes = [0.0; 8];
    let (seconds, found) = medians(
        options.rounds,
        &mut [
            &mut || _ = black_box(kept.gradient(|x| tapewright::sum(&residuals(rows, x)), &x, &mut slopes)),
            &mut || drop(black_box(dense_jacobian::<Jacobian>(|x| residuals(rows, x), &x))),
            &mut || drop(black_box(by_rows(&x, rows))),
        ],
    );
    println!("| {rows} × 8 | {:.3} | {:.2} | {:.2} | {:.3} |", 1e3 * seconds, found[1], found[2], found[0]);
}

fn main() {
    let options = Options::parse();
    let sizes: &[usize] = if options.small { &[12] } else { &[100, 316, 1000] };
    println!("Five-point stencil, `Jacobian`:\n");
    println!(
        "| n | entries | colors | recording on a kept tape, ms | on a new one, × that | pattern | coloring | matrix | gradient of the sum \
         | ns an entry | control |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    sizes.iter().for_each(|n| jacobian(&options, *n));
    println!("\nChained Rosenbrock function, `PrimalValue<Dual<f64, 4>>`:\n");
    println!(
        "| n | entries | colors | gradient of `f64`, ms | pattern and coloring, × gradient | matrix | ns an entry \
         | control |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|");
    sizes.iter().for_each(|n| hessian(&options, n * n / 10));
    println!("\nThe stencil as an array kernel between variables:\n");
    println!(
        "| n | recording by statements on a kept tape, ms | recording by a kernel, × that | pattern of statements \
         | pattern of the kernel | control |"
    );
    println!("|--:|--:|--:|--:|--:|--:|");
    sizes.iter().for_each(|n| kernels(&options, *n));
    println!("\nA dense Jacobian matrix:\n");
    println!("| rows × columns | gradient of the sum, ms | `jacobian`, × that | by rows, eight at a time | control |");
    println!("|--:|--:|--:|--:|--:|");
    sizes.iter().for_each(|n| tall(&options, 10 * n));
}
