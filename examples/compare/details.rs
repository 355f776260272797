//! Everything that was measured: the tables of `--details`, and how far times can be trusted.

use crate::measure::{Outcome, Row};
use crate::report::{heading, multiple, sweep};
use comfy_table::{Table, presets::NOTHING};
use std::fmt::Write as _;
use tapewright::advisor::Spread;
use tapewright::advisor::units::{bytes, seconds};

/// One workload's table, what its records are made of, and how its gradient was checked.
pub(crate) fn table(outcome: &Outcome) -> String {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    let first = outcome.rows.first();
    let to_first = first.map_or_else(String::new, |first| format!("× {}", first.strategy.title()));
    let header = ["strategy", "tape", "adjoints", "record", "sweep", "× function"];
    table.set_header(header.map(str::to_owned).into_iter().chain([to_first]));
    for row in &outcome.rows {
        table.add_row([
            row.strategy.title(),
            bytes(row.tape),
            bytes(row.adjoints),
            seconds(row.record),
            sweep(row),
            multiple(outcome, row),
            first.map_or_else(String::new, |first| spread(row.against(first))),
        ]);
    }
    let mut text = format!("{}\n{table}\n", heading(outcome));
    if let (Some(twin), Some(first), false) = (outcome.twin, first, outcome.is_fair()) {
        let title = first.strategy.title();
        let _ =
            writeln!(text, "no verdict on × {title}: a second tape, which runs the same code, takes {}", spread(twin));
    }
    outcome.rows.iter().for_each(|row| text += &records(row));
    text + &checks(outcome)
}

/// Composition of the records of a strategy, in two lines.
fn records(row: &Row) -> String {
    let used =
        row.memory.streams().iter().filter(|(name, usage)| usage.used > 0 && *name != "adjoints" && *name != "tables");
    let streams = used.map(|(name, usage)| format!("{name} {}", bytes(usage.used))).collect::<Vec<_>>().join(", ");
    let (statements, arguments) = (row.memory.statements, row.memory.arguments);
    let each = if row.strategy.has_statements() {
        format!(", {:.1} B a statement", row.tape as f64 / statements.max(1) as f64)
    } else {
        String::new()
    };
    format!("{}: {statements} statements, {arguments} arguments{each}\n    {streams}\n", row.strategy.title())
}

/// Result of the function, and how it was checked.
fn checks(outcome: &Outcome) -> String {
    let Outcome { checksums, function, by_hand, .. } = outcome;
    let Spread { low, median, high } = function.multiple();
    format!(
        "{} rounds; under Passive {} × the function, by hand {}\n\
         f = {:.12e}, Σg = {:.12e}, |g| = {:.12e}; central differences agree to {:.0e}\n\n",
        function.rounds(),
        spread(Spread { low: 1.0 / high, median: 1.0 / median, high: 1.0 / low }),
        seconds(by_hand.total),
        checksums.value,
        checksums.sum,
        checksums.norm,
        outcome.differences
    )
}

/// A ratio with its quartiles.
fn spread(ratio: Spread) -> String {
    let Spread { low, median, high } = ratio;
    format!("{median:.2} ({low:.2} to {high:.2})")
}

/// Workloads on which `Hybrid` is smaller than both its parents, ratios of strategies that differ in one respect, and
/// the noise.
pub(crate) fn summary(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
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
        return text + "\n";
    }
    text += "\nNoise: a ratio means nothing unless it is further from 1 than that of a second tape, which runs the same\n\
             code. Where the quartiles of that ratio exclude 1, there is no verdict. Shared runs the same code, too,\n\
             except where a tape takes memory.\n";
    for (outcome, twin) in twins {
        let first = outcome.rows[0].strategy;
        let shared =
            outcome.rows.iter().find(|row| row.strategy.layer == "shared" && row.strategy.records == first.records);
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
    text + "\n"
}

/// A ratio, or what one is worth that was measured when equal code took different times.
fn verdict(outcome: &Outcome, ratio: Spread) -> String {
    if outcome.is_fair() { spread(ratio) } else { format!("no verdict ({:.2})", ratio.median) }
}

/// Partner of a strategy in the table of ratios: with reused indices, the same one with linear indices; else Hybrid with
/// its faster parent, and Continuation, and Jacobian in stages, in blocks and as kernels, with Jacobian.
fn counterpart<'r>(row: &Row, rows: &'r [Row]) -> Option<&'r Row> {
    let of = |records: &str, indices: &str| {
        let found = |other: &&Row| {
            other.strategy.is_in_memory() && (other.strategy.records, other.strategy.indices) == (records, indices)
        };
        rows.iter().find(found)
    };
    match (row.strategy.records, row.strategy.indices) {
        _ if row.strategy.is_other_form() => of("jacobian", "linear"),
        _ if !row.strategy.is_in_memory() => None,
        (records, "reuse") => of(records, "linear"),
        ("hybrid", indices) => {
            let parents = [of("jacobian", indices), of("primal_value", indices)];
            parents.into_iter().flatten().min_by(|a, b| a.total.total_cmp(&b.total))
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
