//! Tables for the terminal, of at most 100 columns.

use super::units::{bytes, seconds};
use core::fmt;

/// Width in characters of the column of strategies, and of the columns of figures.
const NAME: usize = 34;
const NUMBER: usize = 9;

/// Line under a table if a program cannot run with reused indices.
pub(crate) const ADVICE: &str = "To try `Reuse`, too, write the function over `S: Taping`, and `program!(f: Taping)`.";

/// A line of a table.
pub(crate) struct Line<'r> {
    pub(crate) strategy: &'r str,
    /// Bytes of the tape, of adjoints, of both together, and of further columns.
    pub(crate) sizes: Vec<usize>,
    pub(crate) seconds: Vec<f64>,
}

/// Writes a line for each strategy. A star marks the least bytes of tape and adjoints together, among strategies that
/// have a tape, and the least of the last times.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, names: &[&str], lines: &[Line<'_>]) -> fmt::Result {
    write!(f, "{:NAME$}", "strategy")?;
    names.iter().try_for_each(|name| write!(f, "{name:>w$} ", w = NUMBER - 1))?;
    writeln!(f)?;
    let least = lines.iter().map(|line| line.sizes[2]).filter(|size| *size > 0).min();
    let fastest = lines.iter().filter_map(|line| line.seconds.last().copied()).fold(f64::INFINITY, f64::min);
    for Line { strategy, sizes, seconds: times } in lines {
        write!(f, "{:NAME$}", fitting(strategy))?;
        let sizes = sizes.iter().enumerate().map(|(k, size)| (bytes(*size), k == 2 && Some(*size) == least));
        let last = times.len().saturating_sub(1);
        let times = times.iter().enumerate().map(|(k, time)| (seconds(*time), k == last && *time == fastest));
        for (number, star) in sizes.chain(times) {
            write!(f, "{number:>w$}{}", if star { '*' } else { ' ' }, w = NUMBER - 1)?;
        }
        writeln!(f)?;
    }
    Ok(())
}

/// Writes the advice for programs that cannot run with reused indices, if `lacks_reuse`.
pub(crate) fn advise(f: &mut fmt::Formatter<'_>, lacks_reuse: bool) -> fmt::Result {
    if lacks_reuse { writeln!(f, "{ADVICE}") } else { Ok(()) }
}

/// The name, cut to the width of its column.
fn fitting(name: &str) -> String {
    if name.chars().count() < NAME { name.to_owned() } else { name.chars().take(NAME - 2).chain(['…']).collect() }
}
