//! Pose graphs: where a robot was, from motions that it measured, by Levenberg's and Marquardt's method.
//!
//! `cargo run --release -p tapewright-ecosystem --example pose_graph -- [FILE]` reads a file in the format of `g2o`, in the
//! plane or in space; without one, it makes a graph.
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "indices are drawn as parts of a count")]

mod edges;
mod g2o;
mod graph;
mod made;

use clap::{Parser, ValueEnum};
use graph::Graph;
use made::{Made, Noise, distance, grid, measured, sphere};
use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;
use tapewright::residuals::{Cauchy, Huber, Linearization, Loss, Problem, SoftL1, Trivial, Tukey};
use tapewright_ecosystem::cholesky::Cholesky;
use tapewright_ecosystem::clock::least;
use tapewright_ecosystem::exit_code;
use tapewright_ecosystem::minimize::{End, Iteration, Limits, minimize};

#[derive(Parser)]
struct Options {
    /// File with a graph; without it, one is made.
    file: Option<PathBuf>,
    /// Id of a vertex that stays where it is, beside those that the file fixes.
    #[arg(long)]
    fix: Vec<u64>,
    /// Shape of a graph that is made.
    #[arg(long, default_value = "sphere")]
    made: Shape,
    /// Rows, or laps, of a graph that is made, and poses in each.
    #[arg(long, num_args = 2, default_values_t = [20, 25])]
    size: Vec<usize>,
    /// Noise of a graph that is made: 1 is a standard deviation of 0.05 along each axis, and of 0.02 radians.
    #[arg(long, default_value_t = 1.0)]
    noise: f64,
    /// Number of wrong edges in a graph that is made.
    #[arg(long, default_value_t = 0)]
    wrong: usize,
    /// Loss function.
    #[arg(long, default_value = "trivial")]
    loss: LossName,
    /// Scale of the loss function, in standard deviations.
    #[arg(long, default_value_t = 3.0)]
    scale: f64,
    /// Most iterations.
    #[arg(long, default_value_t = 100)]
    iterations: u64,
    /// File for the graph that was found.
    #[arg(long)]
    out: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Shape {
    /// In space.
    Sphere,
    /// In the plane.
    Grid,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LossName {
    Trivial,
    Huber,
    SoftL1,
    Cauchy,
    Tukey,
}

impl LossName {
    fn loss(self, scale: f64) -> Box<dyn Loss> {
        match self {
            Self::Trivial => Box::new(Trivial),
            Self::Huber => Box::new(Huber::new(scale)),
            Self::SoftL1 => Box::new(SoftL1::new(scale)),
            Self::Cauchy => Box::new(Cauchy::new(scale)),
            Self::Tukey => Box::new(Tukey::new(scale)),
        }
    }
}

/// A graph from a file.
fn graph_in(file: &Path) -> Result<Graph, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(g2o::read(&text).map_err(|error| format!("{}: {error}", file.display()))?)
}

/// A graph that is made, with its poses.
fn graph_made(options: &Options) -> Made {
    let [rows, columns] = [options.size[0].max(1), options.size[1].max(2)];
    let truth = match options.made {
        Shape::Sphere => sphere(rows, columns),
        Shape::Grid => grid(rows, columns),
    };
    measured(truth, columns, Noise::times(options.noise), options.wrong)
}

/// Fixes the vertices with these ids, and checks that all poses are determined.
fn fix(graph: &mut Graph, ids: &[u64]) -> Result<(), Box<dyn Error>> {
    for id in ids {
        let vertices = graph.vertices.len();
        let none = || format!("--fix {id}: none of the {vertices} vertices has that id");
        graph.vertex_mut(*id).ok_or_else(none)?.is_fixed = true;
    }
    Ok(graph.check()?)
}

/// Prints the times of the parts of an iteration.
fn print_times(problem: &Problem, x: &[f64], edges: usize) -> Result<(), Box<dyn Error>> {
    let mut at = Linearization::new(problem)?;
    println!("ns an edge, the least of seven rounds:");
    println!("  {:8.1}  cost", least(edges, || _ = black_box(problem.cost(black_box(x)))));
    println!("  {:8.1}  residuals and Jacobian matrix", least(edges, || at.evaluate(black_box(x)).expect("finite")));
    println!("  {:8.1}  JᵀJ by blocks", least(edges, || _ = black_box(at.normal_matrix())));
    let (gradient, mut normal, mut factors) = (at.gradient(), at.normal_matrix().clone(), Cholesky::default());
    normal.add_to_diagonal(&vec![1.0; problem.columns()]);
    println!("  {:8.1}  a step", least(edges, || _ = black_box(factors.step(&normal, &gradient).is_ok())));
    Ok(())
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let made = options.file.is_none().then(|| graph_made(options));
    let (graph, truth) = made.map(|Made { graph, truth }| (graph, truth)).unzip();
    let mut graph = match (graph, &options.file) {
        (None, Some(file)) => graph_in(file)?,
        (graph, _) => graph.ok_or("there is no graph")?,
    };
    fix(&mut graph, &options.fix)?;
    let problem = graph.problem(options.loss.loss(options.scale))?;
    println!("{} poses, {} edges, {} columns", graph.vertices.len(), graph.edges.len(), problem.columns());
    problem.cost(problem.start()).map_err(|error| graph.explain(&error))?;
    let report = |Iteration { number, cost, damping, step, is_taken }| {
        let taken = if is_taken { "" } else { ", not taken" };
        println!("{number:>4}: cost {cost:.9e}, damping {damping:.1e}, a step of {step:.1e}{taken}");
    };
    let (clock, mut factors) = (Instant::now(), Cholesky::default());
    let limits = Limits { iterations: options.iterations, decrease: 1e-10 };
    let found = minimize(&problem, limits, |normal, gradient| factors.step(normal, gradient), report)?;
    println!(
        "cost {:.6e} -> {:.6e} in {} iterations and {:.3} s, {}",
        found.start,
        found.cost,
        found.iterations,
        clock.elapsed().as_secs_f64(),
        found.end
    );
    let of_start = truth.as_ref().map(|truth| distance(&graph, truth));
    graph.set_poses(&found.x);
    if let (Some(truth), Some(of_start)) = (&truth, of_start) {
        let off = distance(&graph, truth);
        println!("poses are off by {of_start:.3} before, and by {off:.3} after, by root mean square");
        // Wrong edges may lead anywhere.
        if options.wrong == 0 && (found.end != End::Converged || off > of_start) {
            return Err("the poses were not found".into());
        }
    }
    if let Some(out) = &options.out {
        std::fs::write(out, g2o::write(&graph)).map_err(|error| format!("{}: {error}", out.display()))?;
    }
    print_times(&problem, &found.x, graph.edges.len())
}

fn main() -> ExitCode {
    exit_code(run(&Options::parse()))
}
