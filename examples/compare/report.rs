//! The tables of workloads, and the file of figures.

use crate::measure::{Outcome, Row};
use crate::rounds::Spread;
use crate::strategies::Strategy;
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use std::fmt::Write as _;
use tapewright::MemoryReport;

/// One workload's table.
pub(crate) fn table(outcome: &Outcome) -> String {
    let mut table = Table::new();
    table.load_preset(UTF8_HORIZONTAL_ONLY);
    let header =
        ["strategy", "statements", "arguments", "tape", "of which", "per stmt", "adjoints", "record", "reverse"];
    let first = outcome.rows.first();
    let to_first = first.map_or_else(String::new, |first| format!("× {}", first.strategy.title()));
    table.set_header(header.map(str::to_owned).into_iter().chain(["× primal".to_owned(), to_first]));
    for row in &outcome.rows {
        table.add_row([
            row.strategy.title(),
            row.memory.statements.to_string(),
            row.memory.arguments.to_string(),
            bytes(row.tape_bytes()),
            streams(row),
            each(row),
            bytes(row.adjoint_bytes()),
            time(row.record),
            reverse(row),
            format!("{:.1}", row.multiple_of(&outcome.primal).median),
            first.map_or_else(String::new, |first| spread(row.against(first))),
        ]);
    }
    let mut text = String::new();
    let each = if outcome.evaluations == 1 { "" } else { " (figures for one of them)" };
    let Outcome { workload, size, inputs, evaluations, .. } = outcome;
    let _ = writeln!(text, "\n{workload}: {size}; {inputs} inputs, {evaluations} gradient(s){each}");
    let _ = writeln!(text, "{table}");
    if let (Some(twin), Some(first), false) = (outcome.twin, first, outcome.is_fair()) {
        let title = first.strategy.title();
        let _ =
            writeln!(text, "no verdict on × {title}: a second tape, which runs the same code, takes {}", spread(twin));
    }
    let _ = writeln!(
        text,
        "primal {}, under Passive {} × that, by hand {}; f = {:.12e}, Σg = {:.12e}, |g| = {:.12e}; central differences agree to {:.0e}",
        time(Spread::of(outcome.primal.iter().copied()).median),
        spread(outcome.passive),
        time(outcome.by_hand),
        outcome.checksums.value,
        outcome.checksums.sum,
        outcome.checksums.norm,
        outcome.differences
    );
    text
}

fn streams(row: &Row) -> String {
    let used =
        row.memory.streams().iter().filter(|(name, usage)| usage.used > 0 && *name != "adjoints" && *name != "tables");
    used.map(|(name, usage)| format!("{name} {}", bytes(usage.used))).collect::<Vec<_>>().join("\n")
}

/// Bytes of a statement; in stages nearly all statements are recorded later, and kernels are not made of statements.
fn each(row: &Row) -> String {
    if row.strategy.is_checkpointed() || row.strategy.is_kernels() {
        return String::from("–");
    }
    format!("{:.1} B", row.tape_bytes() as f64 / row.memory.statements.max(1) as f64)
}

/// The time of a sweep, or what it is less than.
fn reverse(row: &Row) -> String {
    if row.reverse < row.resolution { format!("< {}", time(row.resolution)) } else { time(row.reverse) }
}

/// A ratio with its quartiles.
pub(crate) fn spread(ratio: Spread) -> String {
    let Spread { low, median, high } = ratio;
    format!("{median:.2} ({low:.2} to {high:.2})")
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
