//! Report of the branches of a recording that may have hidden a derivative.

use crate::SweepError;
use core::fmt;
use core::panic::Location;

type Here = &'static Location<'static>;

/// Comparisons of a recording, or of a call of `hidden_branches`, on which a program may have branched so that a
/// derivative is lost: their count, and the source location of the first.
///
/// A comparison counts where an active value equals a passive one, or is tested for smallness and found small; see
/// [`Branch`](crate::contract::Branch). Under the policies [`Checked`](crate::Checked) and
/// [`Tracing`](crate::policy::Tracing) all comparisons are examined, under other policies only those of closed
/// variables (`Closed`), with which foreign code works. A function of a closed variable at a pole or a vertical
/// tangent, as √ at 0, counts too: an adjoint that is 0 hides its slope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HiddenBranches {
    count: u64,
    first: Option<Here>,
    statement: Option<Here>,
}

impl HiddenBranches {
    pub(crate) const NONE: Self = Self { count: 0, first: None, statement: None };

    /// Number of comparisons.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns true if no comparison may have hidden a derivative.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Source location of the first comparison, which may be in another crate.
    #[must_use]
    pub const fn first(&self) -> Option<&'static Location<'static>> {
        self.first
    }

    /// Source location of the last statement, input or call before the first comparison that is not in a crate from a
    /// registry or in the standard library: the line of the program that led to the comparison. Known under
    /// [`Tracing`](crate::policy::Tracing) only.
    #[must_use]
    pub const fn statement(&self) -> Option<&'static Location<'static>> {
        self.statement
    }

    pub(crate) fn note(&mut self, here: Here, statement: impl FnOnce() -> Option<Here>) {
        if self.first.is_none() {
            (self.first, self.statement) = (Some(here), statement());
        }
        self.count += 1;
    }

    /// Adds comparisons that were noted later.
    pub(crate) fn append(&mut self, later: Self) {
        if self.first.is_none() {
            (self.first, self.statement) = (later.first, later.statement);
        }
        self.count += later.count;
    }

    /// The error of a sweep under [`Checked`](crate::Checked), if there are comparisons.
    pub(crate) fn error(&self) -> Option<SweepError> {
        let first = self.first?;
        let statement = self.statement.map(|line| format!("{}:{}", line.file(), line.line()));
        Some(SweepError::HiddenBranch { file: first.file().to_owned(), line: first.line(), statement })
    }
}

impl fmt::Display for HiddenBranches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.first else { return f.write_str("no branch has hidden a derivative") };
        match self.count {
            1 => write!(f, "a branch may have hidden a derivative: at {first}")?,
            count => write!(f, "{count} branches may have hidden derivatives: the first at {first}")?,
        }
        self.statement.map_or(Ok(()), |statement| write!(f, ", reached from {statement}"))
    }
}
