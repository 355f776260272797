//! Gradients of array kernels on the host, on its threads, and on a device: the same functions, generic in the space.
//! Prints times of the values and of the gradient, their ratio, the share of values and adjoints with the bits of the
//! host, and the memory on the device. Inputs are on the device, and gradients stay there.
//!
//! `cargo run --release -p tapewright-examples --features opencl --example devices`, with `-- --help` for more; with
//! `--features cuda` on a CUDA device, too.
#![allow(clippy::redundant_closure_for_method_calls, reason = "kernels read alike")]
#![allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]

use clap::Parser;
use std::process::ExitCode;
use std::time::Instant;
#[cfg(feature = "cuda")]
use tapewright::kernels::devices::Cuda;
use tapewright::kernels::devices::{DeviceError, DeviceSpace, MemoryUse, OpenCl};
use tapewright::kernels::{Field3, Host, Space, View, parallel_for, parallel_sum};
use tapewright::prelude::*;
use tapewright_problems::kernels::{burgers, norm_res};

#[derive(Parser)]
struct Options {
    /// OpenCL device: a kind (cpu, gpu, accelerator), a part of its name, or its number.
    #[arg(long)]
    device: Option<String>,
    /// Lists the devices.
    #[arg(long)]
    list: bool,
    /// Prints a row for each target and problem, separated by commas.
    #[arg(long)]
    csv: bool,
    /// Only problems whose names contain this.
    #[arg(long, default_value = "")]
    only: String,
    /// Small sizes and few rounds.
    #[arg(long)]
    small: bool,
}

/// A function of arrays of `R` dimensions, generic in the space of its views.
trait Problem<const R: usize>: Sync {
    fn name(&self) -> String;
    /// The inputs, and arrays to work with.
    fn views(&self) -> Vec<View<Passive, R>>;
    /// Computes the value.
    fn value<M: Space<f64>>(&self, views: &[View<Passive, R, M>]) -> f64;
    /// Computes the value and the gradient.
    fn gradient<M: Space<f64>>(&self, views: &[View<Passive, R, M>], tape: &mut Tape<Jacobian>) -> Gradient<R, M>;
    /// Number of repetitions in a round.
    fn repetitions(&self) -> usize {
        1
    }
}

/// A value, and the adjoints of inputs where they are.
struct Gradient<const R: usize, M: Space<f64>> {
    value: f64,
    of_views: Vec<View<Passive, R, M>>,
    of_variables: Vec<f64>,
}
impl<const R: usize, M: Space<f64>> Gradient<R, M> {
    /// Waits until the adjoints are there: for one element of the last array, since operations are done in order.
    fn wait(&self) {
        let last = self.of_views.last().expect("each problem has a view");
        let flat = last.reshape([last.len()]);
        std::hint::black_box(parallel_sum(0..1, &flat, |x| x.at::<0>()).value());
    }

    /// The value, and all adjoints on the host.
    fn on_host(&self) -> (f64, Vec<f64>) {
        let mut all: Vec<f64> = self.of_views.iter().flat_map(|view| view.values().to_vec()).collect();
        all.extend(&self.of_variables);
        (self.value, all)
    }
}

/// Numbers that are different everywhere.
fn start(count: usize, seed: f64) -> Vec<f64> {
    (0..count).map(|k| 0.5 + 0.4 * (0.37 * k as f64 + seed).sin()).collect()
}

/// Σ (A·3x − b)², where A is tridiagonal.
struct NormRes {
    x: Vec<f64>,
    b: Vec<f64>,
}
impl NormRes {
    fn new(n: usize) -> Self {
        Self { x: start(n, 0.0), b: start(n, 1.0) }
    }
}
impl Problem<1> for NormRes {
    fn name(&self) -> String {
        format!("normRes1DLaplacianSQ, {}", self.x.len())
    }
    fn views(&self) -> Vec<View<Passive, 1>> {
        let n = self.x.len();
        vec![View::new([n], &self.x), View::new([n], &self.b), View::zeros([n]), View::zeros([n])]
    }
    fn value<M: Space<f64>>(&self, views: &[View<Passive, 1, M>]) -> f64 {
        let [x, b, y, y2] = views else { unreachable!("these are the views") };
        norm_res(&mut x.clone(), b, &mut y.clone(), &mut y2.clone()).value()
    }
    fn gradient<M: Space<f64>>(&self, views: &[View<Passive, 1, M>], tape: &mut Tape<Jacobian>) -> Gradient<1, M> {
        let [x, b, y, y2] = views else { unreachable!("these are the views") };
        let (x, value) = tape.record(|scope| {
            let x = scope.view_from(x);
            let value = norm_res(&mut x.clone(), &b.constant(), &mut y.constant(), &mut y2.constant());
            (x, value)
        });
        let adjoints = tape.sweep(&[(&value, 1.0)]).expect("its own output");
        let of_views = vec![adjoints.view_of(&x).expect("an input")];
        Gradient { value: value.value(), of_views, of_variables: Vec::new() }
    }
    fn repetitions(&self) -> usize {
        (100_000 / self.x.len()).clamp(1, 100)
    }
}

/// Steps of the two-dimensional Burgers equation on a square.
struct Burgers {
    n: usize,
    steps: usize,
    u: Vec<f64>,
    v: Vec<f64>,
}
impl Burgers {
    fn new(n: usize, steps: usize) -> Self {
        Self { n, steps, u: start(n * n, 0.0), v: start(n * n, 1.0) }
    }
    /// Δt/Δx and Δt/(R·Δx²).
    const STEP: (f64, f64) = (0.05, 0.02);
}
impl Problem<2> for Burgers {
    fn name(&self) -> String {
        format!("burgers2d, {0} x {0} x {1}", self.n, self.steps)
    }
    fn views(&self) -> Vec<View<Passive, 2>> {
        [&self.u, &self.v].map(|start| View::new([self.n; 2], start)).into()
    }
    fn value<M: Space<f64>>(&self, views: &[View<Passive, 2, M>]) -> f64 {
        let [u, v] = views else { unreachable!("these are the views") };
        burgers(&mut u.clone(), &mut v.clone(), self.steps, Self::STEP).value()
    }
    fn gradient<M: Space<f64>>(&self, views: &[View<Passive, 2, M>], tape: &mut Tape<Jacobian>) -> Gradient<2, M> {
        let [u, v] = views else { unreachable!("these are the views") };
        let (u, v, value) = tape.record(|scope| {
            let (u, v) = (scope.view_from(u), scope.view_from(v));
            let value = burgers(&mut u.clone(), &mut v.clone(), self.steps, Self::STEP);
            (u, v, value)
        });
        let adjoints = tape.sweep(&[(&value, 1.0)]).expect("its own output");
        let of_views = [&u, &v].map(|view| adjoints.view_of(view).expect("an input")).into();
        Gradient { value: value.value(), of_views, of_variables: Vec::new() }
    }
}

/// Steps of diffusion in a cube with fixed borders, whose coefficient is differentiated, too.
struct Diffusion {
    n: usize,
    steps: usize,
    u: Vec<f64>,
}
impl Diffusion {
    fn new(n: usize, steps: usize) -> Self {
        Self { n, steps, u: start(n.pow(3), 0.0) }
    }

    fn run<S: Taping<Value = f64>, M: Space<f64>>(&self, u: &mut View<S, 3, M>, kappa: &Real<S>) -> Real<S> {
        for _ in 0..self.steps {
            parallel_for(u.interior(1), (&mut *u, kappa), |(u, kappa)| (around(u) * kappa + u.at::<0, 0, 0>(),));
        }
        parallel_sum(u.all(), &*u, |u| u.at::<0, 0, 0>().square())
    }
}

/// The seven-point Laplacian.
fn around<U: Field3>(u: U) -> tapewright::kernels::Term<impl tapewright::kernels::Node> {
    let x = u.at::<0, 0, -1>() + u.at::<0, 0, 1>();
    let y = u.at::<0, -1, 0>() + u.at::<0, 1, 0>();
    let z = u.at::<-1, 0, 0>() + u.at::<1, 0, 0>();
    x + y + z - 6.0 * u.at::<0, 0, 0>()
}

impl Problem<3> for Diffusion {
    fn name(&self) -> String {
        format!("diffusion, {0} x {0} x {0} x {1}", self.n, self.steps)
    }
    fn views(&self) -> Vec<View<Passive, 3>> {
        vec![View::new([self.n; 3], &self.u)]
    }
    fn value<M: Space<f64>>(&self, views: &[View<Passive, 3, M>]) -> f64 {
        self.run(&mut views[0].clone(), &Real::constant(0.1)).value()
    }
    fn gradient<M: Space<f64>>(&self, views: &[View<Passive, 3, M>], tape: &mut Tape<Jacobian>) -> Gradient<3, M> {
        let (u, kappa, value) = tape.record(|scope| {
            let (u, kappa) = (scope.view_from(&views[0]), scope.input(0.1));
            let value = self.run(&mut u.clone(), &kappa);
            (u, kappa, value)
        });
        let adjoints = tape.sweep(&[(&value, 1.0)]).expect("its own output");
        let of_variables = vec![adjoints.of(&kappa).expect("an input")];
        Gradient { value: value.value(), of_views: vec![adjoints.view_of(&u).expect("an input")], of_variables }
    }
}

/// Seconds that a call takes: the least of some rounds.
fn least(rounds: usize, repetitions: usize, mut f: impl FnMut()) -> f64 {
    f();
    let round = |_| {
        let start = Instant::now();
        (0..repetitions).for_each(|_| f());
        start.elapsed().as_secs_f64() / repetitions as f64
    };
    (0..rounds).map(round).fold(f64::INFINITY, f64::min)
}

/// Measures a problem in one space, and prints a row. Returns the value and the gradient.
fn measure<const R: usize, M: Space<f64>>(
    options: &Options,
    target: &str,
    problem: &impl Problem<R>,
    expected: Option<&(f64, Vec<f64>)>,
    memory: impl Fn() -> Option<MemoryUse>,
) -> (f64, Vec<f64>) {
    let rounds = if options.small { 2 } else { 7 };
    let mut tape = Tape::<Jacobian>::new();
    let before = memory().map_or(0, |memory| memory.used);
    let views: Vec<_> = problem.views().into_iter().map(|view| view.in_space::<M>()).collect();
    let primal = least(rounds, problem.repetitions(), || _ = std::hint::black_box(problem.value(&views)));
    let gradient = least(rounds, problem.repetitions(), || problem.gradient(&views, &mut tape).wait());
    let found = problem.gradient(&views, &mut tape).on_host();
    let bytes = memory().map_or(0, |memory| memory.peak.saturating_sub(before));
    let (value, expected) = (found.0, expected.unwrap_or(&found));
    let pairs = || found.1.iter().zip(&expected.1).chain([(&value, &expected.0)]);
    let same = pairs().filter(|(a, b)| a.to_bits() == b.to_bits()).count() as f64 / (found.1.len() + 1) as f64;
    let differ = pairs().map(|(a, b)| (a - b).abs() / b.abs().max(1e-300)).fold(0.0, f64::max);
    assert!(differ < 1e-9, "{target} differs from the host by {differ:.1e} in {}", problem.name());
    let (primal, gradient) = (primal * 1e3, gradient * 1e3);
    if options.csv {
        let name = problem.name().replace(", ", " ");
        println!("{target},{name},{primal:.4},{gradient:.4},{:.3},{same:.6},{bytes}", gradient / primal);
        println!("# {name}: value {value:.12e}, sum of the gradient {:.12e}", found.1.iter().sum::<f64>());
    } else {
        println!(
            "{:<34} {target:>12} {primal:>11.4} {gradient:>11.4} {:>7.2} {:>8.2}% {:>9.1}",
            problem.name(),
            gradient / primal,
            100.0 * same,
            bytes as f64 / 1e6
        );
    }
    found
}

/// Measures a problem on all targets.
fn compare<const R: usize>(options: &Options, problem: &impl Problem<R>) {
    if !problem.name().contains(&options.only) {
        return;
    }
    let threads = |count: usize| rayon::ThreadPoolBuilder::new().num_threads(count).build().expect("threads");
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let expected = threads(1).install(|| measure::<R, Host>(options, "host", problem, None, || None));
    threads(all).install(|| measure::<R, Host>(options, &format!("{all} threads"), problem, Some(&expected), || None));
    if OpenCl::selected().is_ok() {
        measure::<R, OpenCl>(options, "OpenCL", problem, Some(&expected), || OpenCl::memory_use().ok());
    }
    #[cfg(feature = "cuda")]
    if Cuda::selected().is_ok() {
        measure::<R, Cuda>(options, "CUDA", problem, Some(&expected), || Cuda::memory_use().ok());
    }
}

/// Prints the devices of a space.
fn list<M: DeviceSpace>() -> Result<(), DeviceError> {
    for (k, device) in M::devices()?.iter().enumerate() {
        println!("{k}: {} ({:?}, {} MB, {})", device.name, device.kind, device.memory / 1_000_000, device.platform);
    }
    Ok(())
}

/// Prints the device of a space, or why there is none.
fn announce<M: DeviceSpace>() -> bool {
    match M::selected() {
        Ok(device) => {
            println!("# device: {}, {}, driver {}", device.name, device.platform, device.driver);
            true
        }
        Err(error) => {
            println!("# {error}");
            false
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn std::error::Error>> {
    if options.list {
        #[cfg(feature = "cuda")]
        list::<Cuda>()?;
        return Ok(list::<OpenCl>()?);
    }
    if let Some(device) = &options.device {
        OpenCl::select(device)?;
    }
    #[allow(unused_mut, reason = "there is one interface without the feature `cuda`")]
    let mut found = announce::<OpenCl>();
    #[cfg(feature = "cuda")]
    {
        found |= announce::<Cuda>();
    }
    if !found {
        return Err("there is no device".into());
    }
    println!(
        "# times in milliseconds, wall clock, the least of some rounds; bits as on the host; memory on the device"
    );
    if options.csv {
        println!("target,problem,values,gradient,ratio,same_bits,device_bytes");
    } else {
        println!(
            "{:<34} {:>12} {:>11} {:>11} {:>7} {:>9} {:>9}",
            "problem", "target", "values", "gradient", "ratio", "same", "MB"
        );
    }
    let most = if options.small { 4 } else { 7 };
    (1..=most).for_each(|k| compare(options, &NormRes::new(10_usize.pow(k))));
    compare(options, &Burgers::new(128, if options.small { 4 } else { 32 }));
    if !options.small {
        compare(options, &Burgers::new(1024, 8));
        compare(options, &Burgers::new(1024, 32));
    }
    compare(options, &Diffusion::new(if options.small { 16 } else { 128 }, 8));
    Ok(())
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
