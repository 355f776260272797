//! Compares taping strategies on real computations: bytes and times side by side, every gradient checked.
//!
//! `cargo run --release --example compare -- --help` lists the options.
#![allow(clippy::cast_precision_loss, reason = "counts and bytes are far below 2^53")]

mod beside;
mod bundle;
mod chart;
mod check;
mod cli;
mod details;
mod measure;
mod paths;
mod plan;
mod programs;
mod report;
mod strategies;
mod workloads;

use cli::{Request, Tables};
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
fn run(request: &Request) -> Result<bool, String> {
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
    let (outcomes, mut failures) = outcomes(request)?;
    if request.tables == Tables::Details {
        print!("{}", details::summary(&outcomes));
    }
    if request.tables != Tables::None {
        outcomes.iter().for_each(|outcome| print!("{}", report::digest(outcome)));
    }
    if request.has_bundle {
        let bundle = bundle::section(request.small);
        print!("{}", bundle.text);
        failures.extend(bundle.failure);
    }
    print!("{}", report::footnote(strategies::device().map(|(_, name)| name).as_deref()));
    let csv = report::csv(&outcomes);
    if let Some(path) = &request.csv {
        std::fs::write(path, &csv).map_err(|error| paths::refused("--csv", path, &error))?;
    }
    if let Some(path) = &request.svg {
        chart::draw(path, &chart::read(&csv)?)?;
    }
    failures.extend(outcomes.into_iter().flat_map(|outcome| outcome.failures));
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    Ok(failures.is_empty())
}

/// Measures the workloads one by one, and prints what each took; also says which could not be run.
fn outcomes(request: &Request) -> Result<(Vec<measure::Outcome>, Vec<String>), String> {
    let estimates: Vec<f64> = request.workloads.iter().map(|workload| workload.seconds(request)).collect();
    eprintln!(
        "{} under up to {} strategies: about {}.{}",
        report::count(request.workloads.len(), "workload"),
        request.strategies.len(),
        plan::in_words(estimates.iter().sum()),
        if request.small { "" } else { " A first look takes less time with --small." }
    );
    let countdown = Countdown::new(estimates)?;
    let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
    for (done, workload) in request.workloads.iter().enumerate() {
        countdown.say(done, workload.name());
        match workload.measure(request) {
            Ok(outcome) => {
                countdown.finish_one(&match request.tables {
                    Tables::Details => details::table(&outcome),
                    Tables::All => report::table(&outcome),
                    Tables::None => report::digest(&outcome),
                });
                outcomes.push(outcome);
            }
            Err(why) => failures.push(why),
        }
    }
    countdown.finish();
    Ok((outcomes, failures))
}
