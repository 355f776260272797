//! Which strategy for what.

use crate::measure::{Outcome, Row};
use crate::report::{bytes, time};
use comfy_table::{Table, presets::UTF8_HORIZONTAL_ONLY};
use std::fmt::Write as _;

/// The smallest and the fastest strategy in memory of each workload, and where Hybrid is smaller than both its parents.
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
    text
}

/// How many bytes Hybrid takes less than the smaller of its parents; `None` if one is not smaller, or not there.
fn saved_by(hybrid: &Row, rows: &[Row]) -> Option<usize> {
    let place = |row: &Row| (row.strategy.indices, row.strategy.layer);
    let of = |records: &str| rows.iter().find(|row| row.strategy.records == records && place(row) == place(hybrid));
    let least = of("jacobian")?.bytes().min(of("primal_value")?.bytes());
    least.checked_sub(hybrid.bytes()).filter(|saved| *saved > 0)
}
