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
mod details;
mod launched;
mod measure;
mod paths;
mod plan;
mod report;
mod rounds;
mod strategies;
mod taped;
mod verdict;
mod workloads;

use plan::Countdown;
use std::process::ExitCode;

fn main() -> ExitCode {
    let done = cli::request().and_then(|request| run(&request));
    match done {
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
    if let Some(figures) = &request.redraw {
        return chart::redraw(figures, request.svg.as_deref()).map(|()| true);
    }
    paths::check(request)?;
    if let Some(others) = &request.beside {
        return beside::run(request, others);
    }
    let outcomes = outcomes(request)?;
    if request.details {
        print!("{}", details::summary(&outcomes));
    }
    print!("{}", verdict::text(&outcomes));
    if let Some(path) = &request.csv {
        std::fs::write(path, report::csv(&outcomes)).map_err(|e| paths::refused("--csv", path, &e))?;
    }
    if let Some(path) = &request.svg {
        chart::draw(path, &chart::groups(&outcomes)).map_err(|e| paths::refused("--svg", path, &e))?;
    }
    let failures: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.failures).collect();
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    Ok(failures.is_empty())
}

/// Measures the workloads one by one, and prints what each took.
fn outcomes(request: &cli::Request) -> Result<Vec<measure::Outcome>, String> {
    let estimates = request.workloads.iter().map(|workload| workload.seconds(request));
    let estimates = estimates.collect::<Result<Vec<f64>, _>>()?;
    eprintln!(
        "{} under up to {} strategies: about {}.{}",
        report::count(request.workloads.len(), "workload"),
        request.strategies.len(),
        plan::in_words(estimates.iter().sum()),
        if request.small { "" } else { " A first look takes less time with --small." }
    );
    let countdown = Countdown::new(estimates)?;
    let mut outcomes = Vec::new();
    for workload in &request.workloads {
        let outcome = workload.measure(request, &|step| countdown.say(step));
        let table = if request.details { details::table(&outcome) } else { report::table(&outcome) };
        countdown.finish_one(&table);
        outcomes.push(outcome);
    }
    countdown.finish();
    Ok(outcomes)
}
