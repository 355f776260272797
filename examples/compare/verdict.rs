//! Who wins, by how much, and what to take.

use crate::measure::{Outcome, Row};
use crate::report::{bytes, time};
use crate::strategies::Strategy;
use comfy_table::{Table, presets::NOTHING};
use std::fmt::Write as _;

/// Times that differ by less than this factor are equal: other runs give other winners.
const NOISE: f64 = 1.03;

/// The winners of each workload, what other forms of it save, and a sentence of advice.
pub(crate) fn text(outcomes: &[Outcome]) -> String {
    let mut text = String::from("\n* the least of its table. Memory is that of records and adjoints together.\n");
    let advice = advice(outcomes);
    if let Some(advice) = advice {
        text += &winners(outcomes);
        outcomes.iter().for_each(|outcome| text += &other_forms(outcome));
        text += &advice;
    }
    text
}

/// The strategies that run a program as it is, with its tape in memory.
fn in_memory(outcome: &Outcome) -> impl Iterator<Item = &Row> {
    outcome.rows.iter().filter(|row| row.strategy.is_in_memory())
}

/// The row that takes the least memory.
fn smallest(outcome: &Outcome) -> Option<&Row> {
    in_memory(outcome).min_by_key(|row| row.bytes())
}

/// The rows of [`in_memory`], and their times as multiples of the first one's: medians of ratios within a round, since
/// the machine may be slower in another.
fn times(outcome: &Outcome) -> Vec<(&Row, f64)> {
    let Some(first) = in_memory(outcome).next() else { return Vec::new() };
    in_memory(outcome).map(|row| (row, row.against(first).median)).collect()
}

/// The least of these times.
fn least(times: &[(&Row, f64)]) -> f64 {
    times.iter().map(|(_, time)| *time).fold(f64::INFINITY, f64::min)
}

/// The row that takes the least time, and its multiple of the first one's; among equals, the one of least memory.
fn fastest(outcome: &Outcome) -> Option<(&Row, f64)> {
    let times = times(outcome);
    let least = least(&times);
    times.into_iter().filter(|(_, time)| *time <= NOISE * least).min_by_key(|(row, _)| row.bytes())
}

/// What a ratio says: `14 % less`, `1.6 times as much`.
fn in_words(ratio: f64) -> String {
    match ratio {
        ..0.05 => format!("{:.1} % less", 100.0 * (1.0 - ratio)),
        0.05..0.995 => format!("{:.0} % less", 100.0 * (1.0 - ratio)),
        0.995..1.005 => "the same".to_owned(),
        1.005..1.5 => format!("{:.0} % more", 100.0 * (ratio - 1.0)),
        _ => format!("{ratio:.1} times as much"),
    }
}

/// A table: for each workload who takes the least memory and the least time, compared with the first strategy.
fn winners(outcomes: &[Outcome]) -> String {
    let Some(first) = outcomes.first().and_then(|outcome| in_memory(outcome).next()) else { return String::new() };
    let title = first.strategy.title();
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table.set_header(["workload", "least memory", "", "least time", ""]);
    for outcome in outcomes {
        let (Some(small), Some((fast, multiple))) = (smallest(outcome), fastest(outcome)) else { continue };
        let Some(base) = in_memory(outcome).next() else { continue };
        let against = |row: &Row, of: String, ratio: f64| {
            if row.strategy == base.strategy { of } else { format!("{of}, {}", in_words(ratio)) }
        };
        table.add_row([
            outcome.workload.to_owned(),
            small.strategy.title(),
            against(small, bytes(small.bytes()), small.bytes() as f64 / base.bytes() as f64),
            fast.strategy.title(),
            against(fast, time(fast.seconds()), multiple) + if outcome.is_fair() { "" } else { " (noisy)" },
        ]);
    }
    format!(
        "\nWho wins, among the tapes in memory of the program as it is; more and less are against {title}.\n\
         Times within {:.0} % count as equal, and then memory decides. Noisy means that equal code took\n\
         different times.\n{table}\n",
        100.0 * (NOISE - 1.0)
    )
}

/// What it takes where the program is written in another form.
fn other_forms(outcome: &Outcome) -> String {
    let mut text = String::new();
    let base = in_memory(outcome).find(|row| row.strategy.records == "jacobian" && row.strategy.indices == "linear");
    let Some(base) = base else { return text };
    let is_other = |row: &&Row| row.strategy.is_blocks() || row.strategy.is_kernels() || row.strategy.is_checkpointed();
    for row in outcome.rows.iter().filter(is_other) {
        let (less, time) = (row.bytes() as f64 / base.bytes() as f64, row.against(base).median);
        let _ = writeln!(
            text,
            "{} as {}: memory {}, time {}",
            outcome.workload,
            row.strategy.title(),
            in_words(less),
            in_words(time)
        );
    }
    text
}

/// How a strategy does on all workloads, in multiples of the least memory and of the least time.
#[derive(Clone, Copy)]
struct Standing {
    strategy: Strategy,
    memory: Multiples,
    time: Multiples,
}

/// Multiples of the least: the largest, and the logarithm of their product.
#[derive(Clone, Copy)]
struct Multiples {
    most: f64,
    product: f64,
}

impl Multiples {
    const NONE: Self = Self { most: 1.0, product: 0.0 };

    fn and(self, multiple: f64) -> Self {
        Self { most: self.most.max(multiple), product: self.product + multiple.ln() }
    }
}

/// The standings of the strategies in memory that have run on every workload.
fn standings(outcomes: &[Outcome]) -> Vec<Standing> {
    let of = |strategy: Strategy| {
        let mut standing = Standing { strategy, memory: Multiples::NONE, time: Multiples::NONE };
        for outcome in outcomes {
            let times = times(outcome);
            let (row, time) = *times.iter().find(|(row, _)| row.strategy == strategy)?;
            standing.memory = standing.memory.and(row.bytes() as f64 / smallest(outcome)?.bytes() as f64);
            standing.time = standing.time.and(time / least(&times));
        }
        Some(standing)
    };
    Strategy::ALL.iter().copied().filter_map(of).collect()
}

/// One sentence, if there is a choice: the strategies of the least geometric means, of time and of memory.
fn advice(outcomes: &[Outcome]) -> Option<String> {
    let standings = standings(outcomes);
    if standings.len() < 2 {
        return None;
    }
    let least = standings.iter().map(|standing| standing.time.product).fold(f64::INFINITY, f64::min);
    let noise = outcomes.len() as f64 * NOISE.ln();
    let by_memory = |a: &&Standing, b: &&Standing| a.memory.product.total_cmp(&b.memory.product);
    let fast = standings.iter().filter(|standing| standing.time.product <= least + noise).min_by(by_memory)?;
    let small = standings.iter().min_by(by_memory)?;
    let place = if let [outcome] = outcomes { outcome.workload } else { "such computations" };
    let Standing { strategy, memory, time } = *fast;
    let (title, time, memory) = (strategy.title(), of_least(time), of_least(memory));
    let mut text = format!("\nAdvice for {place}: take {title}\n    (time {time}, memory {memory})");
    if small.strategy != fast.strategy {
        let (title, memory, time) = (small.strategy.title(), of_least(small.memory), of_least(small.time));
        let _ = write!(text, ",\nor {title} where memory is short\n    (memory {memory}, time {time})");
    }
    Some(text + ".\n")
}

/// The largest multiple in words.
fn of_least(multiples: Multiples) -> String {
    match multiples.most {
        ..1.005 => "no more than the least".to_owned(),
        most @ 1.005..1.5 => format!("at most {:.0} % more than the least", 100.0 * (most - 1.0)),
        most => format!("at most {most:.1} times the least"),
    }
}
