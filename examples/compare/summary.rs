//! Which strategy for what, and how far times can be trusted.

use crate::measure::{Outcome, Row};
use crate::report::{bytes, spread, time};
use crate::rounds::Spread;
use comfy_table::{
    Table,
    presets::{NOTHING, UTF8_HORIZONTAL_ONLY},
};
use std::fmt::Write as _;

/// The smallest and the fastest strategy in memory of each workload, where Hybrid is smaller than both its parents, and
/// how strategies compare that differ in one respect.
pub(crate) fn text(outcomes: &[Outcome]) -> String {
    let mut table = Table::new();
    table.load_preset(UTF8_HORIZONTAL_ONLY);
    table.set_header(["workload", "smallest", "bytes with adjoints", "fastest", "record + reverse"]);
    for outcome in outcomes {
        let in_memory = || outcome.rows.iter().filter(|row| row.strategy.is_in_memory());
        let least = |key: fn(&Row) -> f64| in_memory().min_by(|a, b| key(a).total_cmp(&key(b)));
        let (Some(small), Some(fast)) = (least(|row| row.bytes() as f64), least(Row::seconds)) else { continue };
        table.add_row([
            outcome.workload.to_owned(),
            small.strategy.title(),
            bytes(small.bytes()),
            fast.strategy.title(),
            time(fast.seconds()),
        ]);
    }
    let mut text = format!("\nWhich strategy for what, in memory\n{table}\n");
    for outcome in outcomes {
        for hybrid in outcome.rows.iter().filter(|row| row.strategy.records == "hybrid") {
            if let Some(saved) = saved_by(hybrid, &outcome.rows) {
                let (workload, title) = (outcome.workload, hybrid.strategy.title());
                let _ = writeln!(text, "{workload}: {title} is smaller than both its parents, by {}", bytes(saved));
            }
        }
    }
    text + &ratios(outcomes)
}

/// A table of ratios, and how far apart tapes are that run the same code.
fn ratios(outcomes: &[Outcome]) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["workload", "record + reverse", "against", "ratio (quartiles)"]);
    for outcome in outcomes {
        for (row, other) in outcome.rows.iter().filter_map(|row| Some((row, counterpart(row, &outcome.rows)?))) {
            table.add_row([
                outcome.workload.to_owned(),
                row.strategy.title(),
                other.strategy.title(),
                verdict(outcome, row.against(other)),
            ]);
        }
    }
    let mut text = String::new();
    if table.row_count() > 0 {
        let _ = writeln!(text, "\nOne strategy against another: medians of the ratios within a round\n{table}");
    }
    let twins: Vec<_> = outcomes.iter().filter_map(|outcome| Some((outcome, outcome.twin?))).collect();
    if twins.is_empty() {
        return text;
    }
    text += "\nNoise: a ratio means nothing unless it is further from 1 than that of a second tape, which runs the same code. \
             Where the quartiles of that ratio exclude 1, there is no verdict. Shared runs the same code, too, except where a \
             tape takes memory.\n";
    for (outcome, twin) in twins {
        let first = outcome.rows[0].strategy;
        let shared = outcome.rows.iter().find(|row| row.strategy.is_shared() && row.strategy.records == first.records);
        let shared = shared.map(|row| format!(", {} {}", row.strategy.title(), spread(row.against(&outcome.rows[0]))));
        let _ = writeln!(
            text,
            "{}: a second tape of {} {}{}",
            outcome.workload,
            first.title(),
            spread(twin),
            shared.unwrap_or_default()
        );
    }
    text
}

/// A ratio, or what one is worth that was measured when equal code took different times.
fn verdict(outcome: &Outcome, ratio: Spread) -> String {
    if outcome.is_fair() { spread(ratio) } else { format!("no verdict ({:.2})", ratio.median) }
}

/// What a strategy in memory is compared with: with reused indices, the same one with linear indices; else Hybrid with
/// its faster parent, and Continuation, and Jacobian in stages, in blocks and as kernels, with Jacobian.
fn counterpart<'r>(row: &Row, rows: &'r [Row]) -> Option<&'r Row> {
    let of = |records: &str, indices: &str| {
        let found = |other: &&Row| {
            other.strategy.is_in_memory() && (other.strategy.records, other.strategy.indices) == (records, indices)
        };
        rows.iter().find(found)
    };
    match (row.strategy.records, row.strategy.indices) {
        _ if row.strategy.is_checkpointed() || row.strategy.is_blocks() || row.strategy.is_kernels() => {
            of("jacobian", "linear")
        }
        _ if !row.strategy.is_in_memory() => None,
        (records, "reuse") => of(records, "linear"),
        ("hybrid", indices) => {
            let parents = [of("jacobian", indices), of("primal_value", indices)];
            parents.into_iter().flatten().min_by(|a, b| a.seconds().total_cmp(&b.seconds()))
        }
        ("continuation", indices) => of("jacobian", indices),
        _ => None,
    }
}

/// How many bytes Hybrid takes less than the smaller of its parents; `None` if one is not smaller, or not there.
fn saved_by(hybrid: &Row, rows: &[Row]) -> Option<usize> {
    let place = |row: &Row| (row.strategy.indices, row.strategy.layer);
    let of = |records: &str| rows.iter().find(|row| row.strategy.records == records && place(row) == place(hybrid));
    let least = of("jacobian")?.bytes().min(of("primal_value")?.bytes());
    least.checked_sub(hybrid.bytes()).filter(|saved| *saved > 0)
}
