//! Traces as tables, and as files for flame graphs.

use super::{Trace, TraceLine, TraceWeight, place};
use core::fmt;
use core::time::Duration;
use std::fmt::Write as _;
use tapewright_strategies::Reverse;

/// Prints a table with a row for each line, the line with the most bytes first, and the first value that is not finite,
/// if there is one.
impl<S: Reverse> fmt::Display for Trace<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timed = self.lines.iter().any(|line| line.time.is_some());
        let heads = ["bytes", "statements", "time", "line"].map(str::to_owned);
        let mut rows = vec![heads];
        rows.extend(self.lines.iter().map(|line| row(line, place(line.location))));
        rows.push(row(&total(&self.lines), "all".to_owned()));
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths = [width(0), width(1), width(2)];
        for [bytes, statements, time, line] in &rows {
            write!(f, "{bytes:>0$}  {statements:>1$}", widths[0], widths[1])?;
            if timed {
                write!(f, "  {time:>0$}", widths[2])?;
            }
            writeln!(f, "  {line}")?;
        }
        self.first_non_finite().map_or(Ok(()), |found| writeln!(f, "not finite: {found}"))
    }
}

fn row(line: &TraceLine, place: String) -> [String; 4] {
    let time = format!("{:.1?}", line.time.unwrap_or_default());
    [line.bytes.to_string(), line.statements.to_string(), time, place]
}

fn total(lines: &[TraceLine]) -> TraceLine {
    let (bytes, statements) = lines.iter().fold((0, 0), |(b, s), line| (b + line.bytes, s + line.statements));
    let time: Duration = lines.iter().filter_map(|line| line.time).sum();
    TraceLine { location: None, statements, bytes, time: Some(time) }
}

impl<S: Reverse> Trace<'_, S> {
    /// Returns the trace as a folded file, which programs that draw flame graphs read: for each source line a line with
    /// the folders and the file around it, from the outside to the inside, and its weight, as in
    /// `src;model;paths.rs;12:9 340`. Folders and files are the frames, since a recording knows the lines of its
    /// statements, and not the callers.
    ///
    /// Lines without weight are left out.
    ///
    /// # Panics
    ///
    /// For [nanoseconds](TraceWeight::Nanoseconds), unless time was [taken](crate::Tape::set_timed).
    #[must_use]
    #[track_caller]
    pub fn folded(&self, weight: TraceWeight) -> String {
        assert!(
            weight != TraceWeight::Nanoseconds || self.owned.has_times(),
            "no time was taken in this recording: call `Tape::set_timed` before it"
        );
        let mut file = String::new();
        for (line, weight) in self.lines.iter().map(|line| (line, line.weight(weight))).filter(|(_, w)| *w > 0) {
            if let Some(location) = line.location {
                for frame in location.file().split(['/', '\\']).filter(|frame| !frame.is_empty()) {
                    file += &frame.replace(';', ":");
                    file.push(';');
                }
                _ = writeln!(file, "{}:{} {weight}", location.line(), location.column());
            } else {
                _ = writeln!(file, "unknown line {weight}");
            }
        }
        file
    }
}
