//! Traces: recordings, line by line.

mod dot;
mod text;

use crate::error::Error;
use core::fmt;
use core::panic::Location;
use core::time::Duration;
use std::collections::BTreeMap;
use tapewright_strategies::contract::RecordKind;
use tapewright_strategies::recording::OwnedTape;
use tapewright_strategies::{Reverse, SweepError};

pub use tapewright_strategies::external::{NonFinite, NonFiniteKind};
pub use tapewright_strategies::recording::{HiddenBranches, TracedBranch};

/// Source lines of a recording, returned by [`Tape::trace`](crate::Tape::trace). Shown by `{}`, it is a table.
pub struct Trace<'t, S: Reverse> {
    owned: &'t OwnedTape<S>,
    lines: Vec<TraceLine>,
}

/// Records that were made at one line of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceLine {
    /// The file, the line and the column; `None` for records whose line is not known.
    pub location: Option<&'static Location<'static>>,
    /// Number of statements, external functions and launches of kernels.
    pub statements: usize,
    /// Bytes of these records, and of the records of inputs.
    pub bytes: usize,
    /// Time between each of these records and the record before it, if it was [taken](crate::Tape::set_timed).
    pub time: Option<Duration>,
}

/// Unit of the weights in a [folded file](Trace::folded).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceWeight {
    /// Bytes of records.
    Bytes,
    /// Number of statements.
    Statements,
    /// Nanoseconds, where time was [taken](crate::Tape::set_timed).
    Nanoseconds,
}

impl TraceLine {
    fn weight(&self, weight: TraceWeight) -> u128 {
        match weight {
            TraceWeight::Bytes => self.bytes as u128,
            TraceWeight::Statements => self.statements as u128,
            TraceWeight::Nanoseconds => self.time.map_or(0, |time| time.as_nanos()),
        }
    }
}

/// Text of the file, line and column.
fn place(location: Option<&Location<'_>>) -> String {
    location.map_or_else(|| "unknown line".to_owned(), ToString::to_string)
}

impl<'t, S: Reverse> Trace<'t, S> {
    pub(crate) fn of(owned: &'t OwnedTape<S>) -> Result<Self, Error> {
        // The compiler makes a location for each copy of a generic function, so locations are compared by their
        // contents.
        let mut lines = BTreeMap::<_, TraceLine>::new();
        owned.visit(|record, location| {
            let key = location.map(|location| (location.file(), location.line(), location.column()));
            let line = lines.entry(key).or_default();
            // With reused indices, a result of an external function is a statement without arguments.
            let is_result = matches!(record.kind, RecordKind::Statement { .. }) && record.arguments.is_empty();
            line.location = location;
            line.statements += usize::from(record.kind != RecordKind::Inputs && !is_result);
            line.bytes += record.bytes;
            if owned.has_times() {
                *line.time.get_or_insert_default() += Duration::from_nanos(owned.nanoseconds(record.number).into());
            }
        })?;
        if lines.values().map(|line| line.statements).sum::<usize>() > 0 && lines.keys().all(Option::is_none) {
            let strategy = core::any::type_name::<S>();
            let what = format!("recordings of {strategy} note no lines (`recording::note_statement` does)");
            return Err(SweepError::Unsupported { what }.into());
        }
        let mut lines: Vec<TraceLine> = lines.into_values().collect();
        lines.sort_by_key(|line| core::cmp::Reverse(line.bytes)); // stable: else by file and line
        Ok(Self { owned, lines })
    }

    /// Records by line of the program, the line with the most bytes first.
    ///
    /// The bytes are those of records: together they are the streams `codes`, `arguments`, `partials` or `constants`,
    /// `counts` and `results` of [`Tape::memory`](crate::Tape::memory), for [`Continuation`](crate::Continuation)
    /// `closures`, `functions` and `results`. Strategies that keep values have them elsewhere, 8 bytes for each
    /// identifier.
    #[must_use]
    pub fn lines(&self) -> &[TraceLine] {
        &self.lines
    }

    /// The comparisons of active variables, on which the program may have branched, by line: how often each was made,
    /// and the smallest margin. A margin of 0 is a branch at the very point; see
    /// [`Tape::hidden_branches`](crate::Tape::hidden_branches) for branches that may have hidden a derivative.
    #[must_use]
    pub fn branches(&self) -> Vec<TracedBranch> {
        self.owned.branches()
    }

    /// The first value of the recording that is infinite or NaN, in the order of the program: the value of an input, of
    /// a statement, or of a variable that an external function or launch made, or a partial with respect to an active
    /// variable. After a replay it is the first at the new inputs.
    ///
    /// If all of these are finite, it is the first non-finite adjoint, in the order of the sweep, of the first sweep of
    /// the recording that ended with non-finite adjoints. That sweep was done a second time then, to find it, with the
    /// rules of external functions; closures on the tape are called with an adjoint of 1. There is no second sweep of
    /// recordings that [exchange](crate::exchange::Exchange) something.
    ///
    /// Elements of views, tangents, values and partials of closures on the tape are not checked, nor are statements
    /// inside stages and blocks, which have recordings of their own.
    #[must_use]
    pub fn first_non_finite(&self) -> Option<&'t NonFinite<S::Value>> {
        self.owned.first_non_finite()
    }
}

impl<S: Reverse> fmt::Debug for Trace<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.lines).finish()
    }
}
