//! What the user asks for.
#![allow(clippy::doc_markdown, reason = "the comments on options are the help text")]

use crate::strategies::Strategy;
use crate::workloads::{Workload, make};
use clap::Parser;
use std::collections::HashMap;
use std::path::PathBuf;

/// Compares taping strategies on real computations: bytes and times side by side, every gradient checked.
#[derive(Parser)]
#[command(name = "compare", version)]
struct Arguments {
    /// Workloads, separated by commas [default: all]: burgers2d, gmm, laplacian1d, repeated_sin, libor, lstm, expsq
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    workloads: Vec<String>,
    /// Strategies, separated by commas [default: all]: jacobian, hybrid_reuse, jacobian_reuse_spilled and so on; a wrong name
    /// lists them
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    strategies: Vec<String>,
    /// Size of a workload, e.g. burgers2d=64x10 (points x steps), gmm=4x3x500 (d x k x n), laplacian1d=1000,
    /// repeated_sin=1000, libor=80x40x10 (rates x maturities x paths), lstm=2x14x100 (layers x width x rows), expsq=1000
    #[arg(long, value_name = "NAME=SIZE")]
    size: Vec<String>,
    /// Small sizes for all workloads that no --size names: finishes in seconds
    #[arg(long)]
    small: bool,
    /// Rounds, in each of which everything is timed once; medians are reported [default: 25, and 11 with --small]
    #[arg(long, short, value_name = "N")]
    repetitions: Option<usize>,
    /// A GMM or LSTM problem in ADBench's text format, in place of the built-in one
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Where spilled tapes put their files [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Also write the figures as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also draw a chart
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// A request that can be carried out.
pub(crate) struct Request {
    pub(crate) workloads: Vec<Box<dyn Workload>>,
    pub(crate) strategies: Vec<Strategy>,
    /// How often everything is timed.
    pub(crate) rounds: usize,
    pub(crate) directory: PathBuf,
    pub(crate) csv: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
}

/// Reads the command line; an error is one line.
pub(crate) fn request() -> Result<Request, String> {
    let arguments = Arguments::try_parse().unwrap_or_else(|error| {
        if error.use_stderr() {
            let text = error.to_string();
            let line = text.lines().next().unwrap_or("error: bad arguments");
            eprintln!("{line}");
            std::process::exit(2);
        }
        error.exit()
    });
    let rounds = arguments.repetitions.unwrap_or(if arguments.small { 11 } else { 25 });
    if rounds == 0 {
        return Err("--repetitions must be at least 1".into());
    }
    let strategies = strategies(&arguments.strategies)?;
    let sizes = sizes(&arguments)?;
    let workloads = make(&arguments.workloads, &sizes, arguments.data.as_deref())?;
    let Arguments { directory, csv, svg, .. } = arguments;
    let directory = directory.unwrap_or_else(std::env::temp_dir);
    Ok(Request { workloads, strategies, rounds, directory, csv, svg })
}

fn strategies(names: &[String]) -> Result<Vec<Strategy>, String> {
    if names.is_empty() {
        return Ok(Strategy::ALL.to_vec());
    }
    let find = |name: &String| {
        let known = || Strategy::ALL.iter().map(|strategy| strategy.name()).collect::<Vec<_>>().join(", ");
        Strategy::ALL
            .iter()
            .copied()
            .find(|strategy| strategy.name() == *name)
            .ok_or_else(|| format!("no strategy is called '{name}'; there are {}", known()))
    };
    names.iter().map(find).collect()
}

/// The sizes by workload, each a list of numbers.
fn sizes(arguments: &Arguments) -> Result<HashMap<String, Vec<usize>>, String> {
    let small = [
        ("burgers2d", vec![32, 8]),
        ("laplacian1d", vec![1000]),
        ("repeated_sin", vec![10_000]),
        ("libor", vec![80, 40, 10]),
        ("lstm", vec![2, 6, 30]),
        ("expsq", vec![1000]),
    ];
    let mut sizes = HashMap::new();
    if arguments.small {
        sizes.extend(small.map(|(name, size)| (name.to_owned(), size)));
    }
    for text in &arguments.size {
        let wrong = || format!("--size wants NAME=NUMBER[xNUMBER…], not '{text}'");
        let (name, numbers) = text.split_once('=').ok_or_else(wrong)?;
        let numbers: Result<Vec<usize>, _> = numbers.split('x').map(str::parse).collect();
        sizes.insert(name.to_owned(), numbers.map_err(|_| wrong())?);
    }
    Ok(sizes)
}
