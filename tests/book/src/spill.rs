//! What spilling costs, as the bench of that name writes it.

use crate::table;
use crate::tables::{bytes, milliseconds};

/// The columns of the file, one line for each memory budget.
pub const SPILL_COLUMNS: [&str; 6] =
    ["budget_bytes", "tape_bytes", "seconds", "in_memory_seconds", "written_bytes", "peak_resident_bytes"];

/// The chart, as the chapter shows it, and a line for each memory budget.
///
/// # Errors
///
/// The number of the line that is wrong, and why.
pub fn spill_table(csv: &str, chart: &str) -> Result<String, String> {
    let mut lines = csv.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let header = lines.next().map_or("", |(line, _)| line).trim();
    if header != SPILL_COLUMNS.join(",") {
        return Err(format!("the header is {header:?}, expected {:?}", SPILL_COLUMNS.join(",")));
    }
    let cells = lines.map(|(line, number)| cells(line).map_err(|why| format!("line {number}: {why}")));
    let header = ["memory budget", "of the tape", "one gradient", "× in memory", "written", "most in memory"];
    let table = table(&header, 0, cells.collect::<Result<Vec<_>, _>>()?);
    Ok(format!("![time of one gradient over the memory budget]({chart})\n\n{table}"))
}

fn cells(line: &str) -> Result<Vec<String>, String> {
    let numbers = line.split(',').map(|cell| cell.trim().parse().map_err(|_| format!("{cell:?} is no number")));
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
    let [budget, tape, seconds, in_memory, written, resident] = numbers[..] else {
        return Err(format!("{} cells, expected {}", numbers.len(), SPILL_COLUMNS.len()));
    };
    Ok(vec![
        bytes(budget),
        format!("{:.1} %", 100.0 * budget / tape),
        milliseconds(1e3 * seconds),
        format!("{:.2}", seconds / in_memory),
        bytes(written),
        bytes(resident),
    ])
}
