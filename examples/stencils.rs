//! Two stencils as array kernels: the residual of a Laplacian in one dimension, and diffusion in three with a
//! coefficient that is differentiated, too. Both gradients are checked.
//!
//! `cargo run --release --example stencils`
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use tapewright::kernels::{Field3, Term, View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright::strategies::kernel::ir::Node;

/// x ← 3x; y = A·x − b with 2 on the diagonal of A and −1 beside it; Σ y². Three kernels.
fn norm_res<S: Taping<Value = f64>>(x: &mut View<S, 1>, b: &View<S, 1>) -> Real<S> {
    let (mut y, mut y2) = (View::zeros(x.shape()), View::zeros(x.shape()));
    parallel_for(x.all(), &mut *x, |x| (3.0 * x.at::<0>(),));
    parallel_for(x.all(), (&*x, b, &mut y, &mut y2), |(x, b, y, _)| {
        (2.0 * x.at::<0>() - x.or_zero::<-1>() - x.or_zero::<1>() - b.at::<0>(), y.new().square())
    });
    parallel_sum(y2.all(), &y2, |y2| y2.at::<0>())
}

fn one_dimension(n: usize) {
    let (x0, b0): (Vec<f64>, Vec<f64>) = (0..n).map(|k| ((0.1 * k as f64).sin(), (0.3 * k as f64).cos())).unzip();
    let mut tape = Tape::<Jacobian>::new();
    let (x, b, sum) = tape.record(|scope| {
        let (mut x, b) = (scope.view([n], &x0), scope.view([n], &b0));
        let sum = norm_res(&mut x, &b);
        (x, b, sum)
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
    let (of_x, of_b) = (adjoints.of_view(&x).expect("an input"), adjoints.of_view(&b).expect("an input"));
    // ∂/∂b = −2y and ∂/∂x = 3·A·2y.
    let at =
        |v: &[f64], k: usize, shift: isize| k.checked_add_signed(shift).and_then(|k| v.get(k)).copied().unwrap_or(0.0);
    let a = |v: &[f64], k: usize| 2.0 * v[k] - at(v, k, -1) - at(v, k, 1);
    let y: Vec<f64> = (0..n).map(|k| 3.0 * a(&x0, k) - b0[k]).collect();
    let differ = |k: usize| (of_x[k] - 6.0 * a(&y, k)).abs().max((of_b[k] + 2.0 * y[k]).abs());
    let worst = (0..n).map(differ).fold(0.0, f64::max);
    let kept: usize = tape.memory().usage("arrays").used;
    println!("the residual of a Laplacian, {n} points: {:.6}", sum.value());
    println!("  the gradient differs from the formula by at most {worst:.1e}; arrays kept: {kept} bytes");
    assert!(worst < 1e-12, "the gradient is wrong");
}

/// u + κ·(the seven-point Laplacian of u).
fn diffused<U: Field3>(u: U, kappa: Term<impl Node>) -> Term<impl Node> {
    let c = u.at::<0, 0, 0>();
    let x = u.at::<0, 0, -1>() + u.at::<0, 0, 1>();
    let y = u.at::<0, -1, 0>() + u.at::<0, 1, 0>();
    let z = u.at::<-1, 0, 0>() + u.at::<1, 0, 0>();
    c + kappa * (x + y + z - 6.0 * c)
}

/// Steps of diffusion with fixed borders; Σ u² then.
fn diffusion<S: Taping<Value = f64>>(u: &mut View<S, 3>, kappa: &Real<S>, steps: usize) -> Real<S> {
    for _ in 0..steps {
        parallel_for(u.interior(1), (&mut *u, kappa), |(u, kappa)| (diffused(u, kappa),));
    }
    parallel_sum(u.all(), &*u, |u| u.at::<0, 0, 0>().square())
}

fn three_dimensions(n: usize, steps: usize) {
    let u0: Vec<f64> = (0..n * n * n).map(|k| (0.37 * k as f64).sin()).collect();
    let at =
        |kappa: f64, u: &[f64]| diffusion(&mut View::<Passive, 3>::new([n, n, n], u), &kappa.into(), steps).value();
    let expected = at(0.1, &u0);

    let mut tape = Tape::<Jacobian>::new();
    let (kappa, u, sum) = tape.record(|scope| {
        let (kappa, mut u) = (scope.input(0.1), scope.view([n, n, n], &u0));
        let sum = diffusion(&mut u, &kappa, steps);
        (kappa, u, sum)
    });
    let adjoints = tape.sweep(&[(&sum, 1.0)]).expect("its own output");
    assert!(sum.value() == expected, "recording changes no bit");

    // Central differences: by κ, and along a direction of the start.
    let h = 1e-5;
    let by_kappa = (at(0.1 + h, &u0) - at(0.1 - h, &u0)) / (2.0 * h);
    let direction: Vec<f64> = (0..u0.len()).map(|k| (0.11 * k as f64).cos()).collect();
    let moved = |h: f64| u0.iter().zip(&direction).map(|(u, d)| u + h * d).collect::<Vec<_>>();
    let along = (at(0.1, &moved(h)) - at(0.1, &moved(-h))) / (2.0 * h);
    let gradient = adjoints.of_view(&u).expect("an input");
    let found: f64 = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum();
    let of_kappa = adjoints.of(&kappa).expect("an input");
    println!("diffusion of {n}³ cells, {steps} steps: {:.6}", sum.value());
    println!("  by κ {of_kappa:.6}, by differences {by_kappa:.6}; along a direction {found:.6} and {along:.6}");
    let bytes = tape.memory().total().used as f64;
    println!(
        "  {:.1} MB were recorded, {:.1} bytes for each cell and step",
        bytes / 1e6,
        bytes / (n * n * n * steps) as f64
    );
    assert!((of_kappa - by_kappa).abs() < 1e-6 * by_kappa.abs() && (found - along).abs() < 1e-6 * along.abs().max(1.0));
}

fn main() {
    one_dimension(10_000);
    three_dimensions(64, 20);
}
