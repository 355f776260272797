//! The tables that show results.

use crate::results::{Results, Row, Strategy};
use crate::table;

/// The chapter's table: everything that was measured, workload by workload, and below it where and when.
#[must_use]
pub fn full_table(results: &Results) -> String {
    let header = [
        "workload",
        "strategy",
        "statements",
        "arguments",
        "tape",
        "bytes a statement",
        "adjoints",
        "record",
        "sweep",
        "ratio",
    ];
    let lines = results.rows.iter().map(|row| {
        let number = |column| row.number(column);
        vec![
            row.workload.clone(),
            row.strategy.title(),
            thousands(number("statements")),
            thousands(number("arguments")),
            bytes(number("tape_bytes")),
            if row.strategy.counts_statements() {
                format!("{:.1}", number("bytes_per_statement"))
            } else {
                String::new()
            },
            bytes(number("adjoint_bytes")),
            milliseconds(number("record_ms")),
            milliseconds(number("reverse_ms")),
            format!("{:.1}", number("ratio")),
        ]
    });
    let notes = results.notes.iter().map(|note| format!("\n{note}\n"));
    table(&header, 2, lines) + &notes.collect::<String>()
}

/// The README's table: bytes on the tape for each workload and strategy that has linear indices and is in memory, below
/// the formulas, and the bytes of adjoints for both kinds of indices.
#[must_use]
pub fn memory_table(results: &Results) -> String {
    let all = results.strategies();
    let linear: Vec<&Strategy> = all.iter().copied().filter(|strategy| strategy.is_default()).collect();
    let reuse: Option<&Strategy> = all.iter().copied().find(|s| s.is_in_memory() && !s.is_default());
    let (last, each) = if reuse.is_some() {
        (vec!["adjoints", "adjoints, reuse"], vec!["8 B", "8 B a variable alive"])
    } else {
        (vec!["adjoints"], vec!["8 B"])
    };
    let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect::<Vec<_>>();
    let header: Vec<String> =
        [String::new()].into_iter().chain(linear.iter().map(|s| s.title())).chain(owned(last)).collect();
    let formulas =
        ["a statement, by formula".to_owned()].into_iter().chain(linear.iter().map(|s| formula(&s.name).to_owned()));
    let workloads = results.workloads().into_iter().map(|workload| {
        let cell = |strategy: Option<&&Strategy>, column| {
            let row = strategy.and_then(|strategy| results.get(workload, strategy));
            row.map_or_else(String::new, |row| bytes(row.number(column)))
        };
        let tapes = linear.iter().map(|strategy| cell(Some(strategy), "tape_bytes"));
        let first = linear.iter().find(|strategy| results.get(workload, strategy).is_some());
        let adjoints = [first].into_iter().chain(reuse.is_some().then_some(reuse.as_ref()));
        let adjoints = adjoints.map(|strategy| cell(strategy, "adjoint_bytes"));
        [workload.to_owned()].into_iter().chain(tapes).chain(adjoints).collect()
    });
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    table(&header, 1, [formulas.chain(owned(each)).collect()].into_iter().chain(workloads))
}

/// Launches of kernels over few points beside statements, from the output of the bench of kernels.
///
/// # Errors
///
/// The line that has too few numbers.
pub fn launch_table(text: &str) -> Result<String, String> {
    let header = ["points", "launch: record", "sweep", "statements: record", "sweep", "launch ÷ statements"];
    let mut lines = Vec::new();
    for line in text.lines().filter(|line| line.contains("points: one launch")) {
        let words = line.split_whitespace().filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        let numbers: Vec<String> = words.map(str::to_owned).collect();
        let [points, record, sweep, _, statements, swept, ratio] = &numbers[..] else {
            return Err(format!("not seven numbers: {line}"));
        };
        lines.push([points, record, sweep, statements, swept, ratio].map(String::clone).to_vec());
    }
    Ok(table(&header, 0, lines))
}

/// Which strategy for what: bytes with adjoints and time of recording and sweep for each workload and each strategy in
/// memory; the best of both are bold.
#[must_use]
pub fn choice_table(results: &Results) -> String {
    let mut strategies = results.strategies();
    strategies.retain(|strategy| strategy.is_in_memory());
    let titles: Vec<String> = strategies.iter().map(|strategy| strategy.title()).collect();
    let header: Vec<&str> = ["workload"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let lines = results.workloads().into_iter().map(|workload| {
        let rows: Vec<Option<&Row>> = strategies.iter().map(|strategy| results.get(workload, strategy)).collect();
        let least = |of: fn(&Row) -> f64| rows.iter().flatten().map(|row| of(row)).fold(f64::INFINITY, f64::min);
        let (smallest, fastest) = (least(Row::bytes), least(Row::milliseconds));
        let cell = |row: &Row| {
            let size = bold(bytes(row.bytes()), row.bytes() <= smallest);
            size + ", " + &bold(milliseconds(row.milliseconds()), row.milliseconds() <= fastest)
        };
        let cells = rows.iter().map(|row| row.map_or_else(String::new, cell));
        [workload.to_owned()].into_iter().chain(cells).collect()
    });
    table(&header, 1, lines)
}

fn bold(text: String, is_bold: bool) -> String {
    if is_bold { format!("**{text}**") } else { text }
}

/// The bytes of a statement, as the strategies' documentation states and the tests of the library assert.
fn formula(strategy: &str) -> &'static str {
    match strategy {
        "Jacobian" => "1 + 8d + 4a B",
        "PrimalValue" => "9 + 4a + 8c + 8p B",
        "Hybrid" => "9 + 4a + 8·min(d, c) B",
        "Continuation" => "8 + 8d + 4a B",
        _ => "",
    }
}

/// 1234567 as `1,234,567`.
fn thousands(count: f64) -> String {
    let digits = format!("{count:.0}");
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| core::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}

/// Bytes with three or more digits, in the largest decimal unit that leaves them.
pub(crate) fn bytes(count: f64) -> String {
    match count {
        ..1e3 => format!("{count:.0} B"),
        1e3..1e5 => format!("{:.1} kB", count / 1e3),
        1e5..1e8 => format!("{:.2} MB", count / 1e6),
        _ => format!("{:.1} MB", count / 1e6),
    }
}

/// Milliseconds with three digits or so, as ns, µs or ms.
pub(crate) fn milliseconds(time: f64) -> String {
    match time {
        ..1e-3 => format!("{:.1} ns", time * 1e6),
        1e-3..1.0 => format!("{:.1} µs", time * 1e3),
        ..1e4 => format!("{time:.1} ms"),
        _ => format!("{:.1} s", time / 1e3),
    }
}
