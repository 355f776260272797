//! Checkpointing: a chain of sines in stages, then a time loop of 100,000 steps in 1 % of the memory of its full tape.
//!
//! With `--svg FILE` it also draws memory over recomputation: the time loop with more and more snapshots.
#![allow(clippy::cast_precision_loss, reason = "bytes and counts become megabytes and ratios, to a few digits")]

#[path = "checkpointing/chart.rs"]
mod chart;

use clap::Parser;
use std::error::Error;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;
use tapewright::checkpoint::TimeLoop;
use tapewright::schedule::Revolve;
use tapewright::tape::MemoryReport;
use tapewright::{checkpoint, prelude::*};

#[derive(Parser)]
struct Options {
    /// Draw memory over recomputation
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

fn repeated_sin<S: Strategy>(n: usize, x: &Real<S>) -> Real<S> {
    (0..n).fold(*x, |x, _| x.sin().into())
}

/// The derivative of `n` sines in stages of `distance`; prints what the tape took.
fn sines_in_stages(n: usize, distance: usize) -> Result<f64, tapewright::Error> {
    let mut tape = Tape::<Jacobian>::new();
    let start = Instant::now();
    let (x, y) = tape.record(|scope| {
        let x = scope.input(0.7);
        let y = (0..n).step_by(distance).fold(x, |x, at| {
            let sines = distance.min(n - at);
            checkpoint!(Jacobian, &x, move |x| repeated_sin(sines, x))
        });
        (x, y)
    });
    let recorded = tape.memory();
    let slope = tape.sweep(&[(&y, 1.0)])?.of(&x)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("  stages of {distance:>7}: {:8.3} MB, {:6.1} ms", mb(peak(&recorded, &tape.memory())), 1e3 * seconds);
    Ok(slope)
}

/// Bytes at the peak: what is there when the recording ends, and what the sweep needs beside it.
fn peak(recorded: &MemoryReport, swept: &MemoryReport) -> usize {
    let further = |name| swept.usage(name).reserved - recorded.usage(name).reserved;
    recorded.total().reserved + further("nested") + further("adjoints")
}

fn mb(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

/// A rod that conducts heat. Its right end exchanges heat with a room whose temperature swings.
struct Rod<S: Taping> {
    temperature: Vec<Real<S>>,
    /// The squares of what was exchanged, added up.
    exchanged: Real<S>,
}
tapewright::variables!(Rod { temperature, exchanged });

/// One time step. The parameters are the conductivity at temperature 0 and how it grows with temperature.
fn step<S: Strategy<Value = f64>>(time: usize, [conductivity, growth]: &[Real<S>; 2], rod: &Rod<S>) -> Rod<S> {
    let t = &rod.temperature;
    let room = 1.0 + (0.01 * time as f64).sin();
    let conducted = |t: &[Real<S>]| ((*conductivity + *growth * (t[0] + t[1])) * (t[0] - t[1])).eval();
    let out = (0.1 * (t[t.len() - 1] - room)).eval();
    let flux: Vec<Real<S>> = t.windows(2).map(conducted).chain([out]).collect();
    let mut temperature = vec![(t[0] - flux[0]).eval()];
    temperature.extend((1..t.len()).map(|i| (t[i] + flux[i - 1] - flux[i]).eval()));
    Rod { temperature, exchanged: (rod.exchanged + out * out).into() }
}

const CELLS: usize = 20;
const PARAMETERS: [f64; 2] = [0.1, 0.05];

/// The rod at first: a temperature between 0 and 1 in each cell.
fn rod<S: Reverse<Value = f64>>(scope: &mut tapewright::Scope<'_, S>) -> Rod<S> {
    let temperature: Vec<f64> = (0..CELLS).map(|cell| (0.3 * cell as f64).sin().powi(2)).collect();
    Rod { temperature: scope.inputs(&temperature), exchanged: Real::constant(0.0) }
}

/// What a loop took.
struct Cost {
    bytes: usize,
    seconds: f64,
    /// Steps computed, with or without recording.
    evaluations: usize,
    /// By how much the squares of the heat exchanged change with the parameters.
    slopes: Vec<f64>,
}

impl Cost {
    fn print(&self, how: &str, steps: usize) {
        let evaluations = self.evaluations as f64 / steps as f64;
        println!(
            "  {how:<17} {:8.3} MB, {evaluations:.2} evaluations a step, {:6.0} ms",
            mb(self.bytes),
            1e3 * self.seconds
        );
    }
}

/// All steps on the tape.
fn on_full_tape(steps: usize) -> Result<Cost, tapewright::Error> {
    let start = Instant::now();
    let mut tape = Tape::<Jacobian>::new();
    let (parameters, exchanged) = tape.record(|scope| {
        let parameters = PARAMETERS.map(|p| scope.input(p));
        let start = rod(scope);
        (parameters, (0..steps).fold(start, |rod, time| step(time, &parameters, &rod)).exchanged)
    });
    let recorded = tape.memory();
    let slopes = tape.sweep(&[(&exchanged, 1.0)])?.of_all(&parameters)?;
    let seconds = start.elapsed().as_secs_f64();
    let bytes = recorded.total().used + tape.memory().usage("adjoints").used;
    Ok(Cost { bytes, seconds, evaluations: steps, slopes })
}

/// One step on the tape at a time, and so many snapshots; whether states of the two runs are compared.
fn with_snapshots(steps: usize, snapshots: usize, checked: bool) -> Result<Cost, tapewright::Error> {
    let start = Instant::now();
    let evaluations = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&evaluations);
    let time_loop = TimeLoop::<Jacobian>::new(Revolve::new(steps, snapshots))
        .named("the rod")
        .checked(checked)
        .progress(move |progress| {
            count.store(progress.advanced + progress.recorded, Ordering::Relaxed);
            ControlFlow::Continue(())
        });
    let mut tape = Tape::<Jacobian>::new();
    let (parameters, end) = tape.record(|scope| {
        let parameters = PARAMETERS.map(|p| scope.input(p));
        let start = rod(scope);
        let end = time_loop.run(&parameters, &start, step, step);
        (parameters, end)
    });
    let end = end?;
    let recorded = tape.memory();
    let slopes = tape.sweep(&[(&end.exchanged, 1.0)])?.of_all(&parameters)?;
    let seconds = start.elapsed().as_secs_f64();
    let bytes = peak(&recorded, &tape.memory());
    Ok(Cost { bytes, seconds, evaluations: evaluations.load(Ordering::Relaxed), slopes })
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::parse();
    let n = 1_000_000;
    println!("{n} sines: distance of the checkpoints, peak memory, time");
    let slopes: Vec<f64> =
        [4, 1000, n].into_iter().map(|distance| sines_in_stages(n, distance)).collect::<Result<_, _>>()?;
    assert!(slopes.iter().all(|slope| *slope == slopes[0]), "stages change no bit");
    println!("  the slope is {:.12e} each time", slopes[0]);

    let steps = 100_000;
    println!("\na rod of {CELLS} cells, {steps} steps");
    let full = on_full_tape(steps)?;
    full.print("full tape", steps);
    let few = with_snapshots(steps, 500, true)?;
    few.print("500 snapshots", steps);
    let part = few.bytes as f64 / full.bytes as f64;
    println!("  that is {:.2} % of the memory, and {:.2} × the time", 100.0 * part, few.seconds / full.seconds);
    assert!(part <= 0.01, "1 % of the memory is enough");
    for (slope, expected) in few.slopes.iter().zip(&full.slopes) {
        assert!((slope - expected).abs() <= 1e-10 * expected.abs(), "{slope}, {expected} on the full tape");
    }
    println!(
        "  the squares of the heat exchanged change by {:.6} and {:.6} with the two parameters",
        few.slopes[0], few.slopes[1]
    );

    if let Some(path) = &options.svg {
        println!("\nmemory over recomputation, without the 8 bytes a step for comparing the two runs");
        let mut points = Vec::new();
        for snapshots in [4, 6, 10, 20, 50, 100, 200, 500, 1000, 3000, 10_000, 30_000, steps] {
            let cost = with_snapshots(steps, snapshots, false)?;
            cost.print(&format!("{snapshots} snapshots"), steps);
            points.push((mb(cost.bytes), cost.evaluations as f64 / steps as f64));
        }
        chart::draw(path, &points, mb(full.bytes))?;
    }
    Ok(())
}
