//! A bundle adjustment with a plain Gauss-Newton iteration.

use tapewright::prelude::*;
use tapewright::residuals::{Linearization, Loss, Problem, Residual, Trivial};

/// A camera with a rotation by small angles, a translation and a focal length.
struct Camera;

impl Residual<2, 2, 2> for Camera {
    fn sizes(&self) -> [usize; 2] {
        [7, 3]
    }
    fn residuals<S: Strategy>(&self, [c, x]: [&[Real<S>]; 2], [u, v]: [Real<S>; 2]) -> [Real<S>; 2] {
        // Cayley's map: R = (1 + |c|²)⁻¹·((1 − |c|²)·1 + 2·[c] + 2·c·cᵀ).
        let square = (c[0] * c[0] + c[1] * c[1] + c[2] * c[2]).eval();
        let (along, scale) = ((c[0] * x[0] + c[1] * x[1] + c[2] * x[2]).eval(), (1.0 / (1.0 + square)).eval());
        let across = [(1, 2), (2, 0), (0, 1)].map(|(i, j)| (c[i] * x[j] - c[j] * x[i]).eval());
        let p: [Real<S>; 3] = core::array::from_fn(|i| {
            (scale * ((1.0 - square) * x[i] + 2.0 * across[i] + 2.0 * c[i] * along) + c[3 + i]).into()
        });
        [(c[6] * p[0] / p[2] - u).into(), (c[6] * p[1] / p[2] - v).into()]
    }
}

fn wave(k: usize) -> f64 {
    (k as f64 * 1.7 + 0.3).sin()
}

/// Cameras in front of points, which see them as they are; the start is beside the truth.
pub(crate) fn scene(cameras: usize, points: usize, loss: impl Loss) -> Problem {
    let camera = |i: usize| -> [f64; 7] {
        core::array::from_fn(|k| match k {
            5 => 5.0 + 0.2 * wave(i),
            6 => 2.0,
            k => 0.1 * wave(7 * i + k),
        })
    };
    let point = |i: usize| -> [f64; 3] { core::array::from_fn(|k| wave(31 * i + 7 * k)) };
    let mut problem = Problem::new();
    for i in 0..cameras {
        let off = |k: usize| 0.01 * wave(5 * i + k + 3);
        problem.add_parameters(&core::array::from_fn::<_, 7, _>(|k| camera(i)[k] + off(k)));
    }
    for i in 0..points {
        problem.add_parameters(&core::array::from_fn::<_, 3, _>(|k| point(i)[k] + 0.01 * wave(11 * i + k)));
    }
    let sees = |[c, p]: [usize; 2]| {
        let real = |x: &[f64]| x.iter().map(|x| Real::<Passive>::from(*x)).collect::<Vec<_>>();
        let image = Camera.residuals([&real(&camera(c)), &real(&point(p))], [Real::from(0.0), Real::from(0.0)]);
        ([c, cameras + p], image.map(|r| r.value()))
    };
    let pairs = (0..points).flat_map(|p| (0..cameras).map(move |c| [c, p])).filter(|[c, p]| (c + p) % 4 != 0);
    problem.add_residuals(Camera, loss, pairs.map(sees)).expect("all blocks are there");
    problem
}

/// Solves A·x = b by Cholesky's factorization of the upper triangle.
fn solve(mut upper: Vec<Vec<f64>>, b: &[f64]) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let root = upper[k][k].sqrt();
        upper[k][k..].iter_mut().for_each(|entry| *entry /= root);
        let row = upper[k].clone();
        for i in k + 1..n {
            (i..n).for_each(|j| upper[i][j] -= row[i] * row[j]);
        }
    }
    let mut x = b.to_vec();
    for k in 0..n {
        x[k] /= upper[k][k];
        (k + 1..n).for_each(|j| x[j] -= upper[k][j] * x[k]);
    }
    for k in (0..n).rev() {
        (k + 1..n).for_each(|j| x[k] -= upper[k][j] * x[j]);
        x[k] /= upper[k][k];
    }
    x
}

#[test]
fn gauss_newton_finds_the_scene() {
    let mut problem = scene(4, 12, Trivial);
    // Seven of the numbers cannot be seen: a motion, and a scale.
    problem.set_constant(0).expect("there is a camera");
    let mut at = Linearization::new(&problem).expect("free blocks");
    let mut x = problem.start().to_vec();
    at.evaluate(&x).expect("finite");
    let first = at.cost();
    let mut moved = x.clone();
    for _ in 0..12 {
        let gradient = at.gradient();
        let normal = at.normal_matrix();
        normal.add_to_diagonal(&vec![1e-9; gradient.len()]);
        let step: Vec<f64> = solve(normal.to_upper().to_dense(), &gradient).iter().map(|step| -step).collect();
        problem.plus(&x, &step, &mut moved).expect("lengths fit");
        core::mem::swap(&mut x, &mut moved);
        at.evaluate(&x).expect("finite");
    }
    assert!(at.cost() < 1e-9 * first, "{} after {first}", at.cost());
}
