//! Tables for the terminal, of at most 100 columns.

use super::units::{bytes, seconds};
use core::fmt;

/// Columns of the strategy, and of each number.
const NAME: usize = 34;
const NUMBER: usize = 11;

/// A line for each strategy: its bytes on the tape, of adjoints and together, and some times. The least of the last
/// bytes and of the last times have a star.
pub(super) fn write(f: &mut fmt::Formatter<'_>, times: &[&str], rows: &[(&str, [usize; 3], Vec<f64>)]) -> fmt::Result {
    write!(f, "{:NAME$}", "strategy")?;
    ["tape", "adjoints", "together"]
        .iter()
        .chain(times)
        .try_for_each(|name| write!(f, "{name:>w$} ", w = NUMBER - 1))?;
    writeln!(f)?;
    let least = rows.iter().map(|row| row.1[2]).min();
    let fastest = rows.iter().filter_map(|row| row.2.last().copied()).fold(f64::INFINITY, f64::min);
    for (name, sizes, times) in rows {
        write!(f, "{:NAME$}", fitting(name))?;
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

/// The name, or what there is room for.
fn fitting(name: &str) -> String {
    if name.chars().count() < NAME { name.to_owned() } else { name.chars().take(NAME - 2).chain(['…']).collect() }
}
