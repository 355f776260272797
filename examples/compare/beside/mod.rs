//! Our strategies beside other programs.
//!
//! Each runs in a process of its own, in turns, some rounds long. A process prints one line of [`Figures`]; the least
//! time of the rounds counts. Our first strategy runs twice in each round: what these two differ by means nothing.

mod figures;
mod program;
mod table;

use crate::cli::Request;
use crate::workloads::Expected;
use clap::Args;
pub(crate) use figures::Figures;
use program::{Program, Side};
use std::time::Duration;
use table::{Row, Section};

/// Strategies that run beside other programs unless the user names others.
pub(crate) const STRATEGIES: [&str; 5] = ["jacobian", "primal_value", "hybrid", "jacobian_reuse", "continuation"];

/// Options for programs beside our strategies.
#[derive(Args)]
pub(crate) struct Options {
    /// Another program that computes the same gradients; may be given several times. Ours then run in turns with it,
    /// each in a process of its own. Words of COMMAND are separated by spaces, {workload} stands for the
    /// workload's name, and benches/README.md says what it must print
    #[arg(long, value_name = "NAME=COMMAND", conflicts_with = "svg")]
    peer: Vec<String>,
    /// Name of a workload among peers, if it is another name
    #[arg(long, value_name = "WORKLOAD=NAME", requires = "peer")]
    rename: Vec<String>,
    /// Seconds after which a process beside others is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 120, requires = "peer")]
    limit: u64,
    /// A line above the table, e.g. with the compilers and flags of peers; may be given several times
    #[arg(long, value_name = "TEXT", requires = "peer")]
    note: Vec<String>,
}

/// Programs beside ours.
pub(crate) struct Beside {
    peers: Vec<Program>,
    limit: Duration,
    notes: Vec<String>,
}

impl Options {
    /// The programs that are asked for.
    pub(crate) fn read(&self) -> Result<Option<Beside>, String> {
        let pair = |text: &String| match text.split_once('=') {
            Some((name, rest)) if !name.is_empty() && !rest.is_empty() => Ok((name.to_owned(), rest.to_owned())),
            _ => Err(format!("'{text}' is not of the form NAME=…")),
        };
        let names = self.rename.iter().map(pair).collect::<Result<Vec<_>, _>>()?;
        let peer = |text| pair(text).map(|(name, command)| Program::peer(name, &command, &names));
        let peers = self.peer.iter().map(peer).collect::<Result<Vec<_>, _>>()?;
        let limit = Duration::from_secs(self.limit);
        Ok((!peers.is_empty()).then(|| Beside { peers, limit, notes: self.note.clone() }))
    }
}

/// Measures one strategy in this process and prints its line.
pub(crate) fn print_figures(request: &Request) -> Result<(), String> {
    let figures = request.workloads[0].figures(request.strategies[0], request)?;
    println!("{}", serde_json::to_string(&figures).map_err(|error| error.to_string())?);
    Ok(())
}

/// Runs all programs on all workloads and prints the table; whether all were right.
pub(crate) fn run(request: &Request, beside: &Beside) -> Result<bool, String> {
    let ours = request.strategies.iter().map(|strategy| Program::ours(*strategy, Side::Ours));
    let control = request.strategies.first().map(|strategy| Program::ours(*strategy, Side::Control));
    let programs = ours.chain(control).collect::<Result<Vec<_>, _>>()?;
    let programs: Vec<&Program> = programs.iter().chain(&beside.peers).collect();
    print!("{}", table::head(request.rounds_beside, &beside.peers, &beside.notes));
    let mut csv = String::from(table::COLUMNS);
    let mut right = true;
    for workload in &request.workloads {
        let expected = workload.expected();
        let section = Section::new(&expected, in_turns(&programs, &expected, request.rounds_beside, beside.limit));
        print!("{}", section.markdown());
        csv += &section.csv();
        right &= section.are_right();
    }
    if let Some(path) = &request.csv {
        std::fs::write(path, csv).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(right)
}

/// The least times of all programs on one workload. Who fails once does not run again.
fn in_turns<'p>(programs: &[&'p Program], expected: &Expected, rounds: usize, limit: Duration) -> Vec<Row<'p>> {
    let mut found: Vec<Option<Result<Figures, String>>> = vec![None; programs.len()];
    for round in 0..rounds {
        for turn in 0..programs.len() {
            let place = (turn + round) % programs.len();
            let run = || {
                let figures = programs[place].run(expected.workload, limit)?;
                figures.check(expected).map(|()| figures)
            };
            found[place] = Some(match found[place].take() {
                None => run(),
                Some(before) => before.and_then(|before| run().map(|figures| figures.least(&before))),
            });
        }
    }
    programs.iter().zip(found).filter_map(|(program, figures)| Some(Row { program, figures: figures? })).collect()
}
