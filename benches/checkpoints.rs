//! What checkpointing costs and saves. Prints tables; `--csv FILE` and `--svg FILE` write the series.
//!
//! ```text
//! cargo bench --bench checkpoints -- --csv checkpoints.csv --svg checkpoints.svg
//! ```
//!
//! Three parts, each in a process of its own: `sines`, a long chain in √n stages beside the full tape; `burgers`, a
//! time loop of 10,000 steps within a budget of memory; `tradeoff`, memory over recomputation. Times are processor
//! times of the thread, medians of rounds in which the variants alternate; ratios are between times of one run. Every
//! gradient is checked.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bytes and counts become megabytes and ratios, to a few digits"
)]

#[path = "checkpoints/burgers.rs"]
mod burgers;
#[path = "checkpoints/chart.rs"]
mod chart;
#[path = "checkpoints/sines.rs"]
mod sines;
#[path = "checkpoints/tradeoff.rs"]
mod tradeoff;

use clap::{Parser, ValueEnum};
use cpu_time::ThreadTime;
use std::path::PathBuf;
use std::process::Command;
use tapewright::tape::MemoryReport;
use tapewright::{Jacobian, Real, Tape};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Sines,
    Burgers,
    Tradeoff,
}

#[derive(Parser)]
struct Options {
    /// One part only, in this process.
    #[arg(long)]
    part: Option<Part>,
    /// Lengths of the chain, separated by commas.
    #[arg(long, value_delimiter = ',', default_values_t = [1_000, 10_000, 100_000, 1_000_000, 10_000_000])]
    sines: Vec<usize>,
    /// Grid points along a side of the time loop.
    #[arg(long, default_value_t = 128)]
    grid: usize,
    /// Steps of the time loop.
    #[arg(long, default_value_t = 10_000)]
    steps: usize,
    /// Steps for which the gradient is compared with that of the full tape, which takes 4.4 MB a step on a grid of
    /// 128.
    #[arg(long, default_value_t = 320)]
    full_steps: usize,
    /// Bytes for recorded steps and snapshots, in millions.
    #[arg(long, default_value_t = 100)]
    budget: usize,
    /// Grid points and steps of the series of memory over recomputation.
    #[arg(long, num_args = 2, default_values_t = [48, 1000])]
    series: Vec<usize>,
    /// Rounds in which everything is measured.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    #[arg(long)]
    csv: Option<PathBuf>,
    #[arg(long)]
    svg: Option<PathBuf>,
    /// Prints the seconds that one gradient takes in this process, which has done nothing before.
    #[arg(long, hide = true, num_args = 2)]
    cold: Vec<usize>,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The columns of the series. Bytes are those of the tape and the snapshots, seconds those of one gradient; evaluations
/// are of steps or sines, those in the first run among them.
const COLUMNS: &str = "part,size,variant,bytes,seconds,evaluations";

fn main() {
    let options = Options::parse();
    assert!(options.rounds > 0, "--rounds must be at least 1");
    if let &[sines, staged] = &options.cold[..] {
        return println!("{:e}", sines::cold(sines, staged == 1));
    }
    let rows = match options.part {
        Some(Part::Sines) => sines::measure(&options),
        Some(Part::Burgers) => burgers::measure(&options),
        Some(Part::Tradeoff) => tradeoff::measure(&options),
        None => Part::value_variants().iter().flat_map(|part| alone(*part)).collect(),
    };
    if let Some(path) = &options.csv {
        std::fs::write(path, format!("{COLUMNS}\n{}", rows.concat())).expect("a writable file for the series");
    }
}

/// Runs one part in a process of its own, with the arguments of this one; the rows of its series.
fn alone(part: Part) -> Vec<String> {
    let value = part.to_possible_value().expect("every part has a name");
    let own = std::env::current_exe().expect("the name of this program");
    let file = std::env::temp_dir().join(format!("checkpoints-{}-{}.csv", std::process::id(), value.get_name()));
    // The last of two options of the same name would be an error, so ours takes the place of the caller's.
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--csv") {
        arguments.drain(at..at + 2);
    }
    let status = Command::new(own).args(arguments).arg("--part").arg(value.get_name()).arg("--csv").arg(&file).status();
    assert!(status.expect("this program can be run").success(), "the part {} has failed", value.get_name());
    let rows = std::fs::read_to_string(&file).expect("the part has written its series");
    std::fs::remove_file(&file).expect("a file of our own");
    rows.lines().skip(1).map(|row| format!("{row}\n")).collect()
}

/// Seconds of processor time of this thread.
fn seconds<R>(run: impl FnOnce() -> R) -> (f64, R) {
    let clock = ThreadTime::now();
    let result = run();
    (clock.elapsed().as_secs_f64(), result)
}

/// Seconds of one gradient on this tape, which is written to `gradient`.
fn gradient_on(
    tape: &mut Tape<Jacobian>,
    f: impl FnOnce(&[Real<Jacobian>]) -> Real<Jacobian>,
    x: &[f64],
    gradient: &mut [f64],
) -> f64 {
    let (taken, value) = seconds(|| tape.gradient(f, x, gradient));
    value.unwrap_or_else(|error| panic!("{error}"));
    taken
}

/// Bytes of a tape beside its constant part; of nested tapes, all that they have reserved.
fn bytes(report: &MemoryReport) -> usize {
    report.total().used - report.usage("tables").used + report.usage("nested").reserved
}

fn mb(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}
