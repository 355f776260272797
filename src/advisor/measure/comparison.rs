//! Gradients, bytes and times of a program under several strategies.

use super::rounds::{Spread, Times};
use crate::advisor::text::table::{self, Line};
use core::fmt::{self, Write as _};
use tapewright_strategies::MemoryReport;

/// Largest relative difference of two gradients that rounding explains, as a fraction of the largest entry.
const SAME: f64 = 1e-9;
/// Factor below which a difference of two times counts as none, and bytes decide.
const NOISE: f64 = 1.03;

/// Bytes and times of a program under several strategies, measured by [`compare`](crate::advisor::compare).
///
/// [`Display`](fmt::Display) prints a table of at most 100 columns, [`csv`](Self::csv) and [`svg`](Self::svg) return
/// text for files. In the table, `together` are the bytes that are used, of tape and adjoints, and `reserved` the bytes
/// that the allocator gave for them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// Number of inputs of the program.
    pub inputs: usize,
    /// The value of the function.
    pub value: f64,
    /// The gradient: for each entry the median over all strategies. Empty if there are no strategies.
    pub gradient: Vec<f64>,
    /// Seconds of the function on plain floats.
    pub plain: f64,
    /// The strategies, in the order in which they were named.
    pub rows: Vec<Row>,
    /// True if strategies were left out because the program does not run with reused indices.
    pub(crate) lacks_reuse: bool,
}

/// Bytes and times of a program under one strategy. Forward mode has no tape, so its bytes are 0.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The strategy's type, in the form in which it is written after `use tapewright::prelude::*`.
    pub strategy: String,
    /// Bytes of records, of values that are kept, and of data that external functions keep.
    pub tape: usize,
    /// Bytes of the adjoint vector.
    pub adjoints: usize,
    /// Bytes that the allocator gave for tape and adjoints, without the constant part of a tape, by which the process
    /// grows.
    pub reserved: usize,
    /// Seconds of recording, on a tape that has been used before; 0 in forward mode.
    pub record: f64,
    /// Seconds of one gradient: of recording and one sweep, or of the runs of forward mode.
    pub total: f64,
    /// Seconds of the fastest gradient. Take [`total`](Self::total), or [`against`](Self::against), to compare
    /// strategies.
    pub least: f64,
    /// Bytes, stream by stream, and numbers of statements and arguments.
    pub memory: MemoryReport,
    /// Difference of value and gradient from the value and gradient of the [`Comparison`]: the largest difference
    /// relative to the gradient's largest entry, or to the value; infinite if one of the two is NaN and the other is
    /// not.
    pub difference: f64,
    /// Times of all rounds.
    times: Vec<Times>,
    /// Seconds of the function on plain floats.
    plain: f64,
}

impl Row {
    pub(crate) fn new(strategy: String, memory: MemoryReport, times: Vec<Times>, plain: f64) -> Self {
        let (all, tables, adjoints) = (memory.total(), memory.usage("tables"), memory.usage("adjoints"));
        let middle = |of: fn(&Times) -> f64| plain * Spread::of(times.iter().map(of)).median;
        Self {
            strategy,
            tape: all.used - tables.used - adjoints.used + memory.usage("nested").reserved,
            adjoints: adjoints.used,
            reserved: all.reserved - tables.reserved,
            record: middle(|times| times.record),
            total: middle(|times| times.total),
            least: times.iter().map(|times| times.seconds).fold(f64::INFINITY, f64::min),
            difference: 0.0,
            memory,
            times,
            plain,
        }
    }

    /// Number of rounds in which the strategy was timed.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.times.len()
    }

    /// Time of one gradient as a multiple of another row's in the same comparison. The ratio is taken round by round,
    /// so that a slow minute of the machine changes little. Spilled tapes and tapes in memory are timed in different
    /// rounds: the first round of one is compared with the first round of the other, and so on.
    #[must_use]
    pub fn against(&self, other: &Self) -> Spread {
        Spread::of(self.times.iter().zip(&other.times).map(|(times, other)| times.total / other.total))
    }

    /// Seconds of one gradient as a multiple of the function's on plain floats.
    #[must_use]
    pub fn multiple(&self) -> Spread {
        Spread::of(self.times.iter().map(|times| times.total))
    }

    /// Seconds of a sweep: of a gradient without the recording.
    #[must_use]
    pub fn sweep(&self) -> Spread {
        Spread::of(self.times.iter().map(|times| self.plain * (times.total - times.record)))
    }

    /// Bytes of tape and adjoints together.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.tape + self.adjoints
    }

    /// Returns true if value and gradient agree with the other strategies', up to rounding: to 10⁻⁹.
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.difference <= SAME
    }
}

impl Comparison {
    /// Makes a comparison, with the values, the gradient and the differences filled in.
    pub(crate) fn new(inputs: usize, plain: (f64, f64), found: &[(f64, Vec<f64>)], mut rows: Vec<Row>) -> Self {
        let (value, plain) = plain;
        let middle = |k: usize| Spread::of(found.iter().map(|(_, gradient)| gradient[k])).median;
        let gradient: Vec<f64> = if found.is_empty() { Vec::new() } else { (0..inputs).map(middle).collect() };
        let scale = gradient.iter().fold(0.0_f64, |most, entry| most.max(entry.abs()));
        for (row, (of, entries)) in rows.iter_mut().zip(found) {
            let entries = entries.iter().zip(&gradient).map(|(a, b)| difference(*a, *b, scale));
            row.difference = entries.fold(difference(*of, value, value.abs()), f64::max);
        }
        Self { inputs, value, gradient, plain, rows, lacks_reuse: false }
    }

    /// The row of a strategy by its type, in the form of [`Row::strategy`].
    #[must_use]
    pub fn row(&self, strategy: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.strategy == strategy)
    }

    /// The row with the fewest bytes, among the rows of strategies that have a tape.
    #[must_use]
    pub fn smallest(&self) -> Option<&Row> {
        self.rows.iter().filter(|row| row.bytes() > 0).min_by_key(|row| row.bytes())
    }

    /// The row with the least time.
    #[must_use]
    pub fn fastest(&self) -> Option<&Row> {
        self.rows.iter().min_by(|a, b| a.total.total_cmp(&b.total))
    }

    /// The row to choose: the fastest, or of several that are within 3 % of it the one with the fewest bytes.
    #[must_use]
    pub fn best(&self) -> Option<&Row> {
        let least = self.fastest()?.total;
        self.rows.iter().filter(|row| row.total <= NOISE * least).min_by_key(|row| row.bytes())
    }

    /// A sentence of advice, of at most 100 characters: the [best](Self::best) row, and a [smaller](Self::smallest) one
    /// for the case that memory is short; empty if there are fewer than two rows to choose from.
    #[must_use]
    pub fn advice(&self) -> String {
        let (Some(best), Some(small), 2..) = (self.best(), self.smallest(), self.rows.len()) else {
            return String::new();
        };
        let name = |row: &Row| row.strategy.chars().take(24).collect::<String>();
        if small.bytes() >= best.bytes() {
            return format!("Take {}: none is faster by more than 3 %, and none is smaller.", name(best));
        }
        let (bytes, time) = (small.bytes() as f64 / best.bytes() as f64, small.against(best).median);
        let digits = usize::from(bytes < 0.05);
        let time = match time {
            ..NOISE => "in the same time".to_owned(),
            NOISE..1.5 => format!("{:.0} % more time", 100.0 * (time - 1.0)),
            _ => format!("{time:.1} × the time"),
        };
        format!(
            "Take {}, or {} with {:.digits$} % less memory, {time}.",
            name(best),
            name(small),
            100.0 * (1.0 - bytes)
        )
    }

    /// The strategies whose value or gradient are [not right](Row::is_right).
    pub fn wrong(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| !row.is_right())
    }

    /// Comma-separated values: a line with the names of the columns, and one for each strategy, whose name is in
    /// quotes.
    #[must_use]
    pub fn csv(&self) -> String {
        let names = "tape_bytes,adjoint_bytes,reserved_bytes,record_seconds,total_seconds,difference";
        let mut csv = format!("strategy,{names}\n");
        for Row { strategy, tape, adjoints, reserved, record, total, difference, .. } in &self.rows {
            let numbers = format!("{tape},{adjoints},{reserved},{record:e},{total:e},{difference:e}");
            let _ = writeln!(csv, "\"{strategy}\",{numbers}");
        }
        csv
    }
}

/// |a − b| as a multiple of a scale; 0 if both are equal or both are NaN.
fn difference(a: f64, b: f64, scale: f64) -> f64 {
    match (a - b).abs() / scale.max(f64::MIN_POSITIVE) {
        _ if a == b || a.is_nan() && b.is_nan() => 0.0,
        off if off.is_nan() => f64::INFINITY,
        off => off,
    }
}

/// Prints the table, a line for each strategy that is wrong or else a sentence of advice, and further strategies to
/// try; lines have at most 100 columns.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.rows.iter().map(|row| Line {
            strategy: &row.strategy,
            sizes: vec![row.tape, row.adjoints, row.bytes(), row.reserved],
            seconds: vec![row.record, row.total - row.record, row.total],
        });
        if self.rows.is_empty() {
            writeln!(f, "No strategy took part.")?;
        } else {
            let names = ["tape", "adjoints", "together", "reserved", "record", "sweep", "all"];
            table::write(f, &names, &lines.collect::<Vec<_>>())?;
        }
        writeln!(f, "The function on plain numbers takes {}.", crate::advisor::text::units::seconds(self.plain))?;
        for row in self.wrong() {
            let name: String = row.strategy.chars().take(50).collect();
            writeln!(f, "WRONG: {name}: value or gradient with a relative error of {:.1e}", row.difference)?;
        }
        if self.wrong().count() > 1 {
            writeln!(f, "Several are wrong, so the function may not compute the same each time it is called.")?;
        }
        if self.wrong().count() == 0 && self.rows.len() > 1 {
            writeln!(f, "{}", self.advice())?;
        }
        table::advise(f, self.lacks_reuse)
    }
}
