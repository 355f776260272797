//! Compares taping strategies on real computations: bytes and times side by side, every gradient checked.
//!
//! `cargo run --release --example compare -- --help` lists the options.
#![allow(clippy::cast_precision_loss, reason = "counts and bytes are far below 2^53")]

mod beside;
mod blocks;
mod chart;
mod check;
mod checkpointed;
mod cli;
mod launched;
mod measure;
mod report;
mod rounds;
mod strategies;
mod summary;
mod taped;
mod workloads;

use indicatif::{ProgressBar, ProgressStyle};
use std::process::ExitCode;

fn main() -> ExitCode {
    let request = match cli::request() {
        Ok(request) => request,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::from(2);
        }
    };
    match run(&request) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

/// Runs the comparison; whether every gradient was right.
fn run(request: &cli::Request) -> Result<bool, String> {
    if request.figures {
        return beside::print_figures(request).map(|()| true);
    }
    if let Some(others) = &request.beside {
        return beside::run(request, others);
    }
    let style = ProgressStyle::with_template("{spinner} {pos}/{len} {msg}").map_err(|e| e.to_string())?;
    let bar = ProgressBar::new(request.workloads.len() as u64).with_style(style);
    let mut outcomes = Vec::new();
    for workload in &request.workloads {
        let outcome = workload.measure(request, &|step| bar.set_message(step.to_owned()));
        bar.inc(1);
        bar.suspend(|| print!("{}", report::table(&outcome)));
        outcomes.push(outcome);
    }
    bar.finish_and_clear();
    print!("{}", summary::text(&outcomes));
    if let Some(path) = &request.csv {
        std::fs::write(path, report::csv(&outcomes)).map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    if let Some(path) = &request.svg {
        chart::draw(path, &outcomes).map_err(|e| format!("cannot draw {}: {e}", path.display()))?;
    }
    let failures: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.failures).collect();
    failures.iter().for_each(|failure| eprintln!("WRONG: {failure}"));
    Ok(failures.is_empty())
}
