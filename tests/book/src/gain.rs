//! What tapewright gains: beside C++ tapes, and by each of its levers.

use crate::results::{Results, Row};
use crate::table;

/// A program of a file in which `compare` has written tapewright beside other libraries.
#[derive(Clone, Debug, PartialEq)]
struct Program {
    workload: String,
    name: String,
    time: String,
    times: f64,
    bytes: f64,
}

/// What the workloads are.
const WORKLOADS: [(&str, &str); 7] = [
    ("burgers2d", "a flow in two dimensions, 32 steps"),
    ("gmm", "a Gaussian mixture, of ADBench"),
    ("laplacian1d", "the norm of a residual"),
    ("repeated_sin", "ten million sines"),
    ("libor", "a path of a Libor market model"),
    ("lstm", "a neural network, of ADBench"),
    ("expsq", "a function of one statement"),
];

/// The rows of a file such as `beside.md`.
fn programs(markdown: &str) -> Vec<Program> {
    let rows = markdown.lines().filter_map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [workload, name, time, times, _, bytes, ..] = cells[..] else { return None };
        let (times, bytes) = (times.parse().ok()?, bytes.parse().ok()?);
        Some(Program { workload: workload.into(), name: name.into(), time: time.into(), times, bytes })
    });
    rows.collect()
}

/// `Jacobian` beside the fastest C++ tape of each workload, on three machines. The first has the times.
///
/// # Errors
///
/// The workload that lacks a row.
pub fn beside_table(files: [&str; 3]) -> Result<String, String> {
    let all = files.map(programs);
    let mut lines = Vec::new();
    for best in all[0].iter().filter(|row| is_peer(row) && (row.times - 1.0).abs() < 1e-9) {
        let own = |all: &[Program]| {
            let found = all.iter().find(|row| row.workload == best.workload && row.name == "Jacobian").cloned();
            found.ok_or_else(|| format!("no row of Jacobian for {}", best.workload))
        };
        let here = own(&all[0])?;
        let ratios = [here.times, own(&all[1])?.times, own(&all[2])?.times, here.bytes];
        let what = WORKLOADS.iter().find(|(name, _)| *name == best.workload).map_or("", |(_, what)| what);
        let words = [&best.workload, what, &here.time, &best.time, &best.name.replace(" Jacobian", "")];
        let ratios = ratios.map(|ratio| format!("{ratio:.2}"));
        lines.push(words.into_iter().map(str::to_owned).chain(ratios).collect());
    }
    let header =
        ["workload", "", "`Jacobian`", "best C++", "which", "× its time", "× on Zen 5", "× on Zen 3", "× its bytes"];
    Ok(table(&header, 2, lines))
}

fn is_peer(row: &Program) -> bool {
    ["CoDiPack", "Adept", "XAD"].iter().any(|name| row.name.starts_with(name))
}

/// What packs are called.
const PACKS: &str = "packs of 8";

/// Layers that are other ways to write a program, and what they are called.
const LEVERS: [(&str, &str); 3] = [("blocks", "blocks"), ("checkpointed", "checkpoints"), ("kernels", "kernels")];

/// What each lever does to memory and time of a gradient, in multiples of statements under `Jacobian`. `packs` is the
/// file that compares eight gradients one by one with eight in a pack, `programs` the one that compares programs with
/// tapes.
///
/// # Errors
///
/// What is missing.
pub fn levers_table(results: &Results, packs: &str, programs: &str) -> Result<String, String> {
    let header = ["lever", "workload", "× memory", "× time"];
    let mut lines = vec![strategies(results)?];
    for (layer, name) in LEVERS {
        for row in results.rows.iter().filter(|row| row.strategy.layer == layer) {
            let [bytes, time] = relative(results, row)?;
            lines.push(vec![name.into(), row.workload.clone(), share(bytes), share(time)]);
        }
    }
    let in_packs = packs
        .lines()
        .take_while(|line| !line.starts_with("For the baseline"))
        .filter(|line| line.contains(", jacobian |") && line.contains("| 1 pack of 8 |"));
    for line in in_packs {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let time = cells.get(4).and_then(|cell| cell.parse().ok()).ok_or_else(|| format!("no ratio: {line}"))?;
        let workload = cells[0].split(' ').next().unwrap_or_default();
        // The first form of each workload.
        if lines.iter().all(|line| line[0] != PACKS || line[1] != workload) {
            lines.push(vec![PACKS.into(), workload.into(), String::new(), share(time)]);
        }
    }
    for model in programs.split("\n\n").filter(|part| part.starts_with("| ")) {
        lines.push(vec!["programs".into(), workload(model), String::new(), share(program(model)?)]);
    }
    Ok(table(&header, 2, lines))
}

/// The first word of a table, in lower case.
fn workload(table: &str) -> String {
    let is_letter = |c: &char| c.is_alphanumeric();
    table.chars().skip(2).take_while(is_letter).flat_map(char::to_lowercase).collect()
}

/// Time of a scenario by a program, in multiples of a gradient under `Jacobian`.
fn program(table: &str) -> Result<f64, String> {
    let time = |name: &str| {
        let line = table.lines().find_map(|line| line.strip_prefix(name));
        let time = line.and_then(|rest| rest.trim_start_matches([' ', '|']).split(' ').next()?.parse::<f64>().ok());
        time.ok_or_else(|| format!("no time in the row {name}"))
    };
    Ok(time("| program, blocks of 64 |")? / time("| `Jacobian`, recorded for each path |")?)
}

/// The strategy with the fewest bytes of each workload: from which multiple to which.
fn strategies(results: &Results) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    for workload in results.workloads() {
        let rows = results.rows.iter().filter(|row| row.workload == workload && row.strategy.is_in_memory());
        let smallest = rows.min_by(|a, b| a.bytes().total_cmp(&b.bytes())).ok_or("no row in memory")?;
        found.push(relative(results, smallest)?);
    }
    let range = |which: usize| {
        let all = || found.iter().map(|pair| pair[which]);
        format!("{} to {}", share(all().fold(f64::INFINITY, f64::min)), share(all().fold(0.0, f64::max)))
    };
    Ok(vec!["another strategy, the smallest".into(), format!("all {}", found.len()), range(0), range(1)])
}

/// Bytes and time of this row in multiples of those under `Jacobian`.
fn relative(results: &Results, row: &Row) -> Result<[f64; 2], String> {
    let mut rows = results.rows.iter().filter(|other| other.workload == row.workload && other.strategy.is_default());
    let base = rows.find(|other| other.strategy.name == "Jacobian");
    let base = base.ok_or_else(|| format!("{} has no row of Jacobian", row.workload))?;
    Ok([row.bytes() / base.bytes(), row.milliseconds() / base.milliseconds()])
}

/// A ratio with two digits that count.
fn share(ratio: f64) -> String {
    if ratio < 0.01 { format!("{ratio:.3}") } else { format!("{ratio:.2}") }
}
