//! Residuals: a bundle adjustment with Snavely's camera. Times of the residuals, and of the residuals with their
//! derivatives, for one observation.

#[path = "../ecosystem/bundle/camera.rs"]
mod camera;

use crate::programs::cpu;
use camera::{Snavely, image};
use std::hint::black_box;
use tapewright::advisor::units::{bytes, seconds};
use tapewright::jacobian_forward_into;
use tapewright::prelude::*;
use tapewright::residuals::{Linearization, Problem, Trivial};

/// Cameras see all points.
const CAMERAS: usize = 10;
const SIZE: usize = 9 + 3;
/// Entries of the Jacobian matrix of an observation.
const ENTRIES: usize = 2 * SIZE;

/// The lines of the section, and what is wrong, if anything.
pub(crate) struct Section {
    pub(crate) text: String,
    pub(crate) failure: Option<String>,
}

/// Camera and point of an observation, joined.
type Observation = [f64; SIZE];

/// An observation: each camera looks at the origin from its own distance and angle.
fn observation(camera: usize, point: usize) -> Observation {
    let wave = |k: usize| (1.7 * k as f64 + 0.3).sin();
    core::array::from_fn(|k| match k {
        0..3 => 0.1 * wave(3 * camera + k),
        3..5 => 0.2 * wave(5 * camera + k),
        5 => -5.0 - 0.1 * camera as f64,
        6 => 500.0 + camera as f64,
        7 => -0.01 * wave(camera),
        8 => 0.001 * wave(2 * camera),
        _ => 0.7 * wave(3 * point + k),
    })
}

fn problem(points: usize) -> Problem {
    let mut problem = Problem::new();
    (0..CAMERAS).for_each(|camera| _ = problem.add_parameters(&observation(camera, 0)[..9]));
    (0..points).for_each(|point| _ = problem.add_parameters(&observation(0, point)[9..]));
    let seen = (0..points).flat_map(|point| (0..CAMERAS).map(move |camera| ([camera, CAMERAS + point], [1.0, 2.0])));
    problem.add_residuals(Snavely, Trivial, seen).expect("all blocks are there");
    problem
}

/// The Jacobian matrix of an observation in forward mode, without a problem.
fn by_forward_mode(x: &Observation) -> [f64; ENTRIES] {
    let mut entries = [0.0; ENTRIES];
    let image = |x: &[Real<_>]| image(&x[..9], &x[9..]);
    jacobian_forward_into::<Tangent<SIZE>, _>(image, x, &mut [0.0; 2], &mut entries).expect("there is room");
    entries
}

/// Seconds of one observation, in the fastest of some rounds.
fn least(observations: usize, mut run: impl FnMut()) -> f64 {
    let mut round = || {
        let start = cpu();
        run();
        (cpu() - start) / observations as f64
    };
    (0..20).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// Compares derivatives with forward mode, then times residuals with and without derivatives.
pub(crate) fn section(is_small: bool) -> Section {
    let points = if is_small { 20 } else { 1000 };
    let seen: Vec<Observation> =
        (0..points).flat_map(|point| (0..CAMERAS).map(move |camera| observation(camera, point))).collect();
    let problem = problem(points);
    let mut at = Linearization::new(&problem).expect("all blocks are free");
    at.evaluate(problem.start()).expect("the scene is finite");
    let expected: Vec<f64> = seen.iter().flat_map(by_forward_mode).collect();
    let failure = (!is_same(at.jacobian().values(), &expected))
        .then(|| "WRONG: bundle: the Jacobian matrix differs from that of forward mode".to_owned());
    let residuals = least(seen.len(), || {
        for x in black_box(&seen) {
            let x = Real::<Passive>::wrap_slice(x);
            black_box(image(&x[..9], &x[9..]));
        }
    });
    let derivatives = least(seen.len(), || at.evaluate(black_box(problem.start())).expect("the scene is finite"));
    let text = format!(
        "bundle: Snavely's camera, {} observations; {SIZE} inputs. The 2 residuals of one take {}:\n\
         {:28}{:>10}{:>10}{:>8.1} × residuals\n\n",
        seen.len(),
        seconds(residuals),
        "  Residual blocks",
        bytes(8 * (ENTRIES + 2)),
        seconds(derivatives),
        derivatives / residuals
    );
    Section { text, failure }
}

/// True if both have the same entries, but for rounding.
fn is_same(found: &[f64], expected: &[f64]) -> bool {
    let largest = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * largest;
    found.len() == expected.len() && found.iter().zip(expected).all(is_close)
}
