//! The command line.
#![allow(clippy::doc_markdown, reason = "the comments on options are the help text")]

use crate::beside::{self, Beside, Options};
use crate::strategies::Strategy;
use crate::workloads::{Workload, make};
use clap::Parser;
use std::collections::HashMap;
use std::path::PathBuf;

/// Compares taping strategies on real computations: bytes and times side by side, every gradient checked.
#[derive(Parser)]
#[command(name = "compare", version)]
struct Arguments {
    /// Workloads, separated by commas [default: all, and the residuals of a bundle adjustment]: burgers2d, gmm, laplacian1d, repeated_sin, libor, lstm, expsq
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    workloads: Vec<String>,
    /// Strategies, separated by commas [default: those in memory; all with --all, --details or --csv]: jacobian, hybrid_reuse, jacobian_reuse_spilled and so on; a
    /// wrong name lists them
    #[arg(long, short, value_delimiter = ',', value_name = "NAMES")]
    strategies: Vec<String>,
    /// Size of a workload, e.g. burgers2d=64x10 (points x steps), gmm=4x3x500 (d x k x n), laplacian1d=1000,
    /// repeated_sin=1000, libor=80x40x10 (rates x maturities x paths), lstm=2x14x100 (layers x width x rows),
    /// expsq=1000
    #[arg(long, value_name = "NAME=SIZE")]
    size: Vec<String>,
    /// Small sizes for all workloads that no --size names: finishes in seconds
    #[arg(long)]
    small: bool,
    /// Rounds, in each of which everything is timed once; medians are reported [default: as many as fit into 2 s a
    /// workload, with --small into 1 s, and 3 at least], or minima with --peer [default: 3]
    #[arg(long, short, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    repetitions: Option<u16>,
    /// Also print a table of all strategies for each workload
    #[arg(long)]
    all: bool,
    /// Also print all that was measured, with ratios and their quartiles
    #[arg(long)]
    details: bool,
    /// A GMM or LSTM problem in ADBench's text format, in place of the built-in one; one of each may be given
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    /// Directory for the files of spilled tapes [default: the system's directory for temporary files]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Also write the figures as comma-separated values
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also draw a chart
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Measure nothing: draw the chart of figures that --csv has written
    #[arg(long, value_name = "FILE", requires = "svg")]
    redraw: Option<PathBuf>,
    #[command(flatten)]
    others: Options,
    /// Only print the line of figures of this workload and strategy, e.g. gmm:jacobian, as a peer does
    #[arg(long, value_name = "WORKLOAD:STRATEGY")]
    figures: Option<String>,
}

/// Extent of what is printed before the lines of each workload.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    None,
    All,
    Details,
}

/// A request that can be carried out.
pub(crate) struct Request {
    pub(crate) workloads: Vec<Box<dyn Workload>>,
    pub(crate) strategies: Vec<Strategy>,
    /// How often everything is timed, if the user says so, and in how many seconds otherwise.
    pub(crate) repetitions: Option<usize>,
    pub(crate) seconds: f64,
    /// Rounds beside other programs.
    pub(crate) rounds_beside: usize,
    pub(crate) small: bool,
    /// True if no workloads are named: the bundle adjustment is none of them.
    pub(crate) has_bundle: bool,
    pub(crate) tables: Tables,
    pub(crate) directory: PathBuf,
    pub(crate) csv: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
    pub(crate) redraw: Option<PathBuf>,
    /// The programs that ours run beside, if there are any.
    pub(crate) beside: Option<Beside>,
    /// True if one line is asked for; there is one workload then, and one strategy.
    pub(crate) figures: bool,
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
    let beside = arguments.others.read()?;
    let repetitions = arguments.repetitions.map(usize::from);
    let rounds_beside = repetitions.unwrap_or(3);
    let all = arguments.all || arguments.details || arguments.csv.is_some();
    let mut strategies = match (&beside, all) {
        (Some(_), _) => strategies(&arguments.strategies, |strategy| beside::STRATEGIES.contains(&&*strategy.name())),
        (None, true) => strategies(&arguments.strategies, |_| true),
        (None, false) => strategies(&arguments.strategies, |strategy| !strategy.is_on_other_layer()),
    }?;
    let mut workloads = make(&arguments.workloads, &sizes(&arguments)?, &arguments.data)?;
    if let Some(one) = &arguments.figures {
        let wrong = || format!("--figures wants WORKLOAD:STRATEGY, not '{one}'");
        let (workload, strategy) = one.split_once(':').ok_or_else(wrong)?;
        workloads.retain(|made| made.name() == workload);
        workloads.first().ok_or_else(wrong)?;
        strategies = self::strategies(&[strategy.to_owned()], |_| true)?;
    }
    let tables = match (arguments.details, arguments.all) {
        (true, _) => Tables::Details,
        (false, true) => Tables::All,
        (false, false) => Tables::None,
    };
    let Arguments { small, directory, csv, svg, redraw, figures, .. } = arguments;
    let directory = directory.unwrap_or_else(std::env::temp_dir);
    let figures = figures.is_some();
    Ok(Request {
        workloads,
        strategies,
        repetitions,
        seconds: if small { 1.0 } else { 1.5 },
        rounds_beside,
        small,
        has_bundle: arguments.workloads.is_empty(),
        tables,
        directory,
        csv,
        svg,
        redraw,
        beside,
        figures,
    })
}

/// The named strategies; without names those that are wanted.
fn strategies(names: &[String], wanted: fn(Strategy) -> bool) -> Result<Vec<Strategy>, String> {
    if names.is_empty() {
        return Ok(Strategy::ALL.iter().copied().filter(|strategy| wanted(*strategy)).collect());
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
        ("libor", vec![80, 40, 64]),
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
