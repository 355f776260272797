//! Jacobian matrices of a bundle adjustment: Snavely's camera, 2 residuals of 9 + 3 parameters, by each way that the
//! library has, beside forward mode with plain structs, as other libraries do it.
//!
//! The sums of the matrices are compared first. Times are the least of several rounds, in turns.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

#[path = "../examples/ecosystem/bundle/camera.rs"]
mod camera;
mod plain;

use camera::{Snavely, image};
use cpu_time::ThreadTime;
use plain::{Plain, each, plain_image};
use std::hint::black_box;
use tapewright::jacobian_forward_into;
use tapewright::prelude::*;
use tapewright::residuals::{Linearization, Problem, Trivial};
use tapewright::sparse::SparseJacobian;

/// Cameras and points, and which cameras see which points: the scene of `peers/ceres_ba.cpp`.
struct Scene {
    cameras: Vec<[f64; 9]>,
    points: Vec<[f64; 3]>,
    seen: Vec<[usize; 2]>,
}

impl Scene {
    fn new(cameras: usize, points: usize) -> Self {
        let camera = |i: usize| {
            core::array::from_fn(|k| match k {
                0..3 => 0.1 * ((i * 3 + k) as f64 + 1.0).sin(),
                3..6 => 0.2 * ((i * 5 + k) as f64).cos() - if k == 5 { 5.0 } else { 0.0 },
                6 => 500.0 + i as f64,
                7 => -0.01 * (i as f64 + 1.0).sin(),
                _ => 0.001 * (i as f64 * 2.0).cos(),
            })
        };
        let point = |i: usize| core::array::from_fn(|k| 0.7 * ((3 * i + k) as f64 * 1.7 + 0.3).sin());
        let sees = |p: usize| (0..cameras).filter(move |c| (p * 7 + c * 13) % 10 < 3).map(move |c| [c, p]);
        Self {
            cameras: (0..cameras).map(camera).collect(),
            points: (0..points).map(point).collect(),
            seen: (0..points).flat_map(sees).collect(),
        }
    }

    fn problem(&self) -> Problem {
        let mut problem = Problem::new();
        self.cameras.iter().for_each(|camera| _ = problem.add_parameters(camera));
        self.points.iter().for_each(|point| _ = problem.add_parameters(point));
        let observations = self.seen.iter().map(|[c, p]| ([*c, self.cameras.len() + p], [1.0, 2.0]));
        problem.add_residuals(Snavely, Trivial, observations).expect("all blocks are there");
        problem
    }

    fn parameters(&self, [camera, point]: [usize; 2]) -> [f64; 12] {
        let (camera, point) = (&self.cameras[camera], &self.points[point]);
        core::array::from_fn(|k| if k < 9 { camera[k] } else { point[k - 9] })
    }

    fn forward(&self, jacobian: &mut [f64]) {
        let image = |x: &[Real<_>]| image(&x[..9], &x[9..]);
        for (seen, entries) in self.seen.iter().zip(jacobian.chunks_exact_mut(24)) {
            jacobian_forward_into::<Tangent<12>, _>(image, &self.parameters(*seen), &mut [0.0; 2], entries)
                .expect("24");
        }
    }

    /// Forward mode by variables that the program makes itself.
    fn tangents(&self, jacobian: &mut [f64]) {
        for (seen, entries) in self.seen.iter().zip(jacobian.chunks_exact_mut(24)) {
            let x = self.parameters(*seen);
            let x: [_; 12] = core::array::from_fn(|k| {
                Real::<Tangent<12>>::with_tangent(x[k], each(|j| if j == k { 1.0 } else { 0.0 }))
            });
            for (y, row) in image(&x[..9], &x[9..]).iter().zip(entries.chunks_exact_mut(12)) {
                row.copy_from_slice(&y.tangent());
            }
        }
    }

    fn by_tape(&self, tape: &mut Tape<Jacobian>, jacobian: &mut [f64]) {
        for (seen, entries) in self.seen.iter().zip(jacobian.chunks_exact_mut(24)) {
            let (x, y) = tape.record(|scope| {
                let x = scope.inputs(&self.parameters(*seen));
                let y = image(&x[..9], &x[9..]);
                (x, y)
            });
            for (y, row) in y.iter().zip(entries.chunks_exact_mut(12)) {
                tape.sweep(&[(y, 1.0)]).and_then(|adjoints| adjoints.write(&x, row)).expect("inputs have adjoints");
            }
        }
    }

    /// All observations in one recording: its inputs are all cameras, then all points.
    fn recorded(&self, tape: &mut Tape<Jacobian>) -> Recorded {
        tape.record(|scope| {
            let inputs = |blocks: &mut dyn Iterator<Item = &f64>| blocks.copied().collect::<Vec<_>>();
            let cameras = scope.inputs(&inputs(&mut self.cameras.iter().flatten()));
            let points = scope.inputs(&inputs(&mut self.points.iter().flatten()));
            let image = |[c, p]: &[usize; 2]| image(&cameras[9 * c..][..9], &points[3 * p..][..3]);
            let outputs = self.seen.iter().flat_map(image).collect();
            Recorded { inputs: [cameras, points].concat(), outputs }
        })
    }

    fn plain(&self, jacobian: &mut [f64]) {
        for (seen, entries) in self.seen.iter().zip(jacobian.chunks_exact_mut(24)) {
            let x = self.parameters(*seen);
            let seeded = |k: usize| Plain(x[k], each::<12>(|j| if j == k { 1.0 } else { 0.0 }));
            let y = plain_image(&core::array::from_fn(seeded), &core::array::from_fn(|k| seeded(9 + k)));
            entries[..12].copy_from_slice(&y[0].1);
            entries[12..].copy_from_slice(&y[1].1);
        }
    }
}

/// The variables of one recording of all observations.
struct Recorded {
    inputs: Vec<Real<Jacobian>>,
    outputs: Vec<Real<Jacobian>>,
}

/// Weighted sum of the entries of all matrices.
fn sum(jacobian: &[f64]) -> f64 {
    jacobian.iter().enumerate().map(|(k, entry)| entry * (1.0 + (k % 24) as f64)).sum()
}

fn main() {
    let scene = Scene::new(20, 2000);
    let problem = scene.problem();
    let mut at = Linearization::new(&problem).expect("all blocks are free");
    let mut tape = Tape::new();
    let mut ways = [(); 4].map(|()| vec![0.0; 24 * scene.seen.len()]);
    let mut whole = Tape::new();
    let mut all = scene.recorded(&mut whole);
    let mut sparse = SparseJacobian::new(&whole, &all.inputs, &all.outputs).expect("a pattern");
    let mut slopes = vec![0.0; all.inputs.len()];
    let mut least = [f64::MAX; 9];
    let mut timed = |way: usize, run: &mut dyn FnMut()| {
        let clock = ThreadTime::now();
        run();
        least[way] = least[way].min(clock.elapsed().as_secs_f64() * 1e9 / scene.seen.len() as f64);
    };
    for _ in 0..30 {
        timed(0, &mut || at.evaluate(black_box(problem.start())).expect("finite"));
        timed(1, &mut || _ = black_box(problem.cost(black_box(problem.start()))));
        timed(2, &mut || scene.plain(black_box(&mut ways[0])));
        timed(3, &mut || scene.forward(black_box(&mut ways[1])));
        timed(4, &mut || scene.by_tape(&mut tape, black_box(&mut ways[2])));
        timed(5, &mut || all = black_box(scene.recorded(&mut whole)));
        let seeds: Vec<_> = all.outputs.iter().map(|y| (y, 1.0)).collect();
        timed(6, &mut || whole.sweep(&seeds).and_then(|a| a.write(&all.inputs, &mut slopes)).expect("its own"));
        timed(7, &mut || _ = sparse.evaluate(&mut whole, &all.inputs, &all.outputs).expect("its pattern"));
        timed(8, &mut || scene.tangents(black_box(&mut ways[3])));
    }
    let expected = sum(&ways[0]);
    for found in [at.jacobian(), sparse.matrix()].map(|matrix| sum(matrix.values())).into_iter().chain([
        sum(&ways[1]),
        sum(&ways[2]),
        sum(&ways[3]),
    ]) {
        assert!((found - expected).abs() <= 1e-11 * expected.abs(), "{found}, and {expected} by plain structs");
    }
    let [problem, cost, plain, forward, tape, recording, sweep, sparse, tangents] = least;
    println!(
        "{} observations; weighted sum of all entries {expected:.13e}, cost {:.13e}; ns an observation:",
        scene.seen.len(),
        at.cost()
    );
    println!("problem: {problem:.1}, {:.2} of plain structs; its cost alone {cost:.1}", problem / plain);
    println!(
        "plain structs {plain:.1}, jacobian_forward_into::<Tangent<12>> {forward:.1}, Real::with_tangent {tangents:.1}, a tape for each {tape:.1}"
    );
    println!(
        "one recording of all {recording:.1}, its reverse sweep {sweep:.1}, SparseJacobian::evaluate {sparse:.1}, {:.2} of plain structs",
        sparse / plain
    );
}
