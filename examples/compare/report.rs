//! The tables of workloads, and the file of figures.

use crate::measure::{Outcome, Row};
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use std::fmt::Write as _;

/// One workload's table.
pub(crate) fn table(outcome: &Outcome) -> String {
    let mut table = Table::new();
    table.load_preset(UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "strategy",
        "statements",
        "arguments",
        "tape",
        "of which",
        "per stmt",
        "adjoints",
        "record",
        "reverse",
        "× primal",
    ]);
    for row in &outcome.rows {
        table.add_row([
            row.strategy.title(),
            row.memory.statements.to_string(),
            row.memory.arguments.to_string(),
            bytes(row.tape_bytes()),
            streams(row),
            format!("{:.1} B", row.tape_bytes() as f64 / row.memory.statements.max(1) as f64),
            bytes(row.adjoint_bytes()),
            time(row.record),
            time(row.reverse),
            format!("{:.1}", row.seconds() / outcome.primal),
        ]);
    }
    let mut text = String::new();
    let each = if outcome.evaluations == 1 { "" } else { " (figures for one of them)" };
    let Outcome { workload, size, inputs, evaluations, .. } = outcome;
    let _ = writeln!(text, "\n{workload}: {size}; {inputs} inputs, {evaluations} gradient(s){each}");
    let _ = writeln!(text, "{table}");
    let _ = writeln!(
        text,
        "primal {}, under Passive {:.3} × that, by hand {}; f = {:.12e}, Σg = {:.12e}, |g| = {:.12e}; central differences agree to {:.0e}",
        time(outcome.primal),
        outcome.passive,
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

/// The figures as comma-separated values; times in milliseconds for one evaluation.
pub(crate) fn csv(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "workload,strategy,indices,layer,statements,arguments,tape_bytes,bytes_per_statement,adjoint_bytes,record_ms,reverse_ms,\
         primal_ms,ratio\n",
    );
    for outcome in outcomes {
        for row in &outcome.rows {
            let _ = writeln!(
                text,
                "{},{},{},{},{},{},{},{:.2},{},{:.8},{:.8},{:.8},{:.2}",
                outcome.workload,
                row.strategy.records,
                row.strategy.indices,
                row.strategy.layer,
                row.memory.statements,
                row.memory.arguments,
                row.tape_bytes(),
                row.tape_bytes() as f64 / row.memory.statements.max(1) as f64,
                row.adjoint_bytes(),
                row.record * 1e3,
                row.reverse * 1e3,
                outcome.primal * 1e3,
                row.seconds() / outcome.primal
            );
        }
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
