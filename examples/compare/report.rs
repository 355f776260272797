//! The short tables of workloads, and the file of figures.

use crate::measure::{Outcome, Row};
use crate::rounds::Spread;
use crate::strategies::Strategy;
use comfy_table::{CellAlignment, Table, presets::NOTHING};
use std::fmt::Write as _;
use tapewright::MemoryReport;

/// One workload's table: for each strategy what it takes in memory and in time. The least of both is marked.
pub(crate) fn table(outcome: &Outcome) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["strategy", "memory", "record", "sweep", "× function"]);
    let least = |key: fn(&Row) -> f64| outcome.rows.iter().map(key).fold(f64::INFINITY, f64::min);
    let (small, fast) = (least(|row| row.bytes() as f64), least(Row::seconds));
    for row in &outcome.rows {
        let mark = |is_least: bool| if is_least { "*" } else { " " };
        table.add_row([
            row.strategy.title(),
            bytes(row.bytes()) + mark(row.bytes() as f64 <= small),
            time(row.record),
            sweep(row),
            format!("{:.1}{}", row.multiple_of(&outcome.primal).median, mark(row.seconds() <= fast)),
        ]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!("\n{}\n{table}\n", heading(outcome))
}

/// Name and size of a workload, and what it takes without a tape.
pub(crate) fn heading(outcome: &Outcome) -> String {
    let Outcome { workload, size, inputs, evaluations, .. } = outcome;
    let one = if *evaluations == 1 { "The function".to_owned() } else { format!("One of {evaluations} evaluations") };
    let function = time(Spread::of(outcome.primal.iter().copied()).median);
    format!("{workload}: {size}; {}. {one} takes {function}:", count(*inputs, "input"))
}

/// The time of a sweep, or what it is less than.
pub(crate) fn sweep(row: &Row) -> String {
    if row.reverse < row.resolution { format!("< {}", time(row.resolution)) } else { time(row.reverse) }
}

/// The figures as comma-separated values; times in milliseconds for one evaluation. The columns `ratio…` are multiples
/// of the primal, `to_first…` of the workload's first row, both with quartiles. A `reverse_ms` that is not larger than
/// `resolution_ms` is an upper bound.
pub(crate) fn csv(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "workload,strategy,indices,layer,statements,arguments,tape_bytes,bytes_per_statement,adjoint_bytes,record_ms,reverse_ms,\
         primal_ms,ratio,ratio_low,ratio_high,to_first,to_first_low,to_first_high,resolution_ms\n",
    );
    let rows = outcomes.iter().flat_map(|outcome| outcome.rows.iter().map(move |row| (outcome, row)));
    for (outcome, row) in rows {
        let Strategy { records, indices, layer } = row.strategy;
        let MemoryReport { statements, arguments, .. } = row.memory;
        let (tape, adjoints) = (row.tape_bytes(), row.adjoint_bytes());
        let each = tape as f64 / statements.max(1) as f64;
        let primal = Spread::of(outcome.primal.iter().copied()).median;
        let times =
            [row.record, row.reverse.max(row.resolution), primal].map(|seconds| format!("{:.8}", seconds * 1e3));
        let ratios = [row.multiple_of(&outcome.primal), row.against(&outcome.rows[0])];
        let ratios = ratios.map(|Spread { low, median, high }| format!("{median:.3},{low:.3},{high:.3}"));
        let _ = writeln!(
            text,
            "{},{records},{indices},{layer},{statements},{arguments},{tape},{each:.2},{adjoints},{},{},{:.8}",
            outcome.workload,
            times.join(","),
            ratios.join(","),
            row.resolution * 1e3
        );
    }
    text
}

/// `1 input`, `2 inputs`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Bytes in decimal units.
pub(crate) fn bytes(n: usize) -> String {
    match n {
        0..10_000 => format!("{n} B"),
        10_000..10_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        _ => format!("{:.1} MB", n as f64 / 1e6),
    }
}

/// Seconds in a readable unit.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}
