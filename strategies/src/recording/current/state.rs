//! State of a recording that does not depend on its strategy, and positions in it.

use super::branch_report::HiddenBranches;
use super::singular::Singular;
use crate::Reverse;
use crate::external::{Externals, Mark};
use crate::identifier::RecordingId;
use crate::pool::{Freed, Pool};
use core::any::TypeId;

/// State of a recording that does not depend on its strategy.
pub(crate) struct State {
    /// The id of the recording; `NONE` for screens and before the first recording.
    pub(crate) number: RecordingId,
    /// True if the recording keeps guards.
    pub(crate) guarded: bool,
    /// True if a part of the recording did not keep guards.
    pub(crate) unguarded: bool,
    /// Why there are constants that depend on inputs of the recording, if there are some.
    pub(crate) constants: Option<Constants>,
    /// The first singular statement; kept for strategies under `Checked` only.
    pub(crate) singular: Option<Singular>,
    /// Comparisons that may have hidden a derivative.
    pub(crate) branches: HiddenBranches,
    /// The identifiers, if the strategy reuses them.
    pub(crate) pool: Pool,
    /// The earlier parts of a recording that was resumed.
    pub(crate) parts: Vec<Part>,
}

impl State {
    /// The state before the first recording, and of screens.
    pub(crate) const fn new() -> Self {
        let (number, branches) = (RecordingId::NONE, HiddenBranches::NONE);
        Self {
            number,
            guarded: false,
            unguarded: false,
            constants: None,
            singular: None,
            branches,
            pool: Pool::new(),
            parts: Vec::new(),
        }
    }
}

/// How constants that depend on inputs of a recording came about.
#[derive(Clone, Copy)]
pub(crate) enum Constants {
    Paused,
    Read,
}

impl Constants {
    /// What a program that cannot take them says.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Paused => "what is computed of variables in a pause is a constant of a recording",
            Self::Read => {
                "elements of views were read as numbers (`values`, `to_vec`, `constant`, a point of `parallel_max_at`), \
                 which are constants of a recording"
            }
        }
    }
}

/// A description of a listed recording.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) kind: TypeId,
    pub(crate) number: RecordingId,
    pub(crate) guarded: bool,
    pub(crate) paused: bool,
}

/// A position in a recording, between two statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) number: RecordingId,
    pub(crate) mark: Mark,
    /// Number of external functions before the position.
    pub(crate) externals: usize,
    /// [`Reverse::identifiers`] at the position.
    identifiers: usize,
}

impl Place {
    pub(crate) fn new<S: Reverse>(number: RecordingId, tape: &S::Tape, externals: &Externals<S::Value>) -> Self {
        Self { number, mark: S::mark(tape), externals: externals.list.len(), identifiers: S::identifiers(tape) }
    }

    /// Returns the id of the recording.
    #[must_use]
    pub const fn number(self) -> RecordingId {
        self.number
    }

    /// Returns [`Reverse::identifiers`] of the recording at this position.
    #[must_use]
    pub const fn identifiers(self) -> usize {
        self.identifiers
    }

    /// Returns true if this position is before the other one of the same tape, or equal to it.
    #[must_use]
    pub fn is_before(self, other: Self) -> bool {
        self.mark <= other.mark && self.externals <= other.externals
    }
}

/// A part of a recording that was resumed behind this part.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) end: Place,
    /// The identifiers that were free at the end of the part.
    pub(crate) free: Freed,
    /// Number of view slots that had been given out.
    pub(crate) views: usize,
    /// The first singular statement before the end of the part.
    pub(crate) singular: Option<Singular>,
    /// The comparisons before the end of the part that may have hidden a derivative.
    pub(crate) branches: HiddenBranches,
}
