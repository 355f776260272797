//! The few lines that are printed for a workload, its table, and the file of figures.

use crate::measure::{Outcome, Row};
use crate::strategies::Strategy;
use comfy_table::{CellAlignment, Table, presets::NOTHING};
use std::fmt::Write as _;
use tapewright::advisor::Spread;
use tapewright::advisor::units::{bytes, seconds};
use tapewright::tape::MemoryReport;

/// Workload, its best tape of those in memory, its other forms, and the advisor's sentence.
pub(crate) fn digest(outcome: &Outcome) -> String {
    let mut text = format!("{}\n", heading(outcome));
    let best = outcome.in_memory.best().map(|best| best.strategy.as_str());
    let is_shown = |row: &&Row| row.strategy.is_other_form() || Some(row.strategy.title().as_str()) == best;
    for row in outcome.rows.iter().filter(is_shown) {
        let memory = memory(row);
        let (time, multiple) = (seconds(row.total), multiple(outcome, row));
        let _ = writeln!(text, "  {:26}{memory:>10}{time:>10}{multiple:>8} × function", row.strategy.title());
    }
    let noisy = if outcome.is_fair() { "" } else { " (noisy)" };
    match outcome.in_memory.advice() {
        advice if advice.is_empty() => text + "\n",
        advice => text + "  " + &advice + noisy + "\n\n",
    }
}

/// Explanation below all digests, and which device there is, or how to have one.
pub(crate) fn footnote(device: Option<&str>) -> String {
    let device = match (device, cfg!(feature = "opencl")) {
        (Some(name), _) => name.chars().take(40).collect(),
        (None, true) => "none was found".to_owned(),
        (None, false) => "--features opencl or cuda".to_owned(),
    };
    format!(
        "Bytes of records and adjoints, times of a gradient; within 3 % memory decides. Noisy: equal code differed.\n\
         --all has tables of all strategies. Device: {device}.\n"
    )
}

/// One workload's table: for each strategy what it takes in memory and in time. The least of both is marked.
pub(crate) fn table(outcome: &Outcome) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["strategy", "memory", "record", "sweep", "× function"]);
    let least = |key: fn(&Row) -> f64| outcome.rows.iter().map(key).fold(f64::INFINITY, f64::min);
    let on_tape = |row: &Row| if row.strategy.is_on_tape() { row.bytes() as f64 } else { f64::INFINITY };
    let (small, fast) = (least(on_tape), least(|row| row.total));
    for row in &outcome.rows {
        let mark = |is_least: bool| if is_least { "*" } else { " " };
        table.add_row([
            row.strategy.title(),
            memory(row) + mark(on_tape(row) <= small),
            seconds(row.record),
            sweep(row),
            multiple(outcome, row) + mark(row.total <= fast),
        ]);
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    format!("{}\n{table}\n\n", heading(outcome))
}

/// Bytes of records and adjoints, if there is a tape.
fn memory(row: &Row) -> String {
    if row.strategy.is_on_tape() { bytes(row.bytes()) } else { String::new() }
}

/// Name and size of a workload, and what it takes without a tape.
pub(crate) fn heading(outcome: &Outcome) -> String {
    let Outcome { workload, size, evaluations, .. } = outcome;
    let one = if *evaluations == 1 { "The function".to_owned() } else { format!("One of {evaluations} evaluations") };
    let (inputs, function) = (count(outcome.in_memory.inputs, "input"), seconds(outcome.function.total));
    format!("{workload}: {size}; {inputs}. {one} takes {function}:")
}

/// A gradient as a multiple of the function.
pub(crate) fn multiple(outcome: &Outcome, row: &Row) -> String {
    format!("{:.1}", row.against(&outcome.function).median)
}

/// The time of a sweep, or what it is less than.
pub(crate) fn sweep(row: &Row) -> String {
    let (time, resolution) = (row.sweep().median, resolution(row));
    if time < resolution { format!("< {}", seconds(resolution)) } else { seconds(time) }
}

/// A sweep of fewer seconds is not known: half of the distance between the quartiles of its time.
fn resolution(row: &Row) -> f64 {
    let Spread { low, high, .. } = row.sweep();
    0.5 * (high - low)
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
        let each = row.tape as f64 / statements.max(1) as f64;
        let resolution = resolution(row);
        let times = [row.record, row.sweep().median.max(resolution), outcome.function.total];
        let times = times.map(|seconds| format!("{:.8}", seconds * 1e3)).join(",");
        let ratios = [row.against(&outcome.function), row.against(&outcome.rows[0])];
        let ratios = ratios.map(|Spread { low, median, high }| format!("{median:.3},{low:.3},{high:.3}")).join(",");
        let _ = writeln!(
            text,
            "{},{records},{indices},{layer},{statements},{arguments},{},{each:.2},{},{times},{ratios},{:.8}",
            outcome.workload,
            row.tape,
            row.adjoints,
            resolution * 1e3
        );
    }
    text
}

/// `1 input`, `2 inputs`.
pub(crate) fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}
