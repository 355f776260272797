//! What spilling costs: a tape of eight times its memory budget against the same tape in memory and against the bare
//! disk, and time over the memory budget. Prints a table; `--csv FILE` and `--svg FILE` write the series.
//!
//! ```text
//! cargo bench --bench spill -- --directory /scratch --csv spill.csv --svg spill.svg
//! ```
//!
//! The workload is burgers2d under `Jacobian` with reused indices. Times are wall-clock times, because threads and the
//! disk take part; each is the median of the rounds, in which the variants alternate.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes become rates and parts of a budget, to a few digits"
)]

#[path = "spill/chart.rs"]
mod chart;
#[path = "spill/disk.rs"]
mod disk;

use clap::Parser;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;
use tapewright::Spilled;
use tapewright::prelude::*;
use tapewright::storage::{SpillOptions, SpillUsage};
use tapewright_problems::{Burgers, Problem};
use tapewright_test_support::median;

type InCore = Jacobian<f64, Reuse>;
type OutOfCore = Jacobian<f64, Reuse, Spilled>;

#[derive(Parser)]
struct Options {
    /// Where the file goes.
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    directory: PathBuf,
    /// Time steps on the 128 × 128 grid; each takes about 3.7 MB.
    #[arg(long, default_value_t = 640)]
    steps: usize,
    /// Time steps of the series over the memory budget.
    #[arg(long, default_value_t = 160)]
    series_steps: usize,
    /// Rounds in which everything is measured.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// MiB of a slab.
    #[arg(long, default_value_t = 1)]
    slab: usize,
    #[arg(long)]
    csv: Option<PathBuf>,
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Seconds of one gradient, and the gradient.
fn gradient_on<S: Reverse<Value = f64>>(tape: &mut Tape<S>, problem: &Burgers, x: &[f64]) -> (f64, Vec<f64>) {
    let mut gradient = vec![0.0; x.len()];
    let start = Instant::now();
    tape.gradient(|x| problem.eval(0, x), x, &mut gradient).unwrap_or_else(|error| panic!("{error}"));
    (start.elapsed().as_secs_f64(), gradient)
}

/// One budget, measured.
struct Row {
    budget: usize,
    seconds: f64,
    usage: SpillUsage,
}

/// Times of gradients in memory and with these budgets, and of the bare disk for as many bytes as were spilled.
struct Measured {
    in_memory: f64,
    tape_bytes: usize,
    disk: disk::Rates,
    rows: Vec<Row>,
}

fn measure(options: &Options, steps: usize, budgets: &[f64]) -> Measured {
    let problem = Burgers::new(128, steps).expect("a grid of 128 x 128");
    let x = problem.inputs(0);
    let mut in_core = Tape::<InCore>::new();
    let (_, expected) = gradient_on(&mut in_core, &problem, &x); // warm
    let report = in_core.memory();
    let tape_bytes = report.total().used - report.usage("adjoints").used - report.usage("tables").used;
    let budgets: Vec<usize> = budgets.iter().map(|part| (tape_bytes as f64 * part) as usize).collect();
    let spilled = SpillOptions::default().directory(&options.directory).slab(options.slab << 20);
    let mut tapes: Vec<Tape<OutOfCore>> = budgets
        .iter()
        .map(|budget| Tape::spilled(spilled.clone().memory(*budget)).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let (mut in_memory, mut rates, mut seconds) = (Vec::new(), Vec::new(), vec![Vec::new(); budgets.len()]);
    for round in 0..=options.rounds {
        let keep = |into: &mut Vec<f64>, seconds| {
            if round > 0 {
                into.push(seconds);
            }
        }; // the first one warms up
        keep(&mut in_memory, gradient_on(&mut in_core, &problem, &x).0);
        rates.push(disk::rates(&options.directory, options.slab << 20, tape_bytes.min(1 << 30)).expect("a disk"));
        for (tape, into) in tapes.iter_mut().zip(&mut seconds) {
            let (taken, gradient) = gradient_on(tape, &problem, &x);
            assert_eq!(gradient, expected, "spilling changes no bit of a gradient");
            keep(into, taken);
        }
    }
    let rows = budgets.iter().zip(seconds).zip(&tapes);
    let rows = rows.map(|((budget, seconds), tape)| Row {
        budget: *budget,
        seconds: median(seconds),
        usage: tape.spill_usage(),
    });
    let disk = disk::Rates::median(&rates);
    Measured { in_memory: median(in_memory), tape_bytes, disk, rows: rows.collect() }
}

fn main() {
    let options = Options::parse();
    let eighth = measure(&options, options.steps, &[0.125]);
    let row = &eighth.rows[0];
    let per_gradient = (options.rounds + 2) as f64 - 1.0;
    let (written, read) = (row.usage.written as f64 / per_gradient, row.usage.read as f64 / per_gradient);
    let disk = written / eighth.disk.write + read / eighth.disk.read;
    let bound = eighth.in_memory.max(disk);
    let slab = options.slab << 20;
    let allowed = row.budget + slab + row.usage.in_flight_limit;
    println!(
        "burgers2d, {} steps, a tape of {:.0} MB in a budget of {:.0} MB",
        options.steps,
        mb(eighth.tape_bytes),
        mb(row.budget)
    );
    println!("  in memory                      {:8.3} s", eighth.in_memory);
    println!("  spilled                        {:8.3} s, {:.2} times the bound", row.seconds, row.seconds / bound);
    println!(
        "  bare disk                      {disk:8.3} s ({:.0} MB written at {:.0} MB/s, {:.0} MB read at {:.0} MB/s)",
        written / 1e6,
        eighth.disk.write / 1e6,
        read / 1e6,
        eighth.disk.read / 1e6
    );
    println!("  bound: the larger of the two   {bound:8.3} s");
    println!(
        "  most resident bytes            {:8} of {allowed} allowed (budget + a slab + {} in flight)",
        row.usage.peak_resident, row.usage.in_flight_limit
    );
    println!("  size of the file               {:8.0} MB", row.usage.file_bytes as f64 / 1e6);
    assert!(row.usage.peak_resident <= allowed, "the budget holds at every moment");

    let parts = [1.0 / 64.0, 1.0 / 32.0, 1.0 / 16.0, 0.125, 0.25, 0.5, 0.75, 1.1];
    let series = measure(&options, options.series_steps, &parts);
    let mut csv = String::from("budget_bytes,tape_bytes,seconds,in_memory_seconds,written_bytes,peak_resident_bytes\n");
    println!("\n{:>12} {:>10} {:>10} {:>12}", "budget", "of tape", "time", "x in memory");
    for row in &series.rows {
        println!(
            "{:>9.1} MB {:>9.1}% {:>8.3} s {:>12.2}",
            mb(row.budget),
            100.0 * row.budget as f64 / series.tape_bytes as f64,
            row.seconds,
            row.seconds / series.in_memory
        );
        _ = writeln!(
            csv,
            "{},{},{},{},{},{}",
            row.budget,
            series.tape_bytes,
            row.seconds,
            series.in_memory,
            row.usage.written / (options.rounds as u64 + 1),
            row.usage.peak_resident
        );
    }
    if let Some(path) = &options.csv {
        std::fs::write(path, csv).expect("a writable file for the series");
    }
    if let Some(path) = &options.svg {
        let points: Vec<_> = series.rows.iter().map(|row| (mb(row.budget), row.seconds)).collect();
        chart::draw(path, &points, series.in_memory, mb(series.tape_bytes)).expect("a writable file for the chart");
    }
}

fn mb(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
