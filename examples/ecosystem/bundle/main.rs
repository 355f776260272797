//! Bundle adjustment: cameras and points such that all points are where the cameras saw them, by Levenberg's and
//! Marquardt's method.
//!
//! `cargo run --release -p tapewright-ecosystem --example bundle -- [FILE]` reads a file in the format of *Bundle
//! Adjustment in the Large* (Agarwal and others, 2010), `bzip2 -dk problem.txt.bz2` first; without one, it makes a scene.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

mod camera;
mod scene;
mod schur;

use camera::{Snavely, image};
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use scene::Scene;
use schur::Schur;
use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;
use tapewright::jacobian_forward_into;
use tapewright::prelude::*;
use tapewright::residuals::{Huber, Linearization, Loss, Problem, Trivial};
use tapewright_ecosystem::clock::least;
use tapewright_ecosystem::exit_code;
use tapewright_ecosystem::minimize::{End, Iteration, Limits, Minimum, minimize};

#[derive(Parser)]
struct Options {
    /// File with a scene; without it, one is made.
    file: Option<PathBuf>,
    /// Cameras and points of a scene that is made.
    #[arg(long, num_args = 2, default_values_t = [20, 2000])]
    made: Vec<usize>,
    /// Distance in pixels from which on residuals count less (Huber's loss function).
    #[arg(long)]
    huber: Option<f64>,
    /// Most iterations.
    #[arg(long, default_value_t = 100)]
    iterations: u64,
}

/// A parameter block for each camera, then one for each point.
fn problem_of(scene: &Scene, huber: Option<f64>) -> Result<Problem, Box<dyn Error>> {
    let mut problem = Problem::new();
    scene.cameras.iter().for_each(|camera| _ = problem.add_parameters(camera));
    scene.points.iter().for_each(|point| _ = problem.add_parameters(point));
    let cameras = scene.cameras.len();
    let observations = scene.seen.iter().map(|seen| ([seen.camera, cameras + seen.point], seen.place));
    let loss: Box<dyn Loss> = match huber {
        Some(scale) => Box::new(Huber::new(scale)),
        None => Box::new(Trivial),
    };
    problem.add_residuals(Snavely, loss, observations)?;
    Ok(problem)
}

/// Minimizes the cost, with a progress bar.
fn adjust(problem: &Problem, schur: &Schur, iterations: u64) -> Result<Minimum, Box<dyn Error>> {
    let style = ProgressStyle::with_template("{pos:>4}/{len} {wide_bar} {msg}")?;
    let bar = ProgressBar::new(iterations).with_style(style);
    let report = |iteration: Iteration| {
        bar.set_position(iteration.number);
        bar.set_message(format!("cost {:.6e}, damping {:.1e}", iteration.cost, iteration.damping));
    };
    let limits = Limits { iterations, decrease: 1e-8 };
    let found = minimize(problem, limits, |normal, gradient| schur.step(normal, gradient), report);
    bar.finish_and_clear();
    found
}

/// Prints the times of the parts of an iteration, and of forward mode without the problem.
fn print_times(scene: &Scene, problem: &Problem, schur: &Schur) -> Result<(), Box<dyn Error>> {
    let (x, count) = (problem.start(), scene.seen.len());
    let mut at = Linearization::new(problem)?;
    println!("ns an observation, the least of seven rounds:");
    println!("  {:8.1}  cost", least(count, || _ = black_box(problem.cost(black_box(x)))));
    println!("  {:8.1}  residuals and Jacobian matrix", least(count, || at.evaluate(black_box(x)).expect("finite")));
    println!("  {:8.1}  JᵀJ by blocks", least(count, || _ = black_box(at.normal_matrix())));
    let (gradient, mut normal) = (at.gradient(), at.normal_matrix().clone());
    normal.add_to_diagonal(&vec![1.0; problem.columns()]);
    println!("  {:8.1}  a step", least(count, || _ = black_box(schur.step(&normal, &gradient).is_ok())));
    let forward = || {
        for seen in &scene.seen {
            let (camera, point) = (&scene.cameras[seen.camera], &scene.points[seen.point]);
            let inputs: [f64; 12] = core::array::from_fn(|k| if k < 9 { camera[k] } else { point[k - 9] });
            let (mut values, mut jacobian) = ([0.0; 2], [0.0; 24]);
            let both = |x: &[Real<_>]| image(&x[..9], &x[9..]);
            jacobian_forward_into::<Tangent<12>, _>(both, black_box(&inputs), &mut values, &mut jacobian)
                .expect("two rows of twelve");
            black_box(jacobian);
        }
    };
    println!("  {:8.1}  Jacobian matrix by forward mode, block by block", least(count, forward));
    Ok(())
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let scene = match (&options.file, &options.made[..]) {
        (Some(file), _) => {
            let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
            Scene::read(&text).map_err(|error| format!("{}: {error}", file.display()))?
        }
        (None, made) => Scene::made(made[0], made[1]),
    };
    let Scene { cameras, points, seen } = &scene;
    println!("{} cameras, {} points, {} observations", cameras.len(), points.len(), seen.len());
    let problem = problem_of(&scene, options.huber)?;
    let schur = Schur::new(cameras.len(), points.len(), seen.iter().map(|seen| [seen.camera, seen.point]))?;
    let clock = Instant::now();
    let found = adjust(&problem, &schur, options.iterations)?;
    println!(
        "cost {:.6e} -> {:.6e} in {} iterations and {:.2} s, {}",
        found.start,
        found.cost,
        found.iterations,
        clock.elapsed().as_secs_f64(),
        found.end
    );
    let root = (2.0 * found.cost / seen.len() as f64).sqrt();
    println!("{root:.3} pixels off by root mean square; the first camera is at {:.4?}", &found.x[3..6]);
    // A scene that is made is off by less than half a pixel along each axis.
    if options.file.is_none() && options.huber.is_none() && (found.end != End::Converged || root > 0.5) {
        return Err("the scene was not found".into());
    }
    print_times(&scene, &problem, &schur)
}

fn main() -> ExitCode {
    exit_code(run(&Options::parse()))
}
